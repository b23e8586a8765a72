//! The stamped instance of a chain.

use cudarc::driver::{CudaGraph, CudaSlice};

use super::driver::fault;
use super::loaded::load;
use super::memory::{VECTOR_BYTES, address, memory_error};
use super::prepared::GpuChain;
use super::shim::{Kernel, Stamp};
use super::timed::Timing;
use super::{graph, nodes};
use crate::chain::Arm;
use crate::device::Flag;
use crate::error::{Error, Kind, Result};
use crate::stamps::{BlockStamps, Stamps};

/// A chain of stamps that would need more than this is not stamped.
const STAMP_BYTES_MAX: u64 = 1 << 31;

/// Kernel, memory and, of a graph arm, graph of the stamped instance.
pub struct Stamped {
    kernel: Kernel,
    memory: CudaSlice<u8>,
    graph: Option<CudaGraph>,
    grid_blocks: u32,
}

impl Stamped {
    /// Loads, allocates, captures, and runs it once, since the first run loads the kernel. `None`
    /// for an arm without stamps, or a chain too large for them or for the queue.
    pub fn new(ready: &GpuChain) -> Result<Option<Stamped>> {
        let grid_blocks = ready.chain.shape.grid_blocks;
        let entries = u64::from(ready.chain.nodes) * u64::from(grid_blocks);
        let bytes = entries * size_of::<Stamp>() as u64;
        let fits_queue = ready.graph.is_some() || ready.launches() <= ready.piece();
        if ready.arm == Arm::Persistent || bytes > STAMP_BYTES_MAX || !fits_queue {
            return Ok(None);
        }
        let stream = &ready.gpu.stream;
        // SAFETY: every entry is written by the chain before it is read.
        let memory = unsafe { stream.alloc::<u8>(bytes as usize) }
            .map_err(|error| memory_error("the stamps", bytes, error))?;
        let kernel = nodes::kernel(&ready.chain, ready.arm, true);
        load(ready.gpu, &ready.chain, ready.arm, &kernel)?;
        let graph = match ready.graph {
            Some(_) => {
                let stamps = address(&memory, stream);
                let submit = || ready.submit(0, ready.launches(), stamps, &kernel, false);
                Some(graph::capture(stream, submit)?.0)
            }
            None => None,
        };
        let stamped = Stamped { kernel, memory, graph, grid_blocks };
        stamped.run(ready, ready.gpu.gated(), &mut Vec::new())?;
        Ok(Some(stamped))
    }

    /// One stamped run: its timing and its stamps as stored.
    pub fn run(
        &self,
        ready: &GpuChain,
        gated: bool,
        flags: &mut Vec<Flag>,
    ) -> Result<(Timing, Vec<u8>)> {
        let stream = &ready.gpu.stream;
        let stamps = address(&self.memory, stream);
        let queue = || match &self.graph {
            Some(graph) => graph.launch().map_err(|error| fault("launch the graph", error)),
            None => ready.submit(0, ready.launches(), stamps, &self.kernel, false),
        };
        let timing = ready.gpu.timed(gated, flags, queue, || ready.check())?;
        let read = stream.clone_dtoh(&self.memory);
        let bytes = read.map_err(|error| fault("read the stamps", error))?;
        let mismatches = ready.workspace.take_mismatches();
        if mismatches > 0 {
            let cause = format!("{mismatches} values of a stamped run are wrong");
            return Err(Error::new(Kind::Wrong, "trust the stamps", cause));
        }
        Ok((timing, bytes))
    }

    /// From the 32 bytes a block stores to moments on one axis, from the chain's first begin.
    pub fn read(&self, bytes: &[u8], duration_ns: f64) -> Stamps {
        let stored: Vec<Stamp> = bytes
            .chunks_exact(size_of::<Stamp>())
            // SAFETY: a stamp is plain numbers, and the chunk is of its size.
            .map(|chunk| unsafe { chunk.as_ptr().cast::<Stamp>().read_unaligned() })
            .collect();
        let origin = stored.iter().map(|stamp| stamp.begin_ns).min().unwrap_or(0);
        let blocks = stored.iter().map(|stamp| moments(stamp, origin)).collect();
        Stamps { grid_blocks: self.grid_blocks, blocks, duration_ns, ..Stamps::default() }
    }
}

fn moments(stamp: &Stamp, origin_ns: u64) -> BlockStamps {
    let begin_ns = (stamp.begin_ns - origin_ns) as f64;
    let after = |ns: u32| begin_ns + f64::from(ns);
    let triggered = stamp.trigger_ns != u32::MAX;
    BlockStamps {
        begin_ns,
        trigger_ns: if triggered { after(stamp.trigger_ns) } else { f64::NAN },
        arrive_ns: after(stamp.arrive_ns),
        release_ns: after(stamp.release_ns),
        end_ns: after(stamp.end_ns),
        sm: stamp.sm,
        body_cycles: stamp.body_cycles,
    }
}

const _: () = assert!(size_of::<Stamp>() == 32 && VECTOR_BYTES == 16);
