//! Host time of a launch, and whether the programmatic attribute changes it: outside graphs, inside
//! them, while the device waits for the host and while it is behind.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::quantity::{Quantity, paired};
use super::{Bench, Tick};
use crate::chain::{Arm, Submission};
use crate::device::{Batch, HostBatches, Regime};
use crate::error::{Kind, Result};
use crate::interrupt;
use crate::profile::{AttributeCost, Difference, HostLaunch};

/// Nodes of a graph, and of the longer one that tells what a node adds.
pub const GRAPH_NODES: (u32, u32) = (50, 200);

/// Arms that are launched, with the nodes of a graph: the control twice, for the A/A difference.
const KINDS: [(Arm, u32); 8] = [
    (Arm::Stream, GRAPH_NODES.0),
    (Arm::StreamFull, GRAPH_NODES.0),
    (Arm::StreamFull, GRAPH_NODES.0),
    (Arm::StreamPdl, GRAPH_NODES.0),
    (Arm::GraphFull, GRAPH_NODES.0),
    (Arm::GraphFull, GRAPH_NODES.0),
    (Arm::GraphPdl, GRAPH_NODES.0),
    (Arm::GraphFull, GRAPH_NODES.1),
];
/// Control, control again, attribute on: places in [`KINDS`].
const COMPARED: [[usize; 3]; 2] = [[1, 2, 3], [4, 5, 6]];
/// The control of graphs, and the longer graph.
const NODE_SLOPE: [usize; 2] = [4, 7];
/// Host time that a round of one kind takes, seconds: batches of a few hundred launches, and what
/// the device needs to catch up.
const BATCH_S: f64 = 0.003;
/// Preparing a kind in a regime, seconds.
const PREPARE_S: f64 = 0.03;

/// What the host pays.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// One an arm and regime.
    pub launches: Vec<HostLaunch>,
    /// What the attribute changes, a submission and regime each.
    pub attribute: Vec<AttributeCost>,
    /// What a node adds to a graph launch while the device waits, ns.
    pub graph_node: Option<Quantity>,
}

/// Seconds that so many rounds are expected to take.
pub fn expected_s(rounds: u32) -> f64 {
    let kinds = (KINDS.len() * Regime::ALL.len()) as f64;
    kinds * (PREPARE_S + f64::from(rounds) * BATCH_S)
}

/// One kind in one regime.
struct Place {
    kind: usize,
    regime: Regime,
    calls: u32,
    nodes_a_call: u32,
    rounds: Vec<Option<Batch>>,
}

impl Place {
    /// Host time of one call, round by round, ns.
    fn call_ns(&self) -> Vec<Option<f64>> {
        let calls = f64::from(self.calls);
        self.rounds.iter().map(|batch| batch.map(|batch| batch.calls_ns / calls)).collect()
    }
}

/// Measures host time; nothing on a device that has none.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let places = batches(bench, tick)?;
    let find = |kind: usize, regime: Regime| {
        places.iter().find(|place| place.kind == kind && place.regime == regime)
    };
    let mut found = Found::default();
    for place in places.iter().filter(|place| !is_again(place.kind)) {
        found.launches.extend(launch(place));
    }
    for regime in Regime::ALL {
        for [control, again, on] in COMPARED {
            let places = (find(control, regime), find(again, regime), find(on, regime));
            if let (Some(control), Some(again), Some(on)) = places {
                found.attribute.extend(attribute(control, again, on));
            }
        }
    }
    let [short, long] = NODE_SLOPE.map(|kind| find(kind, Regime::HostBound));
    found.graph_node = short.zip(long).and_then(|(short, long)| {
        let added = f64::from(long.nodes_a_call - short.nodes_a_call);
        Quantity::median(&paired(&long.call_ns(), &short.call_ns(), |l, s| (l - s) / added))
    });
    Ok(found)
}

/// Whether a kind is the control a second time.
fn is_again(kind: usize) -> bool {
    COMPARED.iter().any(|compared| compared[1] == kind)
}

/// Every kind in every regime once a round, shuffled.
fn batches(bench: &Bench, tick: &mut Tick) -> Result<Vec<Place>> {
    let Some(instruments) = bench.device.instruments() else { return Ok(Vec::new()) };
    let mut ready: Vec<Box<dyn HostBatches + '_>> = Vec::new();
    let mut places = Vec::new();
    for regime in Regime::ALL {
        for (kind, &(arm, nodes)) in KINDS.iter().enumerate() {
            interrupt::check("prepare the chain")?;
            match instruments.host(arm, regime, nodes) {
                Ok(batches) => {
                    let (calls, nodes_a_call) = (batches.calls(), batches.nodes_a_call());
                    places.push(Place { kind, regime, calls, nodes_a_call, rounds: Vec::new() });
                    ready.push(batches);
                }
                Err(error) if error.kind() == Kind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
    }
    let rounds = bench.effort.host_rounds;
    let mut order: Vec<usize> = (0..places.len()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(bench.effort.seed ^ 0x0057);
    // Caches and clocks of the host settle in the first rounds.
    let warm_up = rounds / 10 + 1;
    for round in 0..warm_up + rounds {
        tick.part(f64::from(round) / f64::from(warm_up + rounds));
        order.shuffle(&mut rng);
        for &index in &order {
            interrupt::check("go on measuring")?;
            let batch = ready[index].batch()?;
            if round >= warm_up {
                places[index].rounds.push(batch);
            }
        }
    }
    Ok(places)
}

fn launch(place: &Place) -> Option<HostLaunch> {
    let (arm, _) = KINDS[place.kind];
    let calls: Vec<f64> = place.call_ns().into_iter().flatten().collect();
    let nodes = f64::from(place.calls * place.nodes_a_call);
    let drained: Vec<f64> =
        place.rounds.iter().flatten().map(|batch| batch.drained_ns / nodes).collect();
    let experiment = format!("host: batches of {} calls, {}", place.calls, place.regime.name());
    Some(HostLaunch {
        arm,
        regime: place.regime.name().to_owned(),
        nodes_a_call: place.nodes_a_call,
        call_ns: Quantity::median(&calls)?.constant(&experiment),
        node_ns: Quantity::median(&drained)?.constant(&format!("{experiment}, until drained")),
    })
}

/// What the attribute changes, and what the control changes against itself.
fn attribute(control: &Place, again: &Place, on: &Place) -> Option<AttributeCost> {
    let difference =
        |a: &Place, b: &Place| Quantity::median(&paired(&a.call_ns(), &b.call_ns(), |a, b| a - b));
    let (arm, _) = KINDS[on.kind];
    let cost = difference(on, control)?;
    let floor = difference(again, control)?;
    // Nothing that the control shows against itself is a cost.
    let at_most_ns = cost.interval.reach().max(floor.interval.reach());
    let beyond = |end: f64| end.abs() > floor.interval.reach();
    let finding = match (cost.interval.lo, cost.interval.hi) {
        (lo, _) if lo > 0.0 && beyond(lo) => "costs",
        (_, hi) if hi < 0.0 && beyond(hi) => "saves",
        _ => "none-seen",
    };
    Some(AttributeCost {
        submission: arm.submission(),
        regime: on.regime.name().to_owned(),
        nodes_a_call: on.nodes_a_call,
        cost: Difference::from(cost),
        again: Difference::from(floor),
        at_most_ns,
        finding: finding.to_owned(),
    })
}

/// Of a launch arm and regime, the host time of a call.
pub fn call_of(found: &Found, arm: Arm, regime: Regime) -> Option<&HostLaunch> {
    let nodes = match arm.submission() {
        Submission::Stream => 1,
        Submission::Graph => GRAPH_NODES.0,
    };
    found.launches.iter().find(|launch| {
        launch.arm == arm && launch.regime == regime.name() && launch.nodes_a_call == nodes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of ten calls that take `call_ns` each, with a scatter that differs by `salt`.
    fn place(kind: usize, call_ns: f64, salt: u32) -> Place {
        let batch = |round: u32| {
            let scatter = f64::from((round * 37 + salt * 11) % 41) - 20.0;
            let calls_ns = 10.0 * (call_ns + scatter);
            Some(Batch { calls_ns, drained_ns: 2.0 * calls_ns })
        };
        let rounds = (0..60).map(batch).collect();
        Place { kind, regime: Regime::Held, calls: 10, nodes_a_call: 1, rounds }
    }

    #[test]
    fn a_cost_must_exceed_what_the_control_shows_against_itself() {
        // (again, with the attribute) against a control of 4,000 ns.
        let cases = [
            (4_000.0, 4_000.0, "none-seen"),
            (4_000.0, 4_100.0, "costs"),
            (4_000.0, 3_900.0, "saves"),
            (4_100.0, 4_100.0, "none-seen"),
            (3_850.0, 4_100.0, "none-seen"),
        ];
        for (again, on, expected) in cases {
            let [control, again, on] = [place(1, 4_000.0, 0), place(2, again, 1), place(3, on, 2)];
            let found = attribute(&control, &again, &on).unwrap();
            assert_eq!(found.finding, expected, "{found:?}");
            assert!(found.at_most_ns >= found.cost.median_ns.abs());
            assert!(found.at_most_ns >= found.again.median_ns.abs());
        }
    }

    #[test]
    fn spoiled_batches_are_left_out() {
        let mut spoiled = place(1, 4_000.0, 0);
        spoiled.rounds.iter_mut().step_by(2).for_each(|batch| *batch = None);
        let found = launch(&spoiled).unwrap();
        assert!((found.call_ns.value - 4_000.0).abs() < 20.0, "{found:?}");
        assert!((found.node_ns.value - 8_000.0).abs() < 40.0, "{found:?}");
        spoiled.rounds = vec![None; 60];
        assert!(launch(&spoiled).is_none());
    }
}
