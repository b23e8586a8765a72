//! The tables that a person reads.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table, TableStyle};

use super::closing;
use crate::analysis::{Answer, Summary, placement};
use crate::chain::{Arm, Chain, Mode, Submission, Target, Trigger};
use crate::device::Backend;
use crate::record::{PlanPoint, PointRecord, ProofVerdict, Run, SummaryRow, Verdict};
use crate::stamps::Reduced;
use crate::units::{ABSENT, fixed, format_interval, or_absent, signed, speedup, us, us_number};

const HEADER: [&str; 11] = [
    "trigger",
    "µs/node",
    "saved µs/hop",
    "95 %",
    "speed-up",
    "code cost",
    "slowed",
    "useful/parked",
    "blocks/SM",
    "proof",
    "verdict",
];

/// Where the prediction stands: behind the period.
const PREDICTED_COLUMN: usize = 2;

/// Where the contamination index stands in the table of a pipelined group: behind the speed-up.
const INDEX_COLUMN: usize = 5;

/// The summary of a run as text.
pub fn summary(summary: &Summary, run: &Run) -> String {
    render(summary, run, false)
}

/// The same as Markdown.
pub fn markdown(summary: &Summary, run: &Run) -> String {
    render(summary, run, true)
}

fn render(summary: &Summary, run: &Run, markdown: bool) -> String {
    let mut text = String::new();
    let style = if markdown { ASCII_MARKDOWN } else { NOTHING };
    let title = if markdown { "### " } else { "" };
    let groups: BTreeMap<u32, Vec<&PlanPoint>> = groups(&run.manifest.plan.points);
    let group_of: HashMap<&str, u32> =
        run.manifest.plan.points.iter().map(|p| (p.point.as_str(), p.group)).collect();
    let mut rows_of: BTreeMap<u32, Vec<&SummaryRow>> = BTreeMap::new();
    for row in &summary.rows {
        if let Some(&group) = group_of.get(row.point.as_str()) {
            rows_of.entry(group).or_default().push(row);
        }
    }
    let latest = run.latest();
    for (group, points) in &groups {
        let Some(rows) = rows_of.get(group) else { continue };
        let work = run
            .manifest
            .kernel
            .as_ref()
            .and_then(|kernel| kernel.work(&points[0].chain))
            .unwrap_or_else(|| work(rows, points));
        let _ = writeln!(text, "{title}{}\n{work}\n", head(run, &points[0].chain));
        let _ = writeln!(text, "{}", floor(summary, *group, rows));
        for bounds in summary.bounds.iter().filter(|bounds| bounds.group == *group) {
            let _ = writeln!(text, "{}", bounds.sentence());
        }
        for limit in summary.limits_of(*group, &run.manifest) {
            let _ = writeln!(text, "{limit}");
        }
        text.push('\n');
        for submission in [Submission::Graph, Submission::Stream] {
            let answer =
                summary.answers.iter().find(|a| a.group == *group && a.submission == submission);
            text += &block(rows, submission, answer, &latest, style, summary.forecast.is_some());
        }
        for best in summary.bests.iter().filter(|best| best.group == *group) {
            let _ = writeln!(text, "{}", best.sentence);
        }
        for answer in summary.answers.iter().filter(|answer| answer.group == *group) {
            let _ = writeln!(text, "{}", answer.sentence);
            if !answer.obligation.is_empty() {
                let _ = writeln!(text, "  obliges: {}", answer.obligation);
            }
        }
        text.push('\n');
    }
    text += &closing::conclusions(summary, markdown);
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning [{}]: {}; {}", warning.code, warning.cause, warning.cure);
    }
    text + &closing::legend(summary)
}

fn groups(points: &[PlanPoint]) -> BTreeMap<u32, Vec<&PlanPoint>> {
    let mut groups: BTreeMap<u32, Vec<&PlanPoint>> = BTreeMap::new();
    for point in points {
        groups.entry(point.group).or_default().push(point);
    }
    groups
}

/// Device, driver, nodes, mode, L2, clock and whether it was locked.
fn head(run: &Run, chain: &Chain) -> String {
    let facts = &run.manifest.facts;
    let driver =
        if facts.driver.is_empty() { String::new() } else { format!(", driver {}", facts.driver) };
    let clocks = run.samples.iter().filter_map(|sample| sample.sm_mhz);
    let clock = match (clocks.clone().min(), clocks.max()) {
        (Some(lowest), Some(highest)) if lowest == highest => format!(", SM {lowest} MHz"),
        (Some(lowest), Some(highest)) => format!(", SM {lowest} to {highest} MHz"),
        _ => String::new(),
    };
    let locked = match facts.clocks_locked {
        _ if facts.backend == Backend::Sim => "",
        Some(true) => " (locked)",
        Some(false) => " (no lock seen)",
        None => "",
    };
    let found = match (facts.mig, facts.mps) {
        (Some(true), _) => ", MIG enabled",
        (_, Some(true)) => ", under MPS",
        _ => "",
    };
    format!(
        "{}{driver}{found}: {} nodes, {}, L2 {}{clock}{locked}",
        facts.label(),
        chain.nodes,
        chain.mode,
        chain.l2
    )
}

/// What every node of the group does, asked for and measured.
fn work(rows: &[&SummaryRow], points: &[&PlanPoint]) -> String {
    let chain = &points[0].chain;
    let row = rows[0];
    let target = match chain.body.target {
        Target::Ns(ns) => us(ns),
        Target::Bytes(bytes) => format!("{bytes} B"),
    };
    let mut text = format!(
        "body {} {target} (measured {}), preamble {} {} (measured {}); {} blocks × {} threads",
        chain.body.kind,
        or_absent(row.body_ns, us),
        chain.preamble.kind,
        us(chain.preamble.target_ns),
        or_absent(row.preamble_ns, us),
        chain.shape.grid_blocks,
        chain.shape.block_threads,
    );
    text += &extras(chain);
    text + &format!(
        "; triggered by one thread{}",
        match chain.trigger_by {
            crate::chain::TriggerBy::Thread => "",
            crate::chain::TriggerBy::Block => " after a block barrier",
        }
    )
}

/// The floors of the group and its best baseline.
fn floor(summary: &Summary, group: u32, rows: &[&SummaryRow]) -> String {
    let floors = summary.floor.groups.iter().filter(|floor| floor.group == group);
    let floors: Vec<String> = floors
        .map(|floor| {
            format!("{} a hop in a {}", or_absent(floor.floor_ns, us), floor.submission.name())
        })
        .collect();
    let floors = if floors.is_empty() { ABSENT.to_owned() } else { floors.join(", ") };
    let best = rows
        .iter()
        .filter(|row| matches!(row.arm, Arm::Stream | Arm::Graph))
        .filter_map(|row| Some((row.arm, row.period_ns?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let best = best.map_or_else(
        || "no baseline".to_owned(),
        |(arm, period)| format!("best baseline {arm} at {} a node", us(period)),
    );
    format!("A/A floor {floors}; {best}")
}

/// The rows of one submission.
fn block(
    rows: &[&SummaryRow],
    submission: Submission,
    answer: Option<&Answer>,
    latest: &HashMap<(&str, Arm), &PointRecord>,
    style: TableStyle,
    predicted: bool,
) -> String {
    let mut rows: Vec<&&SummaryRow> =
        rows.iter().filter(|row| row.submission == submission).collect();
    rows.retain(|row| !matches!(row.arm, Arm::StreamFull | Arm::GraphFull | Arm::Sentinel));
    if rows.is_empty() || rows.iter().all(|row| row.arm.is_again()) {
        return String::new();
    }
    // Baselines first, then the subject in order of time, then the bounds.
    let rank = |row: &SummaryRow| match row.arm {
        Arm::Stream | Arm::Graph => 0,
        Arm::StreamAa | Arm::GraphAa => 1,
        Arm::StreamPdl | Arm::GraphPdl => 2,
        _ => 3,
    };
    rows.sort_by(|a, b| {
        let time = |row: &SummaryRow| row.trigger.map_or(0.0, Trigger::order);
        rank(a).cmp(&rank(b)).then(time(a).total_cmp(&time(b)))
    });
    // The index tells of pipelined chains alone.
    let pipelined = rows.iter().any(|row| row.mode == Mode::Pipelined);
    let mut table = Table::new();
    table.load_style(style);
    let mut header = HEADER.map(str::to_owned).to_vec();
    header[0] = format!("{} trigger", submission.name());
    if pipelined {
        header.insert(INDEX_COLUMN, "contamination".to_owned());
    }
    if predicted {
        header.insert(PREDICTED_COLUMN, "off".to_owned());
        header.insert(PREDICTED_COLUMN, "model".to_owned());
    }
    table.set_header(header);
    for row in rows {
        let record = latest.get(&(row.point.as_str(), row.arm));
        let stamps = record.and_then(|record| record.stamps);
        let mut cells = cells(row, answer, stamps).to_vec();
        if pipelined {
            let index = row.contamination.map_or_else(String::new, |index| fixed(index, 4));
            cells.insert(INDEX_COLUMN, index);
        }
        if predicted {
            let off = row.error_pct.map_or_else(String::new, |off| format!("{} %", signed(off, 1)));
            let said = match row.not_predicted.is_empty() {
                true => or_absent(row.predicted_ns, us_number),
                false => "not covered".to_owned(),
            };
            cells.insert(PREDICTED_COLUMN, off);
            cells.insert(PREDICTED_COLUMN, said);
        }
        table.add_row(cells);
    }
    let numbers = 8 + usize::from(pipelined) + 2 * usize::from(predicted);
    for column in table.column_iter_mut().skip(1).take(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n\n", table.trim_fmt())
}

fn cells(row: &SummaryRow, answer: Option<&Answer>, stamps: Option<Reduced>) -> [String; 11] {
    let subject = matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl);
    let name = match (subject, row.trigger) {
        (true, Some(trigger)) => format!("{trigger}{}", marks(row, trigger, answer)),
        (_, _) => row.arm.to_string(),
    };
    let signed_us = |ns: f64| signed(ns / 1e3, 3);
    let interval = row.saved_lo_ns.zip(row.saved_hi_ns);
    [
        name,
        or_absent(row.period_ns, us_number),
        or_absent(row.saved_ns, signed_us),
        interval.map_or_else(String::new, |(lo, hi)| format_interval(lo, hi)),
        or_absent(row.speedup, speedup),
        or_absent(row.code_cost_ns, signed_us),
        or_absent(row.primary_slowed_ns, signed_us),
        match row.useful_ns.zip(row.parked_ns) {
            Some((useful, parked)) if subject => {
                format!("{}/{}", us_number(useful), us_number(parked))
            }
            _ => String::new(),
        },
        placement(row, stamps).unwrap_or_default(),
        row.proof.map_or_else(String::new, |proof| proof_name(proof).to_owned()),
        verdict(row),
    ]
}

fn marks(row: &SummaryRow, trigger: Trigger, answer: Option<&Answer>) -> String {
    let plateau = answer.filter(|answer| answer.arm == row.arm).and_then(|a| a.plateau.as_ref());
    let mut marks = String::new();
    if let Some(plateau) = plateau {
        if plateau.recommended.trigger == trigger {
            marks.push('*');
        } else if plateau.triggers.contains(&trigger) {
            marks.push('=');
        }
    }
    if trigger == Trigger::AtEntry {
        marks.push('!');
    }
    if marks.is_empty() { marks } else { format!(" {marks}") }
}

fn proof_name(proof: ProofVerdict) -> &'static str {
    match proof {
        ProofVerdict::Active => "active",
        ProofVerdict::Armed => "armed",
        ProofVerdict::Inactive => "INACTIVE",
    }
}

fn verdict(row: &SummaryRow) -> String {
    let Some(verdict) = row.verdict else {
        return if row.correct == Some(true) { "correct".into() } else { String::new() };
    };
    let name = match verdict {
        Verdict::Helps => "helps",
        Verdict::Hurts => "HURTS",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Skipped => return format!("skipped: {}", row.reason),
        Verdict::Wrong => return "WRONG RESULT".into(),
    };
    match verdict {
        Verdict::Inconclusive => format!("{name} ({})", row.reason),
        _ => format!("{name}, correct"),
    }
}

/// Shared memory and clusters, where there are any.
pub(super) fn extras(chain: &Chain) -> String {
    let mut text = String::new();
    if chain.shape.shared_bytes > 0 {
        let _ = write!(text, ", {} KiB shared", chain.shape.shared_bytes / 1024);
    }
    if chain.shape.cluster_blocks > 1 {
        let _ = write!(text, ", clusters of {}", chain.shape.cluster_blocks);
    }
    text
}
