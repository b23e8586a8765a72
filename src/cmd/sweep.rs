//! `pdl sweep`: the main job.

mod resume;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(super) use self::resume::taken_up;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use self::resume::resume;
use super::{device, dry_run, outputs, predict, terminal};
use crate::analysis::Summary;
use crate::cli::{BackendChoice, Format, SimulatedArgs, SweepArgs, unread_variables};
use crate::device::{Backend, Device, Facts, Health};
use crate::error::{Error, Kind, Result};
use crate::experiment;
use crate::measure::{self, Plan, Progress, Sink, measure_group};
use crate::profile;
use crate::record::{CALIBRATION, End, Manifest, PointRecord, Run, RunDir, SampleRow, read_run};

/// What a finished sweep leaves; nothing after a dry run.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The run directory.
    pub path: Option<PathBuf>,
    /// The run, read back from the directory, and what is said of it.
    pub measured: Option<(Summary, Run)>,
}

/// Measures, writes the run directory, prints the summary.
///
/// # Errors
/// Bad axes, no device, a fault, an interruption (rows so far are kept), or wrong results.
pub fn sweep(args: &SweepArgs) -> Result<Finished> {
    for name in unread_variables() {
        terminal::note(format_args!("note: {name} is no variable of pdl and changes nothing"));
    }
    if let Some(path) = &args.resume {
        return resume(args, path);
    }
    let calibration = args.calibration.as_deref().map(profile_text).transpose()?;
    let opened = device::open_for(args)?;
    if let Some(note) = &opened.note {
        terminal::note(format_args!("note: {note}"));
    }
    let device = opened.device.as_ref();
    if args.predict {
        let calibration = args.calibration.as_deref();
        predict::demand_possible(&args.simulated, calibration, device.facts())?;
    }
    let plan = match &args.repeat {
        Some(path) => again(path, args.seed)?,
        None => {
            let axes = args.axes().with_isolated();
            experiment::plan(&axes, args.seed, args.stopping()?, device)?
        }
    };
    if args.dry_run {
        terminal::print(&match dry_run::as_json(args.format)? {
            true => dry_run::dry_run_json(device.facts(), &plan)?,
            false => dry_run::dry_run(device.facts(), &plan),
        })?;
        return Ok(Finished::default());
    }
    let mut run = RunDir::create(args.out.as_deref(), "sweep", Timestamp::now())?;
    if let Some(text) = &calibration {
        run.write_calibration(text)?;
    }
    if let Some(text) = args.simulated.profile.as_deref().map(profile_text).transpose()? {
        run.write_profile(&text)?;
    }
    run.write_manifest(&manifest("sweep", device, &plan))?;
    let recorder = Recorder::new(run, untouched(&plan));
    measure(args.format, device, &plan, recorder, predicted(args))
}

/// What is to be predicted of the run, if anything.
fn predicted(args: &SweepArgs) -> Option<&SimulatedArgs> {
    args.predict.then_some(&args.simulated)
}

/// The text of a device profile that can be read.
pub(super) fn profile_text(path: &Path) -> Result<String> {
    profile::read(path)?;
    std::fs::read_to_string(path)
        .map_err(|error| Error::failed(format!("read {}", path.display()), error))
}

/// The plan of the run in `path` under another seed, and the work that it calibrated.
fn again(path: &Path, seed: u64) -> Result<Plan> {
    let found = read_run(path)?;
    let plan = Plan::from_record(&found.manifest.plan, seed)?;
    if found.manifest.attached.is_some() {
        let cause = "it is a run of a graph of another process";
        return Err(Error::usage(format!("repeat {}", path.display()), cause)
            .remedy("attach to the same graph again, and save that run"));
    }
    if found.manifest.kernel.is_some() {
        let cause = "it is a run of your own kernels";
        return Err(Error::usage(format!("repeat {}", path.display()), cause)
            .remedy("pdl kernel with the same chain file measures the same points"));
    }
    if plan.points.is_empty() {
        return Err(Error::failed(format!("repeat {}", path.display()), "it has no points"));
    }
    for chain in plan.points.iter().map(|point| &point.chain) {
        chain.validate()?;
    }
    Ok(plan.with_work(&found.points))
}

/// Nothing is measured yet.
pub(super) fn untouched(plan: &Plan) -> Vec<Progress> {
    plan.groups().iter().map(|_| Progress::Untouched).collect()
}

/// Measures what is left, and prints the summary of the run.
pub(super) fn measure(
    format: Format,
    device: &dyn Device,
    plan: &Plan,
    recorder: Recorder,
    predicted: Option<&SimulatedArgs>,
) -> Result<Finished> {
    let path = recorder.run.path().to_owned();
    let measured = recorder.measure(device, plan);
    // Whatever was measured before an error is worth its tables.
    let attached = predicted.map_or(Ok(Vec::new()), |of| predict::attachments(&path, of));
    let summary = attached.and_then(|attached| outputs::rebuild_beside(&path, &attached));
    if let Err(error) = measured {
        return Err(match error.kind() {
            Kind::Interrupted => error
                .remedy(format!("pdl report {} reads what was measured so far", path.display())),
            _ => error,
        });
    }
    let (rebuilt, run) = summary?;
    terminal::print(&outputs::render(&rebuilt, &run, format)?)?;
    terminal::note(path.display());
    outputs::demand_right_results(&rebuilt)?;
    Ok(Finished { path: Some(path), measured: Some((rebuilt, run)) })
}

/// The manifest of a run that begins now.
pub(crate) fn manifest(what: &str, device: &dyn Device, plan: &Plan) -> Manifest {
    manifest_of(what, device.facts(), &device.health(), plan)
}

/// The same of a device that is known and not at hand.
pub(super) fn manifest_of(what: &str, facts: &Facts, health: &Health, plan: &Plan) -> Manifest {
    let environment = std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| name.starts_with("PDL_"))
        .collect();
    Manifest {
        version: env!("CARGO_PKG_VERSION").into(),
        revision: env!("PDL_REVISION").into(),
        started: now(),
        argv: argv(),
        environment,
        ..plan.manifest(what, facts, health)
    }
}

/// The command line. The program without its directory: where it lies says nothing about the run,
/// and a run that is given away should not tell.
fn argv() -> Vec<String> {
    let mut arguments = std::env::args_os();
    let program = arguments.next().map(PathBuf::from);
    let program = program.as_ref().and_then(|path| path.file_name()).map(OsString::from);
    program.into_iter().chain(arguments).map(text).collect()
}

/// The environment of a process may hold any bytes; a manifest holds text.
fn text(bytes: OsString) -> String {
    bytes.to_string_lossy().into_owned()
}

/// UTC, whole seconds.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// Is told where a run lies.
pub(super) type Teller = Box<dyn Fn(&Path)>;

/// Writes what is measured as it comes, and shows how far it is.
pub(super) struct Recorder {
    run: RunDir,
    bar: ProgressBar,
    groups: usize,
    group: usize,
    /// How far each group is, before it is measured.
    progress: Vec<Progress>,
    clocks: Option<(u32, u32)>,
    /// Told where the run lies once the first of several groups is measured.
    tell: Option<Teller>,
}

impl Recorder {
    pub(super) fn new(run: RunDir, progress: Vec<Progress>) -> Recorder {
        let bar = ProgressBar::new(1000);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  left: {eta}");
        bar.set_style(style.expect("the template is well formed"));
        let groups = progress.len();
        Recorder { run, bar, groups, group: 0, progress, clocks: None, tell: None }
    }

    /// Calls `tell` with the run's place once the first of several groups is measured.
    pub(super) fn telling(self, tell: Teller) -> Recorder {
        Recorder { tell: Some(tell), ..self }
    }

    fn measure(mut self, device: &dyn Device, plan: &Plan) -> Result<()> {
        let (began, began_there) = (Instant::now(), device.now());
        let left = plan.groups().into_iter().zip(&self.progress);
        let left: Vec<_> =
            left.filter(|(_, progress)| !matches!(progress, Progress::Done)).map(|l| l.0).collect();
        let expected = plan.expected(&left);
        terminal::note(format_args!("expected: {expected}"));
        let mut endings = Vec::new();
        let mut throttle: Vec<String> = Vec::new();
        let mut outcome = Ok(());
        for (index, points) in plan.groups().into_iter().enumerate() {
            self.group = index;
            let progress = std::mem::replace(&mut self.progress[index], Progress::Done);
            let begun = match &progress {
                Progress::Untouched => None,
                Progress::Begun(begun) => Some(&**begun),
                Progress::Done => {
                    endings.push("earlier".to_owned());
                    continue;
                }
            };
            match measure_group(device, plan, points, begun, &mut self) {
                Ok(ending) => endings.push(ending.name().to_owned()),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            if let Some(tell) = self.tell.take().filter(|_| self.groups > 1) {
                self.bar.suspend(|| tell(self.run.path()));
            }
            for reason in device.health().throttle {
                if !throttle.contains(&reason) {
                    throttle.push(reason);
                }
            }
        }
        let took = began.elapsed();
        let finished = self.finish(&endings, throttle, took, device.health(), outcome);
        let there = match device.facts().backend {
            Backend::Gpu => String::new(),
            Backend::Sim => {
                let simulated = (device.now() - began_there).as_secs_f64();
                format!(" ({simulated:.1} s on the simulated device)")
            }
        };
        terminal::note(format_args!(
            "took {:.1} s{there}; expected: {expected}",
            took.as_secs_f64()
        ));
        finished
    }

    /// Another group begins.
    pub(super) fn begin_group(&mut self, index: usize) {
        self.group = index;
    }

    /// Where the run lies.
    pub(super) fn path(&self) -> &Path {
        self.run.path()
    }

    /// Says in end.json how it ended, and gives the outcome back.
    pub(super) fn finish(
        &mut self,
        endings: &[String],
        throttle: Vec<String>,
        wall: Duration,
        health: Health,
        outcome: Result<()>,
    ) -> Result<()> {
        self.bar.finish_and_clear();
        let end = self.end(endings, throttle, wall, health, &outcome);
        // A run that failed because the disk is full cannot say so in a file.
        let written = self.run.write_end(&end);
        outcome.and(written)
    }

    fn end(
        &self,
        endings: &[String],
        throttle: Vec<String>,
        wall: Duration,
        health: Health,
        outcome: &Result<()>,
    ) -> End {
        let reason = match outcome {
            Ok(()) => End::DONE.to_owned(),
            Err(error) if error.kind() == Kind::Interrupted => "interrupted".to_owned(),
            Err(error) => error.to_string(),
        };
        End {
            ended: now(),
            wall_s: (wall.as_secs_f64() * 10.0).round() / 10.0,
            reason,
            groups: endings.to_vec(),
            sm_mhz_min: self.clocks.map(|(lowest, _)| lowest),
            sm_mhz_max: self.clocks.map(|(_, highest)| highest),
            throttle,
            health,
        }
    }
}

impl Sink for Recorder {
    fn point(&mut self, record: PointRecord) -> Result<()> {
        self.run.append_point(&record)
    }

    fn sample(&mut self, row: SampleRow) -> Result<()> {
        if let Some(mhz) = row.sm_mhz {
            let (lowest, highest) = self.clocks.unwrap_or((mhz, mhz));
            self.clocks = Some((lowest.min(mhz), highest.max(mhz)));
        }
        self.run.append_sample(&row)
    }

    fn progress(&mut self, what: &str, part: f64) {
        // Preparing takes about as long as measuring.
        let part = if what == "preparing" { part / 2.0 } else { 0.5 + part / 2.0 };
        let whole = (self.group as f64 + part) / self.groups.max(1) as f64;
        self.bar.set_message(format!("{what}, {} of {}", self.group + 1, self.groups));
        self.bar.set_position((whole * 1000.0) as u64);
    }
}

#[cfg(test)]
mod full_disk;
