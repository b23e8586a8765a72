//! The main benchmark: where the trigger should go.
//!
//! First the paired sweep, as `pdl sweep` runs it: table, charts and run directory are the result.
//! Then criterion times some of its points one after another, for those who keep criterion's
//! baselines: device time, unpaired, and called so. Criterion owns the command line; the sweep's
//! flags come as `PDL_*` variables (`script/bench` translates them).

mod argv;

use std::process::ExitCode;
use std::time::Duration;

use argv::{Argv, Task};
use criterion::{Bencher, BenchmarkId, Criterion, SamplingMode};
use pdl_lab::cli::SweepArgs;
use pdl_lab::cmd::unpaired::{self, Candidate, MOST};
use pdl_lab::cmd::{note, open_for, sweep};
use pdl_lab::device::Device;
use pdl_lab::error::{Error, Kind, Result};
use pdl_lab::interrupt;
use pdl_lab::measure::{Unpaired, calibrate};

fn main() -> ExitCode {
    let argv = Argv::of_process();
    let args = SweepArgs::from_environment();
    interrupt::install();
    match argv.and_then(|argv| bench(&argv, &args, &mut criterion(args.quick))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&error);
            error.exit_code()
        }
    }
}

/// Ends in seconds, whatever criterion's defaults are; its own flags override.
fn criterion(quick: bool) -> Criterion {
    let (warm_up_ms, measurement_ms) = if quick { (100, 500) } else { (500, 2000) };
    Criterion::default()
        .without_plots()
        .sample_size(if quick { 10 } else { 20 })
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(warm_up_ms))
        .measurement_time(Duration::from_millis(measurement_ms))
        .configure_from_args()
}

fn bench(argv: &Argv, args: &SweepArgs, criterion: &mut Criterion) -> Result<()> {
    match argv.task {
        Task::Measure => measure(argv, args, criterion),
        Task::Test | Task::List | Task::Profile => without_sweep(argv, args, criterion),
    }
}

/// The sweep, then criterion's view of some of its points: of those that the filter names, the
/// first, else those that the sweep's answers name.
fn measure(argv: &Argv, args: &SweepArgs, criterion: &mut Criterion) -> Result<()> {
    if argv.filters() && !args.dry_run {
        let opened = open_for(args)?;
        let title = unpaired::title(opened.device.facts().backend);
        let planned = unpaired::planned(args, opened.device.as_ref())?;
        if !planned.iter().any(|one| argv.matches(&one.id(title))) {
            return Ok(());
        }
    }
    let Some((summary, run)) = sweep(args)?.measured else { return Ok(()) };
    let title = unpaired::title(run.manifest.facts.backend);
    let mut points = match argv.filters() {
        true => unpaired::measured(&summary, &run),
        false => unpaired::chosen(&summary, &run, MOST),
    };
    points.retain(|one| argv.matches(&one.id(title)));
    if points.len() > MOST {
        note(format_args!("note: {} points match: criterion gets the first {MOST}", points.len()));
        points.truncate(MOST);
    }
    if points.is_empty() {
        return Ok(());
    }
    println!("\n{}", heading(title));
    let opened = open_for(args)?;
    hand_over(criterion, title, opened.device.as_ref(), &points)?;
    criterion.final_summary();
    Ok(())
}

fn heading(title: &str) -> String {
    format!(
        "{title}: some of these points again, by criterion: period (device time of a chain ÷ \
         nodes), each arm by itself.\nThe table above is the result: clocks and drift between two \
         arms are not taken out of what follows,\nand \"change\" is against the last run of the \
         same name. The run directory holds what was paired."
    )
}

fn hand_over(
    criterion: &mut Criterion,
    title: &str,
    device: &dyn Device,
    points: &[Candidate],
) -> Result<()> {
    let mut group = criterion.benchmark_group(title);
    // With linear sampling one of criterion's samples would hold 1, 2, 3 … chains.
    group.sampling_mode(SamplingMode::Flat);
    for point in points {
        interrupt::check("go on measuring")?;
        let id = BenchmarkId::new(point.arm.to_string(), &point.parameter);
        let mut ready = None;
        group.bench_function(id, |bencher| run(bencher, device, point, &mut ready));
    }
    group.finish();
    Ok(())
}

/// Prepares at the first call: criterion calls this for what its filter lets through alone.
fn run<'d>(
    bencher: &mut Bencher,
    device: &'d dyn Device,
    point: &Candidate,
    ready: &mut Option<Unpaired<'d>>,
) {
    let unpaired = match ready {
        Some(unpaired) => unpaired,
        None => ready.insert(
            Unpaired::new(device, &point.chain, point.arm).unwrap_or_else(|error| give_up(&error)),
        ),
    };
    bencher.iter_custom(|chains| unpaired.periods(chains).unwrap_or_else(|error| give_up(&error)));
}

/// Criterion's closures return no errors, and whatever they returned in place of a measurement
/// would be printed as one.
fn give_up(error: &Error) -> ! {
    note(error);
    std::process::exit(error.code().into())
}

/// Everything a sweep would measure: its names, or each of it once and verified.
fn without_sweep(argv: &Argv, args: &SweepArgs, criterion: &mut Criterion) -> Result<()> {
    let opened = open_for(args)?;
    let device = opened.device.as_ref();
    let mut points = unpaired::planned(args, device)?;
    let title = unpaired::title(device.facts().backend);
    points.retain(|one| argv.matches(&one.id(title)));
    if argv.task != Task::List && !points.is_empty() {
        points = runnable(device, &points)?;
    }
    hand_over(criterion, title, device, &points)
}

/// Calibrated, without what this device cannot run.
///
/// # Errors
/// A fault, or a device that can run none of them.
fn runnable(device: &dyn Device, points: &[Candidate]) -> Result<Vec<Candidate>> {
    let mut runnable = Vec::new();
    let mut refusal = None;
    for of_group in points.chunk_by(|a, b| a.group == b.group) {
        let Some(first) = or_refused(calibrate(device, &of_group[0].chain), &mut refusal)? else {
            continue;
        };
        for point in of_group {
            let chain = first.chain.with_trigger(point.chain.trigger);
            if or_refused(device.prepare(&chain, point.arm), &mut refusal)?.is_some() {
                runnable.push(Candidate { chain, ..point.clone() });
            }
        }
    }
    match refusal {
        Some(refusal) if runnable.is_empty() => Err(refusal),
        _ => Ok(runnable),
    }
}

/// What this device cannot run is named and passed over.
fn or_refused<T>(result: Result<T>, refusal: &mut Option<Error>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == Kind::Unsupported => {
            note(format_args!("note: skipped: {error}"));
            *refusal = Some(error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
