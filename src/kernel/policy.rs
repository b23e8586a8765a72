//! What a run says about every set of axis values: off, or at which sites.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::analysis::Summary;
use crate::chain::{Submission, Trigger};
use crate::record::{Manifest, Verdict};
use crate::units::{format_interval, signed_us, speedup};

/// What to do for one set of axis values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Full edges and no trigger: nothing was proved to help.
    Off,
    /// Programmatic edges, and this trigger.
    On(Trigger),
}

/// One set of axis values, in a stream or a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyRow {
    /// The values.
    pub axes: BTreeMap<String, i64>,
    /// How the chain is submitted.
    pub submission: Submission,
    /// What to do.
    pub decision: Decision,
    /// What is said of the triggers that were tried.
    pub verdict: Verdict,
    /// What the decision saves, ns a hop; `None` when it is off.
    pub saved_ns: Option<f64>,
    /// 95 % interval.
    pub saved_lo_ns: Option<f64>,
    /// 95 % interval.
    pub saved_hi_ns: Option<f64>,
    /// exp(median paired log ratio).
    pub speedup: Option<f64>,
}

/// The policy of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Name of the chain.
    pub name: String,
    /// The axis that it decides over; `None` where none has several values.
    pub axis: Option<String>,
    /// Device that it was measured on.
    pub device: String,
    /// Whether kernels without a sync were let behind programmatic edges.
    pub unsafe_no_sync: bool,
    /// In the order of the run, graph before stream.
    pub rows: Vec<PolicyRow>,
}

impl Policy {
    /// The policy of a run of the user's own kernels; `None` for another run.
    pub fn of(manifest: &Manifest, summary: &Summary) -> Option<Policy> {
        let kernel = manifest.kernel.as_ref()?;
        let mut rows = Vec::new();
        for (at, variant) in kernel.variants.iter().enumerate() {
            for submission in [Submission::Graph, Submission::Stream] {
                let own = |answer: &&crate::analysis::Answer| {
                    answer.group == at as u32 && answer.submission == submission
                };
                let Some(answer) = summary.answers.iter().find(own) else { continue };
                let choice = answer.plateau.as_ref().map(|plateau| &plateau.recommended);
                // A race at one site may be one at the others too.
                let choice = choice.filter(|_| answer.wrong.is_empty());
                let interval = choice.and_then(|choice| choice.saved_interval_ns);
                rows.push(PolicyRow {
                    axes: variant.axes.clone(),
                    submission,
                    decision: choice.map_or(Decision::Off, |choice| Decision::On(choice.trigger)),
                    verdict: answer.verdict,
                    saved_ns: choice.map(|choice| choice.saved_ns),
                    saved_lo_ns: interval.map(|interval| interval.lo),
                    saved_hi_ns: interval.map(|interval| interval.hi),
                    speedup: choice.and_then(|choice| choice.speedup),
                });
            }
        }
        Some(Policy {
            name: kernel.name.clone(),
            axis: kernel.policy.clone(),
            device: manifest.facts.label(),
            unsafe_no_sync: kernel.unsafe_no_sync,
            rows,
        })
    }

    /// The policy as lines for a terminal.
    pub fn text(&self) -> String {
        let unsafe_note =
            if self.unsafe_no_sync { " (UNSAFE: kernels without a sync)" } else { "" };
        let mut text = format!("Policy of {}{unsafe_note}:\n", self.name);
        for row in &self.rows {
            let pairs = row.axes.iter().map(|(name, value)| format!("{name} = {value}"));
            let axes = pairs.collect::<Vec<_>>().join(", ");
            let axes = if axes.is_empty() { String::new() } else { format!("{axes}, ") };
            let decision = match row.decision {
                Decision::Off => "off".to_owned(),
                Decision::On(trigger) => trigger.to_string(),
            };
            let _ = write!(text, "  {axes}{}: {decision}", row.submission.name());
            if let (Some(saved), Some(ratio)) = (row.saved_ns, row.speedup) {
                let _ = write!(text, ", saves {} a hop", signed_us(saved));
                if let (Some(lo), Some(hi)) = (row.saved_lo_ns, row.saved_hi_ns) {
                    let _ = write!(text, " ({} µs)", format_interval(lo, hi));
                }
                let _ = write!(text, ", {}", speedup(ratio));
            }
            text.push('\n');
        }
        text
    }
}
