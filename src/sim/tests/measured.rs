//! The closed form against what was measured on an H200.

use super::*;

#[test]
fn spin_chains_in_a_graph_are_as_measured() {
    near("full", period_ns(&spin(), Arm::GraphFull), 7.19);
    near("flags", period_ns(&spin(), Arm::Flags), 4.95);
    let measured = [
        (AT_ENTRY, 4.66),
        (at(0, 8), 4.66),
        (at(4, 8), 4.87),
        (at(6, 8), 5.87),
        (at(8, 8), 6.85),
        (Trigger::After, 6.95),
        (IMPLICIT, 6.95),
    ];
    for (trigger, us) in measured {
        let chain = spin().with_trigger(trigger);
        near(&trigger.to_string(), period_ns(&chain, Arm::GraphPdl), us);
    }
}

#[test]
fn empty_chains_in_a_graph_are_as_measured() {
    for (blocks, full, synced, entry, flags) in
        [(1, 1.07, 0.86, 0.57, 0.96), (132, 1.37, 1.06, 0.87, 1.17), (528, 1.49, 1.44, 1.12, 1.27)]
    {
        let chain = empty(blocks);
        near("full", period_ns(&chain, Arm::GraphFull), full);
        near("0/8", period_ns(&chain.with_trigger(at(0, 8)), Arm::GraphPdl), synced);
        near("at entry", period_ns(&chain.with_trigger(AT_ENTRY), Arm::GraphPdl), entry);
        near("flags", period_ns(&chain, Arm::Flags), flags);
    }
}

#[test]
fn empty_chains_in_a_stream_are_as_measured() {
    for (blocks, full, entry) in [(1, 2.02, 1.20), (132, 2.36, 1.41), (1056, 3.48, 2.46)] {
        let chain = empty(blocks).with_trigger(AT_ENTRY);
        near("full", period_ns(&chain, Arm::StreamFull), full);
        near("at entry", period_ns(&chain, Arm::StreamPdl), entry);
    }
}

#[test]
fn a_persistent_hop_is_a_barrier_crossing() {
    let crossing = period_ns(&empty(132), Arm::Persistent) - profile::TAIL_NS;
    near("crossing", crossing, 1.22);
    // The preamble runs between arriving and waiting.
    let body_ns = 4000.0 + profile::TAIL_NS;
    near("hop", period_ns(&spin(), Arm::Persistent), (body_ns + 2000.0) / 1e3);
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
