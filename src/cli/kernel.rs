//! Flags of `pdl kernel`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, LaneChoice, parse_switch};
use crate::chain::{L2, Mode, Trigger};
use crate::measure::Stopping;

/// Arguments of `pdl kernel`.
#[derive(Clone, Debug, Args)]
pub struct KernelArgs {
    /// Chain file (docs/kernel.md)
    #[arg(value_name = "FILE", required_unless_present = "library", conflicts_with = "library")]
    pub file: Option<PathBuf>,
    /// Shared library with a launch hook (include/pdl_hook.h) in place of a chain file
    #[arg(
        long,
        value_name = "LIB",
        conflicts_with_all = ["set", "trigger", "arch", "emit_header", "emit_patch", "l2", "cache"],
        env = "PDL_LIBRARY"
    )]
    pub library: Option<PathBuf>,
    /// Text that the hook's init function is given
    #[arg(long, default_value = "", requires = "library", env = "PDL_HOOK_ARGUMENT")]
    pub hook_argument: String,
    /// Compile, show the plan and say what was checked and what was not; run nothing. Needs no GPU
    #[arg(
        long,
        conflicts_with_all = ["emit_header", "emit_patch"],
        env = "PDL_DRY_RUN",
        value_parser = parse_switch
    )]
    pub dry_run: bool,
    /// Values of an axis in place of the chain file's, such as M=1,8; may be given again
    #[arg(long, value_name = "AXIS=VALUES", env = "PDL_SET", value_parser = parse_set)]
    pub set: Vec<(String, Vec<i64>)>,
    /// Of the triggers that the chain file tries, these: site-2, site-1+4, implicit
    #[arg(long, value_delimiter = ',', env = "PDL_TRIGGER", value_parser = parse_site)]
    pub trigger: Vec<Trigger>,
    /// Draw the stamps of the first set of axis values at the first trigger, and sweep nothing
    #[arg(
        long,
        conflicts_with_all = ["check", "dry_run", "library", "emit_header", "emit_patch"],
        env = "PDL_TIMELINE",
        value_parser = parse_switch
    )]
    pub timeline: bool,
    /// Race the sites, and the kinds of edges at the best one, in place of the whole sweep: what is
    /// credibly slower leaves
    #[arg(
        long,
        conflicts_with_all = [
            "check", "dry_run", "library", "timeline", "emit_header", "emit_patch", "resume",
        ],
        env = "PDL_TUNE",
        value_parser = parse_switch
    )]
    pub tune: bool,
    /// Lanes of the timeline's chart
    #[arg(long, value_enum, default_value_t, env = "PDL_LANES")]
    pub lanes: LaneChoice,
    /// Target of the compiler, such as sm_90a [default: the chain file's, or that of the GPU]
    #[arg(long, env = "PDL_ARCH")]
    pub arch: Option<String>,
    /// Let kernels without a sync behind programmatic edges. Every output is marked UNSAFE
    #[arg(long, env = "PDL_UNSAFE_NO_SYNC", value_parser = parse_switch)]
    pub unsafe_no_sync: bool,
    /// Check every edge and every trigger for races, and measure nothing
    #[arg(
        long,
        conflicts_with_all = ["no_check", "dry_run", "emit_header", "emit_patch"],
        env = "PDL_CHECK",
        value_parser = parse_switch
    )]
    pub check: bool,
    /// Leave out the race check of every edge
    #[arg(long, env = "PDL_NO_CHECK", value_parser = parse_switch)]
    pub no_check: bool,
    /// Write the policy as a C header
    #[arg(long, value_name = "HEADER", env = "PDL_EMIT_HEADER")]
    pub emit_header: Option<PathBuf>,
    /// Print the change of the source that makes the best site of a graph the default, as a patch
    #[arg(long, env = "PDL_EMIT_PATCH", value_parser = parse_switch)]
    pub emit_patch: bool,
    /// State of L2 when a sample begins
    #[arg(long, value_enum, default_value_t, env = "PDL_L2")]
    pub l2: L2,
    /// One drained chain a sample; with pipelined, chains back to back beside them
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "isolated",
        conflicts_with_all = ["tune", "timeline", "check", "library"],
        env = "PDL_MODE",
        value_enum
    )]
    pub mode: Vec<Mode>,
    /// Seconds instead of a minute, wider intervals
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Seed of the order of arms
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Run directory [default: results/<utc>-kernel]
    #[arg(long, value_name = "DIR", env = "PDL_OUT")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was cut short; the chain file must still make what was measured
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["out", "library", "timeline", "check", "dry_run", "tune"],
        env = "PDL_RESUME"
    )]
    pub resume: Option<PathBuf>,
    /// Folder of compiled kernels [default: pdl in the user's cache]
    #[arg(long, value_name = "DIR", env = "PDL_CACHE")]
    pub cache: Option<PathBuf>,
    /// Seconds after which a chain that does not end is given up, and the device with it
    #[arg(long, default_value_t = 10, env = "PDL_DEADLINE_S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: u64,
    /// Measure without a gate: the time to launch is inside
    #[arg(long, env = "PDL_NO_GATE", value_parser = parse_switch)]
    pub no_gate: bool,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}

/// `M=1,8`.
fn parse_set(text: &str) -> std::result::Result<(String, Vec<i64>), String> {
    let (axis, values) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is no AXIS=VALUES, such as M=1,8"))?;
    let value =
        |text: &str| text.trim().parse().map_err(|_| format!("'{text}' is no whole number"));
    let values = values.split(',').map(value).collect::<Result<_, _>>()?;
    Ok((axis.trim().to_owned(), values))
}

/// A site of the user's kernels, or none.
fn parse_site(text: &str) -> std::result::Result<Trigger, String> {
    match text.trim().parse()? {
        trigger @ (Trigger::Site(_) | Trigger::Implicit) => Ok(trigger),
        _ => Err("your own kernels have sites: site-2, site-1+4 or implicit".into()),
    }
}

impl KernelArgs {
    /// When a set of axis values, of so many, has been measured enough. The work is the user's: there
    /// is no longer chain of it, and so no marginal period. A first look at several sets takes the
    /// fewest rounds that its verdicts need.
    pub fn stopping(&self, sets: usize) -> Stopping {
        let stopping = if self.quick { Stopping::quick() } else { Stopping::default() };
        let rounds_max = match self.quick && sets > 1 {
            true => stopping.rounds_min,
            false => stopping.rounds_max,
        };
        let warm_up = std::time::Duration::from_millis(300);
        Stopping { long_rounds: 0, warm_up, rounds_max, ..stopping }
    }
}
