//! The table of verdicts.

use std::collections::HashMap;

use serde::Serialize;

use super::words::{self, Badge};
use super::{Group, group_name};
use crate::analysis::{Answer, Summary, placement};
use crate::chain::{Arm, Mode, Submission, Trigger};
use crate::record::{Run, SummaryRow};
use crate::stamps::Reduced;
use crate::stats::Interval;
use crate::units::{fixed, format_interval, signed, us_number};

/// The rows of a run.
#[derive(Serialize)]
pub(super) struct View {
    rows: Vec<RowView>,
    /// Controls and the drift sentinel: rows for those who check.
    controls: Vec<RowView>,
    /// Whether groups are named: there are several.
    grouped: bool,
    /// Whether a model's prediction stands beside the rows.
    predicted: bool,
    /// Whether some row has a contamination index.
    pipelined: bool,
    /// Arms and verdicts that there are, for the filter.
    arms: Vec<String>,
    verdicts: Vec<&'static str>,
}

/// One row.
#[derive(Serialize)]
struct RowView {
    place: usize,
    group: String,
    arm: String,
    /// The trigger; empty for arms without one.
    trigger: String,
    /// `recommended`, `as good`, `before its own sync`.
    marks: Vec<&'static str>,
    baseline: bool,
    period: Number,
    limit: Number,
    predicted: Number,
    saved: Number,
    speedup: Number,
    contamination: Number,
    verdict: Option<Badge>,
    reasons: Vec<String>,
    proof: Option<Badge>,
    correct: Option<Badge>,
    code_cost: Number,
    slowed: Number,
    useful: Number,
    parked: Number,
    blocks: String,
}

/// A number as it is shown, what is shown under it, and what it is sorted by.
#[derive(Default, Serialize)]
struct Number {
    text: String,
    interval: String,
    /// Empty where there is none.
    sort: String,
}

impl Number {
    fn new(value: Option<f64>, text: impl Fn(f64) -> String) -> Number {
        let value = value.filter(|value| value.is_finite());
        value.map_or_else(Number::default, |value| Number {
            text: text(value),
            interval: String::new(),
            sort: value.to_string(),
        })
    }

    fn with(self, lo: Option<f64>, hi: Option<f64>, text: impl Fn(Interval) -> String) -> Number {
        match lo.zip(hi) {
            Some((lo, hi)) if !self.text.is_empty() => {
                Number { interval: text(Interval { lo, hi }), ..self }
            }
            _ => self,
        }
    }
}

fn is_control(arm: Arm) -> bool {
    matches!(arm, Arm::StreamFull | Arm::GraphFull | Arm::Sentinel)
}

pub(super) fn view(summary: &Summary, run: &Run, groups: &[Group]) -> View {
    let latest = run.latest();
    let plan = run.manifest.plan.points.iter();
    let group_of: HashMap<&str, u32> = plan.map(|p| (p.point.as_str(), p.group)).collect();
    let mut rows: Vec<(u32, &SummaryRow)> = summary
        .rows
        .iter()
        .filter_map(|row| Some((*group_of.get(row.point.as_str())?, row)))
        .collect();
    // Group by group, graphs before streams; baselines, then the subject in order of time.
    let rank = |row: &SummaryRow| match row.arm {
        Arm::Stream | Arm::Graph => 0,
        Arm::StreamAa | Arm::GraphAa => 1,
        Arm::StreamPdl | Arm::GraphPdl => 2,
        _ => 3,
    };
    rows.sort_by(|(group_a, a), (group_b, b)| {
        let key = |group: u32, row: &SummaryRow| {
            (group, row.submission == Submission::Stream, rank(row), row.arm)
        };
        let time = |row: &SummaryRow| row.trigger.map_or(0.0, Trigger::order);
        key(*group_a, a).cmp(&key(*group_b, b)).then(time(a).total_cmp(&time(b)))
    });
    let view = |(place, (group, row)): (usize, (u32, &SummaryRow))| {
        let answer = summary.answers.iter().find(|a| a.group == group && a.arm == row.arm);
        let stamps = latest.get(&(row.point.as_str(), row.arm)).and_then(|record| record.stamps);
        row_view(place, group_name(groups, group), row, answer, stamps)
    };
    let (controls, shown): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, row)| is_control(row.arm));
    let mut arms: Vec<Arm> = shown.iter().map(|(_, row)| row.arm).collect();
    arms.sort();
    arms.dedup();
    let mut verdicts: Vec<&'static str> = Vec::new();
    for word in shown.iter().filter_map(|(_, row)| row.verdict).map(|v| words::verdict(v).word) {
        if !verdicts.contains(&word) {
            verdicts.push(word);
        }
    }
    View {
        predicted: summary.forecast.is_some(),
        pipelined: summary.rows.iter().any(|row| row.mode == Mode::Pipelined),
        rows: shown.into_iter().enumerate().map(view).collect(),
        controls: controls.into_iter().enumerate().map(view).collect(),
        grouped: groups.len() > 1,
        arms: arms.iter().map(Arm::to_string).collect(),
        verdicts,
    }
}

fn row_view(
    place: usize,
    group: String,
    row: &SummaryRow,
    answer: Option<&Answer>,
    stamps: Option<Reduced>,
) -> RowView {
    let subject = matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl);
    let signed_us = |ns: f64| signed(ns / 1e3, 3);
    let plain = |i: Interval| format!("{} to {}", us_number(i.lo), us_number(i.hi));
    let ratio = |i: Interval| format!("{} to {}", fixed(i.lo, 3), fixed(i.hi, 3));
    let index = |i: Interval| format!("{} to {}", fixed(i.lo, 4), fixed(i.hi, 4));
    let (lo, hi) = (row.saved_lo_ns, row.saved_hi_ns);
    let trigger = row.trigger.filter(|_| row.arm != Arm::Sentinel);
    // A name breaks between its parts, not within one.
    let group = group.replace(' ', "\u{a0}").replace(",\u{a0}", ", ");
    RowView {
        place,
        group,
        arm: row.arm.to_string(),
        trigger: trigger.map_or_else(String::new, |trigger| trigger.to_string()),
        marks: marks(row, answer),
        baseline: matches!(row.arm, Arm::Stream | Arm::Graph),
        period: Number::new(row.period_ns, us_number).with(
            row.period_lo_ns,
            row.period_hi_ns,
            plain,
        ),
        limit: Number::new(row.limit_ns, us_number),
        predicted: predicted(row),
        saved: Number::new(row.saved_ns, signed_us)
            .with(lo, hi, |interval| format_interval(interval.lo, interval.hi)),
        speedup: Number::new(row.speedup, |ratio| format!("{}×", fixed(ratio, 3))).with(
            row.speedup_lo,
            row.speedup_hi,
            ratio,
        ),
        contamination: Number::new(row.contamination, |index| fixed(index, 4)).with(
            row.contamination_lo,
            row.contamination_hi,
            index,
        ),
        verdict: row.verdict.map(words::verdict),
        reasons: words::reasons(&row.reason),
        proof: row.proof.map(words::proof),
        correct: row.correct.map(words::correct),
        code_cost: Number::new(row.code_cost_ns, signed_us),
        slowed: Number::new(row.primary_slowed_ns, signed_us),
        useful: Number::new(row.useful_ns.filter(|_| subject), us_number),
        parked: Number::new(row.parked_ns.filter(|_| subject), us_number),
        blocks: placement(row, stamps).unwrap_or_default(),
    }
}

/// The model's period, its error beneath.
fn predicted(row: &SummaryRow) -> Number {
    if !row.not_predicted.is_empty() {
        return Number { text: "not covered".to_owned(), ..Number::default() };
    }
    let number = Number::new(row.predicted_ns, us_number);
    match row.error_pct {
        Some(error) => Number { interval: format!("{} %", signed(error, 1)), ..number },
        None => number,
    }
}

fn marks(row: &SummaryRow, answer: Option<&Answer>) -> Vec<&'static str> {
    let mut marks = Vec::new();
    let plateau = answer.and_then(|answer| answer.plateau.as_ref());
    if let Some((plateau, trigger)) = plateau.zip(row.trigger) {
        if plateau.recommended.trigger == trigger {
            marks.push("recommended");
        } else if plateau.triggers.contains(&trigger) {
            marks.push("as good");
        }
    }
    let subject = matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl);
    if subject && row.trigger == Some(Trigger::AtEntry) {
        marks.push("before its own sync");
    }
    marks
}
