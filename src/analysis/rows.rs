//! Rows of the summary: one entry at a time, then verdicts over the family of all effects.

use super::effect::{Effect, saved};
use super::floor::Floor;
use super::proof::{proof_verdict, tolerance_ns};
use super::run::{Entry, Run};
use super::verdict::{judge, margin_ns};
use crate::chain::{Arm, Dependency};
use crate::device::USUAL_RANGE;
use crate::record::{LimitBy, SummaryRow, Verdict};
use crate::stats::{CONFIDENCE, estimate_median, holm, median};

/// A row before its verdict.
struct Draft {
    row: SummaryRow,
    reasons: Vec<String>,
    effect: Option<Effect>,
    margin_ns: f64,
    floor_ns: Option<f64>,
}

/// All rows, in the order of the run's entries.
pub(super) fn rows(run: &Run, floor: &Floor) -> Vec<SummaryRow> {
    let mut drafts: Vec<Draft> = run.entries.iter().map(|entry| draft(run, entry, floor)).collect();
    // The family is every effect of the run that could be claimed.
    let family: Vec<usize> = (0..drafts.len()).filter(|&at| drafts[at].effect.is_some()).collect();
    let p_values: Vec<f64> =
        family.iter().filter_map(|&at| drafts[at].effect.map(|effect| effect.p_value)).collect();
    for (at, adjusted) in family.into_iter().zip(holm(&p_values)) {
        let draft = &mut drafts[at];
        let Some(effect) = &draft.effect else { continue };
        let (verdict, reasons) = judge(&effect.saved, adjusted, draft.margin_ns, draft.floor_ns);
        draft.row.verdict = Some(verdict);
        draft.reasons.extend(reasons.into_iter().map(str::to_owned));
    }
    drafts
        .into_iter()
        .map(|draft| SummaryRow { reason: draft.reasons.join("|"), ..draft.row })
        .collect()
}

fn draft(run: &Run, entry: &Entry, floor: &Floor) -> Draft {
    let mut draft = Draft {
        row: blank(run, entry),
        reasons: Vec::new(),
        effect: None,
        margin_ns: 0.0,
        floor_ns: floor.of(entry.record.group, entry.record.arm.submission()).map(|floor_ns| {
            // The floor is that of the whole chain, the effect may be that of a few of its edges.
            floor_ns * f64::from(entry.nodes.saturating_sub(1).max(1)) / f64::from(entry.hops)
        }),
    };
    if let Some(reason) = &entry.record.skipped {
        draft.row.verdict = Some(Verdict::Skipped);
        draft.reasons.push(reason.clone());
        return draft;
    }
    if entry.wrong {
        draft.row.verdict = Some(Verdict::Wrong);
        draft.reasons.push("wrong-values".into());
        return draft;
    }
    period(run, entry, &mut draft);
    compare(run, entry, &mut draft);
    draft
}

/// What is known without a sample.
fn blank(run: &Run, entry: &Entry) -> SummaryRow {
    let (record, facts) = (entry.record, &run.manifest.facts);
    let control = run.full_control(entry);
    let stamps = record.stamps.unwrap_or_default();
    let shape = record.chain.shape;
    let correct = match (entry.wrong, record.verification.checked) {
        (true, _) => Some(false),
        (false, 0) => None,
        (false, _) => Some(true),
    };
    let alone = finite(record.body_ns).filter(|_| record.arm != Arm::Sentinel);
    let slowed = |control: &Entry| finite(Some(stamps.body_ns? - control.record.stamps?.body_ns?));
    SummaryRow {
        point: record.point.clone(),
        arm: record.arm,
        submission: record.arm.submission(),
        dependency: record.arm.dependency(),
        trigger: record.trigger,
        nodes: entry.nodes,
        grid_blocks: shape.grid_blocks,
        block_threads: shape.block_threads,
        shared_bytes: shape.shared_bytes,
        cluster_blocks: shape.cluster_blocks,
        trigger_by: record.chain.trigger_by,
        preamble_kind: record.chain.preamble.kind,
        preamble_ns: finite(record.preamble_ns),
        body_kind: record.chain.body.kind,
        body_ns: finite(record.body_ns),
        l2: record.chain.l2,
        mode: record.chain.mode,
        samples: 0,
        period_ns: None,
        period_lo_ns: None,
        period_hi_ns: None,
        marginal_ns: None,
        baseline: record.arm.baseline(),
        saved_ns: None,
        saved_lo_ns: None,
        saved_hi_ns: None,
        speedup: None,
        speedup_lo: None,
        speedup_hi: None,
        code_cost_ns: None,
        primary_slowed_ns: control
            .filter(|control| !control.wrong && !entry.wrong)
            .and_then(slowed),
        verdict: None,
        // Of somebody else's graph only some edges are programmatic, and nothing is stamped.
        proof: proof_verdict(record, control.map(|control| control.record), tolerance_ns(facts))
            .filter(|_| run.manifest.attached.is_none()),
        correct,
        launch_gap_ns: finite(stamps.launch_gap_ns),
        hop_latency_ns: finite(stamps.hop_latency_ns),
        useful_ns: finite(stamps.useful_ns),
        parked_ns: finite(stamps.parked_ns),
        // The dependence alone, until constants of the device are known. The sentinel's work is its
        // own, whatever the point.
        limit_ns: alone,
        limit_by: alone.map(|_| LimitBy::Body),
        contamination: None,
        contamination_lo: None,
        contamination_hi: None,
        constants: String::new(),
        exposed_ns: None,
        exposed_by: None,
        exposed_launch_ns: None,
        exposed_placement_ns: None,
        exposed_preamble_ns: None,
        exposed_flush_ns: None,
        exposed_release_ns: None,
        exposed_drain_ns: None,
        exposed_contention_ns: None,
        exposed_ends_ns: None,
        exposed_unexplained_ns: None,
        predicted_ns: None,
        predicted_saved_ns: None,
        error_pct: None,
        not_predicted: String::new(),
        backend: facts.backend,
        device: facts.name.clone(),
        reason: String::new(),
    }
}

/// The period of the entry's own samples, and the marginal one against its longest chain.
fn period(run: &Run, entry: &Entry, draft: &mut Draft) {
    let (place, arm) = (entry.place, entry.record.arm);
    let all = run.index.lengths(place, arm).iter();
    let excluded: u32 = all
        .filter_map(|&nodes| run.index.series(place, arm, nodes))
        .map(|series| series.excluded)
        .sum();
    if excluded > 0 {
        draft.reasons.push("samples-left-out".into());
    }
    let Some(series) = run.series(entry) else {
        draft.reasons.push("no-samples".into());
        return;
    };
    if series.mixed() {
        draft.reasons.push("resumed".into());
    }
    let durations = series.durations_ns();
    let nodes = f64::from(entry.nodes.max(1));
    let Some(estimate) = estimate_median(&durations, CONFIDENCE) else { return };
    draft.row.samples = estimate.count as u32;
    draft.row.period_ns = Some(estimate.median / nodes);
    draft.row.period_lo_ns = estimate.interval.map(|interval| interval.lo / nodes);
    draft.row.period_hi_ns = estimate.interval.map(|interval| interval.hi / nodes);
    let longest = run.index.lengths(place, arm).last().copied().unwrap_or(0);
    if longest > entry.nodes {
        let long = run.index.series(place, arm, longest).map(|series| series.durations_ns());
        let added = f64::from(longest - entry.nodes);
        draft.row.marginal_ns =
            long.and_then(|long| median(&long)).map(|long| (long - estimate.median) / added);
    }
}

/// Everything that is measured against another arm in the same rounds.
fn compare(run: &Run, entry: &Entry, draft: &mut Draft) {
    let Some(baseline) = run.baseline(entry) else {
        if entry.record.arm.baseline().is_some() {
            draft.row.verdict = Some(Verdict::Inconclusive);
            draft.reasons.push("no-baseline".into());
        }
        return;
    };
    let pair = run.both(baseline, entry);
    let Some(effect) = pair.and_then(|(one, other, hops)| Effect::between(one, other, hops)) else {
        draft.row.verdict = Some(Verdict::Inconclusive);
        draft.reasons.push(if baseline.wrong { "baseline-wrong" } else { "no-pairs" }.into());
        return;
    };
    if clock_offset(run, baseline, entry).is_some_and(|offset| offset.abs() > USUAL_RANGE) {
        draft.reasons.push("clock-offset".into());
    }
    draft.row.saved_ns = Some(effect.saved.median);
    draft.row.saved_lo_ns = effect.saved.interval.map(|interval| interval.lo);
    draft.row.saved_hi_ns = effect.saved.interval.map(|interval| interval.hi);
    draft.row.speedup = finite(Some(effect.speedup));
    draft.row.speedup_lo = finite(effect.speedup_interval.map(|interval| interval.lo));
    draft.row.speedup_hi = finite(effect.speedup_interval.map(|interval| interval.hi));
    draft.row.code_cost_ns = code_cost_ns(run, entry, baseline);
    let baseline_median = run.series(baseline).and_then(|series| median(&series.durations_ns()));
    let baseline_period = baseline_median.map(|median| median / f64::from(baseline.nodes.max(1)));
    let kernel = run.manifest.kernel.as_ref();
    let programmatic = entry.record.arm.dependency() == Dependency::Programmatic;
    let attached = run.manifest.attached.as_ref();
    if programmatic
        && (kernel.is_some_and(|kernel| kernel.unsafe_no_sync)
            || attached.is_some_and(|attached| attached.unsafe_no_sync))
    {
        draft.reasons.push("unsafe-no-sync".into());
    }
    draft.margin_ns = margin_ns(&run.manifest.plan, baseline_period);
    // The baseline against itself is what the floor is made of, and no claim.
    if !entry.record.arm.is_again() {
        draft.effect = Some(effect);
    }
}

/// The mean SM clock of an entry over its baseline's, − 1; `None` where either has none.
pub(super) fn clock_offset(run: &Run, baseline: &Entry, entry: &Entry) -> Option<f64> {
    let mhz = |entry: &Entry| run.series(entry)?.mean_sm_mhz();
    Some(mhz(entry)? / mhz(baseline)? - 1.0)
}

/// (full control − baseline) ÷ hops, of the entry's own control, or of the entry where it is one.
fn code_cost_ns(run: &Run, entry: &Entry, baseline: &Entry) -> Option<f64> {
    let control = match entry.record.arm {
        Arm::StreamFull | Arm::GraphFull => entry,
        _ => run.full_control(entry)?,
    };
    let (control, baseline, hops) = run.both(control, baseline)?;
    saved(control, baseline, hops).map(|estimate| estimate.median)
}

/// Nothing that is not a number reaches a file.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
