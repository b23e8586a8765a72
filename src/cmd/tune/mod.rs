//! `pdl tune`: the best arm and trigger without the whole sweep.

mod findings;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use super::sweep::{Recorder, manifest, profile_text};
use super::{device, outputs, terminal};
use crate::chain::{Arm, Chain};
use crate::cli::{FindingsFormat, TuneArgs};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::experiment;
use crate::measure::{Plan, Predict, Progress, Raced, race_group};
use crate::profile::{BUILT_IN, Model};
use crate::record::{self, RunDir, write_derived};
use crate::sim::predict;
#[cfg_attr(not(feature = "cuda"), allow(unused_imports))]
pub(super) use crate::tune::{EdgeLane, Findings, Lane};

/// Races arms and triggers, leaves a run directory, prints what won.
///
/// # Errors
/// Bad axes, no device, a fault, an interruption (rows so far are kept), or wrong results.
pub fn tune(args: &TuneArgs) -> Result<()> {
    let without = device::Without { gate: false, conditioning: false, deadline_s: None };
    let opened = device::open(args.backend, args.seed, without, &args.simulated)?;
    if let Some(note) = &opened.note {
        terminal::note(format_args!("note: {note}"));
    }
    let device = opened.device.as_ref();
    let plan = plan(args, device)?;
    let mut run = RunDir::create(args.out.as_deref(), TUNE, Timestamp::now())?;
    if let Some(text) = args.simulated.profile.as_deref().map(profile_text).transpose()? {
        run.write_profile(&text)?;
    }
    run.write_manifest(&manifest(TUNE, device, &plan))?;
    let predict = |chain: &Chain, arm: Arm| match args.no_prediction {
        true => None,
        false => predicted_ns(device, chain, arm),
    };
    let (path, raced) = race_into(run, device, &plan, &predict)?;
    finish(&path, &Findings::new(device, &plan, &raced, None), args.format)
}

/// What the run calls itself.
pub(super) const TUNE: &str = "tune";

/// Races every group of a plan into a run directory, and rebuilds what is derived of it.
///
/// # Errors
/// A fault, an interruption (rows so far are kept), or a disk that fails.
pub(super) fn race_into(
    run: RunDir,
    device: &dyn Device,
    plan: &Plan,
    predict: Predict,
) -> Result<(PathBuf, Vec<Raced>)> {
    let progress = plan.groups().iter().map(|_| Progress::Untouched).collect();
    let mut recorder = Recorder::new(run, progress);
    let path = recorder.path().to_owned();
    let raced = race_all(device, plan, predict, &mut recorder);
    drop(recorder);
    // Whatever was measured before an error is worth its tables.
    let summary = outputs::rebuild(&path);
    let raced = raced?;
    summary?;
    Ok((path, raced))
}

/// Keeps in the run and prints what was found; wrong results are an error.
///
/// # Errors
/// Those of the run that `path` holds.
pub(super) fn finish(path: &Path, findings: &Findings, format: FindingsFormat) -> Result<()> {
    let json = render(findings, FindingsFormat::Json)?;
    write_derived(path, record::TUNE, json.as_bytes())?;
    let (summary, _) = outputs::rebuild(path)?;
    terminal::print(&render(findings, format)?)?;
    terminal::note(path.display());
    outputs::demand_right_results(&summary)
}

/// The plan of a sweep over the same axes, without the controls that only explain.
fn plan(args: &TuneArgs, device: &dyn Device) -> Result<Plan> {
    let mut axes = args.axes.axes();
    if args.axes.arm.is_empty() {
        axes.arms = vec![Arm::StreamPdl, Arm::GraphPdl];
    }
    let asked = axes.arms.clone();
    let mut plan = experiment::plan(&axes, args.seed, args.stopping(), device)?;
    // Verdicts of a race are about the leader; a family of all candidates is for a sweep.
    plan.stopping = args.stopping();
    without_controls(&mut plan, &asked);
    Ok(plan)
}

/// Leaves the full controls out that nobody asked for: they explain, and cannot win.
pub(super) fn without_controls(plan: &mut Plan, asked: &[Arm]) {
    for point in &mut plan.points {
        let explains = |arm: &Arm| matches!(arm, Arm::StreamFull | Arm::GraphFull);
        point.arms.retain(|arm| !explains(arm) || asked.contains(arm));
    }
    plan.points.retain(|point| !point.arms.is_empty());
}

fn race_all(
    device: &dyn Device,
    plan: &Plan,
    predict: Predict,
    recorder: &mut Recorder,
) -> Result<Vec<Raced>> {
    let began = Instant::now();
    let (mut raced, mut endings, mut outcome) = (Vec::new(), Vec::new(), Ok(()));
    for (index, points) in plan.groups().into_iter().enumerate() {
        recorder.begin_group(index);
        match race_group(device, plan, points, predict, recorder) {
            Ok(race) => {
                endings.push(ending(&race).to_owned());
                raced.push(race);
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let health = device.health();
    let throttle = health.throttle.clone();
    let took = began.elapsed();
    recorder.finish(&endings, throttle, took, health, outcome)?;
    terminal::note(format_args!("took {:.1} s", took.as_secs_f64()));
    Ok(raced)
}

fn ending(race: &Raced) -> &'static str {
    match &race.standing {
        None => "skipped",
        Some(standing) if standing.settled => "precision",
        Some(_) => "rounds",
    }
}

/// What the model predicts from the built-in profile; `None` for what it does not cover, and for
/// another kind of device.
fn predicted_ns(device: &dyn Device, chain: &Chain, arm: Arm) -> Option<f64> {
    let known = device.facts().name == BUILT_IN.device.product;
    known.then(|| predict(&BUILT_IN, Model::Events, chain, arm).ok()).flatten()
}

fn render(findings: &Findings, format: FindingsFormat) -> Result<String> {
    Ok(match format {
        FindingsFormat::Table => table::render(findings, false),
        FindingsFormat::Markdown => table::render(findings, true),
        FindingsFormat::Json => {
            serde_json::to_string_pretty(findings)
                .map_err(|error| Error::failed("write the findings", error))?
                + "\n"
        }
    })
}
