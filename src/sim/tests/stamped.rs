//! Stamps against the closed form and against the rules that any device keeps.

use super::*;
use crate::chain::Dependency;
use crate::stamps::{Reduced, Stamps};

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
                    let issues = match arm {
                        Arm::Stream | Arm::GraphCompletion => false,
                        Arm::Flags => true,
                        _ => trigger != IMPLICIT,
                    };
                    assert_eq!(triggered, issues, "{arm} {trigger} {b:?}");
                    assert_eq!(b.trigger_ns.is_nan(), !issues, "{arm} {trigger} {b:?}");
                    assert!(b.sm < 132);
                }
                let hops = (1..12).map(|node| (stamps.node(node - 1), stamps.node(node)));
                for (primary, secondary) in hops {
                    let end = primary.iter().map(|b| b.end_ns).fold(0.0, f64::max);
                    let released = secondary.iter().map(|b| b.release_ns).fold(f64::MAX, f64::min);
                    let begin = secondary.iter().map(|b| b.begin_ns).fold(f64::MAX, f64::min);
                    // A sync returns after completion, whatever the trigger; a flag with its own block.
                    if arm == Arm::Flags {
                        continue;
                    }
                    assert!(released >= end, "{arm} {trigger}: released {released} before {end}");
                    if arm.dependency() == Dependency::Full {
                        assert!(begin >= end, "{arm} {trigger}: begun {begin} before {end}");
                    }
                }
            }
        }
    }
}

#[test]
fn reduced_stamps_agree_with_the_profile_and_the_period() {
    let step = BUILT_IN.instruments.timer_step_ns.value;
    let drain_ns = BUILT_IN.placement.drain_ns.value;
    let close = |what: &str, found: Option<f64>, wanted: f64| {
        let found = found.unwrap();
        assert!((found - wanted).abs() < drain_ns + 2.0 * step, "{what}: {found} for {wanted}");
    };
    for model in [Model::Closed, Model::Events] {
        let device = SimDevice::new(BUILT_IN.clone(), model, 1);
        let load = Load::of(&BUILT_IN, &spin(), Arm::GraphFull).unwrap();
        let hop = load.hop;
        let of = |trigger, arm| -> Reduced {
            let mut prepared = device.prepare(&spin().with_trigger(trigger), arm).unwrap();
            prepared.stamps(5).unwrap().unwrap().reduce()
        };
        let full = of(IMPLICIT, Arm::GraphFull);
        close("gap", full.launch_gap_ns, hop.full_gap_ns);
        close("useful", full.useful_ns, 0.0);
        close("parked", full.parked_ns, 0.0);
        close("body", full.body_ns, 4000.0 + load.tail_ns);
        let early = of(at(0, 8), Arm::GraphPdl);
        close("hop", early.hop_latency_ns, hop.release_ns);
        close("useful", early.useful_ns, 2000.0 + hop.entry_ns);
        let implicit = of(IMPLICIT, Arm::GraphPdl);
        close("gap", implicit.launch_gap_ns, hop.exit_launch_ns);
        close("parked", implicit.parked_ns, 0.0);
        for (trigger, arm) in [(IMPLICIT, Arm::Graph), (at(4, 8), Arm::GraphPdl)] {
            let mut prepared = device.prepare(&spin().with_trigger(trigger), arm).unwrap();
            let stamps = prepared.stamps(1).unwrap().unwrap();
            let last_end = |node| stamps.node(node).iter().map(|b| b.end_ns).fold(0.0, f64::max);
            let by_stamps = (last_end(49) - last_end(9)) / 40.0;
            let by_events = period_on(&device, &spin().with_trigger(trigger), arm);
            assert!((by_stamps / by_events - 1.0).abs() < 0.01, "{by_stamps} {by_events}");
        }
    }
}

#[test]
fn calibrating_by_stamps_converges() {
    for kind in [BodyKind::Fma, BodyKind::Spin, BodyKind::Hbm, BodyKind::L2] {
        let mut chain = chain((PreambleKind::Alu, 0), (kind, 0)).with_nodes(16);
        chain.preamble.target_ns = 2000.0;
        chain.body.target = Target::Ns(6000.0);
        let calibrated = crate::measure::calibrate(&SimDevice::h200(1), &chain).unwrap();
        // A second reading with the amounts that were found, not the search's own.
        let alone = Chain {
            preamble: Preamble { kind: PreambleKind::None, units: 0, ..chain.preamble },
            ..calibrated.chain
        };
        let body_ns = stamps(&alone, Arm::GraphFull).reduce().body_ns.unwrap();
        let both_ns = stamps(&calibrated.chain, Arm::GraphFull).reduce().span_ns.unwrap();
        let alone_ns = stamps(&alone, Arm::GraphFull).reduce().span_ns.unwrap();
        // A spin's amount is its deadline: what comes on top is measured, not calibrated away.
        let tolerance = if kind == BodyKind::Spin { 0.07 } else { 0.02 };
        assert!((body_ns / 6000.0 - 1.0).abs() < tolerance, "{kind}: {body_ns}");
        assert!(((both_ns - alone_ns) / 2000.0 - 1.0).abs() < 0.03, "{kind}: {both_ns}");
    }
}
