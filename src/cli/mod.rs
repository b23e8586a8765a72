//! The command line: every flag is mirrored as a `PDL_*` variable.

// Comments of flags are their help, where <utc> stands for a time.
#![allow(rustdoc::invalid_html_tags)]

use std::ffi::OsStr;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::chain::Trigger;

mod axes;
mod calibrate;
mod check;
mod compare;
mod conform;
mod doctor;
mod inspect;
mod kernel;
mod report;
mod simulated;
mod sweep;
mod timeline;
mod tune;

pub use axes::AxesArgs;
pub use calibrate::CalibrateArgs;
pub use check::CheckArgs;
pub use compare::{CompareArgs, CompareFormat, FailOn};
pub use conform::ConformArgs;
pub use doctor::DoctorArgs;
pub use inspect::InspectArgs;
pub use kernel::KernelArgs;
pub use report::ReportArgs;
pub use simulated::SimulatedArgs;
pub use sweep::SweepArgs;
pub use timeline::{LaneChoice, TimelineArgs};
pub use tune::TuneArgs;

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
    /// Trigger × arm sweep: run directory, table, charts, report.html
    Sweep(Box<SweepArgs>),
    /// The best arm and trigger without the whole sweep
    Tune(Box<TuneArgs>),
    /// What this device costs where nothing is done, as a device profile
    Calibrate(CalibrateArgs),
    /// Races: adversarial primaries, mutants, repeated replays
    Check(CheckArgs),
    /// Does this GPU and driver keep the documented semantics? A verdict per rule
    Conform(ConformArgs),
    /// Stamps of one chain: Gantt chart and a trace for Perfetto
    Timeline(Box<TimelineArgs>),
    /// Sync, trigger and global accesses in the machine code of a file, without a GPU
    Inspect(InspectArgs),
    /// Sweep of your own kernels: a chain file, or a library with a launch hook
    Kernel(Box<KernelArgs>),
    /// Is the second run slower than the first? Verdicts with reasons, exit codes for CI
    Compare(Box<CompareArgs>),
    /// Rebuild every table, chart and page of a run from its raw samples, without a GPU
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
    match text.trim().parse()? {
        Trigger::Site(_) => Err("sites are of your own kernels: use pdl kernel FILE".into()),
        trigger => Ok(trigger),
    }
}

/// A flag without a value comes here as `true`, its variable as what it holds.
fn parse_switch(text: &str) -> std::result::Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("it is neither 1, true, yes, on nor 0, false, no, off".to_owned()),
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
