//! The command line: every flag is mirrored as a `PDL_*` variable.

// Comments of flags are their help, where <utc> stands for a time.
#![allow(rustdoc::invalid_html_tags)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::axes::Axis;
use crate::chain::*;
use crate::error::{Error, Result};
use crate::experiment::{Axes, Grid, default_arms};
use crate::inspect::Deny;
use crate::measure::Stopping;

/// What Programmatic Dependent Launch does for a chain of dependent kernels, on this GPU, with
/// evidence.
#[derive(Debug, Parser)]
#[command(name = "pdl", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What this machine can do, one live hop, and what stands in the way
    Doctor(DoctorArgs),
    /// Trigger × arm sweep: run directory, table, charts
    Sweep(Box<SweepArgs>),
    /// Races: adversarial primaries, mutants, repeated replays
    Check(CheckArgs),
    /// Does this GPU and driver keep the documented semantics? A verdict per rule
    Conform(ConformArgs),
    /// Stamps of one chain: Gantt chart and a trace for Perfetto
    Timeline(Box<TimelineArgs>),
    /// Sync, trigger and global accesses in the machine code of a file, without a GPU
    Inspect(InspectArgs),
    /// Rebuild every table and chart of a run from its raw samples, without a GPU
    Report(ReportArgs),
}

/// Which device runs the chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The GPU of 9.0 or newer; with none, the simulated device.
    #[default]
    Auto,
    /// The GPU, or exit code 3.
    Gpu,
    /// The simulated device: everything is marked SIMULATED.
    Sim,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// The summary as one JSON object.
    Json,
    /// summary.csv.
    Csv,
    /// For a pull request.
    Markdown,
    /// JUnit XML: a wrong result is a failure, a skipped point is skipped.
    Junit,
}

/// Arguments of `pdl doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Device to look at
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
}

/// How findings are printed that are no summary of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// For people.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// For a pull request.
    Markdown,
}

/// Arguments of `pdl check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Small grids and a tenth of the repetitions
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Seed of the sleeps
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Repetitions of all correct kernels together [default: 100000, quick: 10000]
    #[arg(long, env = "PDL_REPETITIONS", value_parser = clap::value_parser!(u64).range(1..))]
    pub repetitions: Option<u64>,
    /// Sleeps of the primaries to draw from, µs, 0 to 200
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0,1,2,5,10,20,50,100,200",
        env = "PDL_SLEEP_US"
    )]
    pub sleep_us: Vec<f64>,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
    /// Check only these: correct, mutants, or the name of a test or a mutant
    #[arg(long, env = "PDL_ONLY")]
    pub only: Option<String>,
    /// Device: races need a real one
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// Seconds without an answer after which a case is given up
    #[arg(long, default_value_t = 30, env = "PDL_DEADLINE_S", value_parser = clap::value_parser!(u64).range(1..))]
    pub deadline_s: u64,
    /// Run the cases of one group and print what they measured, a JSON object a line
    #[arg(long, hide = true)]
    pub child: Option<String>,
    /// The group's first case
    #[arg(long, hide = true, default_value_t = 0)]
    pub from: usize,
}

/// What a lane of the timeline shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LaneChoice {
    /// A node.
    #[default]
    Node,
    /// An SM, for chains of up to 8 nodes.
    Sm,
}

/// Arguments of `pdl timeline`: the axes of a sweep, with one value each.
#[derive(Clone, Debug, Args)]
pub struct TimelineArgs {
    /// Arms, above each other on one axis
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "graph-full,graph-pdl",
        env = "PDL_ARM",
        value_enum
    )]
    pub arm: Vec<Arm>,
    /// Trigger: implicit, at-entry, k/n, after
    #[arg(long, default_value = "0/8", env = "PDL_TRIGGER", value_parser = parse_trigger)]
    pub trigger: Trigger,
    /// Kernels in the chain
    #[arg(long, default_value = "50", env = "PDL_NODES", value_parser = parse_one::<u32>)]
    pub nodes: u32,
    /// Blocks in the grid [default: one an SM]
    #[arg(long, env = "PDL_GRID", conflicts_with = "waves", value_parser = parse_one::<u32>)]
    pub grid: Option<u32>,
    /// Grid as waves: 1 fills the device once
    #[arg(long, env = "PDL_WAVES", value_parser = parse_one::<f64>)]
    pub waves: Option<f64>,
    /// Threads in a block
    #[arg(long, default_value = "128", env = "PDL_BLOCK", value_parser = parse_one::<u32>)]
    pub block: u32,
    /// Dynamic shared memory of a block, KiB
    #[arg(long, default_value = "0", env = "PDL_SHARED_KIB", value_parser = parse_one::<u32>)]
    pub shared_kib: u32,
    /// Blocks in a cluster
    #[arg(long, default_value = "1", env = "PDL_CLUSTER", value_parser = parse_one::<u32>)]
    pub cluster: u32,
    /// Work before the sync
    #[arg(long, default_value = "alu", env = "PDL_PREAMBLE_KIND", value_enum)]
    pub preamble_kind: PreambleKind,
    /// Time of the preamble, µs; a prefetch fetches what the body streams in this time
    #[arg(long, default_value = "2", env = "PDL_PREAMBLE_US", value_parser = parse_one::<f64>)]
    pub preamble_us: f64,
    /// Work after the sync
    #[arg(long, default_value = "fma", env = "PDL_BODY_KIND", value_enum)]
    pub body_kind: BodyKind,
    /// Time of the body, µs, calibrated to fixed work [default: 4]
    #[arg(
        long,
        env = "PDL_BODY_US",
        conflicts_with = "body_bytes",
        value_parser = parse_one::<f64>
    )]
    pub body_us: Option<f64>,
    /// Bytes a node streams (hbm and l2 bodies)
    #[arg(long, env = "PDL_BODY_BYTES", value_parser = parse_one::<u64>)]
    pub body_bytes: Option<u64>,
    /// Who triggers in a block
    #[arg(long, default_value = "thread", env = "PDL_TRIGGER_BY", value_enum)]
    pub trigger_by: TriggerBy,
    /// State of L2 when a sample begins
    #[arg(long, default_value = "hot", env = "PDL_L2", value_enum)]
    pub l2: L2,
    /// Lanes of the chart
    #[arg(long, value_enum, default_value_t, env = "PDL_LANES")]
    pub lanes: LaneChoice,
    /// Stamped runs, of which the median is shown, and samples without stamps
    #[arg(
        long,
        default_value_t = 21,
        env = "PDL_REPETITIONS",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub repetitions: u32,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// Measure without the gate: host launch time is inside
    #[arg(long, env = "PDL_NO_GATE", value_parser = parse_switch)]
    pub no_gate: bool,
    /// Seed
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Directory of the files [default: results/<utc>-timeline]
    #[arg(long, env = "PDL_OUT")]
    pub out: Option<PathBuf>,
    /// How to print the table
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
}

/// One number, checked as the values of a sweep's axis are.
fn parse_one<T: crate::axes::Number>(text: &str) -> std::result::Result<T, String> {
    let axis: Axis<T> = text.parse()?;
    match axis.0[..] {
        [value] => Ok(value),
        _ => Err("a timeline shows one chain: give one value".into()),
    }
}

impl TimelineArgs {
    /// The axes, each with one value.
    pub fn axes(&self) -> Axes {
        let grid = match (self.grid, self.waves) {
            (Some(blocks), _) => Grid::Blocks(blocks),
            (None, Some(waves)) => Grid::Waves(waves),
            (None, None) => Grid::PerSm,
        };
        let body = match (self.body_bytes, self.body_us) {
            (Some(bytes), _) => Target::Bytes(bytes),
            (None, us) => Target::Ns(us.unwrap_or(4.0) * 1e3),
        };
        Axes {
            triggers: vec![self.trigger],
            arms: distinct(&self.arm),
            nodes: vec![self.nodes],
            grids: vec![grid],
            block_threads: vec![self.block],
            shared_kib: vec![self.shared_kib],
            cluster_blocks: vec![self.cluster],
            preamble_kinds: vec![self.preamble_kind],
            preamble_us: vec![self.preamble_us],
            body_kinds: vec![self.body_kind],
            bodies: vec![body],
            trigger_by: vec![self.trigger_by],
            l2: vec![self.l2],
            modes: vec![Mode::Isolated],
        }
    }
}

/// Arguments of `pdl conform`.
#[derive(Clone, Debug, Args)]
pub struct ConformArgs {
    /// The five rules that people argue about, in five seconds
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Test only these rules, and show every claim
    #[arg(long, value_delimiter = ',', env = "PDL_ONLY", value_name = "RULE")]
    pub only: Vec<String>,
    /// Print what an earlier run found (its --format json), without a GPU
    #[arg(long, env = "PDL_FROM", value_name = "FILE", conflicts_with_all = ["quick", "only"])]
    pub from: Option<PathBuf>,
    /// Seed of the jitter of the bodies
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Device: only a real one has semantics to test
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
}

/// Arguments of `pdl inspect`.
#[derive(Clone, Debug, Args)]
pub struct InspectArgs {
    /// Cubin, fatbin, object, static or shared library, or program
    pub file: PathBuf,
    /// Kernels whose name contains this, or matches it as a regular expression
    #[arg(long, env = "PDL_FILTER")]
    pub filter: Option<String>,
    /// Code for these targets only, as sm_90 (sm_90a and PTX for 90 too)
    #[arg(long, value_delimiter = ',', env = "PDL_TARGET")]
    pub target: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
    /// Fail with exit code 4 on findings: a severity and those above it, or a code
    #[arg(long, value_delimiter = ',', env = "PDL_DENY")]
    pub deny: Vec<Deny>,
    /// Disassemble kernels without sync too, and count what they access
    #[arg(long, env = "PDL_FULL", value_parser = parse_switch)]
    pub full: bool,
    /// List the instructions behind the findings (table)
    #[arg(long, env = "PDL_SITES", value_parser = parse_switch)]
    pub sites: bool,
}

/// Arguments of `pdl report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directory
    pub run: PathBuf,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}

/// Arguments of `pdl sweep`.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// Triggers: implicit, at-entry, k/n, after [default: all 12 with n = 8]
    #[arg(long, value_delimiter = ',', env = "PDL_TRIGGER", value_parser = parse_trigger)]
    pub trigger: Vec<Trigger>,
    /// Arms; baselines and controls are added [default: stream, graph, their -full and -pdl]
    #[arg(long, value_delimiter = ',', env = "PDL_ARM", value_enum)]
    pub arm: Vec<Arm>,
    /// Kernels in the chain
    #[arg(long, default_value = "50", env = "PDL_NODES")]
    pub nodes: Axis<u32>,
    /// Blocks in the grid [default: one an SM]
    #[arg(long, env = "PDL_GRID", conflicts_with = "waves")]
    pub grid: Option<Axis<u32>>,
    /// Grid as waves: 1 fills the device once
    #[arg(long, env = "PDL_WAVES")]
    pub waves: Option<Axis<f64>>,
    /// Threads in a block
    #[arg(long, default_value = "128", env = "PDL_BLOCK")]
    pub block: Axis<u32>,
    /// Dynamic shared memory of a block, KiB
    #[arg(long, default_value = "0", env = "PDL_SHARED_KIB")]
    pub shared_kib: Axis<u32>,
    /// Blocks in a cluster
    #[arg(long, default_value = "1", env = "PDL_CLUSTER")]
    pub cluster: Axis<u32>,
    /// Work before the sync
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "alu",
        env = "PDL_PREAMBLE_KIND",
        value_enum
    )]
    pub preamble_kind: Vec<PreambleKind>,
    /// Time of the preamble, µs; a prefetch fetches what the body streams in this time
    #[arg(long, default_value = "2", env = "PDL_PREAMBLE_US")]
    pub preamble_us: Axis<f64>,
    /// Work after the sync
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "fma,hbm",
        env = "PDL_BODY_KIND",
        value_enum
    )]
    pub body_kind: Vec<BodyKind>,
    /// Time of the body, µs, calibrated to fixed work [default: 4]
    #[arg(long, env = "PDL_BODY_US", conflicts_with = "body_bytes")]
    pub body_us: Option<Axis<f64>>,
    /// Bytes a node streams (hbm and l2 bodies)
    #[arg(long, env = "PDL_BODY_BYTES")]
    pub body_bytes: Option<Axis<u64>>,
    /// Who triggers in a block
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "thread",
        env = "PDL_TRIGGER_BY",
        value_enum
    )]
    pub trigger_by: Vec<TriggerBy>,
    /// State of L2 when a sample begins
    #[arg(long, value_delimiter = ',', default_value = "hot", env = "PDL_L2", value_enum)]
    pub l2: Vec<L2>,
    /// One drained chain a sample, or chains back to back
    #[arg(long, value_delimiter = ',', default_value = "isolated", env = "PDL_MODE", value_enum)]
    pub mode: Vec<Mode>,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// Seconds in place of a minute, wider intervals
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Print the points and the expected time, measure nothing
    #[arg(long, env = "PDL_DRY_RUN", value_parser = parse_switch)]
    pub dry_run: bool,
    /// Measure without the gate: host launch time is inside
    #[arg(long, env = "PDL_NO_GATE", value_parser = parse_switch)]
    pub no_gate: bool,
    /// Do not bring the launch path into one state before each sample: arms leak into each other
    #[arg(long, env = "PDL_NO_CONDITIONING", value_parser = parse_switch)]
    pub no_conditioning: bool,
    /// Run directory [default: results/<utc>-sweep]
    #[arg(long, env = "PDL_OUT", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was killed
    #[arg(long, env = "PDL_RESUME")]
    pub resume: Option<PathBuf>,
    /// Seed of the order of arms
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Fewest rounds of a group (every arm once a round)
    #[arg(long, env = "PDL_ROUNDS_MIN")]
    pub rounds_min: Option<u32>,
    /// Most rounds of a group
    #[arg(long, env = "PDL_ROUNDS_MAX")]
    pub rounds_max: Option<u32>,
    /// Seconds of device time a group may take
    #[arg(long, env = "PDL_BUDGET_S", value_parser = parse_budget)]
    pub budget_s: Option<Duration>,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}

/// Variables of this process that begin with `PDL_` and that nothing reads: most likely a flag that
/// is misspelt and so does nothing.
pub fn unread_variables() -> Vec<String> {
    /// Read by the build and by tests.
    const OTHERS: [&str; 2] = ["PDL_PACK", "PDL_REQUIRE"];
    let command = Cli::command();
    let flags = command.get_subcommands().flat_map(|command| command.get_arguments());
    let read: Vec<&OsStr> = flags.filter_map(|flag| flag.get_env()).collect();
    let set = std::env::vars_os().map(|(name, _)| name);
    let unread = set.filter(|name| {
        let text = name.to_string_lossy();
        text.starts_with("PDL_") && !OTHERS.contains(&&*text) && !read.contains(&name.as_os_str())
    });
    unread.map(|name| name.to_string_lossy().into_owned()).collect()
}

fn parse_trigger(text: &str) -> std::result::Result<Trigger, String> {
    text.trim().parse()
}

/// A flag without a value comes here as `true`, its variable as what it holds.
fn parse_switch(text: &str) -> std::result::Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("it is neither 1, true, yes, on nor 0, false, no, off".to_owned()),
    }
}

fn parse_budget(text: &str) -> std::result::Result<Duration, String> {
    /// A day: a group that takes longer is a mistake.
    const MOST_S: f64 = 86_400.0;
    let seconds = text.trim().parse().ok().filter(|s| (0.0..=MOST_S).contains(s));
    let budget = seconds.map(Duration::from_secs_f64).filter(|budget| !budget.is_zero());
    budget.ok_or_else(|| format!("it is not a number of seconds above 0, up to {MOST_S}"))
}

impl SweepArgs {
    /// The arguments that no flag and no variable changes, and those of `PDL_*`.
    pub fn from_environment() -> Self {
        #[derive(Parser)]
        struct Wrapper {
            #[command(flatten)]
            args: SweepArgs,
        }
        Wrapper::parse_from(["trigger_sweep"]).args
    }

    /// The axes.
    pub fn axes(&self) -> Axes {
        let grids = match (&self.grid, &self.waves) {
            (Some(grid), _) => distinct(&grid.0).into_iter().map(Grid::Blocks).collect(),
            (None, Some(waves)) => distinct(&waves.0).into_iter().map(Grid::Waves).collect(),
            (None, None) => vec![Grid::PerSm],
        };
        let bodies = match (&self.body_bytes, &self.body_us) {
            (Some(bytes), _) => distinct(&bytes.0).into_iter().map(Target::Bytes).collect(),
            (None, Some(us)) => {
                distinct(&us.0).into_iter().map(|us| Target::Ns(us * 1e3)).collect()
            }
            (None, None) => vec![Target::Ns(4000.0)],
        };
        Axes {
            triggers: match self.trigger[..] {
                [] => Trigger::defaults(),
                _ => distinct(&self.trigger),
            },
            arms: if self.arm.is_empty() { default_arms() } else { self.arm.clone() },
            nodes: distinct(&self.nodes.0),
            grids,
            block_threads: distinct(&self.block.0),
            shared_kib: distinct(&self.shared_kib.0),
            cluster_blocks: distinct(&self.cluster.0),
            preamble_kinds: distinct(&self.preamble_kind),
            preamble_us: distinct(&self.preamble_us.0),
            body_kinds: distinct(&self.body_kind),
            bodies,
            trigger_by: distinct(&self.trigger_by),
            l2: distinct(&self.l2),
            modes: distinct(&self.mode),
        }
    }

    /// When to stop.
    ///
    /// # Errors
    /// A usage error for numbers that contradict one another.
    pub fn stopping(&self) -> Result<Stopping> {
        let mut stopping = if self.quick { Stopping::quick() } else { Stopping::default() };
        if let Some(rounds) = self.rounds_min {
            stopping.rounds_min = rounds;
            stopping.rounds_max = stopping.rounds_max.max(rounds);
        }
        if let Some(rounds) = self.rounds_max {
            stopping.rounds_max = rounds;
            stopping.rounds_min = stopping.rounds_min.min(rounds);
        }
        if stopping.rounds_min == 0 || self.rounds_min > Some(stopping.rounds_max) {
            return Err(Error::usage(
                "use these --rounds-min and --rounds-max",
                "there is at least one round, and the fewest are not above the most",
            ));
        }
        if let Some(budget) = self.budget_s {
            stopping.group_budget = budget;
        }
        Ok(stopping)
    }
}

/// The values in their order, each once.
fn distinct<T: PartialEq + Copy>(values: &[T]) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for &value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
