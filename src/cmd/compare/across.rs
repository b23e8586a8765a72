//! What carries over between devices, as people read it.

use std::fmt::Write;

use comfy_table::Table;
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};

use super::table::describe;
use super::text::{escaped, harmless};
use crate::chain::{Submission, Trigger};
use crate::compare::{Across, AcrossRow, Carried, Said};
use crate::record::Verdict;
use crate::units::{or_absent, percent};

const HEADER: [&str; 7] = ["", "A", "B", "sign", "A's trigger on B", "plateaus", "hurts on B only"];

/// For a terminal.
pub fn plain(across: &Across) -> String {
    let mut text = head(across, harmless, "");
    for rows in across.rows.chunk_by(|a, b| a.group == b.group) {
        let _ = writeln!(text, "\n{}\n\n{}", rows[0].group, table(rows, false));
    }
    let _ = writeln!(text, "{}", overall(across));
    text
}

/// For a comment on a pull request.
pub fn markdown(across: &Across) -> String {
    let mut text = format!("### pdl compare --across-devices: {}\n\n", overall(across));
    text += &head(across, escaped, "- ");
    for rows in across.rows.chunk_by(|a, b| a.group == b.group) {
        let _ = writeln!(text, "\n**{}**\n\n{}", rows[0].group, table(rows, true));
    }
    text
}

fn head(across: &Across, clean: fn(&str) -> String, bullet: &str) -> String {
    let mut text = String::new();
    for (name, party) in [("A", &across.a), ("B", &across.b)] {
        let _ = writeln!(text, "{bullet}{name}: {}", describe(party, clean));
    }
    for note in &across.notes {
        let _ = writeln!(text, "{bullet}note: {}", clean(note));
    }
    text
}

/// The answer in a line.
pub fn overall(across: &Across) -> String {
    let wrong = if across.wrong { "; B has WRONG RESULTS" } else { "" };
    match across.carried {
        Carried::Holds => format!("carries over: signs, triggers and plateaus hold{wrong}"),
        Carried::Moved => format!("does not all carry over: see what moved{wrong}"),
        Carried::Unknown => format!("cannot be said of everything: see what is unknown{wrong}"),
    }
}

fn table(rows: &[AcrossRow], markdown: bool) -> String {
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header(HEADER);
    for row in rows {
        table.add_row(cells(row));
    }
    format!("{}\n", table.trim_fmt())
}

fn cells(row: &AcrossRow) -> [String; 7] {
    let kept = or_absent(row.kept, percent);
    let carried = |carried: Option<Carried>| carried.map_or("", Carried::name).to_owned();
    let trigger = match row.trigger {
        Some(carried @ (Carried::Holds | Carried::Moved)) => {
            format!("{}: keeps {kept} of the best", carried.name())
        }
        other => carried(other),
    };
    [
        match row.submission {
            Submission::Stream => "stream".to_owned(),
            Submission::Graph => "graph".to_owned(),
        },
        said(&row.a),
        said(&row.b),
        row.sign.name().to_owned(),
        trigger,
        carried(row.plateau),
        list(&row.newly_hurting),
    ]
}

fn said(said: &Said) -> String {
    let verdict = match said.verdict {
        Verdict::Helps => "helps",
        Verdict::Hurts => "HURTS",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Skipped => "skipped",
        Verdict::Wrong => "WRONG RESULT",
    };
    match said.recommended {
        Some(trigger) => format!("{verdict} at {trigger} (plateau {})", list(&said.plateau)),
        None => verdict.to_owned(),
    }
}

fn list(triggers: &[Trigger]) -> String {
    triggers.iter().map(Trigger::to_string).collect::<Vec<_>>().join(" ")
}
