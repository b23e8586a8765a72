//! What a sweep would measure.

use std::fmt::Write;

use super::table::extras;
use crate::chain::{Arm, Mode, Target};
use crate::device::Facts;
use crate::measure::Plan;
use crate::units::us;

/// The points of a plan and the time they are expected to take.
pub fn dry_run(facts: &Facts, plan: &Plan) -> String {
    let mut text = format!("{}\n", facts.label());
    for points in plan.groups() {
        let chain = &points[0].chain;
        let arms = points.iter().map(|point| point.arms.len()).sum::<usize>();
        let body = match chain.body.target {
            Target::Ns(ns) => us(ns),
            Target::Bytes(bytes) => format!("{bytes} B"),
        };
        let _ = writeln!(
            text,
            "group {}: {} nodes, {} blocks × {} threads{}, body {} {body}, preamble {} {}, L2 {}, triggered by {}, {}{}",
            points[0].group,
            chain.nodes,
            chain.shape.grid_blocks,
            chain.shape.block_threads,
            extras(chain),
            chain.body.kind,
            chain.preamble.kind,
            us(chain.preamble.target_ns),
            chain.l2,
            chain.trigger_by,
            chain.mode,
            if chain.mode == Mode::Pipelined { " (chains are not drained)" } else { "" },
        );
        for point in points {
            let trigger = point.trigger.map_or("no trigger".to_owned(), |t| t.to_string());
            let names: Vec<String> = point.arms.iter().map(Arm::to_string).collect();
            let _ = writeln!(text, "  {} {trigger:<10} {}", point.point, names.join(" "));
        }
        let _ = writeln!(text, "  {arms} points × arms");
    }
    let _ = writeln!(text, "expected: {}", plan.expected(&plan.groups()));
    text
}
