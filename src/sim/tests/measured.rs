//! Both models against what the recorded runs of an H200 say (marginal periods of
//! `plots/spin-h200` and `plots/empty-hop-h200`, µs).

use super::*;

/// Largest relative error of the models on chains that calibration is made of.
const MOST: f64 = 0.13;

fn check(what: &str, chain: &Chain, arm: Arm, us: f64) {
    for model in [Model::Closed, Model::Events] {
        let device = SimDevice::new(BUILT_IN.clone(), model, 1);
        let found = period_on(&device, chain, arm) / 1e3;
        let error = found / us - 1.0;
        assert!(error.abs() < MOST, "{model:?} {what} {arm}: {found:.3} for {us}");
    }
}

#[test]
fn spin_chains_in_a_graph_are_as_measured() {
    let spin = chain((PreambleKind::Spin, 2000), (BodyKind::Spin, 3880));
    check("native", &spin, Arm::Graph, 7.13);
    check("persistent", &spin, Arm::Persistent, 6.82);
    check("launch completion", &spin, Arm::GraphCompletion, 4.67);
    check("flags", &spin, Arm::Flags, 4.95);
    for (trigger, us) in [
        (AT_ENTRY, 4.66),
        (at(0, 8), 4.65),
        (at(3, 8), 4.64),
        (at(4, 8), 4.73),
        (at(5, 8), 5.21),
        (at(6, 8), 5.69),
        (at(7, 8), 6.19),
        (at(8, 8), 6.94),
        (Trigger::After, 6.96),
        (IMPLICIT, 6.91),
    ] {
        check(&trigger.to_string(), &spin.with_trigger(trigger), Arm::GraphPdl, us);
    }
}

#[test]
fn empty_chains_are_as_measured() {
    for (blocks, arm, trigger, us) in [
        (1, Arm::Graph, IMPLICIT, 0.906),
        (1, Arm::GraphPdl, IMPLICIT, 0.773),
        (132, Arm::Graph, IMPLICIT, 1.192),
        (132, Arm::GraphPdl, IMPLICIT, 0.969),
        (132, Arm::GraphPdl, at(0, 8), 0.747),
        (132, Arm::GraphPdl, AT_ENTRY, 0.731),
        (528, Arm::Graph, IMPLICIT, 1.256),
        (528, Arm::GraphPdl, IMPLICIT, 1.141),
        (528, Arm::GraphPdl, at(0, 8), 1.090),
        (528, Arm::GraphPdl, AT_ENTRY, 0.990),
        (1, Arm::Stream, IMPLICIT, 1.776),
        (132, Arm::Stream, IMPLICIT, 2.148),
        (528, Arm::Stream, IMPLICIT, 2.159),
        (132, Arm::StreamPdl, IMPLICIT, 1.081),
        (132, Arm::StreamPdl, at(0, 8), 0.872),
        (528, Arm::StreamPdl, at(0, 8), 1.174),
    ] {
        let empty = chain((PreambleKind::None, 0), (BodyKind::None, 0));
        let chain = Chain { shape: Shape { grid_blocks: blocks, ..empty.shape }, ..empty };
        check(&format!("{blocks} {trigger}"), &chain.with_trigger(trigger), arm, us);
    }
}

#[test]
fn samples_repeat_with_the_seed_and_scatter_without() {
    let run = |seed| {
        let device = SimDevice::h200(seed);
        let mut prepared = device.prepare(&spin(), Arm::Graph).unwrap();
        (0..6).map(|_| prepared.sample().unwrap().duration_ns).collect::<Vec<_>>()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
    for seed in 0..20 {
        let durations = run(seed);
        let low = durations.iter().copied().fold(f64::MAX, f64::min);
        let high = durations.iter().copied().fold(0.0, f64::max);
        assert!(high / low < 1.006 && high > low, "{durations:?}");
    }
}
