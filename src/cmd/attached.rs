//! A graph of somebody else's process as a run directory: written, and made again from its samples.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::sweep::{manifest_of, now};
use crate::attach::{
    Attributed, Listing, RawSample, Recorded, Report, Step, replay, report_page, report_table,
};
use crate::chain::{
    Arm, Body, BodyKind, Chain, Dependency, Preamble, PreambleKind, Shape, Target, Trigger,
};
use crate::cli::Format;
use crate::device::{Proof, Verification};
use crate::error::{Error, Result};
use crate::measure::{Plan, Stopping};
use crate::record::{
    AttachedRun, End, Manifest, PlanPoint, PointRecord, Run, RunDir, SampleRow, TRIALS,
    read_attached, write_atomically, write_derived,
};

/// What the run calls itself, and the folder that it lies in by default.
const ATTACH: &str = "attach";

/// A variant of one of the steps.
struct Place {
    point: String,
    group: u32,
    arm: Arm,
    /// `None`: the fixed kernel.
    variant: Option<u32>,
    flips: Vec<u32>,
}

/// Writes the run directory of an attribution: `trials.json` and the files of every run.
///
/// # Errors
/// `path` is a file or a directory that is not empty, or cannot be written; or what was recorded
/// contradicts itself.
pub fn save_attributed(attributed: &Attributed, path: &Path) -> Result<()> {
    replay(&attributed.recorded)?;
    let run = Records(attributed).run();
    let mut dir = RunDir::create(Some(path), ATTACH, Timestamp::now())?;
    let mut trials = attributed.recorded.clone();
    for step in &mut trials.steps {
        if let Step::Rounds { samples, .. } = step {
            samples.clear();
        }
    }
    let text = serde_json::to_vec(&trials)
        .map_err(|error| Error::failed("write the trials as JSON", error))?;
    write_atomically(&path.join(TRIALS), &text)?;
    dir.write_run(&run)?;
    drop(dir);
    super::rebuild(path).map(drop)
}

/// Makes the records of a run of an attribution.
struct Records<'a>(&'a Attributed);

impl Records<'_> {
    fn run(&self) -> Run {
        let recorded = &self.0.recorded;
        let (places, chain) = (places(recorded), chain(&recorded.listing));
        let rounds = |group: u32| rounds_of(recorded).nth(group as usize).unwrap_or_default();
        let points = places.iter().map(|place| {
            let (samples, wrong) = rounds(place.group);
            let own = samples.iter().filter(|sample| sample.variant == place.variant).count();
            let wrong = place.variant.and_then(|at| wrong.get(at as usize)).copied().unwrap_or(0);
            let verification =
                Verification { checked: own as u64, mismatches: wrong, ..Default::default() };
            point(place, chain, verification)
        });
        let mut samples = Vec::new();
        for (group, (raw, _)) in (0..).zip(rounds_of(recorded)) {
            let own: Vec<&Place> = places.iter().filter(|place| place.group == group).collect();
            let names: HashMap<Option<u32>, (std::sync::Arc<str>, Arm)> =
                own.iter().map(|p| (p.variant, (p.point.as_str().into(), p.arm))).collect();
            samples.extend(raw.iter().filter_map(|raw| {
                let (point, arm) = names.get(&raw.variant)?;
                Some(row(raw, point.clone(), *arm, chain.nodes))
            }));
        }
        let wall_s = recorded.elapsed_s.last().copied().unwrap_or(0.0);
        let groups = vec!["rounds".to_owned(); rounds_of(recorded).count()];
        let end = End::done(now(), wall_s, groups, &samples, self.0.health.clone());
        Run {
            manifest: self.manifest(&places, chain),
            points: points.collect(),
            samples,
            end: Some(end),
            notes: Vec::new(),
        }
    }

    fn manifest(&self, places: &[Place], chain: Chain) -> Manifest {
        let options = &self.0.recorded.options;
        let mut points: Vec<PlanPoint> = Vec::new();
        for place in places {
            match points.last_mut().filter(|last| last.point == place.point) {
                Some(last) => last.arms.push(place.arm),
                None => points.push(PlanPoint {
                    point: place.point.clone(),
                    group: place.group,
                    trigger: None,
                    arms: vec![place.arm],
                    chain,
                }),
            }
        }
        let stopping = Stopping {
            rounds_min: options.rounds,
            rounds_max: options.rounds.saturating_mul(2),
            long_rounds: 0,
            margin_us: options.margin_us,
            margin_ratio: options.margin_ratio,
            ..Stopping::default()
        };
        let plan = Plan { points, seed: options.seed, stopping };
        let flips = places.iter().filter(|place| !place.flips.is_empty());
        Manifest {
            attached: Some(AttachedRun {
                graph: fingerprint(&self.0.recorded.listing),
                flips: flips.map(|place| (place.point.clone(), place.flips.clone())).collect(),
                unsafe_no_sync: options.unsafe_no_sync,
            }),
            ..manifest_of(ATTACH, &self.0.facts, &self.0.health, &plan)
        }
    }
}

/// Samples and wrong bytes of every timed step.
fn rounds_of(recorded: &Recorded) -> impl Iterator<Item = (&[RawSample], &[u64])> {
    recorded.steps.iter().filter_map(|step| match step {
        Step::Rounds { samples, wrong_bytes, .. } => Some((&samples[..], &wrong_bytes[..])),
        Step::Verified { .. } => None,
    })
}

/// Every point × arm: a group a step, the original twice and the fixed kernel in its first point.
fn places(recorded: &Recorded) -> Vec<Place> {
    let arm = match recorded.options.dependency {
        Dependency::LaunchCompletion => Arm::GraphCompletion,
        _ => Arm::GraphPdl,
    };
    let mut places: Vec<Place> = Vec::new();
    let mut points = 0;
    let timed = recorded.steps.iter().filter_map(|step| match step {
        Step::Rounds { variants, .. } => Some(variants),
        Step::Verified { .. } => None,
    });
    for (group, variants) in (0..).zip(timed) {
        let mut add = |arms: &[(Arm, Option<u32>)], flips: Vec<u32>| {
            let point = format!("p{points:03}");
            points += 1;
            places.extend(arms.iter().map(|&(arm, variant)| Place {
                point: point.clone(),
                group,
                arm,
                variant,
                flips: flips.clone(),
            }));
        };
        add(&[(Arm::Graph, Some(0)), (Arm::GraphAa, Some(1)), (Arm::Sentinel, None)], Vec::new());
        for (at, flips) in (0..).zip(variants).skip(2) {
            add(&[(arm, Some(at))], flips.edges().iter().copied().collect());
        }
    }
    places
}

/// The graph as the rest of the program knows it: its number of nodes, and no shape of its own.
fn chain(listing: &Listing) -> Chain {
    Chain {
        nodes: listing.nodes.len() as u32,
        shape: Shape { grid_blocks: 0, block_threads: 0, shared_bytes: 0, cluster_blocks: 0 },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body: Body { kind: BodyKind::Kernel, target: Target::Ns(0.0), units: 0 },
        trigger: Trigger::Implicit,
        ..Chain::default()
    }
}

fn point(place: &Place, chain: Chain, verification: Verification) -> PointRecord {
    PointRecord {
        point: place.point.clone(),
        group: place.group,
        arm: place.arm,
        trigger: None,
        chain,
        body_ns: None,
        preamble_ns: None,
        proof: Proof::default(),
        verification,
        stamps: None,
        skipped: None,
    }
}

fn row(raw: &RawSample, point: std::sync::Arc<str>, arm: Arm, nodes: u32) -> SampleRow {
    SampleRow {
        point,
        arm,
        nodes,
        round: raw.round,
        order: raw.order,
        duration_ns: raw.duration_ns,
        sm_mhz: raw.sm_mhz,
        flags: raw.flags.clone(),
    }
}

/// Kernels and edges, not how they are launched: that is part of what two runs may differ in.
fn fingerprint(listing: &Listing) -> String {
    let mut hash = Sha256::new();
    for node in &listing.nodes {
        hash.update(listing.node_name(node.index));
        hash.update([0]);
    }
    for edge in &listing.edges {
        hash.update(edge.from.to_le_bytes());
        hash.update(edge.to.to_le_bytes());
    }
    hash.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What was recorded in the run in `path`, with its samples; `None` for a run of something else.
///
/// # Errors
/// `trials.json` is missing, cannot be read, or is not of these samples.
pub fn recorded(path: &Path, run: &Run) -> Result<Option<Recorded>> {
    if run.manifest.attached.is_none() {
        return Ok(None);
    }
    let found: Option<Recorded> = read_attached(path, TRIALS)?;
    let mut recorded = found.ok_or_else(|| {
        Error::failed(format!("read {}", path.join(TRIALS).display()), "the file is missing")
    })?;
    let places = places(&recorded);
    let at: BTreeMap<(&str, Arm), (u32, Option<u32>)> =
        places.iter().map(|p| ((p.point.as_str(), p.arm), (p.group, p.variant))).collect();
    let mut of_group: BTreeMap<u32, Vec<RawSample>> = BTreeMap::new();
    for row in &run.samples {
        let Some(&(group, variant)) = at.get(&(&*row.point, row.arm)) else {
            let cause = format!("samples.csv has a row of {} {}", row.point, row.arm);
            return Err(Error::failed(format!("use {}", path.join(TRIALS).display()), cause));
        };
        of_group.entry(group).or_default().push(RawSample {
            variant,
            round: row.round,
            order: row.order,
            duration_ns: row.duration_ns,
            sm_mhz: row.sm_mhz,
            flags: row.flags.clone(),
        });
    }
    let mut group = 0;
    for step in &mut recorded.steps {
        if let Step::Rounds { samples, .. } = step {
            *samples = of_group.remove(&group).unwrap_or_default();
            group += 1;
        }
    }
    Ok(Some(recorded))
}

/// The attribution of the run in `path`, made again from its samples; `None` for a run of something
/// else.
///
/// # Errors
/// Those of [`recorded`] and of [`replay`].
pub fn report(path: &Path, run: &Run) -> Result<Option<Report>> {
    recorded(path, run)?.as_ref().map(replay).transpose()
}

/// Writes what is derived of an attribution beside summary.csv.
pub fn write(path: &Path, report: &Report, chart: Option<&str>) -> Result<()> {
    let json = json(report)?;
    write_derived(path, "report.json", json.as_bytes())?;
    if let Some(chart) = chart {
        write_derived(path, "charts/edges.svg", chart.as_bytes())?;
    }
    write_derived(path, "report.html", report_page(report)?.as_bytes())
}

/// The attribution in the format that was asked for; `None`: that of every run.
pub fn render(report: &Report, format: Format) -> Result<Option<String>> {
    Ok(match format {
        Format::Table => Some(report_table(report)),
        Format::Markdown => Some(format!("```text\n{}```\n", report_table(report))),
        Format::Json => Some(json(report)?),
        Format::Csv | Format::Junit => None,
    })
}

fn json(report: &Report) -> Result<String> {
    let text = serde_json::to_string_pretty(report);
    Ok(text.map_err(|error| Error::failed("write the report as JSON", error))? + "\n")
}

#[cfg(test)]
mod tests;
