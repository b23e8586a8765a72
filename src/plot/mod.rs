//! Charts of a sweep, as SVG: pure functions from rows to text, the same bytes for the same rows.
//!
//! Each chart states its finding in the title, names what was run and on which device, has a
//! unit on every axis, tells arms apart by colour, dash and marker, and carries a title and a
//! description for readers who do not see it. No font is read: room for text comes from a fixed
//! formula, so charts are the same on every machine.

mod canvas;
mod edges;
mod exposed;
mod figure;
mod finding;
mod gain;
mod gantt;
mod group;
mod heat;
mod layout;
mod length;
mod overlay;
mod period;
mod scale;
mod series;
mod spread;
mod stamped;
mod style;
mod triggers;
mod validation;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod spoiled;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use self::edges::edges;
pub use self::gantt::{Lanes, SM_LANES_BLOCKS, SM_LANES_NODES, timeline};
pub use self::validation::validation;

use crate::chain::{Arm, Submission, Trigger};
use crate::record::{PlanPoint, SampleRow, SummaryRow};

/// A file's name under `charts/`, and its content.
type Named = (String, String);

/// What charts need beside rows and samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Device, driver and revision, as the caption says them.
    pub caption: String,
    /// Whether the device is simulated; then every title says so.
    pub simulated: bool,
    /// Points of the plan: which rows belong together, and what was asked for. Rows of other
    /// points are not drawn.
    pub points: Vec<PlanPoint>,
    /// Noise floor of each group and submission by its A/A arm, µs a hop.
    pub floors_us: BTreeMap<(u32, Submission), f64>,
    /// What the groups of the user's own kernels run; other groups say it themselves.
    pub own: BTreeMap<u32, String>,
    /// What the prediction is called, where there is one: `model: events, SIMULATED`.
    pub predicted: Option<String>,
    /// The answers of the analysis; where there is none, the largest saving is named.
    pub chosen: Vec<Chosen>,
}

/// The trigger that the analysis recommends for an arm in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Group of the plan.
    pub group: u32,
    /// Arm.
    pub arm: Arm,
    /// The trigger; `None` for arms without one.
    pub trigger: Option<Trigger>,
}

/// Every chart that the rows of a run allow: name of the file under `charts/`, and SVG.
///
/// For each group: time saved a hop and period against the trigger, what the exposed time is made
/// of, and the samples. For groups
/// that differ in one axis: a heat map over trigger and that axis, and over body lengths a curve.
pub fn render_all(
    rows: &[SummaryRow],
    samples: &[SampleRow],
    ctx: &Context,
) -> Vec<(String, String)> {
    let groups = group::groups(rows, ctx);
    let mut charts = Vec::new();
    for group in &groups {
        for submission in [Submission::Graph, Submission::Stream] {
            charts.extend(gain::chart(group, submission, ctx));
            charts.extend(exposed::chart(group, submission, ctx));
        }
        charts.extend(period::chart(group, ctx));
    }
    for (axis, family) in group::families(&groups) {
        for arm in [Arm::GraphPdl, Arm::StreamPdl] {
            charts.extend(heat::chart(&axis, &family, arm, ctx));
            if axis == "body length" {
                charts.extend(length::chart(&family, arm, ctx));
            }
        }
    }
    for group in &groups {
        charts.extend(spread::chart(group, samples, ctx));
    }
    charts
}
