//! How the numbers were made, and what should be known before they are believed.

use serde::Serialize;

use super::Group;
use crate::analysis::{Flagged, GroupFloor, LEVEL, Summary, Warning};
use crate::cells::Cells;

use crate::record::Run;
use crate::stats::CONFIDENCE;
use crate::units::{ABSENT, format_interval, or_absent, percent, plain, signed_us, us};

/// The method of a run.
#[derive(Serialize)]
pub(super) struct View {
    /// Whether arms left before the end.
    race: bool,
    warnings: Vec<Warning>,
    /// Noise floor and end of each group.
    groups: Cells,
    floor: String,
    false_positives: String,
    confidence: String,
    level: String,
    margin: String,
    margin_ratio: String,
    /// Effects that are corrected for one another.
    effects: usize,
    rounds: String,
    /// Flags of samples: how many carry them, and whether they are left out.
    flags: Cells,
    samples: usize,
    /// Why there is no gate; `None` when there is.
    no_gate: Option<String>,
}

pub(super) fn view(summary: &Summary, run: &Run, groups: &[Group]) -> View {
    let plan = &run.manifest.plan;
    let floor = &summary.floor;
    let false_positives = floor.false_positive_rate().map_or_else(
        || "not known: too few rounds for a comparison of the baseline with itself".to_owned(),
        |rate| {
            format!(
                "{} of {} comparisons of the baseline with itself found a difference ({}; {} are \
                 expected)",
                floor.false_positives,
                floor.comparisons,
                percent(rate),
                whole_percent(1.0 - CONFIDENCE)
            )
        },
    );
    View {
        race: run.manifest.what == "tune",
        warnings: summary.warnings.clone(),
        groups: group_cells(&floor.groups, run, groups),
        floor: or_absent(floor.floor_ns, us),
        false_positives,
        confidence: whole_percent(CONFIDENCE),
        level: whole_percent(LEVEL),
        margin: format!("{} µs", plain(plan.margin_us)),
        margin_ratio: whole_percent(plan.margin_ratio),
        effects: summary.rows.iter().filter(|row| row.saved_ns.is_some()).count(),
        rounds: format!("{} to {}", plan.rounds_min, plan.rounds_max),
        flags: flags(&summary.flags),
        samples: run.samples.len(),
        no_gate: run.manifest.facts.no_gate.clone(),
    }
}

fn group_cells(floors: &[GroupFloor], run: &Run, groups: &[Group]) -> Cells {
    let row = |(at, group, floor): (usize, &Group, Option<&GroupFloor>)| {
        let interval = floor.and_then(|floor| floor.interval_ns);
        vec![
            group.name.clone(),
            floor.map_or(ABSENT.to_owned(), |floor| floor.submission.name().to_owned()),
            or_absent(floor.and_then(|floor| floor.floor_ns), us),
            or_absent(floor.map(|floor| floor.difference_ns), signed_us),
            interval.map_or(ABSENT.to_owned(), |i| format_interval(i.lo, i.hi)),
            floor.map_or(ABSENT.to_owned(), |floor| floor.rounds.to_string()),
            run.end
                .as_ref()
                .and_then(|end| end.groups.get(at))
                .map_or(ABSENT, |e| why(e))
                .to_owned(),
        ]
    };
    let header = [
        "group",
        "arms",
        "A/A floor a hop",
        "baseline − baseline again",
        "95 %, µs",
        "rounds",
        "stopped",
    ];
    // A line for each A/A arm of a group, and one for a group without any.
    let rows = groups.iter().enumerate().flat_map(|(at, group)| {
        let own = floors.iter().filter(|floor| floor.group == group.id).map(Some);
        let own: Vec<Option<&GroupFloor>> = own.collect();
        let own = if own.is_empty() { vec![None] } else { own };
        own.into_iter().map(move |floor| (at, group, floor))
    });
    Cells::new(&header, rows.map(row).collect(), &[2, 3, 4, 5])
}

/// A part that was chosen, not measured: 0.05 is `5 %`.
fn whole_percent(part: f64) -> String {
    format!("{} %", plain(part * 100.0))
}

/// Why a group stopped.
fn why(ending: &str) -> &str {
    match ending {
        "precision" => "every interval was narrow enough",
        "rounds" => "the most rounds were reached",
        "budget" => "its time budget was used up",
        "skipped" => "this device could run none of it",
        "earlier" => "it was finished before the run was resumed",
        other => other,
    }
}

fn flags(all: &[Flagged]) -> Cells {
    let row = |one: &Flagged| {
        let use_of = if one.excludes { "left out" } else { "kept" };
        vec![one.flag.name().to_owned(), one.samples.to_string(), use_of.to_owned()]
    };
    let rows = all.iter().filter(|one| one.samples > 0).map(row).collect();
    Cells::new(&["flag", "samples", "in statistics"], rows, &[1])
}
