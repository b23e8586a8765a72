//! How blocks get onto SMs: the slot of a block that ended, and how far nodes run ahead.

use super::cell::{Cell, STAMPED, chain, spin};
use super::moments::{Moments, refill_ns};
use super::quantity::Quantity;
use super::{Bench, Tick};
use crate::chain::{Arm, Chain, Trigger};
use crate::error::{Kind, Result};
use crate::stamps::Stamps;

/// Waves of the grid whose slots are refilled.
const WAVES: u32 = 2;
/// Nodes of those chains, and their spin.
const REFILL: (u32, u64) = (6, 4_000);
/// Nodes of the chain that may run ahead, and their spin: long against all launches together.
const AHEAD: (u32, u64) = (24, 30_000);
/// Threads of a block of which few fit an SM, so that waves are short.
const REFILL_THREADS: u32 = 512;

/// The constants of placement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// End of a block to the begin of the next in its slot, ns.
    pub refill: Option<Quantity>,
    /// Most nodes that had begun when an earlier one ended.
    pub run_ahead: Option<Quantity>,
}

/// A grid of `WAVES` waves where an SM holds `slots` of its blocks, and a chain of one block.
pub fn cells(sms: u32, slots: u32) -> [Cell; 2] {
    let mut waves = chain(REFILL.0, WAVES * slots * sms, spin(REFILL.1));
    waves.shape.block_threads = REFILL_THREADS;
    let ahead = chain(AHEAD.0, 1, spin(AHEAD.1)).with_trigger(Trigger::AtEntry);
    [
        Cell { chain: waves, arm: Arm::GraphFull, reading: STAMPED },
        Cell { chain: ahead, arm: Arm::GraphPdl, reading: STAMPED },
    ]
}

/// Measures placement.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let Some(slots) = slots(bench)? else { return Ok(Found::default()) };
    let reduce = |cell: &Cell, clocks: &crate::device::Clocks| match &clocks.stamps {
        None => None,
        Some(stamps) if cell.arm == Arm::GraphFull => refill(stamps, slots as usize),
        Some(stamps) => Some(Moments::of(stamps).ahead),
    };
    let all = bench.rounds(&cells(bench.sms, slots), 4, reduce, tick)?;
    let [refills, ahead] = &all[..] else { return Ok(Found::default()) };
    Ok(Found {
        refill: bench.stamped(&refills.values(|ns| ns)),
        run_ahead: Quantity::median(&ahead.values(|nodes| nodes)),
    })
}

/// Mean over the nodes of one run.
fn refill(stamps: &Stamps, slots: usize) -> Option<f64> {
    let nodes: Vec<f64> =
        (1..stamps.nodes()).filter_map(|node| refill_ns(stamps.node(node), slots)).collect();
    let count = nodes.len() as f64;
    (count > 0.0).then(|| nodes.iter().sum::<f64>() / count)
}

/// Blocks of the refilled shape that an SM holds; `None` where the device cannot run it or does not
/// tell.
fn slots(bench: &Bench) -> Result<Option<u32>> {
    let [Cell { chain, arm, .. }, _] = cells(bench.sms, 1);
    match bench.device.prepare(&Chain { nodes: 2, ..chain }, arm) {
        Ok(prepared) => Ok(prepared.proof().blocks_per_sm),
        Err(error) if error.kind() == Kind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}
