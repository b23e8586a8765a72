//! The calibration as a person reads it. Everything comes from the profile.

use std::fmt::Write;

use super::super::findings::table;
use super::host;
use crate::chain::{Arm, Submission, Trigger};
use crate::profile::{Agreement, Calibration, Constant, Difference, EmptyHop, Origin, Profile};
use crate::units::{ABSENT, fixed, format_interval, or_absent, signed, us_number};

/// Title, tables, what any trigger could gain, legend.
pub fn render(profile: &Profile, markdown: bool) -> String {
    let mut text = title(profile, markdown);
    if let Some(calibration) = &profile.calibration {
        text += &empty(calibration, markdown);
        text += &gain(calibration, markdown);
    }
    text += &hops(profile, markdown);
    text += &constants(profile, markdown);
    if let Some(calibration) = &profile.calibration {
        text += &signed_costs(calibration, markdown);
        text += &host::render(calibration, markdown);
        text += &clocks(calibration, markdown);
        for warning in &calibration.warnings {
            let _ = writeln!(text, "warning: {warning}\n");
        }
    }
    text += &assumed(profile);
    text + LEGEND
}

const LEGEND: &str = "\
95 % intervals are over the rounds of this run; ±: half of one. By stamps: last moments against \
last moments, so that offsets\nbetween SMs cancel; half a step of the timer is in those intervals. \
The profile names the experiment of every constant.\n";

fn title(profile: &Profile, markdown: bool) -> String {
    let device = &profile.device;
    let simulated = match profile.origin {
        Origin::Simulated => " SIMULATED",
        Origin::Datasheet => " (from a data sheet)",
        Origin::Measured => "",
    };
    let driver = match device.driver.as_str() {
        "" => String::new(),
        driver => format!(", driver {driver}"),
    };
    let spent = profile.calibration.as_ref().map_or(String::new(), |calibration| {
        format!("; {} rounds, {} s", calibration.rounds, fixed(calibration.wall_s, 1))
    });
    format!(
        "{}{}{simulated}{driver}: {} SMs, {} MHz{spent}\n\n",
        if markdown { "### " } else { "" },
        device.product,
        device.sm_count,
        device.sm_mhz,
    )
}

/// `1.370 ±0.002`, µs.
fn with_half(constant: &Constant) -> String {
    let value = us_number(constant.value);
    match constant.lo.zip(constant.hi) {
        Some((lo, hi)) => format!("{value} ±{}", us_number((hi - lo) / 2.0)),
        None => format!("{value} ?"),
    }
}

/// Empty hops: arms down, grids across.
fn empty(calibration: &Calibration, markdown: bool) -> String {
    let mut grids: Vec<u32> = calibration.empty.iter().map(|hop| hop.blocks).collect();
    grids.sort_unstable();
    grids.dedup();
    let mut kinds: Vec<(Arm, Option<Trigger>)> = Vec::new();
    for hop in &calibration.empty {
        if !kinds.contains(&(hop.arm, hop.trigger)) {
            kinds.push((hop.arm, hop.trigger));
        }
    }
    if grids.is_empty() {
        return String::new();
    }
    let blocks: Vec<String> = grids
        .iter()
        .map(|blocks| format!("{blocks} block{}", if *blocks == 1 { "" } else { "s" }))
        .collect();
    let mut header = vec!["empty hop, µs a node"];
    header.extend(blocks.iter().map(String::as_str));
    let rows = kinds.iter().map(|&(arm, trigger)| {
        let name = match trigger.filter(|_| arm.sweeps_trigger()) {
            Some(trigger) => format!("{arm} {trigger}"),
            None => arm.to_string(),
        };
        let cell = |&blocks: &u32| {
            find(calibration, arm, trigger, blocks)
                .map_or(ABSENT.to_owned(), |hop| with_half(&hop.hop_ns))
        };
        std::iter::once(name).chain(grids.iter().map(cell)).collect()
    });
    let numbers: Vec<usize> = (1..=grids.len()).collect();
    table(&header, rows.collect(), &numbers, markdown)
}

fn find(
    calibration: &Calibration,
    arm: Arm,
    trigger: Option<Trigger>,
    blocks: u32,
) -> Option<&EmptyHop> {
    let mut hops = calibration.empty.iter();
    hops.find(|hop| hop.arm == arm && hop.trigger == trigger && hop.blocks == blocks)
}

/// Floor and ceiling of what launching alone leaves to any trigger.
fn gain(calibration: &Calibration, markdown: bool) -> String {
    let mut rows = Vec::new();
    for (baseline, subject) in [(Arm::Graph, Arm::GraphPdl), (Arm::Stream, Arm::StreamPdl)] {
        let entry = Some(Trigger::AtEntry);
        let hops = calibration.empty.iter().filter(|h| h.arm == subject && h.trigger == entry);
        for floor in hops {
            let Some(base) = find(calibration, baseline, None, floor.blocks) else { continue };
            let Some(saved) = floor.saved else { continue };
            rows.push(vec![
                baseline.to_string(),
                floor.blocks.to_string(),
                us_number(base.hop_ns.value),
                us_number(floor.hop_ns.value),
                us_number(saved.median_ns),
                format_interval(saved.lo_ns, saved.hi_ns),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["what launching leaves, µs", "blocks", "empty hop", "floor", "ceiling", "95 %"];
    table(&header, rows, &[1, 2, 3, 4], markdown)
        + "floor: the empty hop triggered at entry. ceiling: the baseline's hop − floor, all that a \
           trigger can gain by launching\nearlier; a preamble that it hides comes on top.\n\n"
}

/// What a hop is made of, a submission and grid each.
fn hops(profile: &Profile, markdown: bool) -> String {
    let header = [
        "by stamps, µs",
        "blocks",
        "last end → begin, full",
        "trigger → begin",
        "last end → begin, implicit",
        "last end → release",
        "begin → sync",
    ];
    let both =
        [(Submission::Graph, &profile.hops.graph), (Submission::Stream, &profile.hops.stream)];
    let rows = both.iter().flat_map(|(submission, knots)| {
        knots.iter().map(|knot| {
            vec![
                submission.name().to_owned(),
                knot.blocks.to_string(),
                with_half(&knot.full_gap_ns),
                with_half(&knot.launch_ns),
                with_half(&knot.exit_launch_ns),
                with_half(&knot.release_ns),
                with_half(&knot.entry_ns),
            ]
        })
    });
    let mut text = table(&header, rows.collect(), &[1, 2, 3, 4, 5, 6], markdown);
    let header =
        ["beside, µs", "blocks", "completion: begin → begin", "flags: end → release", "barrier"];
    let rows = profile.hops.bounds.iter().map(|knot| {
        vec![
            "graph".to_owned(),
            knot.blocks.to_string(),
            with_half(&knot.completion_launch_ns),
            with_half(&knot.flag_ns),
            with_half(&knot.barrier_ns),
        ]
    });
    text += &table(&header, rows.collect(), &[1, 2, 3, 4], markdown);
    text
}

/// A constant's line: name, value with unit, interval.
fn line(name: &str, constant: &Constant, unit: &str, scale: f64, decimals: usize) -> Vec<String> {
    let number = |value: f64| fixed(value * scale, decimals);
    let interval = match constant.lo.zip(constant.hi) {
        Some((lo, hi)) if lo == hi => String::new(),
        Some((lo, hi)) => format!("{} to {}", number(lo), number(hi)),
        None => "assumed".to_owned(),
    };
    vec![name.to_owned(), format!("{} {unit}", number(constant.value)), interval]
}

/// Instruments, blocks, placement and memory: one line a constant.
fn constants(profile: &Profile, markdown: bool) -> String {
    let (instruments, block) = (&profile.instruments, &profile.block);
    let (placement, memory, noise) = (&profile.placement, &profile.memory, &profile.noise);
    let us = |name, constant| line(name, constant, "µs", 1e-3, 3);
    let ns = |name, constant| line(name, constant, "ns", 1.0, 1);
    let tb = |name, constant| line(name, constant, "TB/s", 1e-3, 3);
    let mut rows = vec![
        us("event pair, empty", &instruments.event_pair_ns),
        us("gate opens, event seen: at most", &instruments.gate_ns),
        ns("stamps, a node", &instruments.stamp_ns),
        ns("timer step", &instruments.timer_step_ns),
        ns("timer offset between SMs", &instruments.timer_skew_ns),
        line("queue behind the gate", &instruments.queue_depth, "launches", 1.0, 0),
        ns("work to end of block", &block.tail_ns),
        ns("work to trigger after the last store", &block.after_ns),
        ns("sync and trigger over full edges, a hop", &block.code_cost_ns),
        ns("block barrier before a trigger", &block.barrier_trigger_ns),
        line("begin to begin of two blocks", &placement.block_ns, "ns", 1.0, 2),
        ns("end to begin in one slot", &placement.refill_ns),
        ns("longest − shortest body", &placement.drain_ns),
        line("nodes ahead", &placement.run_ahead_nodes, "nodes", 1.0, 0),
        line("multiply-add of a lone warp", &profile.issue.lone_warp_cycles, "cycles", 1.0, 4),
        tb("reads from device memory", &memory.hbm_bytes_per_ns),
        tb("reads from L2", &memory.l2_bytes_per_ns),
        line("reads of one SM", &memory.sm_bytes_per_ns, "GB/s", 1.0, 1),
        us("first byte from device memory", &memory.hbm_latency_ns),
        us("first byte from L2", &memory.l2_latency_ns),
        line("in flight a thread", &memory.thread_in_flight_bytes, "B", 1.0, 0),
        line("spread of a sample", &noise.sample_ratio, "%", 100.0, 3),
    ];
    if let Some(calibration) = &profile.calibration {
        let more = [
            calibration.copy_bytes_per_ns.as_ref().map(|c| tb("copies in device memory", c)),
            calibration.sm_clock_mhz.as_ref().map(|c| line("SM clock", c, "MHz", 1.0, 1)),
            calibration
                .ungated_ns
                .as_ref()
                .map(|c| us("without the gate a chain reads longer by", c)),
            calibration
                .fixed_work_full_gap_ns
                .as_ref()
                .map(|c| us("fixed work: last end → begin, full", c)),
            calibration.fixed_work_launch_ns.as_ref().map(|c| us("fixed work: trigger → begin", c)),
            calibration
                .fixed_work_release_ns
                .as_ref()
                .map(|c| us("fixed work: last end → release", c)),
        ];
        rows.extend(more.into_iter().flatten());
    }
    table(&["constant", "value", "95 %"], rows, &[1], markdown)
}

/// Costs that may be below zero.
fn signed_costs(calibration: &Calibration, markdown: bool) -> String {
    if calibration.signed.is_empty() {
        return String::new();
    }
    let rows = calibration.signed.iter().map(|signed_cost| {
        let cost = signed_cost.cost;
        vec![
            signed_cost.name.clone(),
            format!("{} ns", signed(cost.median_ns, 1)),
            format!("{} to {}", signed(cost.lo_ns, 1), signed(cost.hi_ns, 1)),
        ]
    });
    table(&["what measuring costs", "value", "95 %"], rows.collect(), &[1], markdown)
}

/// The agreement panel.
fn clocks(calibration: &Calibration, markdown: bool) -> String {
    let rows = &calibration.agreement;
    if rows.is_empty() {
        return String::new();
    }
    let between = |difference: Option<Difference>| {
        difference.map_or(ABSENT.to_owned(), |d| {
            format!("{} ({})", signed(d.median_ns / 1e3, 3), format_interval(d.lo_ns, d.hi_ns))
        })
    };
    let header =
        ["clocks: nodes", "events µs", "stamps µs", "wall µs", "events − stamps", "wall − events"];
    let cells = rows.iter().map(|row| {
        vec![
            row.nodes.to_string(),
            us_number(row.events_ns),
            or_absent(row.stamps_ns, us_number),
            or_absent(row.wall_ns, us_number),
            between(row.events_beyond_stamps),
            between(row.wall_beyond_events),
        ]
    });
    let mut text = table(&header, cells.collect(), &[1, 2, 3, 4, 5], markdown);
    let rate = |of: fn(&Agreement) -> Option<f64>| {
        or_absent(calibration.rate(of), |rate| format!("{} ppm", signed(rate * 1e6, 0)))
    };
    let _ = writeln!(
        text,
        "Same runs, three clocks. events − stamps: from the event to the first begin and from the \
         last end to the event.\nwall − events: the gate's opening reaches the device, the event \
         reaches the host. Neither should grow with the chain.\nRates against events: stamps {}, \
         wall {}.\n",
        rate(|row| row.stamps_ns),
        rate(|row| row.wall_ns),
    );
    text
}

/// The constants that are no measurement of this device.
fn assumed(profile: &Profile) -> String {
    let names = profile.assumed();
    match names.len() {
        0 => String::new(),
        _ => format!("assumed, not measured: {}\n\n", names.join(", ")),
    }
}
