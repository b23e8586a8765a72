//! What a chart says, in words: titles state a finding and never a topic.

use crate::chain::{Arm, Trigger};
use crate::record::{SummaryRow, Verdict};

use super::Context;
use super::group::{Group, Shown, saved};
use super::scale::{drawable, figure};

/// " at trigger 4/8", or nothing for an arm without one.
pub(super) fn at(trigger: Option<Trigger>) -> String {
    trigger.map_or_else(String::new, |t| format!(" at trigger {t}"))
}

/// The row of an arm that its answer rests on: the trigger that was chosen for it where it helps,
/// else the largest saving; `None` when no row has a value.
pub(super) fn best<'a>(group: &Group<'a>, arm: Arm, ctx: &Context) -> Option<&'a SummaryRow> {
    let rows = group.arm(arm);
    let chosen = ctx.chosen.iter().find(|c| c.group == group.id && c.arm == arm);
    let is_chosen = |row: &&&SummaryRow| chosen.is_some_and(|c| row.trigger == c.trigger);
    let valued = |row: &&&SummaryRow| saved(row).value().is_some();
    let by_saving = |a: &&&SummaryRow, b: &&&SummaryRow| {
        let value = |row: &SummaryRow| saved(row).value().unwrap_or(f64::NEG_INFINITY);
        value(a).total_cmp(&value(b))
    };
    let chosen_row = rows.iter().filter(valued).find(is_chosen);
    chosen_row.or_else(|| rows.iter().filter(valued).max_by(by_saving)).copied()
}

/// The row of an arm that costs most, where one is established to hurt.
fn worst<'a>(rows: &[&'a SummaryRow]) -> Option<&'a SummaryRow> {
    rows.iter()
        .copied()
        .filter(|row| row.verdict == Some(Verdict::Hurts) && saved(row).value().is_some())
        .min_by(|a, b| saved(a).value().unwrap_or(0.0).total_cmp(&saved(b).value().unwrap_or(0.0)))
}

/// "makes the chain 1.50× slower", or the cost where the factor would round to nothing.
fn harm(row: &SummaryRow) -> String {
    let slower = drawable(row.speedup).filter(|&s| s > 0.0).map(|s| 1.0 / s);
    match (slower, saved(row).value()) {
        (Some(factor), _) if factor >= 1.1 => {
            format!("makes the chain {}× slower", figure(factor))
        }
        (_, Some(us)) => format!("costs {} µs a hop", figure(us.abs())),
        _ => "is slower".to_owned(),
    }
}

/// What an arm does to its baseline over the triggers that were run.
pub(super) fn gain(group: &Group, arm: Arm, ctx: &Context) -> String {
    let rows = group.arm(arm);
    let wrong: Vec<_> = rows.iter().filter(|row| saved(row) == Shown::Wrong).collect();
    let wrong_at = match wrong[..] {
        [] => String::new(),
        [row] => format!("; wrong results{}", at(row.trigger)),
        _ => format!("; wrong results at {} triggers", wrong.len()),
    };
    let harmed = worst(&rows);
    let Some(best) = best(group, arm, ctx) else {
        let skipped = rows.iter().all(|row| saved(row) == Shown::Skipped);
        let why = if !wrong.is_empty() {
            "results were wrong"
        } else if skipped {
            "every point was skipped"
        } else {
            "no point was measured"
        };
        return format!("No speed can be given for {arm}: {why}");
    };
    let positions = rows.iter().filter(|row| row.trigger.is_some()).count();
    let but = harmed.map_or_else(String::new, |row| {
        let who = row.trigger.map_or_else(
            || "it".to_owned(),
            |t| match t {
                Trigger::AtEntry => "a trigger at entry".to_owned(),
                t => format!("a trigger at {t}"),
            },
        );
        format!("; {who} {}", harm(row))
    });
    let main = match best.verdict {
        Some(Verdict::Helps) => helps(best, arm),
        _ if positions > 1 && harmed.is_some() => format!("No trigger helps {arm}"),
        Some(Verdict::Hurts) => format!("{arm} {}{}", harm(best), at(best.trigger)),
        Some(Verdict::Equivalent) if positions > 1 => {
            format!("No trigger of {arm} changes the chain by more than the margin")
        }
        Some(Verdict::Equivalent) => {
            format!("{arm} changes the chain by less than the margin{}", at(best.trigger))
        }
        _ => open(best, arm),
    };
    let alone = best.verdict == Some(Verdict::Hurts) && positions <= 1;
    format!("{main}{}{wrong_at}", if alone { "" } else { &but })
}

/// That nothing is established, and what the medians say without being trusted.
pub(super) fn open(best: &SummaryRow, arm: Arm) -> String {
    let median = saved(best).value().filter(|&v| v > 0.0).map_or_else(String::new, |v| {
        format!(" (largest median: {} µs a hop{})", figure(v), at(best.trigger))
    });
    format!("Whether {arm} helps stays open at this precision{median}")
}

fn helps(row: &SummaryRow, arm: Arm) -> String {
    let (value, interval) = match saved(row) {
        Shown::Value { at, interval } => (at, interval),
        _ => return format!("{arm} helps{}", at(row.trigger)),
    };
    let range = interval
        .map_or_else(String::new, |(lo, hi)| format!(" (95 % {} to {})", figure(lo), figure(hi)));
    format!("{arm} saves {} µs a hop{}{range}", figure(value), at(row.trigger))
}

/// The values of rows in words, for readers who do not see the chart.
pub(super) fn spoken(arm: Arm, rows: &[&SummaryRow], value: fn(&SummaryRow) -> Shown) -> String {
    let words: Vec<_> = rows
        .iter()
        .map(|row| {
            let place = row.trigger.map_or_else(String::new, |t| format!("{t}: "));
            match value(row) {
                Shown::Value { at, interval: Some((lo, hi)) } => {
                    format!("{place}{} ({} to {})", figure(at), figure(lo), figure(hi))
                }
                Shown::Value { at, interval: None } => format!("{place}{}", figure(at)),
                Shown::Wrong => format!("{place}wrong"),
                Shown::Skipped => format!("{place}skipped"),
                Shown::Missing => format!("{place}not measured"),
            }
        })
        .collect();
    format!("{arm}: {}.", words.join(", "))
}
