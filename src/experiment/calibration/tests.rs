//! The experiments on a simulated device: what they find is what it was given.

use super::*;
use crate::chain::Trigger;
use crate::error::Kind;
use crate::profile::{Constant, HopKnot, Origin};
use crate::sim::SimDevice;

/// Enough for a fit, short enough for a test.
fn effort() -> Effort {
    let grids = vec![1, 132, 528];
    Effort { grids, quick: false, ..Effort::quick(132, true, 7) }
}

/// A constant that was found, the one that was given, and how far they may lie apart.
type Row<'a> = (&'a str, &'a Constant, f64, f64);

fn compare(rows: &[Row]) {
    let off: Vec<String> = rows
        .iter()
        .filter(|(_, found, given, within)| {
            found.assumed
                || (found.value - given).abs() > *within
                || !contains(found, *given, *within)
        })
        .map(|(name, found, given, within)| format!("{name}: {given} ±{within}, found {found:?}"))
        .collect();
    assert!(off.is_empty(), "{off:#?}");
}

/// Whether the interval holds the truth, or would if it were wider by a third of what is allowed:
/// some experiments of the closed form measure a mean where the form has a maximum.
fn contains(found: &Constant, given: f64, within: f64) -> bool {
    let (lo, hi) = (found.lo.unwrap(), found.hi.unwrap());
    lo - within / 3.0 <= given && given <= hi + within / 3.0
}

#[test]
fn the_constants_of_the_simulated_device_come_back() {
    let device = SimDevice::quick(3);
    let given = crate::profile::BUILT_IN.clone();
    let mut told = Vec::new();
    let found = calibrate(&device, &effort(), &mut |what, part| {
        told.push((what.to_owned(), part));
    })
    .unwrap();
    assert_eq!((found.validate(), found.origin), (Ok(()), Origin::Simulated));
    assert!(told.windows(2).all(|two| two[0].1 <= two[1].1 + 1e-9), "progress goes forward");
    assert!(told.last().unwrap().1 <= 1.0 + 1e-9);
    hops(&found.hops.graph, &given.hops.graph);
    hops(&found.hops.stream, &given.hops.stream);
    let knots = found.hops.bounds.iter().zip(&given.hops.bounds);
    for (found, given) in knots.filter(|(found, given)| found.blocks == given.blocks) {
        compare(&[
            ("completion", &found.completion_launch_ns, given.completion_launch_ns.value, 48.0),
            ("flag", &found.flag_ns, given.flag_ns.value, 20.0),
            ("barrier", &found.barrier_ns, given.barrier_ns.value, 24.0),
        ]);
    }
    let (block, memory, host) = (&given.block, &given.memory, &given.host);
    // A chain of 24 nodes has no more than 23 ahead of its first.
    let ahead = given.placement.run_ahead_nodes.value.min(23.0);
    compare(&[
        ("tail", &found.block.tail_ns, block.tail_ns.value, 24.0),
        ("after", &found.block.after_ns, block.after_ns.value, 20.0),
        ("code", &found.block.code_cost_ns, block.code_cost_ns.value, 2.0),
        ("barrier trigger", &found.block.barrier_trigger_ns, block.barrier_trigger_ns.value, 20.0),
        ("drain", &found.placement.drain_ns, given.placement.drain_ns.value, 4.0),
        ("ahead", &found.placement.run_ahead_nodes, ahead, 0.0),
        ("block", &found.placement.block_ns, given.placement.block_ns.value, 0.05),
        ("cycles", &found.issue.lone_warp_cycles, given.issue.lone_warp_cycles.value, 0.005),
        ("hbm", &found.memory.hbm_bytes_per_ns, memory.hbm_bytes_per_ns.value, 20.0),
        ("l2", &found.memory.l2_bytes_per_ns, memory.l2_bytes_per_ns.value, 50.0),
        ("sm", &found.memory.sm_bytes_per_ns, memory.sm_bytes_per_ns.value, 0.5),
        ("hbm first", &found.memory.hbm_latency_ns, memory.hbm_latency_ns.value, 24.0),
        ("l2 first", &found.memory.l2_latency_ns, memory.l2_latency_ns.value, 24.0),
        (
            "in flight",
            &found.memory.thread_in_flight_bytes,
            memory.thread_in_flight_bytes.value,
            4.0,
        ),
        ("pair", &found.instruments.event_pair_ns, given.instruments.event_pair_ns.value, 3.0),
        ("stamp", &found.instruments.stamp_ns, given.instruments.stamp_ns.value, 2.0),
        ("gate", &found.instruments.gate_ns, given.instruments.gate_ns.value, 2.0),
        ("step", &found.instruments.timer_step_ns, given.instruments.timer_step_ns.value, 0.0),
        ("queue", &found.instruments.queue_depth, given.instruments.queue_depth.value, 0.0),
        ("stream", &found.host.stream_launch_ns, host.stream_launch_ns.value, 5.0),
        ("stream pdl", &found.host.stream_pdl_launch_ns, host.stream_pdl_launch_ns.value, 5.0),
        ("queued", &found.host.queued_launch_ns, host.queued_launch_ns.value, 5.0),
        ("graph", &found.host.graph_launch_ns, host.graph_launch_ns.value, 15.0),
        ("prepare", &found.host.prepare_node_ns, host.prepare_node_ns.value, 10.0),
        ("sample", &found.host.sample_ns, host.sample_ns.value, 100.0),
        ("noise", &found.noise.sample_ratio, given.noise.sample_ratio.value, 2.5e-4),
    ]);
    let calibration = found.calibration.as_ref().unwrap();
    assert_eq!(calibration.warnings, Vec::<String>::new());
    assert_eq!(calibration.agreement.len(), 4);
    // Where the profile says that the attribute makes launches cheaper, that is found.
    assert!(host.stream_pdl_launch_ns.value < host.stream_launch_ns.value);
    assert!(calibration.attribute.iter().any(|cost| cost.finding == "saves"));
    assert!(calibration.attribute.iter().all(|cost| cost.finding != "costs"));
    // Every arm at every grid, and a floor below the baseline.
    assert_eq!(calibration.empty.len(), 13 * 3);
    for hop in calibration.empty.iter().filter(|hop| hop.trigger == Some(Trigger::AtEntry)) {
        let saved = hop.saved.unwrap();
        assert!(hop.arm == Arm::Flags || saved.lo_ns > 0.0, "{hop:?}");
    }
}

/// Knots at the same number of blocks.
fn hops(found: &[HopKnot], given: &[HopKnot]) {
    let mut compared = 0;
    for found in found {
        let Some(given) = given.iter().find(|given| given.blocks == found.blocks) else { continue };
        compare(&[
            ("full gap", &found.full_gap_ns, given.full_gap_ns.value, 20.0),
            ("launch", &found.launch_ns, given.launch_ns.value, 20.0),
            ("exit launch", &found.exit_launch_ns, given.exit_launch_ns.value, 20.0),
            ("release", &found.release_ns, given.release_ns.value, 20.0),
            ("entry", &found.entry_ns, given.entry_ns.value, 20.0),
        ]);
        compared += 1;
    }
    assert!(compared >= 2, "{compared} grids were compared");
}

#[test]
fn a_wrong_value_ends_the_calibration() {
    let device = SimDevice::quick(1).with_fault(3, 0);
    let error = calibrate(&device, &effort(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), Kind::Wrong, "{error}");
}

#[test]
fn the_announced_time_grows_with_what_is_asked_for() {
    let device = SimDevice::quick(1);
    let seconds = |effort: &Effort| expected(effort, device.facts()).as_secs_f64();
    let [quick, with_host, whole, all] = [
        Effort::quick(132, false, 1),
        Effort::quick(132, true, 1),
        Effort::new(132, false, 1),
        Effort::new(132, true, 1),
    ]
    .map(|effort| seconds(&effort));
    assert!(quick < with_host && with_host < 10.0, "{quick} {with_host}");
    assert!(with_host < whole && whole < all && all < 60.0, "{whole} {all}");
}
