//! What a reader should know before believing the numbers: each with its cause and its cure.

use serde::{Deserialize, Serialize};

use super::floor::Floor;
use super::rows::clock_offset;
use super::run::{Entry, Run};
use crate::chain::Arm;
use crate::device::{Backend, Flag, USUAL_RANGE};
use crate::record::{SummaryRow, Verdict};
use crate::stats::{CONFIDENCE, median, proportion};
use crate::units::{percent, signed_percent, us};

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Kebab-case, stable: `clock-range`.
    pub code: String,
    /// What was seen.
    pub cause: String,
    /// What to do about it.
    pub cure: String,
}

/// All warnings of a run, in a fixed order.
pub(super) fn warnings(run: &Run, rows: &[SummaryRow], floor: &Floor) -> Vec<Warning> {
    let mut warnings = Vec::new();
    flagged(run, &mut warnings);
    clocks(run, &mut warnings);
    sentinel(run, &mut warnings);
    noise(run, rows, floor, &mut warnings);
    other_code(rows, &mut warnings);
    records(run, rows, &mut warnings);
    warnings
}

fn warn(to: &mut Vec<Warning>, code: &str, cause: String, cure: &str) {
    to.push(Warning { code: code.to_owned(), cause, cure: cure.to_owned() });
}

/// Samples that were flagged when they were measured.
fn flagged(run: &Run, warnings: &mut Vec<Warning>) {
    let told = [
        (
            Flag::GateTimeout,
            "the gate opened by its own time-out, so launches were not queued behind it",
            "use fewer --nodes, or leave the host's cores to this process; these samples are left \
             out",
        ),
        (
            Flag::Watchdog,
            "the watchdog opened the gate",
            "look for a hang of the host; these samples are left out",
        ),
        (
            Flag::NoGate,
            "measured without a gate: the host's launch time is inside",
            "run without --no-gate, on a device that this process has to itself",
        ),
        (
            Flag::Split,
            "the chain is longer than the queue and was measured in pieces",
            "use fewer --nodes",
        ),
        (
            Flag::Throttled,
            "the GPU reported a throttle reason",
            "let it cool down, or raise its power limit, and run again",
        ),
        (
            Flag::CoTenant,
            "another process used the device",
            "run again with the device to yourself",
        ),
        (
            Flag::Drift,
            "the sentinel left its usual range",
            "run again on a quiet machine, or with more rounds",
        ),
        (
            Flag::Resumed,
            "the run was taken up again in another process, in which launches may be in another \
             mode",
            "measure again in one piece before believing effects below 0.2 µs a hop of stream arms, \
             or below 0.02 µs of any",
        ),
    ];
    for (flag, cause, cure) in told {
        let count = run.index.tally.flagged(flag);
        if count > 0 {
            let all = run.index.tally.samples;
            warn(warnings, flag.name(), format!("{cause} ({count} of {all} samples)"), cure);
        }
    }
    let others = run.manifest.health.other_processes.unwrap_or(0);
    if others > 0 && run.index.tally.flagged(Flag::CoTenant) == 0 {
        let cause = format!("{others} other processes had a context when the run began");
        warn(warnings, "co-tenant", cause, "run again with the device to yourself");
    }
}

fn clocks(run: &Run, warnings: &mut Vec<Warning>) {
    if let Some((low, high)) = run.index.tally.sm_mhz
        && f64::from(high - low) > USUAL_RANGE * f64::from(high)
    {
        let flagged = run.index.tally.flagged(Flag::Clock);
        let all = run.index.tally.samples;
        let cause = format!(
            "the SM clock moved between {low} and {high} MHz ({flagged} of {all} samples lie \
             outside its usual range)"
        );
        let cure = "compare paired effects only, not periods between runs; a longer warm-up or a \
                    locked clock steadies it";
        warn(warnings, "clock-range", cause, cure);
    }
    let offset = |entry: &Entry| clock_offset(run, run.baseline(entry)?, entry);
    let worst = run
        .entries
        .iter()
        .filter_map(|entry| Some((entry, offset(entry)?)))
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    if let Some((entry, offset)) = worst
        && offset.abs() > USUAL_RANGE
    {
        let cause = format!(
            "{} {} ran at another SM clock than its baseline ({})",
            entry.record.point,
            entry.record.arm,
            signed_percent(offset)
        );
        let cure = "its effect is partly that of the clock: lock the clock, or take more rounds, \
                    over which the clocks even out";
        warn(warnings, "clock-offset", cause, cure);
    }
    let facts = &run.manifest.facts;
    if facts.backend == Backend::Gpu && run.manifest.health.sm_mhz.is_none() {
        let cause = "neither clocks nor throttling nor other processes could be read".to_owned();
        let cure = "make NVML (libnvidia-ml.so.1) available to this process: without it none of \
                    them would be noticed";
        warn(warnings, "health-unknown", cause, cure);
    }
    // A simulated device has no clock that anything could lock.
    if facts.backend == Backend::Gpu && facts.clocks_locked == Some(false) {
        let cause = "no lock of the SM clock was seen".to_owned();
        let cure = "lock it (nvidia-smi --lock-gpu-clocks) for periods that can be compared \
                    between runs; paired effects need no lock";
        warn(warnings, "clocks-not-locked", cause, cure);
    }
}

/// The fixed kernel, first third of the rounds against the last.
fn sentinel(run: &Run, warnings: &mut Vec<Warning>) {
    let change = |group: u32| {
        let durations = run.series(run.find(group, Arm::Sentinel, None)?)?.durations_ns();
        let third = durations.len() / 3;
        let first = median(&durations[..third])?;
        Some((group, median(&durations[durations.len() - third..])? / first - 1.0))
    };
    let worst = run
        .groups()
        .into_iter()
        .filter_map(change)
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()).then(b.0.cmp(&a.0)));
    if let Some((group, change)) = worst
        && change.abs() > USUAL_RANGE
    {
        let cause = format!(
            "the sentinel's time changed by {} over the rounds of group {group}",
            signed_percent(change)
        );
        let cure = "paired effects hold; periods do not: warm up longer, then run again";
        warn(warnings, "sentinel-drift", cause, cure);
    }
}

fn noise(run: &Run, rows: &[SummaryRow], floor: &Floor, warnings: &mut Vec<Warning>) {
    let claims = rows.iter().any(|row| row.saved_ns.is_some() && !row.arm.is_again());
    match floor.floor_ns {
        None if claims => {
            let cause = "the noise floor is not known: no A/A arm with enough rounds".to_owned();
            warn(warnings, "no-floor", cause, "add --arm graph,graph-aa, or more rounds");
        }
        Some(floor_ns) if floor_ns > run.manifest.plan.margin_us * 1e3 => {
            let cause = format!(
                "the noise floor, {} a hop, is above the margin of {}",
                us(floor_ns),
                us(run.manifest.plan.margin_us * 1e3)
            );
            let cure = "effects between the two cannot be told from noise: use more rounds";
            warn(warnings, "floor-above-margin", cause, cure);
        }
        _ => {}
    }
    let rate = proportion(floor.false_positives.into(), floor.comparisons.into());
    if rate.is_some_and(|rate| rate.lo > 1.0 - CONFIDENCE) {
        let cause = format!(
            "the baseline differs from itself in {} of {} comparisons ({})",
            floor.false_positives,
            floor.comparisons,
            percent(floor.false_positive_rate().unwrap_or(0.0))
        );
        let cure = "intervals are too narrow for what differs between two instances of one graph: \
                    believe no effect below the floor, and compare runs before small ones";
        warn(warnings, "false-positives", cause, cure);
    }
}

/// What is saved by other machine code is no effect of a programmatic edge, and may be had without.
fn other_code(rows: &[SummaryRow], warnings: &mut Vec<Warning>) {
    let helps = || rows.iter().filter(|row| row.verdict == Some(Verdict::Helps));
    let of_code = |row: &&SummaryRow| match (row.saved_ns, row.code_cost_ns) {
        (Some(saved_ns), Some(cost_ns)) => -cost_ns > saved_ns / 2.0,
        _ => false,
    };
    let mostly = helps().filter(of_code).count();
    if mostly > 0 {
        let cause = format!(
            "in {mostly} of {} rows that help most of it is other machine code, which is as much \
             faster over full edges (code cost)",
            helps().count()
        );
        let cure = "what the programmatic edges save is saved + code cost";
        warn(warnings, "code-differs", cause, cure);
    }
}

/// Records that contradict one another, and wrong results.
fn records(run: &Run, rows: &[SummaryRow], warnings: &mut Vec<Warning>) {
    let wrong = rows.iter().filter(|row| row.verdict == Some(Verdict::Wrong)).count();
    if wrong > 0 {
        let cause = format!("{wrong} of {} rows have wrong results", rows.len());
        warn(warnings, "wrong-values", cause, "find the race with pdl check; no speed is given");
    }
    let tally = &run.index.tally;
    if tally.malformed > 0 {
        let cause = format!("{} samples have no positive duration", tally.malformed);
        warn(warnings, "malformed-samples", cause, "they are left out; was samples.csv edited?");
    }
    if tally.unplanned > 0 || run.unplanned_records > 0 {
        let cause = format!(
            "{} samples and {} records are not in the manifest's plan",
            tally.unplanned, run.unplanned_records
        );
        warn(warnings, "unplanned", cause, "they are left out; were files of two runs mixed?");
    }
}
