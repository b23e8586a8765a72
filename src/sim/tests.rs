//! The simulated device against what was measured, and against its own rules.

use super::*;
use crate::chain::{
    Body, BodyKind, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use crate::error::Kind;
use crate::stamps::{Reduced, Stamps};

const AT_ENTRY: Trigger = Trigger::AtEntry;
const IMPLICIT: Trigger = Trigger::Implicit;

const fn at(at: u32, of: u32) -> Trigger {
    Trigger::Segment { at, of }
}

fn chain(preamble: (PreambleKind, u64), body: (BodyKind, u64)) -> Chain {
    Chain {
        nodes: 50,
        shape: Shape::default(),
        preamble: Preamble { kind: preamble.0, target_ns: 0.0, units: preamble.1 },
        body: Body { kind: body.0, target: Target::Ns(0.0), units: body.1 },
        trigger: IMPLICIT,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

fn empty(grid_blocks: u32) -> Chain {
    let chain = chain((PreambleKind::None, 0), (BodyKind::Spin, 0));
    Chain { shape: Shape { grid_blocks, ..chain.shape }, ..chain }
}

fn spin() -> Chain {
    chain((PreambleKind::Spin, 2000), (BodyKind::Spin, 4000))
}

/// A multiply-add preamble of 2 µs and body of 4 µs.
fn fma() -> Chain {
    let units = |ns: f64| (ns * profile::SM_GHZ / profile::LONE_WARP_CYCLES) as u64;
    chain((PreambleKind::Alu, units(2000.0)), (BodyKind::Fma, units(4000.0)))
}

/// A node of 8 MiB from HBM with enough threads to fill the memory.
fn hbm(preamble: PreambleKind, prefetch_bytes: u64) -> Chain {
    let chain = chain((preamble, prefetch_bytes), (BodyKind::Hbm, 65_536));
    Chain { shape: Shape { grid_blocks: 128, block_threads: 256, ..chain.shape }, ..chain }
}

fn sample_ns(device: &SimDevice, chain: &Chain, arm: Arm) -> f64 {
    let mut prepared = device.prepare(chain, arm).unwrap();
    prepared.sample().unwrap();
    prepared.sample().unwrap().duration_ns
}

/// Marginal period between 50 and 200 nodes, as in the measurements, ns.
fn period_ns(chain: &Chain, arm: Arm) -> f64 {
    let device = SimDevice::h200(1);
    let [short, long] = [50, 200].map(|n| sample_ns(&device, &chain.with_nodes(n), arm));
    (long - short) / 150.0
}

fn near(what: &str, found_ns: f64, wanted_us: f64) {
    let off = found_ns / 1e3 / wanted_us - 1.0;
    assert!(off.abs() < 0.05, "{what}: {found_ns:.0} ns for {wanted_us} us");
}

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
fn an_early_trigger_helps_more_than_an_implicit_one() {
    for chain in [empty(132), spin(), fma(), hbm(PreambleKind::None, 0)] {
        let [early, implicit] = [at(2, 8), IMPLICIT]
            .map(|trigger| period_ns(&chain.with_trigger(trigger), Arm::GraphPdl));
        let full = period_ns(&chain, Arm::Graph);
        assert!(early < implicit - 20.0, "{early} {implicit} {:?}", chain.body);
        assert!(implicit < full - 20.0, "{implicit} {full} {:?}", chain.body);
    }
}

#[test]
fn fixed_work_contends_and_a_deadline_does_not() {
    let of = |chain: &Chain, trigger| period_ns(&chain.with_trigger(trigger), Arm::GraphPdl);
    // The preamble is the same work wherever it runs: early, it all goes on beside the body.
    assert!(of(&fma(), AT_ENTRY) > of(&fma(), at(4, 8)) + 200.0);
    assert!(of(&spin(), AT_ENTRY) < of(&spin(), at(4, 8)));
    assert!(of(&fma(), AT_ENTRY) > of(&spin(), AT_ENTRY) + 1000.0);
    // Grids that do not meet on an SM do not slow each other.
    let apart = |chain: Chain| Chain { shape: Shape { grid_blocks: 66, ..chain.shape }, ..chain };
    let difference = of(&apart(fma()), AT_ENTRY) - of(&apart(spin()), AT_ENTRY);
    assert!(difference.abs() < 20.0, "{difference}");
}

#[test]
fn a_node_placed_while_its_primary_exits_is_packed() {
    // Launch latency before the end of the body's work.
    let launch_ns = profile::Hop::graph(132).launch_ns;
    let segments = 64;
    let late = (segments as f64 * (4190.0 - launch_ns) / 4000.0) as u32;
    let period = |trigger| {
        let mut chain = fma().with_trigger(trigger);
        chain.preamble = Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 };
        period_ns(&chain, Arm::GraphPdl)
    };
    let worst = (late - 2..=late + 2).map(|k| period(at(k, segments))).fold(0.0, f64::max);
    let full = period_ns(
        &Chain {
            preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
            ..fma()
        },
        Arm::Graph,
    );
    assert!(worst > 1.1 * full, "{worst} {full}");
    assert!(period(at(late - 8, segments)) < full);
}

#[test]
fn a_trigger_before_the_last_wave_changes_nothing() {
    // 17 blocks an SM where 16 fit: one wave and a bit.
    let of = |chain: Chain| Chain {
        shape: Shape { grid_blocks: 17 * 132, ..chain.shape },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        ..chain
    };
    let period = |trigger, arm| period_ns(&of(spin()).with_trigger(trigger), arm);
    let (entry, implicit) = (period(AT_ENTRY, Arm::GraphPdl), period(IMPLICIT, Arm::GraphPdl));
    assert!(entry > 2.0 * 4190.0, "two waves cannot be shorter than two bodies: {entry}");
    assert!(entry < implicit, "{entry} {implicit}");
    assert!(implicit < period(IMPLICIT, Arm::Graph));
}

#[test]
fn grids_that_do_not_fit_together_gain_the_launch_alone() {
    let fits = spin();
    let shape = Shape { shared_bytes: 120 * 1024, ..fits.shape };
    let crowded = Chain { shape, ..fits };
    let saved = |chain: Chain| {
        let chain = chain.with_trigger(AT_ENTRY);
        period_ns(&chain, Arm::GraphFull) - period_ns(&chain, Arm::GraphPdl)
    };
    assert!(saved(fits) > 2400.0, "{}", saved(fits));
    let launch = saved(crowded);
    assert!((300.0..1000.0).contains(&launch), "{launch}");
}

#[test]
fn prefetching_gains_what_the_memory_idles_and_no_more() {
    let early = at(0, 8);
    let plain = period_ns(&hbm(PreambleKind::None, 0).with_trigger(early), Arm::GraphPdl);
    let idle_ns = plain - 128.0 * 65_536.0 / profile::HBM_BYTES_PER_NS;
    for kind in [PreambleKind::PrefetchL2, PreambleKind::PrefetchSmem] {
        for bytes in [1024, 16_384, 32_768, 65_536] {
            let chain = hbm(kind, bytes).with_trigger(early);
            let saved = plain - period_ns(&chain, Arm::GraphPdl);
            assert!(saved < idle_ns, "{kind} {bytes}: {saved} of {idle_ns}");
            // Over full dependencies nothing is fetched early.
            let control = period_ns(&chain, Arm::GraphFull);
            let waits = period_ns(&hbm(PreambleKind::None, 0), Arm::GraphFull);
            assert!(control > waits - 20.0, "{kind} {bytes}: {control} {waits}");
        }
    }
    let whole = hbm(PreambleKind::PrefetchSmem, 65_536).with_trigger(early);
    let saved = plain - period_ns(&whole, Arm::GraphPdl);
    assert!(saved > 0.25 * idle_ns, "{saved} of {idle_ns}");
}

#[test]
fn streaming_takes_its_share_of_the_bandwidth() {
    let body = |units| {
        let chain = hbm(PreambleKind::None, 0);
        Chain { body: Body { units, ..chain.body }, ..chain }
    };
    let slope = (period_ns(&body(131_072), Arm::Graph) - period_ns(&body(65_536), Arm::Graph))
        / (128.0 * 65_536.0);
    assert!((slope * profile::HBM_BYTES_PER_NS - 1.0).abs() < 0.02, "{slope}");
    let hot =
        Chain { body: Body { kind: BodyKind::L2, ..hbm(PreambleKind::None, 0).body }, ..body(0) };
    let cold = Chain { l2: L2::Rotated, ..hot };
    assert!(period_ns(&hot, Arm::Graph) < 0.9 * period_ns(&cold, Arm::Graph));
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
    assert_eq!((sample.mismatches, sample.flags), (7, vec![crate::device::Flag::Wrong]));
    // A chain that ends before the fault is right.
    let mut short = device.prepare(&fma().with_nodes(3), Arm::GraphPdl).unwrap();
    assert_eq!(short.verify().unwrap().mismatches, 0);
}

fn stamps(chain: &Chain, arm: Arm) -> Stamps {
    let device = SimDevice::h200(1);
    device.prepare(chain, arm).unwrap().stamps(5).unwrap().unwrap()
}

#[test]
fn stamps_are_in_order_and_full_dependencies_never_overlap() {
    let wide = Chain { shape: Shape { grid_blocks: 3000, ..spin().shape }, ..spin() };
    let crowded = Chain { shape: Shape { shared_bytes: 120 << 10, ..spin().shape }, ..spin() };
    for chain in [spin(), fma(), hbm(PreambleKind::PrefetchSmem, 4096), wide, crowded, empty(1)] {
        let chain = chain.with_nodes(12);
        for trigger in [AT_ENTRY, at(0, 8), at(5, 8), at(8, 8), Trigger::After, IMPLICIT] {
            for arm in [
                Arm::Stream,
                Arm::GraphFull,
                Arm::StreamPdl,
                Arm::GraphPdl,
                Arm::GraphCompletion,
                Arm::Flags,
            ] {
                let stamps = stamps(&chain.with_trigger(trigger), arm);
                assert_eq!(stamps.nodes(), 12);
                for b in &stamps.blocks {
                    assert!(b.begin_ns <= b.arrive_ns, "{arm} {trigger} {b:?}");
                    assert!(b.arrive_ns <= b.release_ns, "{arm} {trigger} {b:?}");
                    assert!(b.release_ns < b.end_ns, "{arm} {trigger} {b:?}");
                    let triggered = b.begin_ns <= b.trigger_ns && b.trigger_ns <= b.end_ns;
                    assert!(triggered || b.trigger_ns.is_nan(), "{arm} {trigger} {b:?}");
                    assert!(b.sm < 132);
                }
                let hops = (1..12).map(|node| (stamps.node(node - 1), stamps.node(node)));
                for (primary, secondary) in hops {
                    let end = primary.iter().map(|b| b.end_ns).fold(0.0, f64::max);
                    let released = secondary.iter().map(|b| b.release_ns).fold(f64::MAX, f64::min);
                    let begin = secondary.iter().map(|b| b.begin_ns).fold(f64::MAX, f64::min);
                    // A sync returns after completion, whatever the trigger.
                    assert!(released >= end, "{arm} {trigger}: released {released} before {end}");
                    if arm.dependency() == crate::chain::Dependency::Full {
                        assert!(begin >= end, "{arm} {trigger}: begun {begin} before {end}");
                    }
                }
            }
        }
    }
}

#[test]
fn reduced_stamps_agree_with_the_model_and_the_period() {
    let step = stamping::STEP_NS as f64;
    let close = |what: &str, found: Option<f64>, wanted: f64| {
        let found = found.unwrap();
        assert!((found - wanted).abs() < 2.0 * step, "{what}: {found} for {wanted}");
    };
    let hop = profile::Hop::graph(132);
    let spread_ns = hop.spread_ns(132);
    let of = |trigger, arm| -> Reduced { stamps(&spin().with_trigger(trigger), arm).reduce() };

    let full = of(IMPLICIT, Arm::GraphFull);
    close("gap", full.launch_gap_ns, hop.full_gap_ns - spread_ns);
    close("hop", full.hop_latency_ns, hop.full_gap_ns + 2000.0 - spread_ns / 2.0);
    close("useful", full.useful_ns, 0.0);
    close("parked", full.parked_ns, 0.0);
    close("body", full.body_ns, 4190.0);

    let early = of(at(0, 8), Arm::GraphPdl);
    close("gap", early.launch_gap_ns, hop.launch_ns - 4190.0 - spread_ns);
    close("hop", early.hop_latency_ns, hop.release_ns);
    close("useful", early.useful_ns, 2000.0);
    close("parked", early.parked_ns, 4660.0 - hop.launch_ns - 2000.0 + spread_ns / 2.0);
    close("body", early.body_ns, 4190.0);

    let implicit = of(IMPLICIT, Arm::GraphPdl);
    close("gap", implicit.launch_gap_ns, hop.exit_launch_ns - spread_ns);
    close("parked", implicit.parked_ns, 0.0);

    for (trigger, arm) in [(IMPLICIT, Arm::Graph), (at(4, 8), Arm::GraphPdl)] {
        let stamps = stamps(&spin().with_trigger(trigger), arm);
        let last_end = |node| stamps.node(node).iter().map(|b| b.end_ns).fold(0.0, f64::max);
        let by_stamps = (last_end(49) - last_end(9)) / 40.0;
        let by_events = period_ns(&spin().with_trigger(trigger), arm);
        assert!((by_stamps / by_events - 1.0).abs() < 0.005, "{by_stamps} {by_events}");
    }
}

#[test]
fn calibrating_by_stamps_converges() {
    // What a caller does who knows nothing of the rates: scale units by the measured body.
    for kind in [BodyKind::Fma, BodyKind::Spin, BodyKind::Hbm, BodyKind::L2] {
        let mut chain = chain((PreambleKind::None, 0), (kind, 4096)).with_nodes(16);
        let mut slope = None::<(f64, f64)>;
        for _ in 0..8 {
            let body_ns = stamps(&chain, Arm::GraphFull).reduce().body_ns.unwrap();
            let units = chain.body.units as f64;
            let next = match slope {
                Some((u, ns)) if u != units && ns != body_ns => {
                    units + (6000.0 - body_ns) * (units - u) / (body_ns - ns)
                }
                _ => units * 2.0,
            };
            slope = Some((units, body_ns));
            chain.body.units = next.max(16.0) as u64;
        }
        let body_ns = stamps(&chain, Arm::GraphFull).reduce().body_ns.unwrap();
        assert!((body_ns / 6000.0 - 1.0).abs() < 0.02, "{kind}: {body_ns}");
    }
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
    assert_eq!(flags(Arm::Stream), [crate::device::Flag::Split]);
    assert_eq!(flags(Arm::Graph), []);
}

#[test]
fn pipelined_chains_are_all_steady() {
    let device = SimDevice::h200(1);
    for (arm, overlaps) in [
        (Arm::Graph, false),
        (Arm::GraphPdl, true),
        (Arm::StreamPdl, true),
        (Arm::Persistent, false),
    ] {
        let isolated = spin().with_trigger(at(0, 8));
        let pipelined = Chain { mode: Mode::Pipelined, ..isolated };
        let steady = sample_ns(&device, &pipelined, arm);
        let period = period_ns(&isolated, arm);
        assert!((steady / (50.0 * period) - 1.0).abs() < 0.006, "{arm} {steady} {period}");
        // An isolated programmatic chain shows its first preamble.
        let first = sample_ns(&device, &isolated, arm) - steady;
        assert!((first > 1500.0) == overlaps, "{arm} {first}");
    }
}

#[test]
fn the_sentinel_never_changes() {
    let device = SimDevice::h200(1);
    for chain in [spin(), empty(1), fma().with_nodes(7)] {
        let sentinel = sample_ns(&device, &chain, Arm::Sentinel);
        let wanted = profile::EVENT_PAIR_NS + profile::SENTINEL_NS;
        assert!((sentinel / wanted - 1.0).abs() < 0.005, "{sentinel}");
    }
}
