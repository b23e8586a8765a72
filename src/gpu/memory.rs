//! Device memory: the values a chain writes, what the oracle says of them, and the stream buffer.

use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError, PinnedHostSlice, sys};

use super::shim::{self, Check, CudaError, RawStream};
use crate::chain::Chain;
use crate::device::{Mismatch, Verification};
use crate::error::{Error, Result};
use crate::oracle;

/// Bytes of one vector of a streaming body.
pub const VECTOR_BYTES: u64 = 16;

/// Device address of a slice. Tracking is off, so there is no event behind it.
pub fn address<T>(slice: &CudaSlice<T>, stream: &Arc<CudaStream>) -> u64 {
    slice.device_ptr(stream).0
}

/// A driver error while getting memory.
pub fn memory_error(what: &str, bytes: u64, error: DriverError) -> Error {
    let mib = bytes.div_ceil(1 << 20);
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::unsupported(
            format!("allocate {mib} MiB for {what}"),
            "the device is out of memory",
        )
        .remedy("use fewer nodes, a smaller grid or a shorter body"),
        _ => Error::failed(format!("allocate {mib} MiB for {what}"), error),
    }
}

/// The buffer that streaming bodies read: word `j` holds `j`.
pub struct StreamBuffer {
    memory: CudaSlice<u8>,
    stream: Arc<CudaStream>,
}

impl StreamBuffer {
    /// Allocates and fills `bytes`, rounded down to whole vectors.
    pub fn new(stream: &Arc<CudaStream>, bytes: u64) -> Result<StreamBuffer> {
        let bytes = bytes / VECTOR_BYTES * VECTOR_BYTES;
        // SAFETY: every byte is written by the fill before anything reads it.
        let memory = unsafe { stream.alloc::<u8>(bytes as usize) }
            .map_err(|error| memory_error("the stream buffer", bytes, error))?;
        let buffer = StreamBuffer { memory, stream: stream.clone() };
        // SAFETY: the buffer holds that many vectors and lives as long as this struct.
        unsafe { shim::launch_fill(raw(stream), buffer.address(), buffer.vectors()) }
            .map_err(|error| Error::failed("fill the stream buffer", error))?;
        Ok(buffer)
    }

    /// Device address of word 0.
    pub fn address(&self) -> u64 {
        address(&self.memory, &self.stream)
    }

    /// Vectors it holds.
    pub fn vectors(&self) -> u64 {
        self.memory.len() as u64 / VECTOR_BYTES
    }

    /// 32-bit words it holds.
    pub fn words(&self) -> u64 {
        self.vectors() * 4
    }
}

/// The stream handle as the runtime wants it.
pub fn raw(stream: &Arc<CudaStream>) -> RawStream {
    stream.cu_stream().cast()
}

/// Words that the check kernel counts into, and mapped ones that the host reads.
struct Counters {
    device: CudaSlice<u64>,
    host: *mut u64,
    _memory: PinnedHostSlice<u64>,
}

/// What all arms of one chain share: values, the oracle's values, flags and the barrier counter.
pub struct Workspace {
    /// Row 0 holds the seeds, row i + 1 what node i writes.
    values: CudaSlice<u64>,
    expected: CudaSlice<u64>,
    expected_host: Vec<u64>,
    /// Row 0 is set for ever, row i + 1 belongs to node i; then the counter of the grid barrier.
    flags: CudaSlice<u32>,
    counters: Counters,
    grid: u64,
    nodes: u64,
    stream: Arc<CudaStream>,
}

impl Workspace {
    /// Allocates for `chain`, computes the oracle's values, and poisons what the chain will write.
    /// `spoiled` names a node and block about which the oracle is to be wrong.
    pub fn new(
        stream: &Arc<CudaStream>,
        chain: &Chain,
        buffer_words: u64,
        spoiled: Option<(u32, u32)>,
    ) -> Result<Rc<Workspace>> {
        let (nodes, grid) = (u64::from(chain.nodes), u64::from(chain.shape.grid_blocks));
        let rows =
            (nodes + 1).checked_mul(grid).filter(|&rows| rows < 1 << 28).ok_or_else(|| {
                Error::unsupported("hold every value of the chain", "more than 2^28 values")
                    .remedy("use fewer nodes or a smaller grid")
            })?;
        let bytes = rows * 20;
        let what = "the chain's values";
        let fail = |error| memory_error(what, bytes, error);
        let free = stream.context().mem_get_info().map_err(fail)?.0 as u64;
        if bytes > free {
            return Err(memory_error(
                what,
                bytes,
                DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY),
            ));
        }
        let mut expected_host = oracle::expected(chain, chain.nodes, buffer_words);
        if let Some((node, block)) = spoiled {
            expected_host[node as usize * grid as usize + block as usize] ^= 1;
        }
        let mut seeds: Vec<u64> = (0..chain.shape.grid_blocks).map(oracle::seed_value).collect();
        seeds.resize(rows as usize, 0);
        let mut flags = vec![0_u32; rows as usize + 1];
        flags[..grid as usize].fill(1);
        let workspace = Workspace {
            values: stream.clone_htod(&seeds).map_err(fail)?,
            expected: stream.clone_htod(&expected_host).map_err(fail)?,
            expected_host,
            flags: stream.clone_htod(&flags).map_err(fail)?,
            counters: Counters::new(stream).map_err(fail)?,
            grid,
            nodes,
            stream: stream.clone(),
        };
        workspace
            .check_and_poison()
            .map_err(|error| Error::failed("poison the chain's values", error))?;
        stream.synchronize().map_err(|e| Error::failed("poison the chain's values", e))?;
        workspace.take_mismatches();
        Ok(Rc::new(workspace))
    }

    /// Values that node `node` reads.
    pub fn previous(&self, node: u32) -> u64 {
        address(&self.values, &self.stream) + u64::from(node) * self.grid * 8
    }

    /// Values that node `node` writes.
    pub fn values(&self, node: u32) -> u64 {
        self.previous(node + 1)
    }

    /// Flags that node `node` waits for; `node + 1` gives those it sets.
    pub fn flags(&self, node: u32) -> u64 {
        address(&self.flags, &self.stream) + u64::from(node) * self.grid * 4
    }

    /// Counter of the grid barrier.
    pub fn arrived(&self) -> u64 {
        self.flags(self.nodes as u32 + 1)
    }

    /// Queues the comparison with the oracle, the poison and the clearing of flags.
    pub fn check_and_poison(&self) -> Result<(), CudaError> {
        let check = Check {
            values: self.values(0),
            expected: address(&self.expected, &self.stream),
            count: self.nodes * self.grid,
            counters: address(&self.counters.device, &self.stream),
            host: self.counters.host,
            flags: self.flags(1),
            flag_count: self.nodes * self.grid + 1,
        };
        // SAFETY: all of it belongs to this workspace, which outlives the drained stream.
        unsafe { shim::launch_check(raw(&self.stream), &check) }
    }

    /// Mismatches counted since the last call. The stream must be drained.
    pub fn take_mismatches(&self) -> u64 {
        self.counters.take()
    }

    /// Compares on the host, value by value. The stream must be drained.
    pub fn verify(&self) -> Result<Verification> {
        let all = self
            .stream
            .clone_dtoh(&self.values)
            .map_err(|error| Error::failed("read the chain's values", error))?;
        let found = &all[self.grid as usize..];
        let mut verification =
            Verification { checked: found.len() as u64, ..Verification::default() };
        for (index, (&found, &expected)) in found.iter().zip(&self.expected_host).enumerate() {
            if found == expected {
                continue;
            }
            verification.mismatches += 1;
            if verification.first.is_none() {
                let (node, block) = (index as u64 / self.grid, index as u64 % self.grid);
                let (node, block) = (node as u32, block as u32);
                verification.first = Some(Mismatch { node, block, found, expected });
            }
        }
        Ok(verification)
    }
}

impl Counters {
    fn new(stream: &Arc<CudaStream>) -> Result<Counters, DriverError> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: both words are written before anything reads them.
        let mut memory = unsafe { stream.context().alloc_pinned_with_flags::<u64>(2, flags)? };
        let host = memory.as_mut_ptr()?;
        let device = stream.clone_htod(&[0, u64::MAX])?;
        let counters = Counters { device, host, _memory: memory };
        counters.take();
        Ok(counters)
    }

    fn take(&self) -> u64 {
        // SAFETY: the word lies in `_memory`; the device is done with it.
        unsafe {
            let mismatches = self.host.read_volatile();
            self.host.write_volatile(0);
            mismatches
        }
    }
}
