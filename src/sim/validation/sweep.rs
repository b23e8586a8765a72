//! A measured sweep: of every row what the models are given and what they are held against.

use std::path::Path;

use crate::analysis::{Answer, summarise};
use crate::chain::{Arm, Body, BodyKind, Chain, Preamble, Target, Trigger};
use crate::device::Backend;
use crate::error::{Error, Result};
use crate::record::{Run, Verdict, latest, read_run};

/// The largest file that is read: a million rows stay below.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// A sweep of a GPU: where it comes from, and its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// What the file or directory is called, without folder and ending.
    pub name: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Rows that have a period, in the order of the plan.
    pub rows: Vec<Measured>,
}

/// Where a sweep comes from, as the run's manifest and end say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Command line, program name first.
    pub command: String,
    /// Product name.
    pub device: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// UUID of the device.
    pub uuid: String,
    /// Driver.
    pub driver: String,
    /// Version and revision of the program that measured.
    pub program: String,
    /// Begin and end: UTC, RFC 3339.
    pub date: String,
    /// What else is to be known of it; empty for nothing.
    pub note: String,
}

/// A measured row: what ran, and how long it took. Periods in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Point of the run.
    pub point: String,
    /// Group of the run.
    pub group: u32,
    /// Arm.
    pub arm: Arm,
    /// Trigger; `None` for an arm without one.
    pub trigger: Option<Trigger>,
    /// The chain as it ran, with its amounts of work; what was asked for is not kept.
    pub chain: Chain,
    /// Median period.
    pub period_ns: f64,
    /// Lower end of its 95 % interval.
    pub period_lo_ns: Option<f64>,
    /// Upper end.
    pub period_hi_ns: Option<f64>,
    /// What the measurement says of it against its baseline.
    pub verdict: Option<Verdict>,
    /// Whether its trigger is in the measured plateau; `None` where there is no plateau.
    pub in_plateau: Option<bool>,
}

impl Sweep {
    /// Reads a run directory, whose verdicts and plateaus are derived from its samples, or a file
    /// of [`Sweep::to_csv`].
    ///
    /// # Errors
    /// What is neither; a simulated run; a line that cannot be read, which is named; no row with a
    /// period.
    pub fn read(path: &Path) -> Result<Sweep> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sweep = match path.is_dir() {
            true => Sweep::of_run(&name, &read_run(path)?),
            false => {
                let text = text(path).map_err(|cause| unreadable(path, &cause))?;
                Sweep::parse(&name, &text).map_err(|cause| unreadable(path, &cause))
            }
        }?;
        match sweep.rows.is_empty() {
            true => Err(unreadable(path, "it has no row with a period")),
            false => Ok(sweep),
        }
    }

    /// Reads sweeps that stand together: groups are numbered on from one to the next.
    ///
    /// # Errors
    /// Those of [`Sweep::read`]; no path at all.
    pub fn read_all(paths: &[impl AsRef<Path>]) -> Result<Vec<Sweep>> {
        let mut sweeps = Vec::with_capacity(paths.len());
        let mut next = 0;
        for path in paths {
            let mut sweep = Sweep::read(path.as_ref())?;
            sweep.rows.iter_mut().for_each(|row| row.group += next);
            next = sweep.rows.iter().map(|row| row.group + 1).max().unwrap_or(next);
            sweeps.push(sweep);
        }
        match sweeps.is_empty() {
            true => Err(Error::usage("begin", "no measured sweep was named")
                .remedy("name run directories of pdl sweep, or files that validate --pack made")),
            false => Ok(sweeps),
        }
    }

    /// What a run says, derived from its samples.
    ///
    /// # Errors
    /// It was simulated, or is none of chains.
    pub fn of_run(name: &str, run: &Run) -> Result<Sweep> {
        let manifest = &run.manifest;
        if manifest.facts.backend == Backend::Sim {
            return Err(Error::failed(format!("take the run {name}"), "it was simulated")
                .remedy("a model is held against runs of a GPU: name one"));
        }
        let ended = run.end.as_ref().map_or("not ended", |end| end.ended.as_str());
        let provenance = Provenance {
            command: manifest.argv.join(" "),
            device: manifest.facts.name.clone(),
            sm_count: manifest.facts.sm_count,
            uuid: manifest.facts.uuid.clone(),
            driver: manifest.facts.driver.clone(),
            program: format!("{} {}", manifest.version, manifest.revision).trim().to_owned(),
            date: format!("{} to {ended}", manifest.started).trim().to_owned(),
            note: String::new(),
        };
        let summary = summarise(manifest, &run.points, &run.samples);
        let records = latest(&run.points);
        let mut rows = Vec::new();
        for row in summary.rows.iter().filter(|row| row.arm != Arm::Sentinel) {
            let (Some(record), Some(period_ns)) =
                (records.get(&(row.point.as_str(), row.arm)), row.period_ns)
            else {
                continue;
            };
            if record.chain.body.kind == BodyKind::Kernel {
                return Err(Error::failed(
                    format!("take the run {name}"),
                    "its kernels are not pdl's",
                )
                .remedy("the models know what pdl's own kernels do: name a run of pdl sweep"));
            }
            let own = |answer: &&Answer| (answer.group, answer.arm) == (record.group, record.arm);
            let answer = summary.answers.iter().find(own);
            let plateau = answer.and_then(|answer| answer.plateau.as_ref());
            let trigger = record.trigger.unwrap_or(record.chain.trigger);
            rows.push(Measured {
                point: record.point.clone(),
                group: record.group,
                arm: record.arm,
                trigger: record.trigger,
                chain: without_targets(record.chain.with_trigger(trigger)),
                period_ns: tenth(period_ns),
                period_lo_ns: row.period_lo_ns.map(tenth),
                period_hi_ns: row.period_hi_ns.map(tenth),
                verdict: row.verdict,
                in_plateau: plateau.map(|plateau| plateau.triggers.contains(&trigger)),
            });
        }
        Ok(Sweep { name: name.to_owned(), provenance, rows })
    }
}

/// What a file says beside the work is not what the models are given.
fn without_targets(chain: Chain) -> Chain {
    Chain {
        preamble: Preamble { target_ns: 0.0, ..chain.preamble },
        body: Body { target: Target::Ns(0.0), ..chain.body },
        ..chain
    }
}

/// As the file keeps it, so that a run and its file say the same.
fn tenth(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

fn text(path: &Path) -> std::result::Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn unreadable(path: &Path, cause: &str) -> Error {
    Error::failed(format!("read the measured sweep {}", path.display()), cause)
        .remedy("name a run directory of pdl sweep, or a file that validate --pack made of one")
}
