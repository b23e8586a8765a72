//! Our own pure code on a run of 10⁵ samples: recording, reading back, statistics, analysis,
//! charts. The run is simulated; nothing here needs a GPU, and no number here is about one.

mod argv;
mod simulated;

use std::cell::LazyCell;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use argv::{Argv, Task};
use criterion::{BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput};
use pdl_lab::analysis::{Summary, summarise};
use pdl_lab::chain::{
    Arm, Body, BodyKind, Chain, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use pdl_lab::cmd::note;
use pdl_lab::error::{Error, Result};
use pdl_lab::plot::{Context, render_all};
use pdl_lab::profile::BUILT_IN;
use pdl_lab::record::{Run, read_run};
use pdl_lab::sim::simulate;
use pdl_lab::stats::{CONFIDENCE, estimate_median, holm};
use simulated::{begin, simulated, write};

/// Samples of the run.
const ROWS: usize = 100_000;
type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn main() -> ExitCode {
    argv::run(bench)
}

fn bench(argv: &Argv) -> Result<()> {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let scratch = tempfile::tempdir().map_err(|error| Error::failed("make a directory", error))?;
    // Made when the first benchmark that the filter lets through asks for it.
    let run = LazyCell::new(|| or_exit(simulated(ROWS, 1)));
    let mut group = criterion.benchmark_group("host");
    // Some of these take a large part of a second: 1, 2, 3 … of them would take minutes.
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(ROWS as u64));
    recording(&mut group, &run, scratch.path());
    deriving(&mut group, &run);
    group.finish();
    simulating(&mut criterion)?;
    if argv.task == Task::Measure {
        criterion.final_summary();
    }
    Ok(())
}

/// samples.csv, written row by row as a sweep does, and the whole run read back.
fn recording<F: FnOnce() -> Run>(group: &mut Group, run: &LazyCell<Run, F>, scratch: &Path) {
    let mut taken = 0;
    let mut fresh = || {
        taken += 1;
        let path = scratch.join(taken.to_string());
        or_exit(begin(&path, &run.manifest))
    };
    group.bench_function("record/samples.csv", |bencher| {
        LazyCell::force(run);
        bencher.iter_batched(
            &mut fresh,
            |mut dir| {
                run.samples.iter().for_each(|row| or_exit(dir.append_sample(row)));
                dir
            },
            BatchSize::PerIteration,
        );
    });
    let path = scratch.join("whole");
    let whole = LazyCell::new(|| or_exit(write(&path, run)));
    group.bench_function("record/read_run", |bencher| {
        LazyCell::force(&whole);
        bencher.iter(|| or_exit(read_run(&path)));
    });
}

/// What is computed from the samples.
fn deriving<F: FnOnce() -> Run>(group: &mut Group, run: &LazyCell<Run, F>) {
    let durations = LazyCell::new(|| {
        let durations = run.samples.iter().map(|row| row.duration_ns);
        durations.collect::<Vec<f64>>()
    });
    group.bench_function("stats/estimate_median", |bencher| {
        LazyCell::force(&durations);
        bencher.iter(|| estimate_median(black_box(&durations), CONFIDENCE));
    });
    let p_values = LazyCell::new(|| {
        let longest = durations.iter().copied().fold(1.0, f64::max);
        durations.iter().map(|ns| ns / longest).collect::<Vec<f64>>()
    });
    group.bench_function("stats/holm", |bencher| {
        LazyCell::force(&p_values);
        bencher.iter(|| holm(black_box(&p_values)));
    });
    let of = |run: &Run| summarise(&run.manifest, &run.points, &run.samples);
    group.bench_function("analysis/summarise", |bencher| {
        LazyCell::force(run);
        bencher.iter(|| of(black_box(run)));
    });
    let summary: LazyCell<Summary, _> = LazyCell::new(|| of(run));
    let context = LazyCell::new(|| Context {
        caption: "simulated".into(),
        simulated: true,
        points: run.manifest.plan.points.clone(),
        ..Context::default()
    });
    group.bench_function("plot/charts", |bencher| {
        LazyCell::force(&summary);
        bencher.iter(|| render_all(black_box(&summary.rows), &run.samples, &context));
    });
}

/// Criterion's closures return no errors.
fn or_exit<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| {
        note(&error);
        std::process::exit(error.code().into())
    })
}

/// The event-driven model: chains of 132 blocks, at both ends of a factor of ten in nodes. Events a
/// second are the throughput; the nodes held at once, which its memory grows with, are printed.
fn simulating(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("simulate");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for nodes in [1_000, 10_000] {
        let chain = Chain {
            nodes,
            shape: Shape::default(),
            preamble: Preamble { kind: PreambleKind::Alu, target_ns: 2000.0, units: 3392 },
            body: Body { kind: BodyKind::Fma, target: Target::Ns(4000.0), units: 6112 },
            trigger: Trigger::Segment { at: 4, of: 8 },
            trigger_by: TriggerBy::Thread,
            l2: L2::Hot,
            mode: Mode::Isolated,
        };
        let outcome = simulate(&BUILT_IN, &chain, Arm::GraphPdl, 1)?;
        note(format_args!(
            "{nodes} nodes: {} events, {} nodes held at once",
            outcome.events, outcome.nodes_held
        ));
        group.throughput(Throughput::Elements(outcome.events));
        group.bench_function(format!("{nodes} nodes"), |bencher| {
            bencher.iter(|| {
                simulate(&BUILT_IN, black_box(&chain), Arm::GraphPdl, 1).map(|o| o.end_ns)
            });
        });
    }
    group.finish();
    Ok(())
}
