//! The limit and the exposed time of a group in words.

use super::{Answer, Summary};
use crate::chain::{Arm, Dependency, Submission};
use crate::record::{Cause, Manifest, SummaryRow};
use crate::units::{signed_us, us};

/// Parts below this are not told, ns: a step of the timer is 32.
const TOLD_NS: f64 = 10.0;

impl Summary {
    /// What limits a group and what its recommended row leaves exposed, a sentence a submission;
    /// nothing without constants of the device.
    pub fn limits_of(&self, group: u32, manifest: &Manifest) -> Vec<String> {
        let points: Vec<&str> = manifest
            .plan
            .points
            .iter()
            .filter(|point| point.group == group)
            .map(|point| point.point.as_str())
            .collect();
        let rows: Vec<&SummaryRow> =
            self.rows.iter().filter(|row| points.contains(&row.point.as_str())).collect();
        [Submission::Graph, Submission::Stream]
            .into_iter()
            .filter_map(|submission| {
                let answer = self
                    .answers
                    .iter()
                    .find(|answer| answer.group == group && answer.submission == submission);
                sentence(&rows, submission, answer)
            })
            .collect()
    }
}

fn sentence(
    rows: &[&SummaryRow],
    submission: Submission,
    answer: Option<&Answer>,
) -> Option<String> {
    let of = |arm: Arm, dependency: Dependency| {
        let mut found = rows.iter().filter(|row| row.arm == arm && row.dependency == dependency);
        found.find(|row| !row.constants.is_empty()).copied()
    };
    let (baseline, subject) = match submission {
        Submission::Graph => (Arm::Graph, Arm::GraphPdl),
        Submission::Stream => (Arm::Stream, Arm::StreamPdl),
    };
    let limit = |row: &SummaryRow| {
        let by = row.limit_by.map_or("", |by| by.words());
        Some(format!("{} ({by})", us(row.limit_ns?)))
    };
    let programmatic = of(subject, Dependency::Programmatic);
    let full = of(baseline, Dependency::Full);
    let kinds = [(programmatic, "programmatic"), (full, "full")];
    let limits: Vec<String> = kinds
        .into_iter()
        .filter_map(|(row, kind)| Some(format!("{} over {kind} edges", limit(row?)?)))
        .collect();
    let constants = &programmatic.or(full)?.constants;
    let mut text = format!("limit, {}, by {constants}: {}", submission.name(), limits.join(", "));
    if let Some(exposed) = answer.and_then(|answer| exposed(rows, answer)) {
        text += &format!("; {exposed}");
    }
    Some(text)
}

/// `graph-pdl 6/8 takes 0.76 µs more and leaves 1.91 µs exposed: contention 1.16 µs, …`.
fn exposed(rows: &[&SummaryRow], answer: &Answer) -> Option<String> {
    let trigger = answer.plateau.as_ref()?.recommended.trigger;
    let row = rows.iter().find(|row| row.arm == answer.arm && row.trigger == Some(trigger))?;
    let (period, limit, exposed) = (row.period_ns?, row.limit_ns?, row.exposed_ns?);
    let mut parts: Vec<(Cause, f64)> =
        Cause::ALL.into_iter().filter_map(|cause| Some((cause, row.exposed(cause)?))).collect();
    parts.retain(|(_, ns)| ns.abs() >= TOLD_NS);
    parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let parts: Vec<String> =
        parts.iter().map(|(cause, ns)| format!("{} {}", cause.name(), us(*ns))).collect();
    Some(format!(
        "{} {trigger}: {} against it, {} exposed: {}",
        row.arm,
        signed_us(period - limit),
        us(exposed),
        parts.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::summarise;
    use crate::chain::{Arm, Trigger};
    use crate::profile::BUILT_IN;
    use crate::record::Run;

    #[test]
    fn a_group_says_its_limits_and_what_its_answer_leaves_exposed() {
        let saves = |arm: Arm, _: Option<Trigger>| f64::from(arm == Arm::GraphPdl) * 800.0;
        let triggers = [Trigger::AtEntry, Trigger::Segment { at: 4, of: 8 }];
        let Fixture { manifest, points, samples } = Fixture::new(&triggers, 30, 5.0, &saves);
        let mut summary = summarise(&manifest, &points, &samples);
        let run = Run { manifest, points, samples, end: None, notes: Vec::new() };
        assert!(summary.limits_of(0, &run.manifest).is_empty(), "no constants are known");
        summary.with_constants(&BUILT_IN, &run);
        let told = summary.limits_of(0, &run.manifest);
        assert_eq!(told.len(), 1, "no streams: {told:?}");
        for part in [
            "limit, graph, by h200 (measured): ",
            "(issue slots of preamble and body) over programmatic edges",
            "(body + launch + preamble) over full edges; graph-pdl 4/8: +",
            " exposed: ",
        ] {
            assert!(told[0].contains(part), "{part} in {}", told[0]);
        }
        assert!(summary.limits_of(1, &run.manifest).is_empty());
    }
}
