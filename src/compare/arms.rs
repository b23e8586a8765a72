//! Two arms of one run: the same rounds, so that every difference is paired.

use super::Side;
use super::allowance::Allowance;
use super::definition::group_label;
use super::judge::Change;
use super::notes::{of_side, party};
use super::outcome::{COMPARISON_SCHEMA, Comparison, Party, Row};
use super::views::View;
use crate::analysis::{Effect, Entry, Indexed, judge, margin_ns};
use crate::chain::{Arm, Trigger};
use crate::error::{Error, Result};
use crate::record::{SummaryRow, Verdict};
use crate::stats::{MedianDifference, MedianEstimate, holm};

/// Compares arm `b` with arm `a` of the run that the user named `name`, wherever a group has both:
/// trigger by trigger, and an arm without a trigger with every trigger of the other. Margin, floor
/// and verdicts are those of the run.
///
/// # Errors
/// The run has no group with both arms.
pub fn compare_arms(name: &str, side: &Side, a: Arm, b: Arm) -> Result<Comparison> {
    let run = side.indexed();
    let pairs = pairs(&run, a, b);
    if pairs.is_empty() {
        let cause = format!("the run has no group with both {a} and {b}");
        return Err(Error::failed(format!("compare arms of {name}"), cause)
            .remedy("pdl report RUN lists the arms that it has"));
    }
    let mut drafts: Vec<Draft> =
        pairs.into_iter().map(|(of_a, of_b)| draft(side, &run, of_a, of_b)).collect();
    let p_values: Vec<f64> =
        drafts.iter().map(|draft| draft.effect.map_or(f64::NAN, |effect| effect.p_value)).collect();
    // Rows without an effect claim nothing; as members of the family they would cost the others.
    let asked: Vec<f64> = p_values.iter().copied().filter(|p| !p.is_nan()).collect();
    let mut adjusted = holm(&asked).into_iter();
    for draft in drafts.iter_mut().filter(|draft| draft.effect.is_some()) {
        settle(draft, adjusted.next().unwrap_or(1.0));
    }
    let arm = |arm: Arm| Party { name: arm.to_string(), ..party(name, side) };
    Ok(Comparison {
        schema: COMPARISON_SCHEMA,
        a: arm(a),
        b: arm(b),
        paired: true,
        accepted_mismatch: None,
        mismatches: Vec::new(),
        margin_us: side.manifest.plan.margin_us,
        margin_ratio: side.manifest.plan.margin_ratio,
        notes: of_side(name, side),
        sessions: Vec::new(),
        rows: drafts.into_iter().map(|draft| draft.row).collect(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        verdict: Change::Inconclusive,
        reasons: Vec::new(),
        counts: Vec::new(),
    }
    .settled())
}

/// Entries of both arms that belong together, group by group, in the order of the plan.
fn pairs<'r, 'a>(run: &'r Indexed<'a>, a: Arm, b: Arm) -> Vec<(&'r Entry<'a>, &'r Entry<'a>)> {
    let of = |group: u32, arm: Arm| -> Vec<&'r Entry<'a>> {
        let mine = |entry: &&Entry| entry.record.group == group && entry.record.arm == arm;
        run.entries.iter().filter(mine).collect()
    };
    let mut pairs = Vec::new();
    for group in run.groups() {
        for of_a in of(group, a) {
            let matches = |of_b: &&Entry| {
                let both = a.sweeps_trigger() && b.sweeps_trigger();
                !both || of_a.record.trigger == of_b.record.trigger
            };
            pairs.extend(of(group, b).into_iter().filter(matches).map(|of_b| (of_a, of_b)));
        }
    }
    pairs
}

/// A row before its verdict.
struct Draft {
    row: Row,
    effect: Option<Effect>,
    floor_ns: Option<f64>,
}

fn draft(side: &Side, run: &Indexed, of_a: &Entry, of_b: &Entry) -> Draft {
    let summary = |entry: &Entry| side.summary.row(&entry.record.point, entry.record.arm);
    let (row_a, row_b) = (summary(of_a), summary(of_b));
    let period = |row: Option<&SummaryRow>| row.and_then(|row| row.period_ns);
    let saved = |row: Option<&SummaryRow>| row.and_then(|row| row.saved_ns);
    let trigger: Option<Trigger> = of_b.record.trigger.or(of_a.record.trigger);
    let effect =
        run.both(of_a, of_b).and_then(|(one, other, hops)| Effect::between(one, other, hops));
    let mut row = Row {
        group: group_label(run.manifest, &of_a.record.chain),
        point_a: of_a.record.point.clone(),
        point_b: of_b.record.point.clone(),
        arm: of_b.record.arm,
        trigger,
        flips: Vec::new(),
        samples_a: row_a.map_or(0, |row| row.samples),
        samples_b: row_b.map_or(0, |row| row.samples),
        period_a_ns: period(row_a),
        period_b_ns: period(row_b),
        saved_a_ns: saved(row_a),
        saved_b_ns: saved(row_b),
        change_ns: None,
        change_interval_ns: None,
        views: Vec::new(),
        allowance: None,
        verdict: Change::Inconclusive,
        reasons: Vec::new(),
    };
    let floor_ns = side.summary.floor.of(of_a.record.group, of_a.record.arm.submission());
    if let Some(effect) = &effect {
        let slower = slower(&effect.saved);
        let margin_ns = margin_ns(&side.manifest.plan, period(row_a));
        let allowance_ns = margin_ns.max(floor_ns.unwrap_or(0.0));
        let source = if allowance_ns > margin_ns { "floor" } else { "margin" };
        row.allowance = Some(Allowance { margin_ns, allowance_ns, source });
        row.change_ns = Some(slower.median);
        row.change_interval_ns = slower.interval;
        row.views = vec![View::new("paired", slower)];
    }
    let skipped = |entry: &Entry| entry.record.skipped.is_some();
    let withheld = match (of_b.wrong, of_a.wrong, skipped(of_a) || skipped(of_b)) {
        (true, _, _) => Some((Change::Wrong, "wrong-values")),
        (_, true, _) => Some((Change::Inconclusive, "wrong-in-a")),
        (_, _, true) => Some((Change::Skipped, "skipped")),
        _ if effect.is_none() => Some((Change::Inconclusive, "no-pairs")),
        _ => None,
    };
    if let Some((verdict, reason)) = withheld {
        row.verdict = verdict;
        row.reasons = vec![reason.to_owned()];
        return Draft { row, effect: None, floor_ns };
    }
    Draft { row, effect, floor_ns }
}

/// What is saved, seen as what is lost.
fn slower(saved: &MedianEstimate) -> MedianDifference {
    let interval = saved.interval.map(|interval| interval.map(|ns| -ns));
    let interval = interval.map(|i| crate::stats::Interval { lo: i.hi, hi: i.lo });
    MedianDifference { median: -saved.median, interval }
}

fn settle(draft: &mut Draft, adjusted_p: f64) {
    let (Some(effect), Some(allowance)) = (&draft.effect, draft.row.allowance) else { return };
    let (verdict, reasons) = judge(&effect.saved, adjusted_p, allowance.margin_ns, draft.floor_ns);
    draft.row.verdict = match verdict {
        Verdict::Helps => Change::Improvement,
        Verdict::Hurts => Change::Regression,
        Verdict::Equivalent => Change::Equivalent,
        _ => Change::Inconclusive,
    };
    draft.row.reasons = reasons.into_iter().map(str::to_owned).collect();
}
