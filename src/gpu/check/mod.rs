//! Runs the cases of the race check on the device.

mod bench;

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use self::bench::{BATCH, Bench, Runner};
use super::driver::Gpu;
use super::graph;
use super::shim::{self, KernelInfo, Launch, sys};
use crate::chain::{Shape, Submission};
use crate::check::{Case, Code, Grid, Kernel, Layout, Measured, Sleeps};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::machine_code;

/// Threads of every block: two warps, so that one can be behind the other.
const BLOCK_THREADS: u32 = 64;
/// Blocks of a small grid.
const SMALL_BLOCKS: u32 = 16;
/// Waves of a large grid.
const WAVES: f64 = 2.5;
/// Shared memory that the driver keeps for itself, and static shared memory, of a block.
const BLOCK_OVERHEAD_BYTES: u32 = 2048;

/// How a case is run.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Seed of the sleeps.
    pub seed: u64,
    /// Sleeps to draw from.
    pub sleeps: Sleeps,
    /// Repetitions.
    pub repetitions: u64,
    /// Goes on for so long while nothing is wrong: zero for correct kernels.
    pub insist: Duration,
}

/// Runs one case.
///
/// # Errors
/// An unsupported shape, a fault of the device, or an interruption.
pub fn run_case(gpu: &Gpu, case: &Case, effort: &Effort) -> Result<Measured> {
    let since = Instant::now();
    let layout = Layout::new(case, shape(gpu, case)?);
    let mut info = None;
    for kernel in [case.kernel.correct(), case.kernel] {
        info = Some(load(&layout, kernel)?);
    }
    let code = code(gpu, case.kernel, &info.expect("two kernels were loaded"), &layout)?;
    let mut bench = Bench::new(gpu, &layout, effort)?;
    bench.warm()?;
    let runner = match case.submission {
        Submission::Graph => {
            Runner::Graph(graph::capture(&gpu.stream, || bench.submit_repetition())?.0)
        }
        Submission::Stream => Runner::Stream,
    };
    let mut state = bench.run(&runner, effort.repetitions)?;
    while state.wrong == 0 && since.elapsed() < effort.insist {
        state = bench.run(&runner, BATCH)?;
    }
    Ok(bench.measured(&state, code, since.elapsed()))
}

/// The launch shape of a case on this device.
fn shape(gpu: &Gpu, case: &Case) -> Result<Shape> {
    let facts = gpu.facts();
    let mut shape = Shape {
        grid_blocks: SMALL_BLOCKS,
        block_threads: BLOCK_THREADS,
        shared_bytes: 0,
        cluster_blocks: 1,
    };
    match case.grid {
        Grid::Small => {}
        Grid::Device => shape.grid_blocks = facts.sm_count,
        Grid::Waves => {
            shape.shared_bytes =
                (facts.block_shared_bytes / 2).saturating_sub(BLOCK_OVERHEAD_BYTES);
            let resident = prepare(&shape, case.kernel)?.blocks_per_sm.max(1) as f64;
            shape.grid_blocks = (WAVES * resident * f64::from(facts.sm_count)) as u32;
        }
    }
    Ok(shape)
}

fn kernel(kernel: Kernel) -> shim::Kernel {
    let body = match kernel {
        Kernel::Correct => sys::PDL_CHECK_CORRECT,
        Kernel::NoSync => sys::PDL_CHECK_NO_SYNC,
        Kernel::LoadAboveSync => sys::PDL_CHECK_LOAD_ABOVE_SYNC,
        Kernel::SyncInOneWarp => sys::PDL_CHECK_SYNC_IN_ONE_WARP,
        Kernel::EarlyReturn => sys::PDL_CHECK_EARLY_RETURN,
        Kernel::StoreAboveSync => sys::PDL_CHECK_STORE_ABOVE_SYNC,
        Kernel::Loop => sys::PDL_CHECK_LOOP,
        Kernel::LoopRestrict => sys::PDL_CHECK_LOOP_RESTRICT,
        Kernel::ThreeSlots => sys::PDL_CHECK_THREE_SLOTS,
        Kernel::TwoSlots => sys::PDL_CHECK_TWO_SLOTS,
        Kernel::Fault => sys::PDL_CHECK_FAULT,
        Kernel::Hang => sys::PDL_CHECK_HANG,
    };
    shim::Kernel { family: sys::PDL_FAMILY_CHECK, trigger: 0, body, stamped: 0 }
}

fn launch(shape: &Shape, full: bool) -> Launch {
    Launch {
        grid_blocks: shape.grid_blocks,
        block_threads: shape.block_threads,
        shared_bytes: shape.shared_bytes,
        cluster_blocks: 1,
        dependency: if full { sys::PDL_DEPENDENCY_FULL } else { sys::PDL_DEPENDENCY_PROGRAMMATIC },
    }
}

fn prepare(shape: &Shape, which: Kernel) -> Result<KernelInfo> {
    shim::prepare(&kernel(which), &launch(shape, true))
        .map_err(|error| Error::unsupported("load a kernel of the check", error))
}

fn load(layout: &Layout, which: Kernel) -> Result<KernelInfo> {
    let info = prepare(&layout.shape, which)?;
    if info.blocks_per_sm < 1 {
        return Err(Error::unsupported("run a kernel of the check", "no block fits on an SM"));
    }
    Ok(info)
}

/// The machine code under test beside that of the correct kernel.
fn code(gpu: &Gpu, which: Kernel, info: &KernelInfo, layout: &Layout) -> Result<Code> {
    let kernel = |info: &KernelInfo| (info.binary_version as u32, shim::kernel_name(info));
    let (arch, name) = kernel(info);
    let syncs = gpu.code.counts(arch, &name).map(|code| code.syncs);
    let same_as_correct = match which.is_correct() {
        true => Some(true),
        false => {
            let correct = kernel(&prepare(&layout.shape, which.correct())?);
            let hashes = hashes();
            hashes.get(&(arch, name.clone())).zip(hashes.get(&correct)).map(|(a, b)| a == b)
        }
    };
    Ok(Code { kernel: name, syncs, same_as_correct })
}

/// Hashes of the machine code of every kernel in this program.
fn hashes() -> &'static HashMap<(u32, String), u64> {
    static HASHES: OnceLock<HashMap<(u32, String), u64>> = OnceLock::new();
    HASHES.get_or_init(|| {
        let binary = std::env::current_exe().and_then(std::fs::read);
        binary.map(|bytes| machine_code::hashes(&bytes)).unwrap_or_default()
    })
}
