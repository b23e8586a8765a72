//! The seam: clock, refusals, values, proofs, flags.

use super::*;
use crate::device::Flag;
use crate::error::Kind;

#[test]
fn the_clock_counts_what_was_run() {
    let device = SimDevice::h200(1);
    let before = device.now();
    let mut prepared = device.prepare(&spin(), Arm::Stream).unwrap();
    let ready = device.now();
    assert!(ready > before);
    let duration_ns = prepared.sample().unwrap().duration_ns;
    let spent = (device.now() - ready).as_nanos() as f64;
    assert!(spent > duration_ns + 50.0 * 3700.0, "{spent} {duration_ns}");
}

#[test]
fn what_this_device_cannot_run_is_unsupported() {
    let good = spin();
    let shape = |shape| Chain { shape, ..good };
    let staged = |bytes| chain((PreambleKind::PrefetchSmem, bytes), (BodyKind::Hbm, bytes));
    let cases = [
        (shape(Shape { cluster_blocks: 12, ..good.shape }), Arm::Graph, "portable"),
        (shape(Shape { grid_blocks: 2113, ..good.shape }), Arm::Persistent, "2112"),
        (staged(228 * 1024), Arm::GraphPdl, "shared memory"),
        (chain((PreambleKind::None, 0), (BodyKind::Hbm, 1 << 30)), Arm::Graph, "stream buffer"),
        (shape(Shape { grid_blocks: 1 << 22, ..good.shape }), Arm::Graph, "values"),
    ];
    let device = SimDevice::h200(1);
    for (chain, arm, cause) in cases {
        let error = device.prepare(&chain, arm).err().unwrap();
        assert_eq!(error.kind(), Kind::Unsupported, "{error}");
        assert!(error.cause().contains(cause), "{error}");
    }
    assert!(
        device.prepare(&shape(Shape { grid_blocks: 2112, ..good.shape }), Arm::Persistent).is_ok()
    );
    assert!(device.prepare(&staged(227 * 1024), Arm::GraphPdl).is_ok());
    let usage = shape(Shape { block_threads: 2000, ..good.shape });
    assert_eq!(device.prepare(&usage, Arm::Graph).err().unwrap().kind(), Kind::Usage);
}

#[test]
fn every_arm_and_body_writes_what_the_oracle_expects() {
    let device = SimDevice::h200(1);
    let small = |chain: Chain| Chain {
        nodes: 5,
        shape: Shape { grid_blocks: 7, block_threads: 33, ..chain.shape },
        ..chain
    };
    let streams = chain((PreambleKind::PrefetchL2, 64), (BodyKind::L2, 16 * 100 + 5));
    for chain in [spin(), fma(), hbm(PreambleKind::None, 0), streams].map(small) {
        for arm in [Arm::Stream, Arm::GraphPdl, Arm::Flags, Arm::Persistent] {
            let mut prepared = device.prepare(&chain, arm).unwrap();
            let verification = prepared.verify().unwrap();
            assert_eq!(
                (verification.checked, verification.mismatches),
                (35, 0),
                "{:?}",
                chain.body
            );
            assert_eq!(prepared.sample().unwrap().mismatches, 0);
        }
    }
}

#[test]
fn a_fault_is_found_and_spreads_to_what_depends_on_it() {
    let device = SimDevice::h200(1).with_fault(3, 5);
    let mut prepared = device.prepare(&fma().with_nodes(10), Arm::GraphPdl).unwrap();
    let verification = prepared.verify().unwrap();
    // One block of the faulty node and one of each node after it.
    assert_eq!(verification.mismatches, 7);
    let first = verification.first.unwrap();
    assert_eq!((first.node, first.block, first.found ^ first.expected), (3, 5, 1));
    let sample = prepared.sample().unwrap();
    assert_eq!((sample.mismatches, sample.flags), (7, vec![Flag::Wrong]));
    // A chain that ends before the fault is right.
    let mut short = device.prepare(&fma().with_nodes(3), Arm::GraphPdl).unwrap();
    assert_eq!(short.verify().unwrap().mismatches, 0);
}

#[test]
fn proofs_say_what_was_armed() {
    let device = SimDevice::h200(1);
    for (arm, armed, port) in [
        (Arm::Graph, false, "default"),
        (Arm::GraphFull, false, "default"),
        (Arm::StreamPdl, true, "programmatic"),
        (Arm::GraphCompletion, true, "launch-completion"),
    ] {
        let prepared = device.prepare(&spin(), arm).unwrap();
        assert_eq!(prepared.proof().armed(), armed, "{arm}");
        assert_eq!(prepared.proof().edges[0].from_port, port);
        assert_eq!(prepared.proof().edges[0].count, 49);
    }
    assert_eq!(device.facts().label(), "NVIDIA H200 SIMULATED");
}

#[test]
fn long_stream_chains_are_split_and_graphs_are_not() {
    let device = SimDevice::h200(1);
    let long = empty(1).with_nodes(2050);
    let flags = |arm| device.prepare(&long, arm).unwrap().sample().unwrap().flags;
    assert_eq!(flags(Arm::Stream), [Flag::Split]);
    assert_eq!(flags(Arm::Graph), []);
}
