//! `summary.csv`: one row per point × arm. Reading what was written and writing it again gives the
//! same bytes.

use std::fs::File;
use std::path::Path;

use super::SummaryRow;
use super::cell::{Bad, Cell, Fixed, Maybe, Name, Plain, shown};
use super::header::Header;
use super::read::{read_bounded, read_error};
use crate::error::{Error, Result};

/// Nanoseconds, to a tenth: far below the step of any timer.
type Ns = Maybe<Fixed<1>>;
/// Ratios, to a hundredth of a percent.
type Ratio = Maybe<Fixed<4>>;

/// One list of the columns and their cells, in the order they are written, for both directions.
macro_rules! columns {
    ($($column:ident: $cell:ty),* $(,)?) => {
        /// The columns of summary.csv, in the order they are written.
        pub const SUMMARY_COLUMNS: &[&str] = &[$(stringify!($column)),*];

        pub(super) fn cells(row: &SummaryRow) -> Vec<String> {
            vec![$(<$cell>::write(&row.$column)),*]
        }

        fn row<'a>(text: impl Fn(usize) -> Result<&'a str, Bad>) -> Result<SummaryRow, Bad> {
            let mut columns = 0..;
            Ok(SummaryRow {
                $($column: {
                    let column = columns.next().expect("the range has no end");
                    <$cell>::read(text(column)?)
                        .map_err(|cause| Bad::column(stringify!($column), cause))?
                }),*
            })
        }
    };
}

columns! {
    point: Plain,
    arm: Name,
    submission: Name,
    dependency: Name,
    trigger: Maybe<Name>,
    nodes: Plain,
    grid_blocks: Plain,
    block_threads: Plain,
    shared_bytes: Plain,
    cluster_blocks: Plain,
    trigger_by: Name,
    preamble_kind: Name,
    preamble_ns: Ns,
    body_kind: Name,
    body_ns: Ns,
    l2: Name,
    mode: Name,
    samples: Plain,
    period_ns: Ns,
    period_lo_ns: Ns,
    period_hi_ns: Ns,
    marginal_ns: Ns,
    baseline: Maybe<Name>,
    saved_ns: Ns,
    saved_lo_ns: Ns,
    saved_hi_ns: Ns,
    speedup: Ratio,
    speedup_lo: Ratio,
    speedup_hi: Ratio,
    code_cost_ns: Ns,
    primary_slowed_ns: Ns,
    verdict: Maybe<Name>,
    proof: Maybe<Name>,
    correct: Maybe<Plain>,
    launch_gap_ns: Ns,
    hop_latency_ns: Ns,
    useful_ns: Ns,
    parked_ns: Ns,
    limit_ns: Ns,
    backend: Name,
    device: Plain,
    reason: Plain,
    contamination: Ratio,
    contamination_lo: Ratio,
    contamination_hi: Ratio,
    limit_by: Maybe<Name>,
    constants: Plain,
    exposed_ns: Ns,
    exposed_by: Maybe<Name>,
    exposed_launch_ns: Ns,
    exposed_placement_ns: Ns,
    exposed_preamble_ns: Ns,
    exposed_flush_ns: Ns,
    exposed_release_ns: Ns,
    exposed_drain_ns: Ns,
    exposed_contention_ns: Ns,
    exposed_ends_ns: Ns,
    exposed_unexplained_ns: Ns,
    predicted_ns: Ns,
    predicted_saved_ns: Ns,
    error_pct: Maybe<Fixed<2>>,
    not_predicted: Plain,
}

/// Columns that runs of earlier versions lack: all may be empty.
fn later_columns() -> &'static [&'static str] {
    let first = SUMMARY_COLUMNS.iter().position(|column| *column == "contamination");
    &SUMMARY_COLUMNS[first.unwrap_or(SUMMARY_COLUMNS.len())..]
}

/// The bytes of summary.csv: header and rows, LF, RFC 4180. A number that is not finite is left
/// empty.
pub fn write_summary(rows: &[SummaryRow]) -> Vec<u8> {
    write_with(rows, &[])
}

/// The same with columns of somebody else behind them; each holds a cell a row.
pub(super) fn write_with(rows: &[SummaryRow], columns: &[(String, Vec<String>)]) -> Vec<u8> {
    const IN_MEMORY: &str = "memory takes all that is written";
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|(name, _)| name.as_str());
    writer.write_record(SUMMARY_COLUMNS.iter().copied().chain(names)).expect(IN_MEMORY);
    for (at, row) in rows.iter().enumerate() {
        let own = cells(row);
        let others = columns.iter().map(|(_, cells)| cells.get(at).map_or("", String::as_str));
        let all = own.iter().map(String::as_str).chain(others);
        writer.write_record(all).expect(IN_MEMORY);
    }
    writer.into_inner().expect(IN_MEMORY)
}

/// Reads a summary.csv. Columns may stand in any order, and ones that are not known are left out.
///
/// # Errors
/// A file that cannot be read or is larger than 64 MiB; a column that is missing (other than those
/// that earlier versions lack, which are read as empty) or there twice; a
/// row that is cut short; a value that is none, named with its line and column.
pub fn read_summary(path: &Path) -> Result<Vec<SummaryRow>> {
    let file = match path.metadata() {
        Ok(metadata) if !metadata.is_file() => Err("it is not a regular file".to_owned()),
        Ok(_) => File::open(path).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let file = file.map_err(|cause| Error::failed(format!("read {}", path.display()), cause))?;
    parse(&read_bounded(path, file)?).map_err(|(line, bad)| read_error(path, line, bad))
}

fn parse(bytes: &[u8]) -> Result<Vec<SummaryRow>, (u64, Bad)> {
    if bytes.is_empty() {
        return Err((1, Bad::row("the file is empty")));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut header = None;
    let mut rows = Vec::new();
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err((reader.position().line(), Bad::row(error.to_string()))),
        }
        let line = record.position().map_or(0, csv::Position::line);
        match &header {
            None => {
                let names: Vec<&[u8]> = record.iter().collect();
                let found = Header::find_older(SUMMARY_COLUMNS, later_columns(), &names);
                header = Some(found.map_err(|bad| (line, bad))?);
            }
            Some(header) => rows.push(parse_row(&record, header).map_err(|bad| (line, bad))?),
        }
    }
    // It was renamed into place as a whole: without its last line feed, a copy was cut short, and
    // the last value cannot be trusted.
    if bytes.last() != Some(&b'\n') {
        let line = record.position().map_or(1, csv::Position::line);
        return Err((line, Bad::row("the file ends in the middle of a line")));
    }
    Ok(rows)
}

fn parse_row(record: &csv::ByteRecord, header: &Header) -> Result<SummaryRow, Bad> {
    header.check_width(record.len())?;
    row(|column| {
        let Some(place) = header.later_place(column) else { return Ok("") };
        let bytes = &record[place];
        std::str::from_utf8(bytes).map_err(|_| {
            let cause = format!("'{}' is not UTF-8", shown(&String::from_utf8_lossy(bytes)));
            Bad::column(SUMMARY_COLUMNS[column], cause)
        })
    })
}
