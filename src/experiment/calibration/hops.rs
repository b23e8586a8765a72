//! What a hop is made of, by stamps: trigger → begin, last end → begin, last end → release.
//!
//! Bodies are long against every launch, so that the moments of a hop are wide apart and none hides
//! another: a trigger right after the sync comes microseconds before the end, and the secondary
//! waits in its sync for long.

use super::cell::{AFTER_SYNC, Cell, PLAIN, STAMPED, Series, chain, fma, spin};
use super::empty::marginal;
use super::moments::Moments;
use super::quantity::Quantity;
use super::{Bench, Tick};
use crate::chain::{Arm, Body, Submission, Trigger};
use crate::device::Clocks;
use crate::error::Result;
use crate::measure::LONG_FACTOR;

/// Nodes of a stamped chain: enough hops for a mean that is finer than the timer's step.
const NODES: u32 = 24;
/// Longer than any launch that was seen: 3.5 µs for 1,056 blocks in a stream.
const BODY_NS: u64 = 8_000;
/// Spin of the persistent chains, which are not stamped.
const PERSISTENT_BODY_NS: u64 = 2_000;
/// Nodes of the shorter persistent chain.
const PERSISTENT_NODES: u32 = 50;

/// The constants of a hop at one grid; `None` where this device could not run it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hop {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Last end to last begin, full dependency, ns.
    pub full_gap: Option<Quantity>,
    /// Last trigger to last begin, ns.
    pub launch: Option<Quantity>,
    /// Last end to last begin where the exit is the trigger, ns.
    pub exit_launch: Option<Quantity>,
    /// Begin to arrival at the sync without a preamble, ns.
    pub entry: Option<Quantity>,
    /// Last end to last release of syncs that waited, ns.
    pub release: Option<Quantity>,
}

/// The constants of the other arms at one grid.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Last begin to last begin over launch-completion edges, ns.
    pub completion_launch: Option<Quantity>,
    /// Last end to last release of acquires that polled, ns.
    pub flag: Option<Quantity>,
    /// What a hop of the persistent arm takes beside the spin, ns.
    pub persistent_hop: Option<Quantity>,
}

/// What the stamps say.
pub struct Found {
    /// Graph hops, a grid each.
    pub graph: Vec<Hop>,
    /// Stream hops.
    pub stream: Vec<Hop>,
    /// The same in a graph with bodies of fixed work, one block an SM.
    pub fixed_work: Hop,
    /// The other arms.
    pub bounds: Vec<Bound>,
    /// First to last begin of a node over full edges in a graph, a grid each, ns.
    pub begin_spread: Vec<(u32, Quantity)>,
}

const STAMPED_ARMS: usize = 3;

/// The three chains that give the constants of one grid and submission.
fn hop_cells(submission: Submission, blocks: u32, body: Body) -> [Cell; STAMPED_ARMS] {
    let (full, pdl) = match submission {
        Submission::Graph => (Arm::GraphFull, Arm::GraphPdl),
        Submission::Stream => (Arm::StreamFull, Arm::StreamPdl),
    };
    let chain = chain(NODES, blocks, body);
    [(full, AFTER_SYNC), (pdl, AFTER_SYNC), (pdl, Trigger::Implicit)].map(|(arm, trigger)| Cell {
        chain: chain.with_trigger(trigger),
        arm,
        reading: STAMPED,
    })
}

fn bound_cells(blocks: u32) -> [Cell; 4] {
    let stamped = |arm| Cell { chain: chain(NODES, blocks, spin(BODY_NS)), arm, reading: STAMPED };
    let persistent = |nodes| Cell {
        chain: chain(nodes, blocks, spin(PERSISTENT_BODY_NS)),
        arm: Arm::Persistent,
        reading: PLAIN,
    };
    [
        stamped(Arm::GraphCompletion),
        stamped(Arm::Flags),
        persistent(PERSISTENT_NODES),
        persistent(PERSISTENT_NODES * LONG_FACTOR),
    ]
}

/// Every chain: graph, stream and bounds over grids, then fixed work.
pub fn cells(grids: &[u32], sms: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    for submission in [Submission::Graph, Submission::Stream] {
        for &blocks in grids {
            cells.extend(hop_cells(submission, blocks, spin(BODY_NS)));
        }
    }
    grids.iter().for_each(|&blocks| cells.extend(bound_cells(blocks)));
    cells.extend(hop_cells(Submission::Graph, sms, fma(FIXED_UNITS)));
    cells
}

/// Multiply-adds a thread: about 8 µs with a warp a scheduler.
const FIXED_UNITS: u64 = 14_400;

#[derive(Clone, Copy)]
struct Row {
    moments: Moments,
    events_ns: f64,
}

/// Measures the hops.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let grids = &bench.effort.grids;
    let reduce = |_: &Cell, clocks: &Clocks| Row {
        moments: clocks.stamps.as_ref().map(Moments::of).unwrap_or_default(),
        events_ns: clocks.events_ns,
    };
    let all = bench.rounds(&cells(grids, bench.sms), 2, reduce, tick)?;
    let (graph, rest) = all.split_at(grids.len() * STAMPED_ARMS);
    let (stream, rest) = rest.split_at(grids.len() * STAMPED_ARMS);
    let (bounds, fixed) = rest.split_at(grids.len() * 4);
    let hops = |all: &[Series<Row>]| {
        let all = grids.iter().zip(all.chunks(STAMPED_ARMS));
        all.map(|(&blocks, all)| hop(bench, blocks, all)).collect()
    };
    Ok(Found {
        graph: hops(graph),
        stream: hops(stream),
        fixed_work: hop(bench, bench.sms, fixed),
        bounds: grids.iter().zip(bounds.chunks(4)).map(|(&n, all)| bound(bench, n, all)).collect(),
        begin_spread: grids
            .iter()
            .zip(graph.chunks(STAMPED_ARMS))
            .filter_map(|(&blocks, all)| {
                let spread = all[0].values(|row| row.moments.begin_spread);
                Some((blocks, bench.stamped(&spread)?))
            })
            .collect(),
    })
}

fn hop(bench: &Bench, blocks: u32, all: &[Series<Row>]) -> Hop {
    let median = |series: &Series<Row>, of: fn(&Moments) -> Option<f64>| {
        bench.stamped(&series.values(|row| of(&row.moments)))
    };
    let [full, synced, implicit] = all else { return Hop { blocks, ..Hop::default() } };
    Hop {
        blocks,
        full_gap: median(full, |m| m.end_to_begin),
        launch: median(synced, |m| m.trigger_to_begin),
        exit_launch: median(implicit, |m| m.end_to_begin),
        entry: median(full, |m| m.begin_to_arrive),
        release: median(synced, |m| m.end_to_release),
    }
}

fn bound(bench: &Bench, blocks: u32, all: &[Series<Row>]) -> Bound {
    let median = |series: &Series<Row>, of: fn(&Moments) -> Option<f64>| {
        bench.stamped(&series.values(|row| of(&row.moments)))
    };
    let half_step = bench.device.facts().timer_step_ns as f64 / 2.0;
    let [completion, flags, short, long] = all else {
        return Bound { blocks, ..Bound::default() };
    };
    let events = |series: &Series<Row>| Series {
        rounds: series.rounds.iter().map(|row| row.map(|row| row.events_ns)).collect(),
        proof: series.proof.clone(),
        skipped: series.skipped.clone(),
    };
    let slope: Vec<f64> = marginal(&events(short), &events(long)).into_iter().flatten().collect();
    let beside: Vec<f64> = slope.iter().map(|ns| ns - PERSISTENT_BODY_NS as f64).collect();
    Bound {
        blocks,
        // One hop a run: its phase in the timer's step may be the same in all.
        completion_launch: median(completion, |m| m.first_begin_to_begin)
            .map(|launch| launch.widened(half_step)),
        flag: median(flags, |m| m.end_to_release),
        persistent_hop: Quantity::median(&beside),
    }
}
