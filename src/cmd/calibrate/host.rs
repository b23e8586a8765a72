//! Host time: the tables, and the answer to whether the attribute costs any.

use super::super::findings::table;
use crate::chain::Submission;
use crate::profile::{AttributeCost, Calibration, Constant};
use crate::units::{format_interval, signed, us, us_number};

/// Nothing where host time was not measured.
pub fn render(calibration: &Calibration, markdown: bool) -> String {
    if calibration.launches.is_empty() {
        return String::new();
    }
    let half = |constant: &Constant| {
        let interval = constant.lo.zip(constant.hi).unwrap_or((constant.value, constant.value));
        let half = us_number((interval.1 - interval.0) / 2.0);
        format!("{} ±{half}", us_number(constant.value))
    };
    let rows = calibration.launches.iter().map(|launch| {
        vec![
            launch.arm.to_string(),
            launch.regime.clone(),
            launch.nodes_a_call.to_string(),
            half(&launch.call_ns),
            half(&launch.node_ns),
        ]
    });
    let header =
        ["host time: arm", "regime", "nodes a call", "µs a call", "µs a node until drained"];
    let mut text = table(&header, rows.collect(), &[2, 3, 4], markdown);
    let rows = calibration.attribute.iter().map(|cost| {
        vec![
            place(cost),
            cost.regime.clone(),
            signed(cost.cost.median_ns / 1e3, 3),
            format_interval(cost.cost.lo_ns, cost.cost.hi_ns),
            signed(cost.again.median_ns / 1e3, 3),
            format_interval(cost.again.lo_ns, cost.again.hi_ns),
            cost.finding.clone(),
        ]
    });
    let header = ["attribute", "regime", "µs a call", "95 %", "control again", "95 %", "finding"];
    text += &table(&header, rows.collect(), &[2, 3, 4, 5], markdown);
    for submission in [Submission::Stream, Submission::Graph] {
        let costs = calibration.attribute.iter().filter(|cost| cost.submission == submission);
        let said: Vec<String> = costs.map(sentence).collect();
        if !said.is_empty() {
            let where_ = match submission {
                Submission::Stream => "Outside graphs",
                Submission::Graph => "Inside graphs",
            };
            text += &format!("{where_}, the attribute {}.\n", said.join("; "));
        }
    }
    text += "host-bound: the device waits for the host; gpu-bound: the device is behind; held: \
             behind the gate. control again: the same\nkernel without the attribute against itself, \
             in the same rounds; a finding must exceed it.\n\n";
    text
}

fn place(cost: &AttributeCost) -> String {
    match cost.submission {
        Submission::Stream => "a stream launch".to_owned(),
        Submission::Graph => format!("a graph of {} nodes", cost.nodes_a_call),
    }
}

fn sentence(cost: &AttributeCost) -> String {
    let call = match cost.submission {
        Submission::Stream => "a launch",
        Submission::Graph => "a replay",
    };
    let interval = format_interval(cost.cost.lo_ns, cost.cost.hi_ns);
    let regime = &cost.regime;
    match cost.finding.as_str() {
        "costs" => {
            format!("costs the host {} {call} {regime} ({interval})", us(cost.cost.median_ns))
        }
        "saves" => {
            format!("saves the host {} {call} {regime} ({interval})", us(-cost.cost.median_ns))
        }
        _ => format!("shows no cost {regime} (below {} {call})", us(cost.at_most_ns)),
    }
}
