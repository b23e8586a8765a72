//! The instruments themselves: timer step and skew, queue depth, and whether a gate can be used.

use std::time::{Duration, Instant};

use cudarc::driver::DriverError;

use super::driver::{Gpu, fault, launch_fault};
use super::memory::{address, raw};
use super::shim;
use super::skew::{self, Trip};
use super::smallest::Smallest;
use crate::chain::Dependency;
use crate::device::{Flag, TimerReading};
use crate::error::{Error, Kind, Result};

/// Reads of the timer for its step: 10,000 take about 0.1 ms. A timer that does not advance in
/// these is read a hundred times as often.
const TIMER_READS: [u32; 3] = [10_000, 10_000, 1_000_000];
/// Round trips for each SM's offset.
const SKEW_ROUNDS: u32 = 64;
/// Launches for the skew; the one whose offsets are known best holds.
const SKEW_TRIES: u32 = 3;
/// Launches tried behind the gate: four times what has been seen to fit.
const DEPTH_LAUNCHES: u32 = 4096;
/// Tries at the queue's depth, and tries in all where some tell nothing.
const DEPTH_TRIES: (usize, usize) = (3, 5);
/// A launch into a queue with room takes microseconds; one into a full queue waits for the gate.
const BLOCKED: Duration = Duration::from_millis(3);
/// The gate's time-out in the first try; each that tells nothing doubles it.
const DEPTH_TIMEOUT: Duration = Duration::from_millis(30);
/// Below this depth the gate is of no use: something else serialises launches.
const DEPTH_MIN: u32 = 16;

/// What is known of the instruments.
pub struct Found {
    /// Step and skew of the global timer.
    pub timer: TimerReading,
    /// Launches a closed gate holds.
    pub queue_depth: u32,
    /// Why the gate cannot be used.
    pub no_gate: Option<String>,
}

/// Measures the instruments; about 150 ms.
pub fn instruments(gpu: &Gpu) -> Result<Found> {
    let timer = timer(gpu)?;
    let (queue_depth, no_gate) = match blocking_environment() {
        Some(reason) => (0, Some(reason)),
        None => queue_depth(gpu)?,
    };
    Ok(Found { timer, queue_depth, no_gate })
}

/// What makes launches wait for their kernels, so that a closed gate would never be passed.
fn blocking_environment() -> Option<String> {
    let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0");
    if set("CUDA_LAUNCH_BLOCKING") {
        return Some("CUDA_LAUNCH_BLOCKING is set".into());
    }
    let tools = ["CUDA_INJECTION64_PATH", "NV_SANITIZER_INJECTION_PORT_BASE", "NV_TPS_LAUNCH_UUID"];
    tools
        .iter()
        .find(|name| set(name))
        .map(|name| format!("a profiler or sanitizer is attached ({name})"))
}

/// Step and skew of the global timer.
pub fn timer(gpu: &Gpu) -> Result<TimerReading> {
    let mut steps = Vec::new();
    for reads in TIMER_READS {
        if reads > TIMER_READS[0] && smallest_step(&steps).is_some() {
            break;
        }
        steps.push(timer_step(gpu, reads)?);
    }
    let step_ns = smallest_step(&steps).ok_or_else(|| {
        Error::new(Kind::NoGpu, "use the GPU", "its global timer stands still")
            .remedy("time-outs and stamps need it; use --backend sim")
    })?;
    let mut skews = Vec::new();
    for _ in 0..SKEW_TRIES {
        skews.extend(skew::largest(&skew_trips(gpu)?));
    }
    let skew = skews.into_iter().min_by_key(|skew| skew.error_ns);
    let (skew_ns, skew_error_ns) = (skew.map(|s| s.offset_ns), skew.map(|s| s.error_ns));
    Ok(TimerReading { step_ns, skew_ns, skew_error_ns })
}

/// The smallest of several steps; the kernel answers `u64::MAX` where it saw none.
fn smallest_step(steps: &[u64]) -> Option<u64> {
    steps.iter().copied().filter(|&step| step != u64::MAX && step > 0).min()
}

fn timer_step(gpu: &Gpu, reads: u32) -> Result<u64> {
    let what = "measure the timer's step";
    let driver = |error: DriverError| fault(what, error);
    let step = gpu.stream.alloc_zeros::<u64>(1).map_err(driver)?;
    // SAFETY: one word, read after the stream is drained.
    unsafe { shim::launch_timer_step(raw(&gpu.stream), address(&step, &gpu.stream), reads) }
        .map_err(|error| launch_fault(what, error))?;
    Ok(gpu.stream.clone_dtoh(&step).map_err(driver)?[0])
}

/// The shortest round trip from block 0 to each block, one block an SM.
fn skew_trips(gpu: &Gpu) -> Result<Vec<Trip>> {
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
    let sms = stream.clone_dtoh(&sms).map_err(driver)?;
    let all = sms.into_iter().zip(offsets).zip(trips);
    Ok(all.map(|((sm, offset_ns), trip_ns)| Trip { sm, offset_ns, trip_ns }).collect())
}

/// What one try at the queue's depth says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// So many launches fitted; the next waited until the gate gave way.
    Full(u32),
    /// All that were tried fitted.
    AtLeast(u32),
    /// The gate gave way between two launches: nothing was held any more.
    Unknown,
}

/// Queues empty nodes behind a closed gate until a launch blocks, several times.
fn queue_depth(gpu: &Gpu) -> Result<(u32, Option<String>)> {
    let what = "measure the queue's depth";
    let node = Smallest::new(&gpu.stream).map_err(|error| fault(what, error))?;
    let once = || node.launch(Dependency::Full).map_err(|error| launch_fault(what, error));
    // Kernels load lazily, and a load behind a closed gate would wait for it.
    once()?;
    gpu.stream.synchronize().map_err(|error| fault(what, error))?;
    let mut tries = Vec::new();
    let mut timeout = DEPTH_TIMEOUT;
    while tries.len() < DEPTH_TRIES.1 {
        let depth = depth_once(gpu, timeout, &once)?;
        tries.push(depth);
        if depth == Depth::Unknown {
            timeout *= 2;
        }
        if tries.iter().filter(|&&depth| depth != Depth::Unknown).count() == DEPTH_TRIES.0 {
            break;
        }
    }
    Ok(settle(&tries))
}

fn depth_once(gpu: &Gpu, timeout: Duration, once: &impl Fn() -> Result<()>) -> Result<Depth> {
    let what = "measure the queue's depth";
    let closed =
        gpu.gate.close_for(raw(&gpu.stream), timeout).map_err(|e| launch_fault(what, e))?;
    let mut depth = Depth::AtLeast(DEPTH_LAUNCHES);
    for queued in 0..DEPTH_LAUNCHES {
        let before = Instant::now();
        once()?;
        let took = before.elapsed();
        if gpu.gate.flags().contains(&Flag::GateTimeout) {
            // A host that was held up elsewhere has not found a full queue.
            depth = if took > BLOCKED { Depth::Full(queued) } else { Depth::Unknown };
            break;
        }
    }
    closed.open();
    gpu.stream.synchronize().map_err(|error| fault(what, error))?;
    Ok(depth)
}

/// The smallest depth of several tries, and why the gate cannot be used with it.
fn settle(tries: &[Depth]) -> (u32, Option<String>) {
    let depths = tries.iter().filter_map(|depth| match *depth {
        Depth::Full(launches) | Depth::AtLeast(launches) => Some(launches),
        Depth::Unknown => None,
    });
    match depths.min() {
        None => {
            let reason =
                "launches are so slow that the queue behind a closed gate cannot be filled";
            (0, Some(reason.into()))
        }
        Some(depth) if depth < DEPTH_MIN => {
            let reason = "launches wait for their kernels (a profiler, a sanitizer or a debugger)";
            (depth, Some(reason.into()))
        }
        Some(depth) => (depth, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_stood_still_has_no_step() {
        for (steps, expected) in [
            (&[32, u64::MAX, 64][..], Some(32)),
            (&[u64::MAX, u64::MAX], None),
            (&[0, u64::MAX], None),
            (&[], None),
        ] {
            assert_eq!(smallest_step(steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn the_depth_is_the_smallest_of_the_tries_that_tell_one() {
        use Depth::*;
        let cases: [(&[Depth], u32, bool); 6] = [
            (&[Full(1021), Full(1020), Full(1021)], 1020, true),
            (&[Unknown, Full(1021), AtLeast(4096)], 1021, true),
            (&[AtLeast(4096), AtLeast(4096)], 4096, true),
            (&[Full(1), Full(1), Full(1)], 1, false),
            (&[Full(0), Full(1021)], 0, false),
            (&[Unknown; 5], 0, false),
        ];
        for (tries, depth, usable) in cases {
            let (found, reason) = settle(tries);
            assert_eq!((found, reason.is_none()), (depth, usable), "{tries:?}: {reason:?}");
        }
    }
}
