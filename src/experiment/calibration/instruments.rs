//! What measuring itself costs: events, gate, stamps, and the global timer.

use super::cell::{AFTER_SYNC, Cell, PLAIN, STAMPED, chain, no_body};
use super::empty::marginal;
use super::quantity::{Quantity, paired};
use super::{Bench, Tick};
use crate::chain::Arm;
use crate::device::{Reading, TimerReading};
use crate::error::Result;
use crate::interrupt;
use crate::measure::LONG_FACTOR;

const NODES: u32 = 50;
/// Not behind the gate: the host's launch is inside.
const UNGATED: Reading = Reading { gated: false, stamped: false };
/// Measurements of the global timer.
const TIMER_READINGS: u32 = 5;

/// The cost of the instruments.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Between the events of an empty pair, ns.
    pub event_pair: Option<Quantity>,
    /// Host wall time of the empty pair beyond that: the opening of the gate reaches the device,
    /// the second event reaches the host, ns.
    pub wall_around: Option<Quantity>,
    /// What stamping adds to a node over full edges, ns; may be negative.
    pub stamp: Option<Quantity>,
    /// The same over programmatic edges.
    pub stamp_programmatic: Option<Quantity>,
    /// What the gate adds to a hop, ns; may be negative.
    pub gate_hop: Option<Quantity>,
    /// What an ungated graph chain reads longer: the host's launch is inside, ns.
    pub ungated: Option<Quantity>,
    /// Measurements of the timer.
    pub timer: Vec<TimerReading>,
}

/// Full and programmatic chains without work, with and without stamps, and full ones without the
/// gate; each at two lengths.
pub fn cells(sms: u32) -> Vec<Cell> {
    let kinds = [
        (Arm::GraphFull, PLAIN),
        (Arm::GraphFull, STAMPED),
        (Arm::GraphPdl, PLAIN),
        (Arm::GraphPdl, STAMPED),
        (Arm::GraphFull, UNGATED),
    ];
    let lengths = [NODES, NODES * LONG_FACTOR];
    let cell = |(arm, reading), nodes| {
        let chain = chain(nodes, sms, no_body()).with_trigger(AFTER_SYNC);
        Cell { chain, arm, reading }
    };
    kinds.into_iter().flat_map(|kind| lengths.map(|nodes| cell(kind, nodes))).collect()
}

/// Measures the instruments.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let mut found = Found::default();
    event_pair(bench, &mut found)?;
    if let Some(instruments) = bench.device.instruments() {
        for _ in 0..TIMER_READINGS {
            found.timer.push(instruments.timer()?);
        }
    }
    let all = bench.rounds(&cells(bench.sms), 6, |_, clocks| clocks.events_ns, tick)?;
    let slopes: Vec<_> = all.chunks(2).map(|pair| marginal(&pair[0], &pair[1])).collect();
    let added = |of: usize, to: usize| {
        Quantity::median(&paired(&slopes[of], &slopes[to], |of, to| of - to))
    };
    found.stamp = added(1, 0);
    found.stamp_programmatic = added(3, 2);
    if bench.device.facts().no_gate.is_none() {
        found.gate_hop = added(0, 4);
        found.ungated =
            Quantity::median(&paired(&all[8].rounds, &all[0].rounds, |bare, gated| bare - gated));
    }
    Ok(found)
}

fn event_pair(bench: &Bench, found: &mut Found) -> Result<()> {
    let Some(instruments) = bench.device.instruments() else { return Ok(()) };
    let mut pair = instruments.event_pair()?;
    let (mut events, mut around) = (Vec::new(), Vec::new());
    pair.time()?;
    for _ in 0..2 * bench.effort.rounds {
        interrupt::check("go on measuring")?;
        let clocks = pair.time()?;
        if clocks.excluded() {
            continue;
        }
        events.push(clocks.events_ns);
        around.extend(clocks.wall_ns.map(|wall| wall - clocks.events_ns));
    }
    found.event_pair = Quantity::median(&events);
    found.wall_around = Quantity::median(&around);
    Ok(())
}
