//! The instruments themselves: timer step and skew, queue depth, and whether a gate can be used.

use std::time::{Duration, Instant};

use cudarc::driver::DriverError;

use super::driver::{Gpu, fault, launch_fault};
use super::memory::{address, raw};
use super::shim::{self, Kernel, Launch, sys};
use crate::error::Result;

/// Reads of the timer for its step: 10,000 take about 0.1 ms.
const TIMER_READS: u32 = 10_000;
/// Round trips for each SM's offset.
const SKEW_ROUNDS: u32 = 64;
/// Launches tried behind the gate: four times what has been seen to fit.
const DEPTH_TRIES: u32 = 4096;
/// A launch into a queue with room takes microseconds; one into a full queue waits for the gate.
const BLOCKED: Duration = Duration::from_millis(3);
/// Below this depth the gate is of no use: something else serialises launches.
const DEPTH_MIN: u32 = 16;

/// What is known of the instruments.
pub struct Instruments {
    /// Step of the global timer, ns.
    pub timer_step_ns: u64,
    /// Largest offset between SMs, ns; `None` where no trip was short enough to tell.
    pub timer_skew_ns: Option<u64>,
    /// Launches a closed gate holds.
    pub queue_depth: u32,
    /// Why the gate cannot be used.
    pub no_gate: Option<String>,
}

/// Measures the instruments; about 50 ms.
pub fn instruments(gpu: &Gpu) -> Result<Instruments> {
    let timer_step_ns = timer_step(gpu)?;
    let timer_skew_ns = skew(gpu)?;
    let (queue_depth, no_gate) = match blocking_environment() {
        Some(reason) => (0, Some(reason)),
        None => queue_depth(gpu)?,
    };
    Ok(Instruments { timer_step_ns, timer_skew_ns, queue_depth, no_gate })
}

/// What makes launches wait for their kernels, so that a closed gate would never be passed.
fn blocking_environment() -> Option<String> {
    let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0");
    if set("CUDA_LAUNCH_BLOCKING") {
        return Some("CUDA_LAUNCH_BLOCKING is set".into());
    }
    let tools = ["CUDA_INJECTION64_PATH", "NV_SANITIZER_INJECTION_PORT_BASE", "NV_TPS_LAUNCH_UUID"];
    tools.iter().find(|name| set(name)).map(|name| format!("a profiler or sanitizer is attached ({name})"))
}

fn timer_step(gpu: &Gpu) -> Result<u64> {
    let what = "measure the timer's step";
    let driver = |error: DriverError| fault(what, error);
    let step = gpu.stream.alloc_zeros::<u64>(1).map_err(driver)?;
    // SAFETY: one word, read after the stream is drained.
    unsafe { shim::launch_timer_step(raw(&gpu.stream), address(&step, &gpu.stream), TIMER_READS) }
        .map_err(|error| launch_fault(what, error))?;
    Ok(gpu.stream.clone_dtoh(&step).map_err(driver)?[0])
}

/// Largest difference between the offsets of any two SMs. A trip of length t bounds an offset's
/// error by t / 2; the median of the shortest trips is what the bound usually is, and an estimate
/// below it says no more than "less than this".
fn skew(gpu: &Gpu) -> Result<Option<u64>> {
    let what = "measure the timer's skew";
    let driver = |error: DriverError| fault(what, error);
    let stream = &gpu.stream;
    let blocks = gpu.sm_count();
    let mailbox = stream.alloc_zeros::<u64>(2 * blocks as usize).map_err(driver)?;
    let offsets = stream.alloc_zeros::<i64>(blocks as usize).map_err(driver)?;
    let trips = stream.alloc_zeros::<u64>(blocks as usize).map_err(driver)?;
    let sms = stream.alloc_zeros::<u32>(blocks as usize).map_err(driver)?;
    // SAFETY: sized above; one block an SM, so all are resident.
    unsafe {
        shim::launch_skew(
            raw(stream),
            blocks,
            SKEW_ROUNDS,
            address(&mailbox, stream),
            address(&offsets, stream),
            address(&trips, stream),
            address(&sms, stream),
        )
    }
    .map_err(|error| launch_fault(what, error))?;
    let offsets = stream.clone_dtoh(&offsets).map_err(driver)?;
    let trips = stream.clone_dtoh(&trips).map_err(driver)?;
    if trips.iter().skip(1).any(|&trip| trip == u64::MAX) {
        return Ok(None);
    }
    let (lowest, highest) = (offsets.iter().min(), offsets.iter().max());
    Ok(lowest.zip(highest).map(|(lowest, highest)| highest.abs_diff(*lowest)))
}

/// Queues empty nodes behind a closed gate until a launch blocks.
fn queue_depth(gpu: &Gpu) -> Result<(u32, Option<String>)> {
    let what = "measure the queue's depth";
    let kernel = Kernel {
        family: sys::PDL_FAMILY_CHAIN,
        trigger: sys::PDL_TRIGGER_NATIVE,
        body: sys::PDL_BODY_SPIN,
        stamped: 0,
    };
    let launch = Launch {
        grid_blocks: 1,
        block_threads: 32,
        shared_bytes: 0,
        cluster_blocks: 1,
        dependency: sys::PDL_DEPENDENCY_FULL,
    };
    let values = gpu.stream.alloc_zeros::<u64>(2).map_err(|error| fault(what, error))?;
    let base = address(&values, &gpu.stream);
    let args = shim::ChainArgs {
        previous: base as *const u64,
        values: (base + 8) as *mut u64,
        ..Default::default()
    };
    let once = || {
        // SAFETY: two words, alive until the stream is drained below.
        unsafe { shim::launch_chain(raw(&gpu.stream), &launch, &kernel, &args) }
            .map_err(|error| launch_fault(what, error))
    };
    // Kernels load lazily, and a load behind a closed gate would wait for it.
    once()?;
    gpu.stream.synchronize().map_err(|error| fault(what, error))?;
    let timeout = Duration::from_millis(40);
    let closed =
        gpu.gate.close_for(raw(&gpu.stream), timeout).map_err(|e| launch_fault(what, e))?;
    let mut depth = 0;
    for _ in 0..DEPTH_TRIES {
        let before = Instant::now();
        once()?;
        if before.elapsed() > BLOCKED {
            break;
        }
        depth += 1;
    }
    closed.open();
    gpu.stream.synchronize().map_err(|error| fault(what, error))?;
    if depth < DEPTH_MIN {
        let reason = "launches wait for their kernels (a profiler, a sanitizer or a debugger)";
        return Ok((depth, Some(reason.into())));
    }
    Ok((depth, None))
}
