//! The tables that a person reads.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::analysis::{Answer, Bounds, Summary, outlasts};
use crate::chain::{Arm, Chain, Mode, Submission, Target, Trigger};
use crate::device::Facts;
use crate::measure::Plan;
use crate::record::{PlanPoint, ProofVerdict, Run, SummaryRow, Verdict};
use crate::units::{format_interval, or_absent, percent, signed, speedup, us, us_number};

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
    for (group, points) in &groups {
        let rows: Vec<&SummaryRow> =
            summary.rows.iter().filter(|row| points.iter().any(|p| p.point == row.point)).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{title}{}\n{}\n", head(run, &points[0].chain), work(&rows, points));
        let _ = writeln!(text, "{}", floor(summary, *group, &rows));
        for bounds in summary.bounds.iter().filter(|bounds| bounds.group == *group) {
            let _ = writeln!(text, "{}", bound(bounds));
        }
        text.push('\n');
        for submission in [Submission::Graph, Submission::Stream] {
            let answer =
                summary.answers.iter().find(|a| a.group == *group && a.submission == submission);
            text += &block(&rows, submission, answer, run, style);
        }
        for answer in summary.answers.iter().filter(|answer| answer.group == *group) {
            let _ = writeln!(text, "{}", answer.sentence);
            if !answer.obligation.is_empty() {
                let _ = writeln!(text, "  obliges: {}", answer.obligation);
            }
        }
        text.push('\n');
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning [{}]: {}; {}", warning.code, warning.cause, warning.cure);
    }
    text += LEGEND;
    text
}

const LEGEND: &str = "\
µs/node: chain ÷ nodes. saved: (baseline − this) ÷ hops, median of rounds. code cost: what the \
instructions cost over full\ndependencies. slowed: the body against that control. useful/parked: \
work before the sync under the primary, and waiting in it.\n\
blocks/SM: most blocks of a node that share an SM, and SMs used; ?: a node of the stamped run is\nlonger than a timed one, so blocks may have been placed otherwise. proof: active means stamps \
show overlap or a shorter gap;\n\
armed means programmatic edges and a sync are there and stamps show no more than their resolution.\n\
*: recommended, the latest of the plateau (=). !: triggers before its own sync.\n";

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

/// The floor of the group and its best baseline.
fn floor(summary: &Summary, group: u32, rows: &[&SummaryRow]) -> String {
    let floor = summary.floor.groups.iter().find(|floor| floor.group == group);
    let floor = floor.and_then(|floor| floor.floor_ns);
    let best = rows
        .iter()
        .filter(|row| matches!(row.arm, Arm::Stream | Arm::Graph))
        .filter_map(|row| Some((row.arm, row.period_ns?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let best = best.map_or_else(
        || "no baseline".to_owned(),
        |(arm, period)| format!("best baseline {arm} at {} a node", us(period)),
    );
    format!("A/A floor {} a hop; {best}", or_absent(floor, us))
}

/// Floor and ceiling by the calibration, and how much of it was reached.
fn bound(bounds: &Bounds) -> String {
    let reached = bounds.saved_ns.filter(|_| bounds.ceiling_ns > 0.0).map_or_else(
        || "nothing was tried".to_owned(),
        |saved| {
            let part = percent(saved / bounds.ceiling_ns);
            format!("the best here saves {}, {part} of it", us(saved))
        },
    );
    format!(
        "calibration, {}: floor {} a node (body + release {}; empty at entry {}), ceiling {} a hop: \
         {reached}",
        bounds.submission.name(),
        us(bounds.floor_ns),
        us(bounds.release_ns),
        us(bounds.entry_ns),
        us(bounds.ceiling_ns),
    )
}

/// The rows of one submission.
fn block(
    rows: &[&SummaryRow],
    submission: Submission,
    answer: Option<&Answer>,
    run: &Run,
    style: TableStyle,
) -> String {
    let mut rows: Vec<&&SummaryRow> =
        rows.iter().filter(|row| row.submission == submission).collect();
    rows.retain(|row| !matches!(row.arm, Arm::StreamFull | Arm::GraphFull | Arm::Sentinel));
    if rows.is_empty() || rows.iter().all(|row| row.arm == Arm::GraphAa) {
        return String::new();
    }
    // Baselines first, then the subject in order of time, then the bounds.
    let rank = |row: &SummaryRow| match row.arm {
        Arm::Stream | Arm::Graph => 0,
        Arm::GraphAa => 1,
        Arm::StreamPdl | Arm::GraphPdl => 2,
        _ => 3,
    };
    rows.sort_by(|a, b| {
        let time = |row: &SummaryRow| row.trigger.map_or(0.0, Trigger::order);
        rank(a).cmp(&rank(b)).then(time(a).total_cmp(&time(b)))
    });
    let mut table = Table::new();
    table.load_style(style);
    let mut header = HEADER.map(str::to_owned);
    header[0] = format!("{} trigger", submission.name());
    table.set_header(header);
    for row in rows {
        table.add_row(cells(row, answer, run));
    }
    for column in table.column_iter_mut().skip(1).take(8) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n\n", table.trim_fmt())
}

fn cells(row: &SummaryRow, answer: Option<&Answer>, run: &Run) -> [String; 11] {
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
        placement(row, run),
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

/// Most blocks of a node that shared an SM, and SMs used, by stamps; marked where the stamped run
/// took another course than the timed ones.
fn placement(row: &SummaryRow, run: &Run) -> String {
    let record = run.points.iter().rev().find(|r| r.point == row.point && r.arm == row.arm);
    let stamps = record.and_then(|record| record.stamps);
    match stamps.and_then(|stamps| stamps.sm_blocks_max.zip(stamps.sms_used)) {
        Some((most, used)) => {
            let synced = matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl);
            let other = synced && stamps.is_some_and(|stamps| outlasts(&stamps, row.period_ns));
            format!("{most:.0} on {used:.0}{}", if other { "?" } else { "" })
        }
        None => String::new(),
    }
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
fn extras(chain: &Chain) -> String {
    let mut text = String::new();
    if chain.shape.shared_bytes > 0 {
        let _ = write!(text, ", {} KiB shared", chain.shape.shared_bytes / 1024);
    }
    if chain.shape.cluster_blocks > 1 {
        let _ = write!(text, ", clusters of {}", chain.shape.cluster_blocks);
    }
    text
}

/// The points of a plan and the time they are expected to take.
pub fn dry_run(facts: &Facts, plan: &Plan) -> String {
    let mut text = format!("{}\n", facts.label());
    for points in plan.groups() {
        let chain = &points[0].chain;
        let arms = points.iter().map(|point| point.arms.len()).sum::<usize>();
        let body = match chain.body.target {
            Target::Ns(ns) => us(ns),
            Target::Bytes(bytes) => format!("{bytes} B"),
        };
        let _ = writeln!(
            text,
            "group {}: {} nodes, {} blocks × {} threads{}, body {} {body}, preamble {} {}, L2 {}, triggered by {}, {}{}",
            points[0].group,
            chain.nodes,
            chain.shape.grid_blocks,
            chain.shape.block_threads,
            extras(chain),
            chain.body.kind,
            chain.preamble.kind,
            us(chain.preamble.target_ns),
            chain.l2,
            chain.trigger_by,
            chain.mode,
            if chain.mode == Mode::Pipelined { " (chains are not drained)" } else { "" },
        );
        for point in points {
            let trigger = point.trigger.map_or("no trigger".to_owned(), |t| t.to_string());
            let names: Vec<String> = point.arms.iter().map(Arm::to_string).collect();
            let _ = writeln!(text, "  {} {trigger:<10} {}", point.point, names.join(" "));
        }
        let _ = writeln!(text, "  {arms} points × arms");
    }
    let _ = writeln!(text, "expected: {:.0} s", plan.expected().as_secs_f64().ceil());
    text
}
