//! A comparison as people read it: in a terminal, or in a comment on a pull request.

use std::fmt::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};

use super::text::{escaped, harmless, overall, verdict_with_reasons};
use crate::compare::{Change, Comparison, Party, Row};
use crate::units::{format_interval, or_absent, signed, signed_us, us_number};

const HEADER: [&str; 10] = [
    "arm",
    "trigger",
    "A µs/node",
    "B µs/node",
    "change µs/hop",
    "95 %",
    "allowed ±",
    "A saved",
    "B saved",
    "verdict",
];

/// For a terminal: rows that are equivalent or could be run in neither only where `all` are asked for.
pub fn plain(comparison: &Comparison, all: bool) -> String {
    let mut text = head(comparison, harmless, "");
    let told = |row: &&Row| all || !matches!(row.verdict, Change::Equivalent | Change::Skipped);
    let shown: Vec<Row> = comparison.rows.iter().filter(told).cloned().collect();
    for rows in shown.chunk_by(|a, b| a.group == b.group) {
        let _ = writeln!(text, "\n{}{}\n", rows[0].group, sentinel(comparison, &rows[0].group));
        text += &table(rows, false);
    }
    text += &rest(comparison, harmless);
    if !shown.is_empty() {
        text += legend(comparison);
    }
    let left = comparison.rows.len() - shown.len();
    if left > 0 {
        let _ = writeln!(text, "\nnot shown (--all shows them): {}", unshown(comparison));
    }
    let _ = writeln!(text, "verdict: {}", overall(comparison));
    text
}

/// How many rows are left out of the table, by verdict.
fn unshown(comparison: &Comparison) -> String {
    let counts = [Change::Equivalent, Change::Skipped].map(|verdict| {
        let count = comparison.count(verdict);
        (count > 0).then(|| format!("{count} {} rows", verdict.name()))
    });
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// For a comment: the verdict, the rows that decide it, and all rows folded away.
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("### pdl compare: {}\n\n", overall(comparison));
    text += &head(comparison, escaped, "- ");
    let matters = |row: &&Row| {
        !matches!(row.verdict, Change::Equivalent | Change::Inconclusive | Change::Skipped)
    };
    let deciding: Vec<Row> = comparison.rows.iter().filter(matters).cloned().collect();
    for rows in deciding.chunk_by(|a, b| a.group == b.group) {
        let _ = writeln!(text, "\n**{}**\n\n{}", rows[0].group, table(rows, true));
    }
    let _ = writeln!(text, "\n<details><summary>All {} rows</summary>\n", comparison.rows.len());
    for rows in comparison.rows.chunk_by(|a, b| a.group == b.group) {
        let sentinel = sentinel(comparison, &rows[0].group);
        let _ = writeln!(text, "**{}**{sentinel}\n\n{}", rows[0].group, table(rows, true));
    }
    text += &rest(comparison, escaped);
    let _ = write!(text, "\n{}\n</details>\n", legend(comparison));
    text
}

/// Both runs, what was accepted, and what to know.
fn head(comparison: &Comparison, clean: fn(&str) -> String, bullet: &str) -> String {
    let mut text = String::new();
    for (name, party) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(text, "{bullet}{name}: {}", describe(party, clean));
    }
    if let Some(reason) = &comparison.accepted_mismatch {
        let differences: Vec<String> = comparison
            .mismatches
            .iter()
            .map(|m| format!("{} ({} and {})", m.code, clean(&m.a), clean(&m.b)))
            .collect();
        let _ = writeln!(
            text,
            "{bullet}MISMATCH accepted, because \"{}\": {}",
            clean(reason),
            differences.join(", ")
        );
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "{bullet}note: {}", clean(note));
    }
    text
}

/// One of the two in a line.
pub fn describe(party: &Party, clean: fn(&str) -> String) -> String {
    let driver = if party.driver.is_empty() {
        String::new()
    } else {
        format!(", driver {}", clean(&party.driver))
    };
    format!(
        "{}: {}{driver}, {}, {}{}",
        clean(&party.name),
        clean(&party.device),
        clean(&party.program),
        clean(&party.started),
        if party.resumed { ", RESUMED" } else { "" }
    )
}

/// How the fixed kernel of the group did.
fn sentinel(comparison: &Comparison, group: &str) -> String {
    let session = comparison.sessions.iter().find(|session| session.group == group);
    match session {
        Some(session) => format!(
            "; sentinel {} a hop{}",
            or_absent(session.sentinel_change_ns, signed_us),
            if session.moved { ": THE DEVICE WAS IN ANOTHER STATE" } else { "" }
        ),
        None => String::new(),
    }
}

fn table(rows: &[Row], markdown: bool) -> String {
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header(HEADER);
    for row in rows {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(2).take(7) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

fn cells(row: &Row) -> [String; 10] {
    let difference = |ns: f64| signed(ns / 1e3, 3);
    let interval = row.change_interval_ns;
    [
        row.arm.to_string(),
        row.place(),
        or_absent(row.period_a_ns, us_number),
        or_absent(row.period_b_ns, us_number),
        or_absent(row.change_ns, difference),
        interval.map_or_else(String::new, |i| format_interval(i.lo, i.hi)),
        or_absent(row.allowance.map(|allowance| allowance.allowance_ns), us_number),
        or_absent(row.saved_a_ns, difference),
        or_absent(row.saved_b_ns, difference),
        verdict_with_reasons(row),
    ]
}

/// Points of one run alone.
fn rest(comparison: &Comparison, clean: fn(&str) -> String) -> String {
    let mut text = String::new();
    for (name, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            let _ = writeln!(text, "\nonly in {name}, not compared ({}):", only.len());
            only.iter().for_each(|label| {
                let _ = writeln!(text, "- {}", clean(label));
            });
        }
    }
    text
}

fn legend(comparison: &Comparison) -> &'static str {
    if comparison.paired {
        return "\nchange: B − A in the same rounds, ÷ hops: positive is slower. saved: against each \
                arm's baseline. allowed: the larger\nof the run's margin and its A/A floor.\n";
    }
    "\nchange: how much slower B is, as far as the arm's own time, the sentinel and the baseline all \
     show it. allowed: what two\nruns of the same may differ by; a change counts beyond it. saved: \
     against each run's own baseline, in the same rounds.\n"
}
