//! The findings as a person reads them.

use std::fmt::Write;

use super::super::findings::table;
use super::findings::{EdgeLane, Findings, Lane, Race};
use crate::analysis::obligation;
use crate::chain::BodyKind;
use crate::units::{ABSENT, format_interval, or_absent, signed_us, us, us_number};

/// One table a race, the answer above it.
pub fn render(findings: &Findings, markdown: bool) -> String {
    let mut text = String::new();
    for race in &findings.races {
        let head = if markdown { "### " } else { "" };
        let driver = match findings.driver.as_str() {
            "" => String::new(),
            driver => format!(", driver {driver}"),
        };
        let shape = match race.body {
            // Each kernel has its own, and the work says which.
            BodyKind::Kernel => String::new(),
            _ => {
                let shape = &race.shape;
                format!("{} blocks × {} threads, ", shape.grid_blocks, shape.block_threads)
            }
        };
        let _ = writeln!(text, "{head}{}{driver}: {shape}{}\n", findings.device, race.work);
        text += &answer(race);
        text += &lanes(race, markdown);
        text += &edges(race, markdown);
        text += &cost(race);
    }
    text + LEGEND
}

const LEGEND: &str = "\
saved: against full dependencies in the same submission, µs a hop, median of paired differences and \
95 % interval. behind: µs a hop\nslower than the winner. equal: slower by at most the tolerance; \
behind: by more; open: it cannot be told; left: credibly slower, not sampled further.\n";

fn name(lane: &Lane) -> String {
    match lane.trigger {
        Some(trigger) => format!("{} with the trigger {trigger}", lane.arm),
        None => format!("{}, no programmatic launch", lane.arm),
    }
}

fn answer(race: &Race) -> String {
    let (Some(winner), Some(recommended)) = (&race.winner, &race.recommended) else {
        return "Nothing could be run: see points.jsonl for the reasons.\n\n".into();
    };
    let mut text = format!("Use {}", name(recommended));
    if let Some(saved) = recommended.saved_ns {
        let _ = write!(text, ": it saves {} a hop", signed_us(saved));
        if let Some(interval) = recommended.saved_interval_ns {
            let _ = write!(text, " {}", format_interval(interval.lo, interval.hi));
        }
    }
    text += ".";
    if winner.trigger != recommended.trigger {
        let _ =
            write!(text, " The fastest, {}, is no more than the tolerance ahead.", name(winner));
    }
    if let Some(trigger) = recommended.trigger {
        let _ = write!(text, "\nIt obliges: {}.", obligation(trigger));
    }
    if !race.settled {
        text += "\nNOT SETTLED: another candidate may still be faster by more than the tolerance.";
    }
    text + "\n\n"
}

fn lanes(race: &Race, markdown: bool) -> String {
    let row = |lane: &Lane| {
        let interval = lane.saved_interval_ns.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", us_number(interval.lo), us_number(interval.hi))
        });
        vec![
            lane.arm.to_string(),
            lane.trigger.map_or_else(|| ABSENT.into(), |trigger| trigger.to_string()),
            or_absent(lane.period_ns, us_number),
            or_absent(lane.predicted_ns, us_number),
            format!("{}{interval}", or_absent(lane.saved_ns, us_number)),
            or_absent(lane.behind_ns, us_number),
            lane.rounds.to_string(),
            lane.state.to_owned(),
        ]
    };
    let header =
        ["arm", "trigger", "µs/node", "predicted", "saved µs/hop", "behind", "rounds", "state"];
    table(&header, race.lanes.iter().map(row).collect(), &[2, 3, 4, 5, 6], markdown)
}

/// Which kinds of edges are worth it.
fn edges(race: &Race, markdown: bool) -> String {
    if race.edges.is_empty() {
        return String::new();
    }
    let row = |lane: &EdgeLane| {
        let interval = lane.saved_interval_ns.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", us_number(interval.lo), us_number(interval.hi))
        });
        vec![
            format!("{} → {}", lane.primary, lane.secondary),
            lane.edges.to_string(),
            format!("{}{interval}", or_absent(lane.saved_ns, us_number)),
            format!("{:?}", lane.verdict).to_lowercase(),
            if lane.chosen { "programmatic" } else { "full" }.to_owned(),
        ]
    };
    let header = ["edge", "edges", "saved µs/hop", "verdict", "make it"];
    let chosen = race.edges.iter().filter(|lane| lane.chosen).count();
    let answer = match chosen {
        0 => "No kind of edge is worth being programmatic by itself.",
        n if n == race.edges.len() => "Every kind of edge is worth being programmatic.",
        _ => "Not every kind of edge is worth being programmatic (edge = \"full\" in its node):",
    };
    format!(
        "{answer}\n\n{}",
        table(&header, race.edges.iter().map(row).collect(), &[1, 2], markdown)
    )
}

fn cost(race: &Race) -> String {
    let share = 100.0 * race.samples as f64 / race.sweep_samples.max(1) as f64;
    let mut text = format!(
        "{} samples in {} rounds, {:.1} s of device time; a sweep takes at least {} ({share:.0} %). \
         Tolerance {} a hop.",
        race.samples,
        race.rounds,
        race.took_s,
        race.sweep_samples,
        us(race.tolerance_ns),
    );
    if let (Some(surer), Some(half)) = (race.surer_s, race.half_width_ns) {
        let _ = write!(
            text,
            " The widest interval left is ±{}; half of it would take about {surer:.1} s more \
             (--margin-us).",
            us(half)
        );
    }
    text + "\n\n"
}
