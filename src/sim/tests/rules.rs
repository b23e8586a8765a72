//! What follows from the closed form: signs, contention, residency, prefetching.

use super::*;

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
    let head_ns = BUILT_IN.block.head_ns.value;
    assert!((difference - head_ns).abs() < 20.0, "{difference}");
}

#[test]
fn a_late_trigger_makes_blocks_of_1024_threads_slower_than_full_edges() {
    // Measured: 1.57 × at 7/8 in a graph, 1.47 × at 6/8 in a stream, and early triggers help.
    let threads = Shape { block_threads: 1024, ..fma().shape };
    let chain = Chain { shape: threads, ..fma() };
    let chain = Chain {
        preamble: Preamble { units: 480, ..chain.preamble },
        body: Body { units: 768, ..chain.body },
        ..chain
    };
    let period = |chain: Chain, arm| predict(&BUILT_IN, Model::Events, &chain, arm).unwrap();
    for (base, subject, late, least) in
        [(Arm::Graph, Arm::GraphPdl, 7, 1.4), (Arm::Stream, Arm::StreamPdl, 6, 1.1)]
    {
        let full = period(chain, base);
        let harmed = period(chain.with_trigger(at(late, 8)), subject);
        let early = period(chain.with_trigger(at(0, 8)), subject);
        assert!(harmed > least * full, "{subject}: {harmed} {full}");
        assert!(early < 0.98 * full, "{subject}: {early} {full}");
    }
}

#[test]
fn no_trigger_fires_before_the_last_wave() {
    // 17 blocks an SM where 16 fit: one wave and a bit.
    let chain = bare(spin());
    let chain = Chain { shape: Shape { grid_blocks: 17 * 132, ..chain.shape }, ..chain };
    let period = |trigger, arm| period_ns(&chain.with_trigger(trigger), arm);
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
    let device = closed();
    let early = at(0, 8);
    let plain = period_on(&device, &hbm(PreambleKind::None, 0).with_trigger(early), Arm::GraphPdl);
    let idle_ns = plain - 128.0 * 65_536.0 / BUILT_IN.memory.hbm_bytes_per_ns.value;
    for kind in [PreambleKind::PrefetchL2, PreambleKind::PrefetchSmem] {
        for bytes in [1024, 16_384, 32_768, 65_536] {
            let chain = hbm(kind, bytes).with_trigger(early);
            let saved = plain - period_on(&device, &chain, Arm::GraphPdl);
            assert!(saved < idle_ns, "{kind} {bytes}: {saved} of {idle_ns}");
            // Over full dependencies nothing is fetched early.
            let control = period_on(&device, &chain, Arm::GraphFull);
            let waits = period_on(&device, &hbm(PreambleKind::None, 0), Arm::GraphFull);
            assert!(control > waits - 20.0, "{kind} {bytes}: {control} {waits}");
        }
    }
    let whole = hbm(PreambleKind::PrefetchSmem, 65_536).with_trigger(early);
    let saved = plain - period_on(&device, &whole, Arm::GraphPdl);
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
    assert!((slope * BUILT_IN.memory.hbm_bytes_per_ns.value - 1.0).abs() < 0.02, "{slope}");
    let hot =
        Chain { body: Body { kind: BodyKind::L2, ..hbm(PreambleKind::None, 0).body }, ..body(0) };
    let cold = Chain { l2: L2::Rotated, ..hot };
    assert!(period_ns(&hot, Arm::Graph) < 0.9 * period_ns(&cold, Arm::Graph));
}

#[test]
fn pipelined_chains_are_all_steady() {
    let device = closed();
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
        assert!((first > 3300.0) == overlaps, "{arm} {first}");
    }
}

#[test]
fn the_sentinel_never_changes() {
    let device = closed();
    for chain in [spin(), empty(1), fma().with_nodes(7)] {
        let sentinel = sample_ns(&device, &chain, Arm::Sentinel);
        let wanted = BUILT_IN.instruments.chain_ns.value + fixed::SENTINEL_NS;
        assert!((sentinel / wanted - 1.0).abs() < 0.005, "{sentinel}");
    }
}
