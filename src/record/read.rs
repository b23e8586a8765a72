//! Reads a run directory. What is in it may come from anywhere: every file is checked to be a
//! regular file of that directory, read with bounded memory, and refused with its line.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cell::shown;
use super::lines::Lines;
use super::samples::{self, Samples, torn_note};
use super::{End, Manifest, PointRecord, SCHEMA, SampleRow};
use crate::chain::Arm;
use crate::error::{Error, Result};
use crate::stamps::Reduced;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const POINTS: &str = "points.jsonl";
pub(super) const END: &str = "end.json";
/// The device profile of `pdl calibrate` that lies beside a run.
pub const CALIBRATION: &str = "calibration.toml";
/// The profile that a run was simulated or predicted with, where it is not the built-in one.
pub const PROFILE: &str = "profile.toml";

/// The largest file that is read as a whole, in bytes: a plan of 10⁵ points stays below.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;

/// The most lines of points.jsonl that are read: ten thousand groups of a hundred arms.
const MAX_POINTS: usize = 1_000_000;

/// A run as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What was to be measured, where, by what.
    pub manifest: Manifest,
    /// Points in the order they were prepared. A resumed run may have prepared one again: the
    /// later record holds for the samples after it.
    pub points: Vec<PointRecord>,
    /// Samples in the order they were taken.
    pub samples: Vec<SampleRow>,
    /// How it ended; `None` for a run that was killed or still goes on.
    pub end: Option<End>,
    /// What the user should know of the files, one line each.
    pub notes: Vec<String>,
}

impl Run {
    /// The record that holds for each point and arm.
    pub fn latest(&self) -> HashMap<(&str, Arm), &PointRecord> {
        latest(&self.points)
    }
}

/// The record that holds for each point and arm of these.
pub fn latest(points: &[PointRecord]) -> HashMap<(&str, Arm), &PointRecord> {
    // Of two, the later one is inserted last.
    points.iter().map(|record| ((record.point.as_str(), record.arm), record)).collect()
}

/// A run, and how much of its growing files is whole.
pub(super) struct Loaded {
    pub(super) run: Run,
    pub(super) samples_bytes: u64,
    pub(super) points_bytes: u64,
}

/// Reads the run in `dir`.
///
/// # Errors
/// Not a run directory; another major version of the schema; a file that is missing, is no regular
/// file, lies outside `dir`, or has a line that cannot be read (named with its column).
pub fn read_run(dir: &Path) -> Result<Run> {
    let mut run = load(dir)?.run;
    for record in &mut run.points {
        let kernel = run.manifest.kernel.as_ref().and_then(|kernel| kernel.variant(&record.chain));
        if kernel.is_some_and(|variant| variant.nodes.iter().any(|n| *n != variant.nodes[0])) {
            record.stamps = record.stamps.map(Reduced::of_several_kernels);
        }
    }
    Ok(run)
}

/// The calibration that lies beside the run in `dir`, as text; `None` where there is none.
///
/// # Errors
/// It is no regular file, lies outside `dir`, is too large, or is no text.
pub fn read_calibration(dir: &Path) -> Result<Option<String>> {
    read_text(dir, CALIBRATION)
}

/// The profile that the run in `dir` was simulated or predicted with, as text; `None` where it was
/// the built-in one, or none.
///
/// # Errors
/// Those of [`read_calibration`].
pub fn read_profile(dir: &Path) -> Result<Option<String>> {
    read_text(dir, PROFILE)
}

fn read_text(dir: &Path, name: &str) -> Result<Option<String>> {
    if !exists(dir, name) {
        return Ok(None);
    }
    let (path, file) = run_file(dir, name)?;
    let text = String::from_utf8(read_bounded(&path, file)?);
    text.map(Some).map_err(|_| Error::failed(format!("read {}", path.display()), "it is no text"))
}

pub(super) fn load(dir: &Path) -> Result<Loaded> {
    let mut notes = Vec::new();
    let manifest = read_manifest(dir, &mut notes)?;
    let end: Option<End> = match exists(dir, END) {
        true => Some(read_json(dir, END)?.1),
        false => None,
    };
    let (points, points_bytes) = read_points(dir, &manifest, &mut notes)?;
    let mut reader = Samples::open(dir, &manifest)?;
    if !reader.has_header() && end.is_some() {
        let path = dir.join(samples::FILE);
        return Err(read_error(&path, 1, "the run ended by itself, but its header is missing"));
    }
    let samples = reader.by_ref().collect::<Result<Vec<_>>>()?;
    notes.extend(reader.notes());
    let run = Run { manifest, points, samples, end, notes };
    Ok(Loaded { run, samples_bytes: reader.whole_bytes(), points_bytes })
}

/// Reads manifest.json alone.
fn read_manifest(dir: &Path, notes: &mut Vec<String>) -> Result<Manifest> {
    if !exists(dir, MANIFEST) {
        let cause = match dir.is_dir() {
            true if exists(dir, samples::FILE) => {
                return Err(Error::failed(
                    format!("read {}", dir.display()),
                    "its run was cut short before it began: it has no manifest.json and no sample",
                )
                .remedy("give the command that began it again"));
            }
            true => "not a run directory: it has no manifest.json",
            false if dir.exists() => "not a run directory but a file",
            false => "no such directory",
        };
        return Err(Error::failed(format!("read {}", dir.display()), cause)
            .remedy("name a directory that pdl wrote: by default, one under results"));
    }
    let path = dir.join(MANIFEST);
    let (bytes, versioned): (_, Versioned) = read_json(dir, MANIFEST)?;
    let version = versioned.schema;
    let (major, minor) = parse_version(&version).ok_or_else(|| {
        let cause = format!("schema '{}' is not a version such as 1.0", shown(&version));
        Error::failed(format!("read {}", path.display()), cause)
    })?;
    if major != SCHEMA.0 {
        let cause = format!("its schema is {major}.{minor}, this pdl reads {}.x", SCHEMA.0);
        return Err(Error::failed(format!("read {}", path.display()), cause)
            .remedy("read it with the version of pdl that wrote it"));
    }
    let manifest = serde_json::from_slice(&bytes).map_err(|error| {
        let error = json_error(&path, 0, &error);
        if minor > SCHEMA.1 { error.remedy("a newer pdl wrote it: update pdl") } else { error }
    })?;
    if minor > SCHEMA.1 {
        notes.push(format!(
            "{MANIFEST}: schema {major}.{minor} is newer than {}.{}: what it adds is left out",
            SCHEMA.0, SCHEMA.1
        ));
    }
    Ok(manifest)
}

/// The one field that is read before the version is known.
#[derive(Deserialize)]
struct Versioned {
    schema: String,
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn read_points(
    dir: &Path,
    manifest: &Manifest,
    notes: &mut Vec<String>,
) -> Result<(Vec<PointRecord>, u64)> {
    let (path, file) = run_file(dir, POINTS)?;
    let planned: HashSet<&str> = manifest.plan.points.iter().map(|p| p.point.as_str()).collect();
    let mut lines = Lines::new(BufReader::new(file));
    let mut points = Vec::new();
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(read_error(&path, lines.number(), error)),
        };
        let record = serde_json::from_slice::<PointRecord>(line);
        let number = lines.number();
        let record = record.map_err(|error| json_error(&path, number, &error))?;
        if !planned.contains(record.point.as_str()) {
            let cause = format!("'{}' is no point of the plan", shown(&record.point));
            return Err(read_error(&path, number, cause));
        }
        if points.len() == MAX_POINTS {
            let cause = format!("the file has more than {MAX_POINTS} points");
            return Err(read_error(&path, number, cause));
        }
        points.push(record);
    }
    notes.extend(torn_note(POINTS, lines.torn_bytes()));
    Ok((points, lines.whole_bytes()))
}

/// Reads a JSON file of the run as a whole, and what it says.
fn read_json<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<(Vec<u8>, T)> {
    let (path, file) = run_file(dir, name)?;
    let bytes = read_bounded(&path, file)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| json_error(&path, 0, &error))?;
    Ok((bytes, value))
}

/// The bytes of a file that must fit in memory.
pub(super) fn read_bounded(path: &Path, file: File) -> Result<Vec<u8>> {
    let action = || format!("read {}", path.display());
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::failed(action(), error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::failed(action(), format!("it is larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Opens a file of the run for reading. The path is the one to name in errors.
pub(super) fn run_file(dir: &Path, name: &str) -> Result<(PathBuf, File)> {
    let path = dir.join(name);
    let failed = |cause: &dyn Display| Error::failed(format!("read {}", path.display()), cause);
    let target = target_in(dir, name).map_err(|cause| failed(&cause))?;
    let file = File::open(target).map_err(|error| failed(&error))?;
    Ok((path, file))
}

/// Where the file `name` of the run really is: a regular file inside the run directory, so that a
/// run from a stranger cannot name a file outside, a device or a pipe.
pub(super) fn target_in(dir: &Path, name: &str) -> Result<PathBuf, String> {
    let target = dir.join(name).canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => "the file is missing from the run directory".to_owned(),
        _ => error.to_string(),
    })?;
    let root = dir.canonicalize().map_err(|error| error.to_string())?;
    if !target.starts_with(&root) {
        return Err("it is a link that leads out of the run directory".to_owned());
    }
    match target.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(target),
        Ok(_) => Err("it is not a regular file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether the run has such a file, be it a broken link.
pub(super) fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).symlink_metadata().is_ok()
}

/// A cause in line `line` of `path`.
pub(super) fn read_error(path: &Path, line: u64, cause: impl Display) -> Error {
    Error::failed(format!("read {}:{line}", path.display()), cause)
}

/// The same for JSON: `line` is that of the object in the file, 0 where the file is the object.
pub(super) fn json_error(path: &Path, line: u64, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let cause = text.rsplit_once(" at line ").map_or(text.as_str(), |(cause, _)| cause);
    let line = if line == 0 { error.line() as u64 } else { line };
    let place = format!("read {}:{line}:{}", path.display(), error.column());
    let cause: String =
        cause.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    Error::failed(place, cause)
}
