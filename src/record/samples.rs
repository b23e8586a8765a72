//! `samples.csv`: one raw sample a row, read as a stream, for it may be larger than memory.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cell::{Bad, Cell, Fixed, Maybe, Name, Plain, shown};
use super::header::Header;
use super::lines::Lines;
use super::read::{read_error, run_file};
use super::rounds::Rounds;
use super::{Manifest, SampleRow};
use clap::ValueEnum;

use crate::chain::Arm;
use crate::device::Flag;
use crate::error::{Error, Result};

pub(super) const FILE: &str = "samples.csv";

/// The columns, in the order they are written.
pub(super) const COLUMNS: [&str; 8] =
    ["point", "arm", "nodes", "round", "order", "duration_ns", "sm_mhz", "sample_flags"];

/// Durations are kept to a tenth of a nanosecond, far below the step of any timer.
type Duration = Fixed<1>;

/// The most rows that are read: a sweep of 10,000 groups stays below, and what holds more is not
/// read into memory.
const MAX_ROWS: u64 = 20_000_000;

/// The header row, with its line feed.
pub(super) fn header_line() -> String {
    COLUMNS.join(",") + "\n"
}

/// One row, with its line feed.
pub(super) fn line(row: &SampleRow) -> Result<String> {
    if !(row.duration_ns.is_finite() && row.duration_ns >= 0.0) {
        return Err(Error::failed(
            format!("record a sample of {} {}", row.point, row.arm),
            format!("its duration is {} ns", row.duration_ns),
        ));
    }
    let mut line = format!(
        "{},{},{},{},{},{},",
        row.point,
        row.arm,
        row.nodes,
        row.round,
        row.order,
        Duration::write(&row.duration_ns)
    );
    if let Some(sm_mhz) = row.sm_mhz {
        write!(line, "{sm_mhz}").expect("a string takes all that is written");
    }
    let flags: Vec<&str> = row.flags.iter().map(|flag| flag.name()).collect();
    line.extend([",", &flags.join("|"), "\n"]);
    Ok(line)
}

impl SampleRow {
    /// A duration as samples.csv keeps it, to a tenth of a nanosecond. What is computed from
    /// durations rounded like this is the same while a run goes on and when it is read back.
    pub fn stored_ns(duration_ns: f64) -> f64 {
        Duration::read(&Duration::write(&duration_ns)).unwrap_or(duration_ns)
    }
}

/// The rows of a run's samples.csv, one at a time.
///
/// Ends at the last whole row: what a kill left of a row in flight is dropped, and noted.
pub struct Samples {
    path: PathBuf,
    lines: Lines<BufReader<File>>,
    header: Option<Header>,
    words: Words,
    fields: Vec<Range<usize>>,
    rounds: Rounds,
    rows: u64,
    max_rows: u64,
    failed: bool,
}

impl Samples {
    /// Opens the samples of the run in `dir` and reads their header.
    ///
    /// # Errors
    /// A file that is missing, no regular file, or outside `dir`; a header that lacks a column or
    /// has one twice.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<Samples> {
        let (path, file) = run_file(dir, FILE)?;
        let words = Words::of(manifest);
        let lines = Lines::new(BufReader::with_capacity(1 << 16, file));
        let fields = Vec::with_capacity(COLUMNS.len());
        let mut samples = Samples {
            path,
            lines,
            header: None,
            words,
            fields,
            rounds: Rounds::default(),
            rows: 0,
            max_rows: MAX_ROWS,
            failed: false,
        };
        samples.read_header()?;
        Ok(samples)
    }

    fn read_header(&mut self) -> Result<()> {
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(()),
            Err(error) => return Err(read_error(&self.path, self.lines.number(), error)),
        };
        let names: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
        let header = Header::find(&COLUMNS, &names);
        self.header = Some(header.map_err(|bad| read_error(&self.path, 1, bad))?);
        Ok(())
    }

    /// Whether the file has a whole header: one that a kill cut short has no rows either.
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// What the user should know of the file. Complete once the rows have been read.
    pub fn notes(&self) -> Vec<String> {
        let unknown = self.header.as_ref().and_then(|header| header.note(FILE));
        let torn = torn_note(FILE, self.lines.torn_bytes());
        let headless = (!self.has_header()).then(|| format!("{FILE}: no row was written"));
        [unknown, torn, headless].into_iter().flatten().collect()
    }

    /// Bytes of the whole lines read so far.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.lines.whole_bytes()
    }

    fn next_row(&mut self) -> Result<Option<SampleRow>> {
        let Some(header) = &self.header else { return Ok(None) };
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(error) => return Err(read_error(&self.path, self.lines.number(), error)),
        };
        let row = parse(line, header, &self.words, &mut self.fields);
        let row = row.and_then(|row| {
            self.rows += 1;
            if self.rows > self.max_rows {
                return Err(Bad::row(format!("the file has more than {} samples", self.max_rows)));
            }
            self.rounds.check(&row)?;
            Ok(row)
        });
        row.map(Some).map_err(|bad| read_error(&self.path, self.lines.number(), bad))
    }
}

impl Iterator for Samples {
    type Item = Result<SampleRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.next_row().transpose();
        self.failed = matches!(row, Some(Err(_)));
        row
    }
}

/// What to tell of a last line that was cut short.
pub(super) fn torn_note(file: &str, torn_bytes: usize) -> Option<String> {
    (torn_bytes > 0).then(|| {
        format!("{file}: the last line was cut short after {torn_bytes} bytes and is left out")
    })
}

/// What the first two cells of a row may say.
struct Words {
    points: HashSet<Arc<str>>,
    arms: Vec<(String, Arm)>,
}

impl Words {
    fn of(manifest: &Manifest) -> Words {
        let points = manifest.plan.points.iter().map(|p| Arc::from(p.point.as_str())).collect();
        let arms = Arm::value_variants().iter().map(|arm| (arm.name(), *arm)).collect();
        Words { points, arms }
    }

    fn point(&self, text: &str) -> Result<Arc<str>, Bad> {
        self.points.get(text).cloned().ok_or_else(|| {
            Bad::column(COLUMNS[0], format!("'{}' is no point of the plan", shown(text)))
        })
    }

    /// A few comparisons: the general way through serde takes ten times as long.
    fn arm(&self, text: &str) -> Result<Arm, Bad> {
        let found = self.arms.iter().find(|(name, _)| name == text);
        found.map_or_else(|| read::<_, Name>(1, text), |(_, arm)| Ok(*arm))
    }
}

fn read<T, C: Cell<T>>(column: usize, text: &str) -> Result<T, Bad> {
    C::read(text).map_err(|cause| Bad::column(COLUMNS[column], cause))
}

fn parse(
    line: &[u8],
    header: &Header,
    words: &Words,
    fields: &mut Vec<Range<usize>>,
) -> Result<SampleRow, Bad> {
    // No value of a sample needs quotes; RFC 4180 lets a writer put them all the same.
    if line.contains(&b'"') {
        return parse(&unquoted(line)?, header, words, fields);
    }
    split(line, fields);
    header.check_width(fields.len())?;
    // Once for the whole line; cell by cell only to tell which one is to blame.
    let whole = std::str::from_utf8(line).ok();
    let text = |column: usize| {
        let place = fields[header.place(column)].clone();
        if let Some(whole) = whole {
            return Ok(&whole[place]);
        }
        let bytes = &line[place];
        std::str::from_utf8(bytes).map_err(|_| {
            let cause = format!("'{}' is not UTF-8", shown(&String::from_utf8_lossy(bytes)));
            Bad::column(COLUMNS[column], cause)
        })
    };
    let point = words.point(text(0)?)?;
    let duration_ns: f64 = read::<_, Duration>(5, text(5)?)?;
    if duration_ns < 0.0 {
        return Err(Bad::column(COLUMNS[5], format!("'{}' is negative", shown(text(5)?))));
    }
    Ok(SampleRow {
        point,
        arm: words.arm(text(1)?)?,
        nodes: read::<_, Plain>(2, text(2)?)?,
        round: read::<_, Plain>(3, text(3)?)?,
        order: read::<_, Plain>(4, text(4)?)?,
        duration_ns,
        sm_mhz: read::<_, Maybe<Plain>>(6, text(6)?)?,
        flags: flags(text(7)?)?,
    })
}

fn split(line: &[u8], fields: &mut Vec<Range<usize>>) {
    fields.clear();
    let mut start = 0;
    for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == b',') {
        fields.push(start..at);
        start = at + 1;
    }
    fields.push(start..line.len());
}

fn unquoted(line: &[u8]) -> Result<Vec<u8>, Bad> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let mut record = csv::ByteRecord::new();
    reader.read_byte_record(&mut record).map_err(|error| Bad::row(error.to_string()))?;
    let plain = record.iter().collect::<Vec<_>>().join(&b',');
    match plain.contains(&b'"') {
        true => Err(Bad::row("a quotation mark stands inside a field")),
        false => Ok(plain),
    }
}

fn flags(text: &str) -> Result<Vec<Flag>, Bad> {
    let names = text.split('|').filter(|_| !text.is_empty());
    names.map(Name::read).collect::<Result<_, _>>().map_err(|cause| Bad::column(COLUMNS[7], cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::fixture::{manifest, record, sample};

    #[test]
    fn more_rows_than_fit_in_memory_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        drop(record(&dir, 5).unwrap());
        let mut samples = Samples::open(&dir, &manifest()).unwrap();
        samples.max_rows = 3;
        let read: Vec<_> = samples.by_ref().take_while(Result::is_ok).map(Result::unwrap).collect();
        assert_eq!(read, [sample(0), sample(1), sample(2)]);
        assert!(samples.next().is_none(), "nothing comes after an error");
        let mut samples = Samples::open(&dir, &manifest()).unwrap();
        samples.max_rows = 3;
        let error = samples.nth(3).unwrap().unwrap_err().to_string();
        assert!(error.ends_with("samples.csv:5: the file has more than 3 samples"), "{error}");
    }
}
