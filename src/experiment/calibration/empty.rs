//! The empty hop: chains without work in every arm, over grids. What is left is launching.

use super::cell::{AFTER_SYNC, Cell, PLAIN, Series, chain, no_body};
use super::quantity::{Quantity, paired};
use super::{Bench, Tick};
use crate::chain::{Arm, Trigger};
use crate::error::Result;
use crate::measure::LONG_FACTOR;
use crate::profile::{Difference, EmptyHop};

/// Nodes of the short chain; the long one has [`LONG_FACTOR`] times as many.
const NODES: u32 = 50;

/// Arms and triggers that are run empty, baselines first.
const KINDS: [(Arm, Trigger); 13] = [
    (Arm::Graph, Trigger::Implicit),
    (Arm::GraphAa, Trigger::Implicit),
    (Arm::GraphFull, AFTER_SYNC),
    (Arm::GraphPdl, Trigger::Implicit),
    (Arm::GraphPdl, AFTER_SYNC),
    (Arm::GraphPdl, Trigger::AtEntry),
    (Arm::GraphCompletion, Trigger::Implicit),
    (Arm::Flags, Trigger::AtEntry),
    (Arm::Persistent, Trigger::Implicit),
    (Arm::Stream, Trigger::Implicit),
    (Arm::StreamFull, AFTER_SYNC),
    (Arm::StreamPdl, AFTER_SYNC),
    (Arm::StreamPdl, Trigger::AtEntry),
];

/// What the empty chains say.
pub struct Found {
    /// One an arm, trigger and grid that could be run.
    pub hops: Vec<EmptyHop>,
    /// Cost of the instructions of sync and trigger over full edges at one block an SM, ns a hop.
    pub code_cost: Option<Quantity>,
}

/// Every chain: kinds × grids × both lengths.
pub fn cells(grids: &[u32]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (arm, trigger) in KINDS {
        for &blocks in grids {
            for nodes in [NODES, NODES * LONG_FACTOR] {
                let chain = chain(nodes, blocks, no_body()).with_trigger(trigger);
                cells.push(Cell { chain, arm, reading: PLAIN });
            }
        }
    }
    cells
}

/// Measures the empty hops.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let grids = &bench.effort.grids;
    let all = bench.rounds(&cells(grids), 1, |_, clocks| clocks.events_ns, tick)?;
    let slopes: Vec<Vec<Option<f64>>> =
        all.chunks(2).map(|pair| marginal(&pair[0], &pair[1])).collect();
    let at = |kind: usize, grid: usize| &slopes[kind * grids.len() + grid];
    let mut hops = Vec::new();
    for (kind, &(arm, trigger)) in KINDS.iter().enumerate() {
        for (grid, &blocks) in grids.iter().enumerate() {
            let values: Vec<f64> = at(kind, grid).iter().flatten().copied().collect();
            let Some(hop) = Quantity::median(&values) else { continue };
            let baseline = arm.baseline().and_then(|b| KINDS.iter().position(|k| k.0 == b));
            let saved = baseline.and_then(|baseline| {
                Quantity::median(&paired(at(baseline, grid), at(kind, grid), |b, a| b - a))
            });
            hops.push(EmptyHop {
                arm,
                trigger: if arm.sweeps_trigger() { Some(trigger) } else { arm.fixed_trigger() },
                blocks,
                hop_ns: hop.constant(EXPERIMENT),
                saved: saved.map(Difference::from),
            });
        }
    }
    let one_an_sm = grids.iter().position(|&blocks| blocks == bench.sms);
    let code_cost = one_an_sm.and_then(|grid| {
        let kind = |arm| KINDS.iter().position(|kind| kind.0 == arm);
        let (full, native) = (kind(Arm::GraphFull)?, kind(Arm::Graph)?);
        Quantity::median(&paired(at(full, grid), at(native, grid), |full, native| full - native))
    });
    Ok(Found { hops, code_cost })
}

/// How the numbers came about.
const EXPERIMENT: &str = "empty: chains without work, slope between 50 and 200 nodes";

/// The slope between both lengths, round by round, ns a hop.
pub fn marginal(short: &Series<f64>, long: &Series<f64>) -> Vec<Option<f64>> {
    let added = f64::from(NODES * (LONG_FACTOR - 1));
    let pairs = short.rounds.iter().zip(&long.rounds);
    pairs.map(|(&short, &long)| Some((long? - short?) / added)).collect()
}
