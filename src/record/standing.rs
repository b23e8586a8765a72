//! What a summary.csv that lies in a run directory already says, against what its samples give.
//!
//! Counts and medians of the samples, and whether results were right, are facts: a summary that
//! says otherwise was edited, or belongs to other samples, and nothing may be built on it or put in
//! its place unseen. Intervals, verdicts and columns are a matter of the version that derived it.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use super::SummaryRow;
use super::cell::shown;
use super::read::{read_bounded, read_error, run_file};
use super::summary::{SUMMARY_COLUMNS, cells, write_with};
use crate::error::Result;

const FILE: &str = "summary.csv";

/// Columns that follow from the samples, whatever version derives them.
const FACTS: [&str; 9] = [
    "nodes",
    "trigger",
    "samples",
    "period_ns",
    "saved_ns",
    "speedup",
    "correct",
    "backend",
    "device",
];

/// What is in the way of the summary that is to be written, or beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// A difference that another version of the program, or an earlier moment of the run, would
    /// make; `None` when there is none.
    pub stale: Option<String>,
    /// Columns that this version does not know, each with a cell for every row that is to be
    /// written.
    columns: Vec<(String, Vec<String>)>,
}

impl Standing {
    /// The bytes of summary.csv, with the columns of somebody else kept.
    pub fn write(&self, rows: &[SummaryRow]) -> Vec<u8> {
        write_with(rows, &self.columns)
    }

    /// What the user should know of the file, one line each.
    pub fn notes(&self) -> Vec<String> {
        let stale =
            self.stale.iter().map(|difference| format!("{FILE}: it was out of date: {difference}"));
        let names: Vec<String> = self.columns.iter().map(|(name, _)| shown(name)).collect();
        let kept = (!names.is_empty())
            .then(|| format!("{FILE}: unknown columns are kept: {}", names.join(", ")));
        stale.chain(kept).collect()
    }
}

/// Reads the summary.csv of the run in `dir`, if there is one, beside the `rows` that its samples
/// give. A run that has not `ended` may have had fewer samples when its summary was derived.
///
/// # Errors
/// A file that is no summary, and one that contradicts the samples: with line and column.
pub fn standing(dir: &Path, rows: &[SummaryRow], ended: bool) -> Result<Standing> {
    if dir.join(FILE).symlink_metadata().is_err() {
        return Ok(Standing::default());
    }
    let (path, file) = run_file(dir, FILE)?;
    let bytes = read_bounded(&path, file)?;
    let remedy = format!(
        "nothing was changed; if the raw files are right, remove {} and pdl report rebuilds it",
        path.display()
    );
    let bad = |line: u64, cause: &dyn Display| Err(read_error(&path, line, cause).remedy(&remedy));
    let table = match Table::parse(&bytes) {
        Ok(table) => table,
        Err((line, cause)) => return bad(line, &cause),
    };
    let mut found = HashMap::new();
    for (line, record) in &table.rows {
        let name = |column| table.cell(record, column).unwrap_or_default().to_owned();
        let (point, arm) = (name("point"), name("arm"));
        if found.insert((point.clone(), arm.clone()), (*line, record)).is_some() {
            let (point, arm) = (shown(&point), shown(&arm));
            return bad(*line, &format!("the row of {point} {arm} is there twice"));
        }
    }
    let mut standing = Standing { stale: table.stale.clone(), columns: Vec::new() };
    let mut kept: Vec<Vec<String>> = vec![Vec::new(); table.unknown.len()];
    for row in rows {
        let own = cells(row);
        let Some((line, record)) = found.remove(&(own[0].clone(), own[1].clone())) else {
            let cause =
                format!("it has no row of {} {}, which the raw files have", row.point, row.arm);
            if ended {
                return bad(1, &contradicts(&cause));
            }
            standing.stale.get_or_insert(cause);
            kept.iter_mut().for_each(|cells| cells.push(String::new()));
            continue;
        };
        match differs(&table, record, &own) {
            Some((column, text)) if ended && FACTS.contains(&column) => {
                return bad(line, &contradicts(&text));
            }
            Some((_, text)) => {
                standing.stale.get_or_insert(format!("line {line}, {text}"));
            }
            None => {}
        }
        for (cells, at) in kept.iter_mut().zip(&table.unknown) {
            cells.push(record.get(*at).unwrap_or("").to_owned());
        }
    }
    if let Some(((point, arm), (line, _))) = found.into_iter().min_by_key(|(_, (line, _))| *line) {
        let (point, arm) = (shown(&point), shown(&arm));
        let cause = format!("it has a row of {point} {arm}, which the raw files lack");
        return bad(line, &contradicts(&cause));
    }
    let names = table.unknown.iter().map(|at| table.names[*at].clone());
    standing.columns = names.zip(kept).collect();
    Ok(standing)
}

fn contradicts(cause: &str) -> String {
    format!("it contradicts the raw files: {cause}")
}

/// The first cell that differs, facts before the rest: its column, and both in words.
fn differs(
    table: &Table,
    record: &csv::StringRecord,
    own: &[String],
) -> Option<(&'static str, String)> {
    let difference = |column: &'static str| {
        let there = table.cell(record, column)?;
        let at = SUMMARY_COLUMNS.iter().position(|name| *name == column)?;
        let here = own.get(at)?;
        (!alike(there, here)).then(|| {
            let said = |text: &str| if text.is_empty() { "nothing".into() } else { shown(text) };
            let text =
                format!("column {column}: {} there, {} by the raw files", said(there), said(here));
            (column, text)
        })
    };
    let facts = FACTS.iter().copied().find_map(difference);
    facts.or_else(|| SUMMARY_COLUMNS.iter().copied().find_map(difference))
}

/// Equal as text, or as numbers of equally many decimals up to a step of the last one: the
/// logarithm of another machine may round otherwise.
fn alike(there: &str, here: &str) -> bool {
    if there == here {
        return true;
    }
    let decimals = |text: &str| text.split_once('.').map(|(_, part)| part.len());
    let (Some(a), Some(b)) = (decimals(there), decimals(here)) else { return false };
    let (Ok(x), Ok(y)) = (there.parse::<f64>(), here.parse::<f64>()) else { return false };
    a == b && (x - y).abs() < 1.5 * 0.1_f64.powi(a.min(12) as i32)
}

/// A CSV file by the names of its columns.
struct Table {
    names: Vec<String>,
    rows: Vec<(u64, csv::StringRecord)>,
    /// Places of columns that this version does not know.
    unknown: Vec<usize>,
    /// What it lacks of the columns of this version.
    stale: Option<String>,
}

impl Table {
    fn parse(bytes: &[u8]) -> Result<Table, (u64, String)> {
        if bytes.is_empty() {
            return Err((1, "the file is empty".to_owned()));
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                (line, csv_cause(&error))
            })?;
            records.push((record.position().map_or(0, csv::Position::line), record));
        }
        if bytes.last() != Some(&b'\n') {
            let line = records.last().map_or(1, |(line, _)| *line);
            return Err((line, "the file ends in the middle of a line".to_owned()));
        }
        let mut records = records.into_iter();
        let (_, header) = records.next().ok_or((1, "the file is empty".to_owned()))?;
        let mut names: Vec<String> = header.iter().map(str::to_owned).collect();
        if let Some(first) = names.first_mut() {
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        let known = |name: &String| SUMMARY_COLUMNS.contains(&name.as_str());
        for key in ["point", "arm"] {
            if !names.iter().any(|name| name == key) {
                let first = shown(&names.join(","));
                return Err((1, format!("'{first}' is not its header: it lacks {key}")));
            }
        }
        let twice = (1..names.len()).find(|&at| names[..at].contains(&names[at]));
        if let Some(at) = twice {
            return Err((1, format!("the header has the column '{}' twice", shown(&names[at]))));
        }
        let unknown = (0..names.len()).filter(|&at| !known(&names[at])).collect();
        let missing: Vec<&str> =
            SUMMARY_COLUMNS.iter().filter(|c| !names.iter().any(|n| n == *c)).copied().collect();
        let stale = (!missing.is_empty()).then(|| format!("it lacks {}", missing.join(", ")));
        Ok(Table { names, rows: records.collect(), unknown, stale })
    }

    fn cell<'r>(&self, record: &'r csv::StringRecord, column: &str) -> Option<&'r str> {
        record.get(self.names.iter().position(|name| name == column)?)
    }
}

/// A cause without the place, which stands before it.
fn csv_cause(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => {
            format!("field {} is not UTF-8", err.field() + 1)
        }
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the row has {len} fields, the header has {expected_len}")
        }
        _ => error.to_string(),
    }
}
