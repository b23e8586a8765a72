//! What outputs and buffers hold before the primary, after it, and after the secondary.

use cudarc::driver::{CudaSlice, DriverError};

use super::bench::{Bench, Comparison, Differences, copy_device};
use crate::error::Result;
use crate::gpu::driver::{Gpu, fault, launch_fault};
use crate::gpu::memory::{address, memory_error, raw};
use crate::gpu::replay::{self, CHUNK_BYTES};
use crate::gpu::shim::{Piece, StandInArgs};

/// Part of the free memory that the records may take.
const MEMORY_SHARE: f64 = 0.5;

/// Three copies of all regions.
pub(super) struct Records {
    before: Vec<CudaSlice<u8>>,
    after: Vec<CudaSlice<u8>>,
    end: Vec<CudaSlice<u8>>,
    differences: Differences,
}

/// The chunks that primary or secondary change.
pub(super) struct Pieces {
    _memory: CudaSlice<Piece>,
    address: u64,
    count: u32,
    /// Device address of each piece.
    places: Vec<u64>,
    /// Bytes that the primary changes.
    pub primary_bytes: u64,
    /// Bytes that the secondary changes.
    pub secondary_bytes: u64,
}

// SAFETY: addresses and a number; zero is a value of each.
unsafe impl cudarc::driver::DeviceRepr for Piece {}

impl Records {
    /// Allocates; the error says why the edge cannot be tested.
    pub fn new(bench: &Bench) -> std::result::Result<Records, String> {
        let gpu = bench.gpu();
        let bytes: u64 = bench.regions().iter().map(|region| region.bytes).sum();
        let free = gpu.stream.context().mem_get_info().map_or(0, |(free, _)| free as u64);
        if 3 * bytes > (free as f64 * MEMORY_SHARE) as u64 {
            return Err(format!(
                "three records of outputs and buffers, {} MiB, do not fit into half of the free \
                 device memory; name less",
                (3 * bytes).div_ceil(1 << 20)
            ));
        }
        let copies = || -> std::result::Result<Vec<CudaSlice<u8>>, DriverError> {
            let regions = bench.regions().iter();
            // SAFETY: every byte is written by a copy before anything reads it.
            regions.map(|region| unsafe { gpu.stream.alloc::<u8>(region.bytes as usize) }).collect()
        };
        let fail = |error: DriverError| format!("no memory for the records: {error}");
        Ok(Records {
            before: copies().map_err(fail)?,
            after: copies().map_err(fail)?,
            end: copies().map_err(fail)?,
            differences: Differences::new(gpu, bench.regions().len())
                .map_err(|error| error.to_string())?,
        })
    }

    /// Queues the first record.
    pub fn keep_before(&mut self, bench: &Bench) -> Result<()> {
        keep(bench, &self.before)
    }

    /// Queues the second.
    pub fn keep_after(&mut self, bench: &Bench) -> Result<()> {
        keep(bench, &self.after)
    }

    /// Queues the third.
    pub fn keep_end(&mut self, bench: &Bench) -> Result<()> {
        keep(bench, &self.end)
    }

    /// Queues copies that put back what was there before the primary.
    pub fn restore_before(&self, bench: &Bench) -> Result<()> {
        let gpu = bench.gpu();
        for (region, copy) in bench.regions().iter().zip(&self.before) {
            copy_device(gpu, region.address, address(copy, &gpu.stream), region.bytes)?;
        }
        Ok(())
    }

    /// Compares all regions with what the secondary left.
    pub fn compare_with_end(&self, bench: &Bench) -> Result<Comparison> {
        self.differences.compare(bench.gpu(), bench.regions(), &self.end)
    }

    /// What primary and secondary change.
    pub fn pieces(&self, bench: &Bench) -> Result<Pieces> {
        let gpu = bench.gpu();
        let at = |copy: &CudaSlice<u8>| address(copy, &gpu.stream);
        let (mut pieces, mut places) = (Vec::new(), Vec::new());
        let (mut primary_bytes, mut secondary_bytes) = (0, 0);
        for (index, region) in bench.regions().iter().enumerate() {
            let (before, after, end) =
                (at(&self.before[index]), at(&self.after[index]), at(&self.end[index]));
            let first = dirty(gpu, before, after, region.bytes)?;
            let second = dirty(gpu, after, end, region.bytes)?;
            for (chunk, (&first, &second)) in first.iter().zip(&second).enumerate() {
                primary_bytes += u64::from(first);
                secondary_bytes += u64::from(second);
                if first == 0 && second == 0 {
                    continue;
                }
                let offset = chunk as u64 * CHUNK_BYTES;
                pieces.push(Piece {
                    live: (region.address + offset) as *mut u8,
                    before: (before + offset) as *const u8,
                    after: (after + offset) as *const u8,
                    bytes: CHUNK_BYTES.min(region.bytes - offset),
                });
                places.push(region.address + offset);
            }
        }
        let count = pieces.len() as u32;
        if pieces.is_empty() {
            // An allocation of nothing is refused.
            pieces.push(Piece::default());
        }
        let bytes = size_of_val(&pieces[..]) as u64;
        let memory = gpu
            .stream
            .clone_htod(&pieces)
            .map_err(|error| memory_error("the pieces", bytes, error))?;
        let address = address(&memory, &gpu.stream);
        Ok(Pieces { _memory: memory, address, count, places, primary_bytes, secondary_bytes })
    }
}

impl Pieces {
    /// Arguments of a stand-in; its state is still to be named.
    pub fn args(&self, sleep_ns: u64) -> StandInArgs {
        StandInArgs {
            pieces: self.address as *const Piece,
            state: std::ptr::null_mut(),
            sleep_ns,
            count: self.count.into(),
        }
    }

    /// Queues what makes live memory what it is before the primary; the stand-in must expect the
    /// same kind of stale bytes.
    pub fn stage(&self, gpu: &Gpu, stale: u32) -> Result<()> {
        // SAFETY: the pieces name regions and records, which outlive the drained stream.
        unsafe { replay::launch_stage(raw(&gpu.stream), self.address, self.count, stale) }
            .map_err(|error| launch_fault("stage the race check", error))
    }

    /// Device address of a piece.
    pub fn address_of(&self, piece: u64) -> Option<u64> {
        self.places.get(piece as usize).copied()
    }
}

fn keep(bench: &Bench, copies: &[CudaSlice<u8>]) -> Result<()> {
    let gpu = bench.gpu();
    for (region, copy) in bench.regions().iter().zip(copies) {
        copy_device(gpu, address(copy, &gpu.stream), region.address, region.bytes)?;
    }
    Ok(())
}

/// Bytes that differ, a chunk.
fn dirty(gpu: &Gpu, a: u64, b: u64, bytes: u64) -> Result<Vec<u32>> {
    let what = "compare the records";
    let fail = |error: DriverError| fault(what, error);
    let chunks = bytes.div_ceil(CHUNK_BYTES).max(1) as usize;
    let counts = gpu.stream.alloc_zeros::<u32>(chunks).map_err(fail)?;
    let at = address(&counts, &gpu.stream);
    // SAFETY: both hold that many bytes, and there is a counter a chunk.
    unsafe { replay::launch_dirty(raw(&gpu.stream), a, b, bytes, at) }
        .map_err(|error| launch_fault(what, error))?;
    gpu.stream.clone_dtoh(&counts).map_err(fail)
}
