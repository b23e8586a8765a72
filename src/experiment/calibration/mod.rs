//! Calibration: what one device costs where nothing is done, in constants with intervals.
//!
//! Every experiment runs its chains once a round in shuffled order, verifies them first, and gives
//! medians over rounds. What comes out is a device [profile](crate::profile::Profile): the constants
//! of the model, and beside them what was measured of the instruments and of the host.

mod agreement;
mod block;
mod cell;
mod empty;
mod hops;
mod host;
mod instruments;
mod memory;
mod moments;
mod noise;
mod placement;
mod profile;
mod quantity;
mod section;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::cell::{Cell, Series};
use crate::chain::Arm;
use crate::device::{Clocks, Device, Facts};
use crate::error::Result;
use crate::profile::Profile;

pub use quantity::Quantity;

/// How much is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Rounds of every experiment.
    pub rounds: u32,
    /// Rounds of host batches.
    pub host_rounds: u32,
    /// Grids, blocks; 0 stands for none.
    pub grids: Vec<u32>,
    /// Device time of warm-up.
    pub warm_up: Duration,
    /// Host cost of launches too.
    pub host: bool,
    /// Whether this is the short one.
    pub quick: bool,
    /// Seed of the order.
    pub seed: u64,
}

impl Effort {
    /// The usual effort on a device of `sm_count` SMs.
    pub fn new(sm_count: u32, host: bool, seed: u64) -> Effort {
        Effort {
            rounds: 40,
            host_rounds: 100,
            grids: grids(&[1, sm_count, 4 * sm_count, 8 * sm_count]),
            warm_up: Duration::from_secs(1),
            host,
            quick: false,
            seed,
        }
    }

    /// Seconds in place of a minute, wider intervals.
    pub fn quick(sm_count: u32, host: bool, seed: u64) -> Effort {
        Effort {
            rounds: 12,
            host_rounds: 16,
            grids: grids(&[1, sm_count]),
            warm_up: Duration::from_millis(300),
            host,
            quick: true,
            seed,
        }
    }
}

/// In order, each once.
fn grids(blocks: &[u32]) -> Vec<u32> {
    let mut grids = blocks.to_vec();
    grids.sort_unstable();
    grids.dedup();
    grids
}

/// Where progress goes: what is being measured, and how much of all is done (0 to 1).
pub type Report<'a> = dyn FnMut(&str, f64) + 'a;

/// The share of one experiment in the progress of all.
struct Tick<'a> {
    report: &'a mut Report<'a>,
    what: &'static str,
    done: f64,
    share: f64,
}

impl Tick<'_> {
    /// How much of the experiment is done, 0 to 1.
    fn part(&mut self, part: f64) {
        (self.report)(self.what, self.done + self.share * part);
    }
}

/// What every experiment is given.
struct Bench<'a> {
    device: &'a dyn Device,
    effort: &'a Effort,
    sms: u32,
}

impl Bench<'_> {
    /// The median of numbers that are differences of stamps. Means over hops and blocks are finer
    /// than the timer's step only where moments fall anywhere in it, which nothing here makes sure
    /// of: half a step is added to both ends of the interval.
    fn stamped(&self, series: &[f64]) -> Option<Quantity> {
        let step_ns = self.device.facts().timer_step_ns as f64;
        Some(Quantity::median(series)?.widened(step_ns / 2.0))
    }

    /// Rounds of `cells` with the effort's rounds; `stream` tells the shuffles of two experiments
    /// apart.
    fn rounds<T>(
        &self,
        cells: &[Cell],
        stream: u64,
        reduce: impl Fn(&Cell, &Clocks) -> T,
        tick: &mut Tick,
    ) -> Result<Vec<Series<T>>> {
        let seed = self.effort.seed ^ stream << 32;
        cell::rounds(self.device, cells, self.effort.rounds, seed, reduce, tick)
    }
}

/// What all experiments found.
struct Everything {
    sms: u32,
    instruments: instruments::Found,
    empty: empty::Found,
    hops: hops::Found,
    block: block::Found,
    placement: placement::Found,
    memory: memory::Found,
    noise: noise::Found,
    agreement: agreement::Found,
    host: Option<host::Found>,
}

/// Experiments in their order, and the seconds that each is expected to take.
fn schedule(effort: &Effort, facts: &Facts) -> [(&'static str, f64); 9] {
    let (grids, sms, rounds) = (&effort.grids, facts.sm_count, effort.rounds);
    let seconds = |cells: &[Cell]| -> f64 {
        cells.iter().map(|cell| cell.expected(rounds).as_secs_f64()).sum()
    };
    // Blocks of 512 threads that an SM of 2,048 holds.
    const SLOTS: u32 = 4;
    const COPY_S: f64 = 0.001;
    let host = if effort.host { host::expected_s(effort.host_rounds) } else { 0.0 };
    [
        ("instruments", seconds(&instruments::cells(sms)) + 0.1),
        ("empty hops", seconds(&empty::cells(grids))),
        ("hops", seconds(&hops::cells(grids, sms))),
        ("blocks", seconds(&block::cells(sms))),
        ("placement", seconds(&placement::cells(sms, SLOTS))),
        ("memory", seconds(&memory::cells(sms, facts.l2_bytes)) + COPY_S * f64::from(rounds) + 0.2),
        ("noise", noise::cell(sms).expected(noise::samples(rounds)).as_secs_f64() + 0.5),
        ("clocks", seconds(&agreement::cells(sms))),
        ("host", host),
    ]
}

/// Every experiment that `effort` runs, in order, and the seconds that it is expected to take.
pub fn experiments(effort: &Effort, facts: &Facts) -> Vec<(&'static str, f64)> {
    schedule(effort, facts).into_iter().filter(|(_, seconds)| *seconds > 0.0).collect()
}

/// Time that a calibration is expected to take on the device with `facts`, warm-up included.
pub fn expected(effort: &Effort, facts: &Facts) -> Duration {
    let seconds: f64 = schedule(effort, facts).iter().map(|(_, seconds)| seconds).sum();
    effort.warm_up + Duration::from_secs_f64(seconds)
}

/// Measures `device` and makes its profile; who measured when is left to the caller.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn calibrate(device: &dyn Device, effort: &Effort, report: &mut Report) -> Result<Profile> {
    let facts = device.facts();
    let bench = Bench { device, effort, sms: facts.sm_count };
    let schedule = schedule(effort, facts);
    let total: f64 = schedule.iter().map(|(_, seconds)| seconds).sum();
    report("warming up", 0.0);
    warm_up(&bench)?;
    let mut done = 0.0;
    let mut next = schedule.into_iter();
    let mut tick = || {
        let (what, seconds) = next.next().expect("one entry an experiment");
        let (before, share) = (done, seconds / total);
        done += share;
        (what, before, share)
    };
    macro_rules! run {
        ($experiment:ident $(, $given:expr)*) => {{
            let (what, done, share) = tick();
            let mut tick = Tick { report: &mut *report, what, done, share };
            $experiment::measure(&bench $(, $given)*, &mut tick)?
        }};
    }
    let instruments = run!(instruments);
    let empty = run!(empty);
    let hops = run!(hops);
    let block = run!(block);
    let placement = run!(placement);
    let memory = run!(memory, block.tail);
    let noise = run!(noise);
    let agreement = run!(agreement, &instruments);
    let host = if effort.host { Some(run!(host)) } else { None };
    let sms = bench.sms;
    let found = Everything {
        sms,
        instruments,
        empty,
        hops,
        block,
        placement,
        memory,
        noise,
        agreement,
        host,
    };
    let mut profile = profile::assemble(facts, effort, &found);
    profile.calibration = Some(section::section(facts, effort, found));
    Ok(profile)
}

/// Runs one chain until clocks and lazy loading have settled.
fn warm_up(bench: &Bench) -> Result<()> {
    let chain = cell::chain(50, bench.sms, cell::fma(8_000));
    let mut prepared = bench.device.prepare(&chain, Arm::Graph)?;
    let began = bench.device.now();
    while bench.device.now() - began < bench.effort.warm_up {
        prepared.sample()?;
    }
    Ok(())
}
