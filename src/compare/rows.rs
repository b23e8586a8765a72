//! One row of a comparison: what is known of it, why it may have no verdict, and its verdict among
//! all others.

use std::collections::HashMap;

use super::Side;
use super::allowance::{Known, allowance};
use super::definition::{group_label, work_difference_ns};
use super::judge::{Change, claims, judge};
use super::outcome::Row;
use super::runs::Options;
use super::views::{Pair, Rounds, View};
use crate::analysis::{Entry, Indexed};
use crate::chain::{Arm, Trigger};
use crate::record::SummaryRow;
use crate::stats::holm;

/// Work that differs by more than this part of the margin is other work.
const WORK: f64 = 0.25;

/// A row before its verdict.
pub(super) struct Draft {
    row: Row,
    groups: (u32, u32),
    rounds: Option<Pair>,
}

/// What both runs say of a point × arm; `moved` tells whether the device was in another state,
/// `None` where it cannot be told.
pub(super) fn draft(
    a: &Side,
    b: &Side,
    (left, of_a): (&Indexed, &Entry),
    (right, of_b): (&Indexed, &Entry),
    moved: Option<bool>,
    options: &Options,
) -> Draft {
    let summary = |side: &Side, entry: &Entry| -> Option<SummaryRow> {
        side.summary.row(&entry.record.point, entry.record.arm).cloned()
    };
    let (row_a, row_b) = (summary(a, of_a), summary(b, of_b));
    let number = |row: &Option<SummaryRow>, field: fn(&SummaryRow) -> Option<f64>| {
        row.as_ref().and_then(field)
    };
    let mut row = Row {
        group: group_label(left.manifest, &of_a.record.chain),
        point_a: of_a.record.point.clone(),
        point_b: of_b.record.point.clone(),
        arm: of_a.record.arm,
        trigger: of_a.record.trigger,
        flips: left
            .manifest
            .attached
            .as_ref()
            .map_or_else(Vec::new, |graph| graph.flips_of(&of_a.record.point).to_vec()),
        samples_a: row_a.as_ref().map_or(0, |row| row.samples),
        samples_b: row_b.as_ref().map_or(0, |row| row.samples),
        period_a_ns: number(&row_a, |row| row.period_ns),
        period_b_ns: number(&row_b, |row| row.period_ns),
        saved_a_ns: number(&row_a, |row| row.saved_ns),
        saved_b_ns: number(&row_b, |row| row.saved_ns),
        change_ns: None,
        change_interval_ns: None,
        views: Vec::new(),
        allowance: None,
        verdict: Change::Inconclusive,
        reasons: Vec::new(),
    };
    let rounds = Rounds::of(left, of_a).zip(Rounds::of(right, of_b));
    let rounds = rounds.map(|(a, b)| Pair { a, b });
    if let (Some(rounds), Some(period_ns)) = (&rounds, row.period_a_ns) {
        let floor = |side: &Side, entry: &Entry| {
            side.summary.floor.of(entry.record.group, entry.record.arm.submission())
        };
        let known = Known {
            arm: row.arm,
            body_kind: of_a.record.chain.body.kind,
            at_end: row.trigger.is_none_or(Trigger::at_end),
            period_ns,
            body_ns: of_a.record.body_ns,
            floors_ns: floor(a, of_a).unwrap_or(0.0) + floor(b, of_b).unwrap_or(0.0),
            spread_ns: rounds.spread_ns(),
        };
        row.allowance = Some(allowance(&known, options.margin_us, options.margin_ratio));
        row.views = rounds.views();
        let least = nearest_to_none(&row.views);
        row.change_ns = least.map(|view| view.change_ns);
        row.change_interval_ns = least.and_then(|view| view.interval_ns);
    }
    let groups = (of_a.record.group, of_b.record.group);
    match withheld(of_a, of_b, &row, moved) {
        Some((verdict, reason)) => {
            row.verdict = verdict;
            row.reasons.push(reason.to_owned());
            // Two things that are not the same have no change.
            (row.change_ns, row.change_interval_ns, row.views) = (None, None, Vec::new());
            Draft { row, groups, rounds: None }
        }
        None => Draft { row, groups, rounds },
    }
}

/// The reference that shows the least: what all of them show.
fn nearest_to_none(views: &[View]) -> Option<View> {
    views.iter().copied().min_by(|a, b| a.change_ns.abs().total_cmp(&b.change_ns.abs()))
}

/// Why a row has no verdict on its time.
fn withheld(
    of_a: &Entry,
    of_b: &Entry,
    row: &Row,
    moved: Option<bool>,
) -> Option<(Change, &'static str)> {
    let skipped = |entry: &Entry| entry.record.skipped.is_some();
    let reason = match (of_a.wrong, of_b.wrong, skipped(of_a), skipped(of_b)) {
        (_, true, _, _) => return Some((Change::Wrong, "wrong-values")),
        (true, false, _, _) => "wrong-in-a",
        (_, _, true, true) => return Some((Change::Skipped, "skipped")),
        (_, _, true, false) => "skipped-in-a",
        (_, _, false, true) => "skipped-in-b",
        _ => {
            let Some(allowance) = row.allowance else {
                return Some((Change::Inconclusive, "no-samples"));
            };
            let work_ns = work_difference_ns(of_a.record, of_b.record);
            if work_ns > WORK * allowance.margin_ns {
                "work-differs"
            } else if of_a.nodes != of_b.nodes {
                "nodes-differ"
            } else if moved.is_none() {
                "no-sentinel"
            } else if moved == Some(true) {
                "session-moved"
            } else {
                return None;
            }
        }
    };
    Some((Change::Inconclusive, reason))
}

/// Verdicts over the family of all rows; baselines before what is held against them.
pub(super) fn verdicts(mut drafts: Vec<Draft>) -> Vec<Row> {
    let mut with_baseline: HashMap<(u32, u32), Change> = HashMap::new();
    for baselines in [true, false] {
        let asked: Vec<usize> = (0..drafts.len())
            .filter(|&at| drafts[at].rounds.is_some())
            .filter(|&at| (drafts[at].row.arm == Arm::Graph) == baselines)
            .collect();
        let family = drafts.iter().filter(|draft| draft.rounds.is_some()).count();
        let mut p_values: Vec<f64> =
            asked.iter().map(|&at| p_value(&drafts[at], &with_baseline)).collect();
        // The rest of the family, without evidence of its own: as if its p-values were 1.
        p_values.resize(family, 1.0);
        let adjusted = holm(&p_values);
        for (&at, p) in asked.iter().zip(adjusted) {
            settle(&mut drafts[at], p, &with_baseline);
            if baselines {
                with_baseline.insert(drafts[at].groups, drafts[at].row.verdict);
            }
        }
    }
    drafts.into_iter().map(|draft| draft.row).collect()
}

/// The references that count: where the baseline of the group itself changed, it is none.
fn counted(draft: &Draft, baselines: &HashMap<(u32, u32), Change>) -> Vec<View> {
    let verdict = baselines.get(&draft.groups);
    let changed = matches!(verdict, Some(Change::Regression | Change::Improvement));
    let counts = |view: &&View| !(changed && view.reference == "baseline");
    draft.row.views.iter().filter(counts).copied().collect()
}

fn p_value(draft: &Draft, baselines: &HashMap<(u32, u32), Change>) -> f64 {
    let (Some(rounds), Some(allowance)) = (&draft.rounds, &draft.row.allowance) else { return 1.0 };
    let views = counted(draft, baselines);
    if !claims(&views, allowance) {
        return 1.0;
    }
    rounds.p_value(allowance.allowance_ns, |name| views.iter().any(|v| v.reference == name))
}

fn settle(draft: &mut Draft, adjusted_p: f64, baselines: &HashMap<(u32, u32), Change>) {
    let Some(allowance) = draft.row.allowance else { return };
    let views = counted(draft, baselines);
    let (verdict, reasons) = judge(&views, &allowance, adjusted_p);
    draft.row.verdict = verdict;
    draft.row.reasons = reasons.into_iter().map(str::to_owned).collect();
    let moved = matches!(verdict, Change::Regression | Change::Improvement);
    if moved && views.len() < draft.row.views.len() {
        draft.row.reasons.push("with-baseline".to_owned());
        let least = nearest_to_none(&views);
        draft.row.change_ns = least.map(|view| view.change_ns);
        draft.row.change_interval_ns = least.and_then(|view| view.interval_ns);
    }
}
