//! Writes a run directory while the run goes on, and takes up one that was cut short.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{Log, rename, write_atomically, write_error};
use super::place::{RESULTS, claim, fresh};
use super::read::{
    CALIBRATION, END, Loaded, MANIFEST, POINTS, PROFILE, Run, load, read_error, target_in,
};
use super::{End, Manifest, PointRecord, SCHEMA, SampleRow, samples};
use crate::device::Health;
use crate::error::{Error, Result};

/// A run directory that this process alone writes.
///
/// Raw files only grow, by whole lines: a process that is killed loses at most the line in flight.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    samples: Log,
    points: Log,
    /// Points of the plan; `None` until the manifest is written.
    planned: Option<HashSet<String>>,
    /// Whether this process made the directory itself.
    made: bool,
}

impl RunDir {
    /// Makes a directory for a new run: `path`, or else `results/<utc>-<what>`, with a number
    /// appended when it is taken. Dropped before [`RunDir::write_manifest`], it is removed again.
    ///
    /// # Errors
    /// `path` is a file or a directory that is not empty (usage), or cannot be written.
    pub fn create(path: Option<&Path>, what: &str, now: Timestamp) -> Result<RunDir> {
        let (path, made) = match path {
            Some(path) => claim(path)?,
            None => (fresh(Path::new(RESULTS), what, now)?, true),
        };
        match create_logs(&path) {
            Ok((samples, points)) => Ok(RunDir { path, samples, points, planned: None, made }),
            Err(error) => {
                if made {
                    // Only if it is empty: whatever else is there is not ours.
                    let _ = fs::remove_dir(&path);
                }
                Err(error)
            }
        }
    }

    /// Opens an unfinished run to go on with it, and tells what it holds. Lines that a kill cut
    /// short are cut off; the `end.json` of an interruption is kept as `end-1.json` and so on.
    ///
    /// # Errors
    /// Whatever [`read_run`](super::read_run) refuses; a run that is complete (usage), that
    /// another process writes, or whose files another version of the schema laid out.
    pub fn resume(path: &Path) -> Result<(RunDir, Run)> {
        // The lock comes before reading, so that what is read is what is continued; a directory
        // without a manifest is told apart first, by the reader's words.
        if !path.join(MANIFEST).exists() {
            load(path)?;
        }
        let samples = open_log(path, samples::FILE)?;
        samples.lock()?;
        let points = open_log(path, POINTS)?;
        let Loaded { run, samples_bytes, points_bytes } = load(path)?;
        check_resumable(path, &run)?;
        let planned = Some(planned(&run.manifest)?);
        let mut this = RunDir { path: path.to_owned(), samples, points, planned, made: false };
        this.samples.cut(samples_bytes)?;
        this.points.cut(points_bytes)?;
        if samples_bytes == 0 {
            this.samples.append(samples::header_line().as_bytes())?;
        }
        if run.end.is_some() {
            this.set_end_aside()?;
        }
        // It tells of the part before, and would contradict what is added now.
        let _ = fs::remove_file(path.join("summary.csv"));
        Ok((this, run))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes manifest.json, once, before any point or sample.
    ///
    /// # Errors
    /// A second manifest, a plan whose points are not unique plain names, or a disk that fails.
    pub fn write_manifest(&mut self, manifest: &Manifest) -> Result<()> {
        let path = self.path.join(MANIFEST);
        let action = || format!("write {}", path.display());
        if self.planned.is_some() {
            return Err(Error::failed(action(), "it is written once"));
        }
        if manifest.schema != schema_version() {
            let cause = format!("schema '{}' is not {}", manifest.schema, schema_version());
            return Err(Error::failed(action(), cause));
        }
        let planned = planned(manifest)?;
        let mut bytes = json(&path, manifest, serde_json::to_vec_pretty)?;
        bytes.push(b'\n');
        self.samples.cut(0)?;
        self.samples.append(samples::header_line().as_bytes())?;
        self.samples.sync()?;
        write_atomically(&path, &bytes)?;
        self.planned = Some(planned);
        Ok(())
    }

    /// Keeps the calibration that the run is to be read beside, as it was given.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn write_calibration(&mut self, text: &str) -> Result<()> {
        write_atomically(&self.path.join(CALIBRATION), text.as_bytes())
    }

    /// Keeps the profile that the run is simulated or predicted with, as it was given.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn write_profile(&mut self, text: &str) -> Result<()> {
        write_atomically(&self.path.join(PROFILE), text.as_bytes())
    }

    /// Appends a line to points.jsonl.
    ///
    /// # Errors
    /// A point that the plan lacks, a number that JSON cannot hold, or a disk that fails; earlier
    /// lines stay whole.
    pub fn append_point(&mut self, record: &PointRecord) -> Result<()> {
        self.check_planned(POINTS, &record.point)?;
        let mut line = json(&self.path.join(POINTS), record, serde_json::to_vec)?;
        line.push(b'\n');
        self.points.append(&line)
    }

    /// Appends a row to samples.csv.
    ///
    /// # Errors
    /// A point that the plan lacks, a duration that is negative or no number, or a disk that
    /// fails; earlier rows stay whole, and a later call may succeed.
    pub fn append_sample(&mut self, row: &SampleRow) -> Result<()> {
        self.check_planned(samples::FILE, &row.point)?;
        self.samples.append(samples::line(row)?.as_bytes())
    }

    /// Writes all of a run that is in memory; derived files are made of it by whoever reads it.
    ///
    /// # Errors
    /// Those of its parts.
    pub fn write_run(&mut self, run: &Run) -> Result<()> {
        self.write_manifest(&run.manifest)?;
        run.points.iter().try_for_each(|point| self.append_point(point))?;
        run.samples.iter().try_for_each(|sample| self.append_sample(sample))?;
        run.end.as_ref().map_or(Ok(()), |end| self.write_end(end))
    }

    /// Writes end.json, after all points and samples are safe on disk. A run ended with the reason
    /// [`End::DONE`] is complete and cannot be resumed.
    ///
    /// # Errors
    /// A number that JSON cannot hold, or a disk that fails.
    pub fn write_end(&mut self, end: &End) -> Result<()> {
        let path = self.path.join(END);
        if self.planned.is_none() {
            return Err(no_manifest(&path));
        }
        let mut bytes = json(&path, end, serde_json::to_vec_pretty)?;
        bytes.push(b'\n');
        self.samples.sync()?;
        self.points.sync()?;
        write_atomically(&path, &bytes)
    }

    fn check_planned(&self, file: &str, point: &str) -> Result<()> {
        let path = self.path.join(file);
        match &self.planned {
            None => Err(no_manifest(&path)),
            Some(planned) if planned.contains(point) => Ok(()),
            Some(_) => {
                let cause = format!("'{point}' is no point of the plan");
                Err(Error::failed(format!("write {}", path.display()), cause))
            }
        }
    }

    /// Renames end.json to the first free `end-N.json`: the clocks and throttle reasons of the
    /// first part are still true of it.
    fn set_end_aside(&self) -> Result<()> {
        let end = self.path.join(END);
        let aside = (1u32..)
            .map(|n| self.path.join(format!("end-{n}.json")))
            .find(|path| path.symlink_metadata().is_err())
            .expect("a directory holds fewer than 2^32 files");
        rename(&end, &aside).map_err(|error| write_error(&aside, &error))
    }
}

impl Drop for RunDir {
    /// Without a manifest it is no run: what was made for it goes, so that the same command can be
    /// given again.
    fn drop(&mut self) {
        if self.planned.is_none() {
            for file in [samples::FILE, POINTS] {
                let _ = fs::remove_file(self.path.join(file));
            }
            if self.made {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}

impl End {
    /// The reason of a run that did all it planned.
    pub const DONE: &str = "done";

    /// The end at `ended` of a run that did all it planned in `wall_s`, with what `samples` saw of
    /// the clocks.
    pub fn done(
        ended: String,
        wall_s: f64,
        groups: Vec<String>,
        samples: &[SampleRow],
        health: Health,
    ) -> End {
        let clocks = || samples.iter().filter_map(|sample| sample.sm_mhz);
        End {
            ended,
            wall_s: (wall_s * 10.0).round() / 10.0,
            reason: End::DONE.to_owned(),
            groups,
            sm_mhz_min: clocks().min(),
            sm_mhz_max: clocks().max(),
            throttle: health.throttle.clone(),
            health,
        }
    }
}

/// The version of the schema as a manifest gives it.
pub fn schema_version() -> String {
    format!("{}.{}", SCHEMA.0, SCHEMA.1)
}

/// Creates the files that grow. The first is what makes the directory this process's own.
fn create_logs(dir: &Path) -> Result<(Log, Log)> {
    let path = dir.join(samples::FILE);
    let samples = Log::create(path.clone())?;
    samples.lock().and_then(|()| Log::create(dir.join(POINTS))).map_or_else(
        |error| {
            let _ = fs::remove_file(&path);
            Err(error)
        },
        |points| Ok((samples, points)),
    )
}

fn no_manifest(path: &Path) -> Error {
    Error::failed(format!("write {}", path.display()), "the run has no manifest yet")
}

fn open_log(dir: &Path, name: &str) -> Result<Log> {
    let path = dir.join(name);
    let target = target_in(dir, name)
        .map_err(|cause| Error::failed(format!("continue {}", path.display()), cause))?;
    Log::open(path, &target)
}

fn check_resumable(dir: &Path, run: &Run) -> Result<()> {
    let action = format!("resume {}", dir.display());
    if run.end.as_ref().is_some_and(|end| end.reason == End::DONE) {
        return Err(Error::usage(action, "the run is complete")
            .remedy(format!("read it with pdl report {}, or start another", dir.display())));
    }
    if run.manifest.schema != schema_version() {
        let cause = format!("its schema is {}, not {}", run.manifest.schema, schema_version());
        return Err(Error::failed(action, cause)
            .remedy("continue it with the version of pdl that began it, or start another run"));
    }
    let path = dir.join(samples::FILE);
    let text = fs::File::open(&path).map_err(|error| read_error(&path, 1, error))?;
    let mut lines = super::lines::Lines::new(std::io::BufReader::new(text));
    let ours = samples::header_line();
    match lines.next() {
        Ok(None) => Ok(()),
        Ok(Some(header)) if header == ours.trim_end().as_bytes() => Ok(()),
        Ok(Some(_)) => Err(Error::failed(action, "samples.csv has other columns than this pdl")
            .remedy("start another run: rows of two layouts do not go into one file")),
        Err(error) => Err(read_error(&path, 1, error)),
    }
}

/// The points of the plan. Their names stand in CSV and in file names, so they must be plain.
fn planned(manifest: &Manifest) -> Result<HashSet<String>> {
    let mut planned = HashSet::new();
    for point in manifest.plan.points.iter().map(|point| &point.point) {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if point.is_empty() || !point.bytes().all(plain) || !planned.insert(point.clone()) {
            let cause = format!("its point '{point}' is not a plain name used once");
            return Err(Error::failed("use the plan", cause));
        }
    }
    Ok(planned)
}

/// A value as JSON, once it is sure that it can be read back: JSON has no NaN and no infinity.
fn json<T: Serialize + DeserializeOwned>(
    path: &Path,
    value: &T,
    write: fn(&T) -> serde_json::Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let bytes = write(value).and_then(|bytes| {
        serde_json::from_slice::<T>(&bytes)?;
        Ok(bytes)
    });
    bytes.map_err(|error| {
        let cause = format!("it could not be read back: {error}");
        Error::failed(format!("write {}", path.display()), cause)
    })
}
