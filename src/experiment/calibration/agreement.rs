//! Three clocks over the same runs: events, stamps and the host's wall clock, at several lengths.
//!
//! Of one run, the events read longer than the stamps by what lies between event and first begin,
//! and between last end and event; the wall clock reads longer than the events by what the gate's
//! opening and the last event take to get there. Both differences belong to the ends of a chain, so
//! they must not grow with its length: what grows is a clock that runs at another rate, or a cost
//! that nobody knows of.

use super::cell::{AFTER_SYNC, Cell, STAMPED, Series, chain, spin};
use super::instruments::Found as Costs;
use super::moments::Moments;
use super::quantity::Quantity;
use super::{Bench, Tick};
use crate::chain::Arm;
use crate::device::Clocks;
use crate::error::Result;
use crate::profile::{Agreement, Difference};

/// Nodes of the chains; the stream's queue holds the longest.
pub const NODES: [u32; 4] = [10, 50, 200, 800];
/// Spin of every node, ns.
const BODY_NS: u64 = 4_000;
/// Rates of two clocks that differ by less are the same rate: crystals are that good.
const RATE: f64 = 200e-6;
/// The last end to the event, beyond the empty pair: completion and flush of the last node, and the
/// begin of the first one, ns. Launches of an H200 take 1.0 to 3.5 µs, more from a graph that starts.
const ENDS_NS: f64 = 10_000.0;

/// What the clocks say.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// One a length.
    pub rows: Vec<Agreement>,
    /// Disagreements beyond the known costs.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy)]
struct Row {
    events: f64,
    span: f64,
    wall: f64,
}

/// The chains, over full edges: nothing overlaps, so that spans add up.
pub fn cells(sms: u32) -> Vec<Cell> {
    let cell = |&nodes| {
        let chain = chain(nodes, sms, spin(BODY_NS)).with_trigger(AFTER_SYNC);
        Cell { chain, arm: Arm::GraphFull, reading: STAMPED }
    };
    NODES.iter().map(cell).collect()
}

/// Measures the agreement; `costs` are those of the instruments.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, costs: &Costs, tick: &mut Tick) -> Result<Found> {
    let reduce = |_: &Cell, clocks: &Clocks| Row {
        events: clocks.events_ns,
        span: clocks.stamps.as_ref().map_or(f64::NAN, |stamps| Moments::of(stamps).span),
        wall: clocks.wall_ns.unwrap_or(f64::NAN),
    };
    let all = bench.rounds(&cells(bench.sms), 7, reduce, tick)?;
    let rows: Vec<Agreement> =
        NODES.iter().zip(&all).filter_map(|(&nodes, series)| row(nodes, series)).collect();
    let facts = bench.device.facts();
    let timer_ns = (facts.timer_step_ns + facts.timer_skew_ns.unwrap_or(0)) as f64;
    let warnings = judge(&rows, costs, timer_ns);
    Ok(Found { rows, warnings })
}

fn row(nodes: u32, series: &Series<Row>) -> Option<Agreement> {
    let median = |of: fn(Row) -> f64| Quantity::median(&series.values(|row| Some(of(row))));
    let events = median(|row| row.events)?;
    let between = |a: fn(Row) -> f64, b: fn(Row) -> f64| {
        Quantity::median(&series.values(|row| Some(a(row) - b(row)))).map(Difference::from)
    };
    Some(Agreement {
        nodes,
        events_ns: events.value,
        stamps_ns: median(|row| row.span).map(|span| span.value),
        wall_ns: median(|row| row.wall).map(|wall| wall.value),
        events_beyond_stamps: between(|row| row.events, |row| row.span),
        wall_beyond_events: between(|row| row.wall, |row| row.events),
    })
}

/// What does not fit the costs that are known.
fn judge(rows: &[Agreement], costs: &Costs, timer_ns: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    let pair_ns = costs.event_pair.map_or(0.0, |pair| pair.interval.hi);
    let around_ns = costs.wall_around.map(|around| around.interval);
    for row in rows {
        if let Some(beyond) = row.events_beyond_stamps
            && (beyond.hi_ns < -timer_ns || beyond.lo_ns > pair_ns + ENDS_NS)
        {
            warnings.push(format!(
                "over {} nodes events read {:.0} ns more than stamps; between {:.0} and {:.0} ns \
                 are known costs (timer, event pair, both ends of a chain)",
                row.nodes,
                beyond.median_ns,
                -timer_ns,
                pair_ns + ENDS_NS
            ));
        }
        // Seeing an event takes the host a poll of the driver: as long as it did for the pair.
        if let (Some(beyond), Some(around)) = (row.wall_beyond_events, around_ns) {
            let slack_ns = 2.0 * around.hi.max(1_000.0) + RATE * row.events_ns;
            if beyond.hi_ns < around.lo - slack_ns || beyond.lo_ns > around.hi + slack_ns {
                warnings.push(format!(
                    "over {} nodes the host's clock reads {:.0} ns more than events, around an \
                     empty pair of events {:.0} to {:.0} ns",
                    row.nodes, beyond.median_ns, around.lo, around.hi
                ));
            }
        }
    }
    warnings.extend(grows("events − stamps", rows, timer_ns, |row| row.events_beyond_stamps));
    warnings.extend(grows("wall − events", rows, timer_ns, |row| row.wall_beyond_events));
    warnings
}

/// A difference that grows with the length of the chain by more than rates of clocks explain.
fn grows(
    what: &str,
    rows: &[Agreement],
    timer_ns: f64,
    of: impl Fn(&Agreement) -> Option<Difference>,
) -> Option<String> {
    let (first, last) = (rows.first()?, rows.last()?);
    let (short, long) = (of(first)?, of(last)?);
    let length_ns = last.events_ns - first.events_ns;
    let most_ns = RATE * length_ns + timer_ns;
    // The intervals' ends that are nearest to each other.
    let apart_ns = (long.lo_ns - short.hi_ns).max(short.lo_ns - long.hi_ns);
    (apart_ns > most_ns).then(|| {
        format!(
            "{what} is {:.0} ns over {} nodes and {:.0} ns over {}: it grows with the chain by more \
             than {most_ns:.0} ns, so a clock runs at another rate or a cost is not known",
            short.median_ns, first.nodes, long.median_ns, last.nodes
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn about(median_ns: f64) -> Option<Difference> {
        Some(Difference { median_ns, lo_ns: median_ns - 20.0, hi_ns: median_ns + 20.0 })
    }

    /// Chains of 10 and 800 nodes of 5 µs, with what events read beyond stamps and wall beyond
    /// events.
    fn rows(stamps: [f64; 2], wall: [f64; 2]) -> Vec<Agreement> {
        let row = |at: usize, nodes: u32| Agreement {
            nodes,
            events_ns: f64::from(nodes) * 5_000.0,
            stamps_ns: None,
            wall_ns: None,
            events_beyond_stamps: about(stamps[at]),
            wall_beyond_events: about(wall[at]),
        };
        vec![row(0, 10), row(1, 800)]
    }

    #[test]
    fn a_disagreement_beyond_the_known_costs_is_a_warning() {
        let quantity = |value, lo, hi| Some(Quantity { value, interval: Interval { lo, hi } });
        let costs = Costs {
            event_pair: quantity(1_300.0, 1_290.0, 1_310.0),
            wall_around: quantity(9_000.0, 8_500.0, 9_500.0),
            ..Costs::default()
        };
        let both = "grows with the chain";
        let cases: [([f64; 2], [f64; 2], &[&str]); 7] = [
            ([3_000.0, 3_100.0], [9_000.0, 9_300.0], &[]),
            // 790 nodes of 5 µs: a rate of 200 ppm hides 790 ns, the timer 384 ns.
            ([3_000.0, 4_100.0], [9_000.0, 9_000.0], &[]),
            ([3_000.0, 4_400.0], [9_000.0, 9_000.0], &["events − stamps is 3000 ns"]),
            ([3_000.0, 1_600.0], [9_000.0, 9_000.0], &[both]),
            ([3_000.0, 3_000.0], [9_000.0, 10_400.0], &["wall − events is 9000 ns"]),
            ([-500.0, -500.0], [9_000.0, 9_000.0], &["over 10 nodes", "over 800 nodes"]),
            ([3_000.0, 3_000.0], [40_000.0, 40_000.0], &["host's clock", "host's clock"]),
        ];
        for (stamps, wall, expected) in cases {
            let found = judge(&rows(stamps, wall), &costs, 384.0);
            assert_eq!(found.len(), expected.len(), "{stamps:?} {wall:?}: {found:#?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{found}");
            }
        }
    }
}
