//! Flags of `pdl sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use super::tune::parse_margin;
use super::{AxesArgs, BackendChoice, Format, SimulatedArgs, parse_switch};
use crate::error::{Error, Result};
use crate::experiment::Axes;
use crate::measure::Stopping;

/// Arguments of `pdl sweep`.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// What is run.
    #[command(flatten)]
    pub axes: AxesArgs,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// The simulated device.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
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
    #[arg(long, env = "PDL_RESUME", conflicts_with = "dry_run")]
    pub resume: Option<PathBuf>,
    /// Device profile of pdl calibrate: copied into the run, for floor and ceiling beside results
    #[arg(long, env = "PDL_CALIBRATION", value_name = "FILE", conflicts_with = "resume")]
    pub calibration: Option<PathBuf>,
    /// Put a model's period and gain beside every row, with its error; kept in prediction.json
    #[arg(long, env = "PDL_PREDICT", value_parser = parse_switch)]
    pub predict: bool,
    /// Measure the points of a run again, with the work it calibrated: what pdl compare needs
    #[arg(
        long,
        value_name = "RUN",
        env = "PDL_REPEAT",
        conflicts_with_all = [
            "trigger", "arm", "nodes", "grid", "waves", "block", "shared_kib", "cluster",
            "preamble_kind", "preamble_us", "body_kind", "body_us", "body_bytes", "trigger_by",
            "l2", "mode", "quick", "rounds_min", "rounds_max", "budget_s", "margin_us",
            "margin_percent", "resume",
        ]
    )]
    pub repeat: Option<PathBuf>,
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
    /// What counts as no effect, µs a hop; a group ends when no interval is wider
    #[arg(long, default_value_t = 0.02, env = "PDL_MARGIN_US", value_parser = parse_margin)]
    pub margin_us: f64,
    /// The same, percent of the baseline's period; the larger of the two holds
    #[arg(long, default_value_t = 0.5, env = "PDL_MARGIN_PERCENT", value_parser = parse_margin)]
    pub margin_percent: f64,
    /// Seconds after which a sample that does not end is given up, and the device with it
    #[arg(long, default_value_t = 60, env = "PDL_DEADLINE_S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: u64,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}

pub(super) fn parse_budget(text: &str) -> std::result::Result<Duration, String> {
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
        self.axes.axes()
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
        stopping.margin_us = self.margin_us;
        stopping.margin_ratio = self.margin_percent / 100.0;
        Ok(stopping)
    }
}
