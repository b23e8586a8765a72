//! How much fixed work takes the time that was asked for.

use crate::chain::{Arm, BodyKind, Chain, Mode, PreambleKind, Target, Trigger};
use crate::device::Device;
use crate::error::Result;
use crate::stamps::Reduced;

/// Nearer to the target than this is near enough: half a step of the timer at 4 µs.
const TOLERANCE: f64 = 0.004;
const TRIES: u32 = 8;
const REPETITIONS: u32 = 5;
/// Nodes of the calibration chain: enough for a median, few for long bodies.
const NODES: (u32, u32) = (4, 16);
const CHAIN_NS: f64 = 200_000.0;
/// First guesses: multiply-adds a thread and ns, with up to four warps an SM, and bytes a ns.
const FMA_A_NS: f64 = 8.0;
const BYTES_A_NS: f64 = 4000.0;

/// A chain whose work has amounts, and the times these take over full dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {
    /// The chain, with `units` set.
    pub chain: Chain,
    /// Body alone: release to end, mean over blocks, ns. With a prefetch, what is left of it.
    pub body_ns: Option<f64>,
    /// What the preamble adds to a block: its begin to end with it − without it, ns.
    pub preamble_ns: Option<f64>,
}

/// Sets the amounts of work of `chain` so that stamps over full dependencies read what was asked.
///
/// The body is measured without a preamble, and the preamble as what it adds to a block: inside a
/// block warps drift apart, and one thread's arrival at the sync is not the block's. A spin's
/// amount is its deadline, and a body given in bytes has its amount; both are measured.
///
/// # Errors
/// Those of preparing and running the chain.
pub fn calibrate(device: &dyn Device, chain: &Chain) -> Result<Calibrated> {
    if chain.body.kind == BodyKind::Kernel {
        // The user's own work is as it is.
        return Ok(Calibrated { chain: *chain, body_ns: None, preamble_ns: None });
    }
    amounts(device, chain, &body_search(chain), None)
}

/// Leaves the amounts of work as `chain` has them, from another run, and measures the times that
/// they take here.
///
/// # Errors
/// Those of preparing and running the chain.
pub fn measure_work(device: &dyn Device, chain: &Chain) -> Result<Calibrated> {
    let fixed = |units: u64| Search::fixed(units as f64, 1);
    amounts(device, chain, &fixed(chain.body.units), Some(fixed(chain.preamble.units)))
}

/// The amount of body that `body` finds, and of preamble; `preamble` is the one that suits the
/// chain where it is `None`.
fn amounts(
    device: &dyn Device,
    chain: &Chain,
    body: &Search,
    preamble: Option<Search>,
) -> Result<Calibrated> {
    let mut trial = *chain;
    trial.preamble.kind = PreambleKind::None;
    trial.preamble.units = 0;
    let body = settle(body, |units| {
        trial.body.units = units;
        let reduced = measure(device, &trial)?;
        Ok((reduced.body_ns, reduced))
    })?;
    trial.body.units = body.units;
    trial.preamble.kind = chain.preamble.kind;
    let alone_ns = body.reduced.span_ns;
    let search = match (chain.preamble.kind, preamble) {
        (PreambleKind::None, _) => {
            let preamble_ns = Some(0.0);
            return Ok(Calibrated { chain: trial, body_ns: body.reduced.body_ns, preamble_ns });
        }
        (_, Some(fixed)) => fixed,
        (PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem, None) => {
            Search::fixed(prefetch_bytes(&trial, body.reduced.body_ns), 16)
        }
        (PreambleKind::Alu | PreambleKind::Spin, None) => preamble_search(chain),
    };
    let preamble = settle(&search, |units| {
        trial.preamble.units = units;
        let reduced = measure(device, &trial)?;
        let added = reduced.span_ns.zip(alone_ns).map(|(with, without)| with - without);
        Ok((added, reduced))
    })?;
    trial.preamble.units = preamble.units;
    let prefetches =
        matches!(chain.preamble.kind, PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem);
    Ok(Calibrated {
        chain: trial,
        body_ns: if prefetches { preamble.reduced.body_ns } else { body.reduced.body_ns },
        preamble_ns: if prefetches { preamble.reduced.preamble_ns } else { preamble.measured_ns },
    })
}

/// What the body streams in the preamble's time: a preamble of 2 µs before a body of 4 µs fetches
/// half of it.
fn prefetch_bytes(chain: &Chain, body_ns: Option<f64>) -> f64 {
    let Some(body_ns) = body_ns.filter(|&ns| ns > 0.0) else { return 0.0 };
    chain.body.units as f64 * (chain.preamble.target_ns / body_ns).min(1.0)
}

fn measure(device: &dyn Device, chain: &Chain) -> Result<Reduced> {
    let node_ns = chain.preamble.target_ns + target_ns(chain).unwrap_or(0.0) + 1.0;
    let nodes = ((CHAIN_NS / node_ns) as u32).clamp(NODES.0, NODES.1);
    let trial = Chain { nodes, trigger: Trigger::Implicit, mode: Mode::Isolated, ..*chain };
    let mut prepared = device.prepare(&trial, Arm::GraphFull)?;
    let stamps = prepared.stamps(REPETITIONS)?;
    Ok(stamps.map(|stamps| stamps.reduce()).unwrap_or_default())
}

fn target_ns(chain: &Chain) -> Option<f64> {
    match chain.body.target {
        Target::Ns(ns) => Some(ns),
        Target::Bytes(_) => None,
    }
}

/// A search for the amount of work that takes a time.
struct Search {
    guess: f64,
    /// Amounts are whole multiples of this.
    grain: u64,
    /// `None` where the amount is given.
    target_ns: Option<f64>,
}

impl Search {
    fn fixed(units: f64, grain: u64) -> Search {
        Search { guess: units, grain, target_ns: None }
    }

    fn whole(&self, units: f64) -> u64 {
        let grains = (units / self.grain as f64).round().max(0.0);
        (grains as u64).saturating_mul(self.grain)
    }
}

fn body_search(chain: &Chain) -> Search {
    let blocks = f64::from(chain.shape.grid_blocks);
    let grain = match chain.body.kind {
        BodyKind::Fma => 32,
        BodyKind::Hbm | BodyKind::L2 => 16,
        BodyKind::Spin | BodyKind::None | BodyKind::Kernel => 1,
    };
    match (chain.body.kind, chain.body.target) {
        (_, Target::Bytes(bytes)) => Search::fixed(bytes as f64 / blocks, grain),
        (BodyKind::None, _) => Search::fixed(0.0, grain),
        (BodyKind::Spin, Target::Ns(ns)) => Search::fixed(ns, grain),
        (BodyKind::Fma, Target::Ns(ns)) => {
            Search { guess: fma_guess(chain, ns), grain, target_ns: Some(ns) }
        }
        (_, Target::Ns(ns)) => {
            Search { guess: ns * BYTES_A_NS / blocks, grain, target_ns: Some(ns) }
        }
    }
}

fn preamble_search(chain: &Chain) -> Search {
    let ns = chain.preamble.target_ns;
    match chain.preamble.kind {
        PreambleKind::Spin => Search::fixed(ns, 1),
        _ => Search { guess: fma_guess(chain, ns), grain: 32, target_ns: Some(ns) },
    }
}

fn fma_guess(chain: &Chain, ns: f64) -> f64 {
    ns * FMA_A_NS / f64::from(chain.shape.block_threads.div_ceil(128))
}

/// The amount that came nearest, and what was measured with it.
struct Settled {
    units: u64,
    measured_ns: Option<f64>,
    reduced: Reduced,
}

/// Measures until the amount takes its time. The first two measurements make a line, since fixed
/// costs (the first load, the block's sum) do not scale; its slope then serves to the end, for
/// that of two close measurements would be noise.
fn settle(
    search: &Search,
    mut run: impl FnMut(u64) -> Result<(Option<f64>, Reduced)>,
) -> Result<Settled> {
    let first = if search.target_ns == Some(0.0) { 0 } else { search.whole(search.guess) };
    let (measured_ns, reduced) = run(first)?;
    let mut best = Settled { units: first, measured_ns, reduced };
    let Some(target) = search.target_ns.filter(|&target| target > 0.0) else { return Ok(best) };
    let mut line: Option<(f64, f64)> = None;
    let mut now = (first as f64, measured_ns);
    for _ in 1..TRIES {
        let (units, Some(measured)) = now else { return Ok(best) };
        if (measured - target).abs() <= target * TOLERANCE {
            break;
        }
        let proportional = measured / units.max(search.grain as f64);
        let slope = match line {
            None => proportional,
            Some((_, slope)) => slope,
        };
        // One step leads at most eight times further: a first guess may be far off.
        let wanted = (units + (target - measured) / slope).clamp(units / 8.0, (units + 1.0) * 8.0);
        let next = search.whole(wanted);
        if next as f64 == units {
            break;
        }
        let (measured_ns, reduced) = run(next)?;
        if let Some(after) = measured_ns {
            let secant = (after - measured) / (next as f64 - units);
            let far = (next as f64 - units).abs() > units * 0.02;
            if line.is_none() && far && secant > proportional * 0.2 {
                line = Some((units, secant));
            }
            let error = |ns: Option<f64>| ns.map_or(f64::INFINITY, |ns| (ns - target).abs());
            if error(measured_ns) < error(best.measured_ns) {
                best = Settled { units: next, measured_ns, reduced };
            }
        }
        now = (next as f64, measured_ns);
    }
    Ok(best)
}
