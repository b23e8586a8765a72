//! How much fixed work takes the time that was asked for.

use crate::chain::{Arm, BodyKind, Chain, Mode, PreambleKind, Target, Trigger};
use crate::device::Device;
use crate::error::Result;
use crate::stamps::Reduced;

/// Nearer to the target than this is near enough: half a step of the timer at 4 µs.
const TOLERANCE: f64 = 0.004;
const ITERATIONS: u32 = 6;
const REPETITIONS: u32 = 5;
/// Nodes of the calibration chain: enough for a median, few for long bodies.
const NODES: (u32, u32) = (4, 16);
const CHAIN_NS: f64 = 200_000.0;
/// First guesses; the second measurement corrects them.
const FMA_A_NS: f64 = 8.0;
const BYTES_A_NS: f64 = 4000.0;

/// A chain whose work has amounts, and the times these take over full dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {
    /// The chain, with `units` set.
    pub chain: Chain,
    /// Body, by stamps, ns.
    pub body_ns: Option<f64>,
    /// Preamble, by stamps, ns.
    pub preamble_ns: Option<f64>,
}

/// Sets the amounts of work of `chain` so that stamps over full dependencies read what was asked.
/// A spin's amount is its deadline, and a body given in bytes has its amount; both are measured.
///
/// # Errors
/// Those of preparing and running the chain.
pub fn calibrate(device: &dyn Device, chain: &Chain) -> Result<Calibrated> {
    let mut body = Amount::body(chain);
    let mut preamble = Amount::preamble(chain);
    let mut trial = *chain;
    let mut measured = Reduced::default();
    for _ in 0..ITERATIONS {
        trial.body.units = body.units;
        trial.preamble.units = preamble.units;
        if prefetches(chain) {
            trial.preamble.units = 0;
        }
        measured = measure(device, &trial)?;
        let settled = body.improve(measured.body_ns) & preamble.improve(measured.preamble_ns);
        if settled {
            break;
        }
    }
    if prefetches(chain) {
        trial.preamble.units = prefetch_bytes(&trial, measured.body_ns);
        let with_prefetch = measure(device, &trial)?;
        measured.preamble_ns = with_prefetch.preamble_ns;
    }
    Ok(Calibrated {
        chain: trial,
        body_ns: measured.body_ns,
        preamble_ns: measured.preamble_ns,
    })
}

fn prefetches(chain: &Chain) -> bool {
    matches!(chain.preamble.kind, PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem)
}

/// What the body streams in the preamble's time: a preamble of 2 µs before a body of 4 µs fetches
/// half of it.
fn prefetch_bytes(chain: &Chain, body_ns: Option<f64>) -> u64 {
    let Some(body_ns) = body_ns.filter(|&ns| ns > 0.0) else { return 0 };
    let part = (chain.preamble.target_ns / body_ns).min(1.0);
    (chain.body.units as f64 * part / 16.0) as u64 * 16
}

fn measure(device: &dyn Device, chain: &Chain) -> Result<Reduced> {
    let nodes = chain.preamble.target_ns + target_ns(chain).unwrap_or(0.0) + 1.0;
    let nodes = ((CHAIN_NS / nodes) as u32).clamp(NODES.0, NODES.1);
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

/// One amount of work on its way to its target.
struct Amount {
    units: u64,
    /// Amounts are whole multiples of this.
    grain: u64,
    /// `None` where the amount is given.
    target_ns: Option<f64>,
    /// Amount and time of the measurement before.
    before: Option<(f64, f64)>,
}

impl Amount {
    fn body(chain: &Chain) -> Amount {
        let threads = f64::from(chain.shape.block_threads.div_ceil(128));
        let blocks = f64::from(chain.shape.grid_blocks);
        let (target, grain) = (target_ns(chain), grain(chain.body.kind));
        let guess = match (chain.body.kind, chain.body.target) {
            (_, Target::Bytes(bytes)) => bytes as f64 / blocks,
            (BodyKind::Fma, Target::Ns(ns)) => ns * FMA_A_NS / threads,
            (BodyKind::Hbm | BodyKind::L2, Target::Ns(ns)) => ns * BYTES_A_NS / blocks,
            (BodyKind::Spin, Target::Ns(ns)) => ns,
        };
        let fixed = chain.body.kind == BodyKind::Spin || target.is_none();
        Amount::new(guess, grain, target.filter(|_| !fixed))
    }

    fn preamble(chain: &Chain) -> Amount {
        let threads = f64::from(chain.shape.block_threads.div_ceil(128));
        let ns = chain.preamble.target_ns;
        match chain.preamble.kind {
            PreambleKind::Alu => Amount::new(ns * FMA_A_NS / threads, grain(BodyKind::Fma), Some(ns)),
            PreambleKind::Spin => Amount::new(ns, 1, None),
            _ => Amount::new(0.0, 1, None),
        }
    }

    fn new(guess: f64, grain: u64, target_ns: Option<f64>) -> Amount {
        let mut amount = Amount { units: 0, grain, target_ns, before: None };
        amount.set(if target_ns == Some(0.0) { 0.0 } else { guess });
        amount
    }

    fn set(&mut self, units: f64) {
        let grains = (units / self.grain as f64).round().max(0.0);
        self.units = (grains as u64).saturating_mul(self.grain);
    }

    /// Takes a measurement; whether the amount may stay as it is. Two measurements make a line:
    /// fixed costs (the first load, the block's sum) are not scaled.
    fn improve(&mut self, measured_ns: Option<f64>) -> bool {
        let (Some(target), Some(measured)) = (self.target_ns, measured_ns) else { return true };
        let units = self.units as f64;
        if target == 0.0 || (measured - target).abs() <= target * TOLERANCE {
            return true;
        }
        let slope = match self.before {
            Some((u, t)) if u != units && (measured - t) / (units - u) > 0.0 => {
                (measured - t) / (units - u)
            }
            _ => measured / units.max(self.grain as f64),
        };
        self.before = Some((units, measured));
        let old = self.units;
        self.set(units + (target - measured) / slope);
        // The fixed costs alone may exceed the target.
        self.units == old
    }
}

/// Multiply-adds come in steps of the kernel's loop, bytes in vectors.
fn grain(kind: BodyKind) -> u64 {
    match kind {
        BodyKind::Fma => 32,
        BodyKind::Hbm | BodyKind::L2 => 16,
        BodyKind::Spin => 1,
    }
}

