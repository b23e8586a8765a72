//! What a sweep would measure.

use std::fmt::Write;

use super::table::extras;
use crate::chain::{Arm, Mode, Target};
use crate::cli::Format;
use crate::device::Facts;
use crate::error::{Error, Result};
use crate::measure::Plan;
use crate::units::us;

/// Whether a plan is printed as JSON; else it is a table.
///
/// # Errors
/// A form of results, of which a plan has none.
pub fn as_json(format: Format) -> Result<bool> {
    match format {
        Format::Table => Ok(false),
        Format::Json => Ok(true),
        Format::Csv | Format::Markdown | Format::Junit => Err(no_such_form()),
    }
}

/// A plan has no rows of results, which other forms are for.
pub fn no_such_form() -> Error {
    Error::usage("print a dry run so", "it has a plan and no results")
        .remedy("use --format table or json")
}

/// As one JSON object.
///
/// # Errors
/// What the serialiser says.
pub fn json(plan: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(plan);
    Ok(text.map_err(|error| Error::failed("write the plan as JSON", error))? + "\n")
}

/// The points of a plan and the time they are expected to take, as one JSON object.
///
/// # Errors
/// Those of [`json`].
pub fn dry_run_json(facts: &Facts, plan: &Plan) -> Result<String> {
    let expected = plan.expected(&plan.groups());
    json(&serde_json::json!({
        "device": facts.label(),
        "points": plan.points,
        "expected_s": [expected.least.as_secs_f64(), expected.most.as_secs_f64()],
    }))
}

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
