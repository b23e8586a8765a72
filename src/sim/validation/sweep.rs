//! A measured sweep in one file: of every row what the models are given and what they are held
//! against, under a header that says where it comes from. Raw samples and stamps are not in it.
//!
//! ```text
//! # pdl measured sweep 1.0
//! # command: pdl sweep --grid 88,176 …
//! # device: NVIDIA H200
//! …
//! point,group,arm,trigger,grid_blocks,…,period_ns,period_lo_ns,period_hi_ns,verdict,in_plateau
//! ```
//!
//! A column that is not there has, in every row, the value of the default sweep.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::analysis::{Answer, summarise};
use crate::chain::{
    Arm, Body, BodyKind, Chain, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use crate::device::Backend;
use crate::error::{Error, Result};
use crate::record::{Run, Verdict, latest, read_run};

const MAGIC: &str = "# pdl measured sweep 1.0";
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

/// A row as the file has it.
#[derive(Serialize, Deserialize)]
struct Line {
    point: String,
    group: u32,
    arm: Arm,
    trigger: Option<Trigger>,
    #[serde(default = "default_nodes")]
    nodes: u32,
    grid_blocks: u32,
    block_threads: u32,
    #[serde(default)]
    shared_bytes: u32,
    #[serde(default = "default_cluster")]
    cluster_blocks: u32,
    #[serde(default)]
    trigger_by: TriggerBy,
    preamble_kind: PreambleKind,
    preamble_units: u64,
    body_kind: BodyKind,
    body_units: u64,
    #[serde(default)]
    l2: L2,
    #[serde(default)]
    mode: Mode,
    period_ns: f64,
    period_lo_ns: Option<f64>,
    period_hi_ns: Option<f64>,
    verdict: Option<Verdict>,
    in_plateau: Option<bool>,
}

/// Columns that are left out where every row has this.
const DEFAULTS: [(&str, &str); 6] = [
    ("nodes", "50"),
    ("shared_bytes", "0"),
    ("cluster_blocks", "1"),
    ("trigger_by", "thread"),
    ("l2", "hot"),
    ("mode", "isolated"),
];

fn default_nodes() -> u32 {
    Chain::default().nodes
}

fn default_cluster() -> u32 {
    Shape::default().cluster_blocks
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

    /// The file: header, then one row a point and arm.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{MAGIC}\n");
        for (key, value) in self.provenance.fields() {
            if !value.is_empty() {
                text += &format!("# {key}: {}\n", value.replace(['\n', '\r'], " "));
            }
        }
        text += "# left out: stamps and single samples; verdict and in_plateau are derived from \
                 these\n";
        text + &table(&self.rows)
    }

    fn parse(name: &str, text: &str) -> std::result::Result<Sweep, String> {
        let Some(body) = text.strip_prefix(MAGIC) else {
            return Err(format!("it does not begin with '{MAGIC}'"));
        };
        let mut provenance = Provenance::default();
        for line in body.lines().skip(1).take_while(|line| line.starts_with('#')) {
            if let Some((key, value)) = line[1..].split_once(':') {
                provenance.set(key.trim(), value.trim())?;
            }
        }
        if provenance.device.is_empty() || provenance.sm_count == 0 {
            return Err("its header names no device and sm_count".to_owned());
        }
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for line in reader.deserialize::<Line>() {
            let line = line.map_err(|error| error.to_string())?;
            rows.push(line.checked().map_err(|cause| format!("row {}: {cause}", rows.len() + 1))?);
        }
        Ok(Sweep { name: name.to_owned(), provenance, rows })
    }
}

impl Provenance {
    fn fields(&self) -> [(&'static str, String); 8] {
        [
            ("command", self.command.clone()),
            ("device", self.device.clone()),
            ("sm_count", self.sm_count.to_string()),
            ("uuid", self.uuid.clone()),
            ("driver", self.driver.clone()),
            ("program", self.program.clone()),
            ("date", self.date.clone()),
            ("note", self.note.clone()),
        ]
    }

    /// Takes a line of the header; what is not known is for readers of text.
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        let field = match key {
            "command" => &mut self.command,
            "device" => &mut self.device,
            "uuid" => &mut self.uuid,
            "driver" => &mut self.driver,
            "program" => &mut self.program,
            "date" => &mut self.date,
            "note" => &mut self.note,
            "sm_count" => {
                let wrong = |_| format!("sm_count '{value}' is no number");
                self.sm_count = value.parse().map_err(wrong)?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        value.clone_into(field);
        Ok(())
    }
}

impl Line {
    fn of(row: &Measured) -> Line {
        let (chain, shape) = (&row.chain, &row.chain.shape);
        Line {
            point: row.point.clone(),
            group: row.group,
            arm: row.arm,
            trigger: row.trigger,
            nodes: chain.nodes,
            grid_blocks: shape.grid_blocks,
            block_threads: shape.block_threads,
            shared_bytes: shape.shared_bytes,
            cluster_blocks: shape.cluster_blocks,
            trigger_by: chain.trigger_by,
            preamble_kind: chain.preamble.kind,
            preamble_units: chain.preamble.units,
            body_kind: chain.body.kind,
            body_units: chain.body.units,
            l2: chain.l2,
            mode: chain.mode,
            period_ns: row.period_ns,
            period_lo_ns: row.period_lo_ns,
            period_hi_ns: row.period_hi_ns,
            verdict: row.verdict,
            in_plateau: row.in_plateau,
        }
    }

    fn checked(self) -> std::result::Result<Measured, String> {
        let ends = [Some(self.period_ns), self.period_lo_ns, self.period_hi_ns];
        if let Some(wrong) = ends.iter().flatten().find(|ns| !(ns.is_finite() && **ns > 0.0)) {
            return Err(format!("a period of {wrong} ns is none"));
        }
        let chain = Chain {
            nodes: self.nodes,
            shape: Shape {
                grid_blocks: self.grid_blocks,
                block_threads: self.block_threads,
                shared_bytes: self.shared_bytes,
                cluster_blocks: self.cluster_blocks,
            },
            preamble: Preamble {
                kind: self.preamble_kind,
                target_ns: 0.0,
                units: self.preamble_units,
            },
            body: Body { kind: self.body_kind, target: Target::Ns(0.0), units: self.body_units },
            trigger: self.trigger.unwrap_or(Trigger::Implicit),
            trigger_by: self.trigger_by,
            l2: self.l2,
            mode: self.mode,
        };
        chain.validate().map_err(|error| error.to_string().replace('\n', ";"))?;
        Ok(Measured {
            point: self.point,
            group: self.group,
            arm: self.arm,
            trigger: self.trigger,
            chain,
            period_ns: self.period_ns,
            period_lo_ns: self.period_lo_ns,
            period_hi_ns: self.period_hi_ns,
            verdict: self.verdict,
            in_plateau: self.in_plateau,
        })
    }
}

/// Header and rows, without the columns that say nothing.
fn table(rows: &[Measured]) -> String {
    const IN_MEMORY: &str = "memory takes all that is written";
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().for_each(|row| writer.serialize(Line::of(row)).expect(IN_MEMORY));
    let whole = writer.into_inner().expect(IN_MEMORY);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(whole.as_slice());
    let records: Vec<csv::StringRecord> =
        reader.records().map(|record| record.expect("it was just written")).collect();
    let Some((header, lines)) = records.split_first() else { return String::new() };
    let told = |column: usize| {
        let default = DEFAULTS.iter().find(|(name, _)| *name == &header[column]);
        default.is_none_or(|(_, value)| lines.iter().any(|line| &line[column] != *value))
    };
    let kept: Vec<usize> = (0..header.len()).filter(|column| told(*column)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in &records {
        writer.write_record(kept.iter().map(|column| &record[*column])).expect(IN_MEMORY);
    }
    String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("all cells are text")
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
