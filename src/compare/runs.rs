//! Two runs, point by point.

use std::collections::HashMap;

use super::Side;
use super::allowance::{Known, allowance};
use super::definition::{group_label, key, label, work_difference_ns};
use super::fingerprint::{Mismatch, mismatches};
use super::judge::{Change, claims, judge};
use super::notes::{notes, party};
use super::outcome::{COMPARISON_SCHEMA, Comparison, Row, Session};
use super::views::{Pair, Rounds, View};
use crate::analysis::{Entry, Indexed};
use crate::chain::Arm;
use crate::error::{Error, Kind, Result};
use crate::record::SummaryRow;
use crate::stats::{CONFIDENCE, holm, median_difference};

/// Work that differs by more than this part of the margin is other work.
const WORK: f64 = 0.25;

/// What the user decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Margin between two runs, µs a hop.
    pub margin_us: f64,
    /// The same as a part of the period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Only rows of these arms; all where it is empty.
    pub arms: Vec<Arm>,
    /// Why runs whose fingerprints differ are to be compared all the same.
    pub accept_mismatch: Option<String>,
}

/// Compares `b` with `a`; both with the names that the user gave them.
///
/// # Errors
/// Fingerprints that differ and were not accepted (refused), and runs without a point in common.
pub fn compare_runs(a: (&str, &Side), b: (&str, &Side), options: &Options) -> Result<Comparison> {
    let mismatches = mismatches(a.1, b.1);
    if !mismatches.is_empty() && options.accept_mismatch.is_none() {
        return Err(refused(a.0, b.0, &mismatches));
    }
    let (left, right) = (a.1.indexed(), b.1.indexed());
    let matched = matched(&left, &right, &options.arms);
    if matched.both.is_empty() {
        return Err(nothing_in_common(a.0, b.0, &matched));
    }
    let mut sessions = Sessions::default();
    let drafts: Vec<Draft> = matched
        .both
        .iter()
        .map(|&(of_a, of_b)| {
            let moved = sessions.of(&left, &right, of_a, of_b, options);
            draft(a.1, b.1, (&left, of_a), (&right, of_b), moved, options)
        })
        .collect();
    let rows = verdicts(drafts);
    let accepted_mismatch = options.accept_mismatch.clone().filter(|_| !mismatches.is_empty());
    Ok(Comparison {
        schema: COMPARISON_SCHEMA,
        a: party(a.0, a.1),
        b: party(b.0, b.1),
        paired: false,
        accepted_mismatch,
        mismatches,
        margin_us: options.margin_us,
        margin_ratio: options.margin_ratio,
        notes: notes(a.1, b.1),
        sessions: sessions.all,
        rows,
        only_a: matched.only_a,
        only_b: matched.only_b,
        verdict: Change::Inconclusive,
        reasons: Vec::new(),
        counts: Vec::new(),
    }
    .settled())
}

fn refused(a: &str, b: &str, mismatches: &[Mismatch]) -> Error {
    let differences: Vec<String> =
        mismatches.iter().map(|m| format!("{} ({} and {})", m.code, m.a, m.b)).collect();
    let cause = format!("their fingerprints differ: {}", differences.join(", "));
    Error::new(Kind::Refused, format!("compare {a} with {b}"), cause).remedy(
        "measure both alike; --accept-mismatch \"reason\" compares all the same, --across-devices \
         tells what carries over",
    )
}

fn nothing_in_common(a: &str, b: &str, matched: &Matched) -> Error {
    let one = |side: &[String]| side.first().cloned().unwrap_or_else(|| "nothing".to_owned());
    let cause = format!(
        "they have no point in common: the first has {} and {} more, the second {} and {} more",
        one(&matched.only_a),
        matched.only_a.len().saturating_sub(1),
        one(&matched.only_b),
        matched.only_b.len().saturating_sub(1)
    );
    Error::failed(format!("compare {a} with {b}"), cause)
        .remedy("measure the same points: pdl sweep --repeat RUN takes plan and work from a run")
}

/// Entries of both runs by definition.
struct Matched<'r, 'a> {
    both: Vec<(&'r Entry<'a>, &'r Entry<'a>)>,
    only_a: Vec<String>,
    only_b: Vec<String>,
}

/// Matches all but the sentinels, which stand for the state of the device. Of two points of one
/// definition in a run the first is taken.
fn matched<'r, 'a>(left: &'r Indexed<'a>, right: &'r Indexed<'a>, arms: &[Arm]) -> Matched<'r, 'a> {
    let entries = |run: &'r Indexed<'a>| {
        let asked = |arm: Arm| arms.is_empty() || arms.contains(&arm);
        let rows = run.entries.iter().filter(|entry| entry.record.arm != Arm::Sentinel);
        rows.filter(move |entry| asked(entry.record.arm))
    };
    let mut of_b: HashMap<String, &Entry> = HashMap::new();
    for entry in entries(right) {
        of_b.entry(key(entry.record)).or_insert(entry);
    }
    let mut matched = Matched { both: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    for entry in entries(left) {
        match of_b.remove(&key(entry.record)) {
            Some(other) => matched.both.push((entry, other)),
            None => matched.only_a.push(label(entry.record)),
        }
    }
    let left_over = entries(right).filter(|entry| {
        of_b.get(&key(entry.record)).is_some_and(|other| std::ptr::eq(*other, *entry))
    });
    matched.only_b = left_over.map(|entry| label(entry.record)).collect();
    matched
}

/// Whether the device was in the same state in both runs, group by group.
#[derive(Default)]
struct Sessions {
    all: Vec<Session>,
    known: HashMap<(u32, u32), Option<bool>>,
}

impl Sessions {
    /// Whether the fixed kernel's time changed beyond the margin; `None` where a run has none.
    fn of(
        &mut self,
        left: &Indexed,
        right: &Indexed,
        a: &Entry,
        b: &Entry,
        options: &Options,
    ) -> Option<bool> {
        let groups = (a.record.group, b.record.group);
        if let Some(&moved) = self.known.get(&groups) {
            return moved;
        }
        let sentinel =
            |run: &Indexed, group| Rounds::of(run, run.find(group, Arm::Sentinel, None)?);
        let pair = sentinel(left, groups.0).zip(sentinel(right, groups.1));
        let change = pair.as_ref().map(|(a, b)| median_difference(&a.own, &b.own, CONFIDENCE));
        let period = pair.as_ref().map_or(0.0, |(a, _)| a.own.estimate(CONFIDENCE).median);
        let margin_ns = (options.margin_us * 1e3).max(options.margin_ratio * period);
        let moved = change.map(|change| change.median.abs() > margin_ns);
        self.all.push(Session {
            group: group_label(&a.record.chain),
            sentinel_change_ns: change.map(|change| change.median),
            moved: moved.unwrap_or(false),
        });
        self.known.insert(groups, moved);
        moved
    }
}

/// A row before its verdict.
struct Draft {
    row: Row,
    groups: (u32, u32),
    rounds: Option<Pair>,
}

fn draft(
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
        group: group_label(&of_a.record.chain),
        point_a: of_a.record.point.clone(),
        point_b: of_b.record.point.clone(),
        arm: of_a.record.arm,
        trigger: of_a.record.trigger,
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
        let floor = |side: &Side, entry: &Entry| side.summary.floor.of_group(entry.record.group);
        let known = Known {
            arm: row.arm,
            body_kind: of_a.record.chain.body.kind,
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
fn verdicts(mut drafts: Vec<Draft>) -> Vec<Row> {
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
