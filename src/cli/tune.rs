//! Flags of `pdl tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::sweep::parse_budget;
use super::{AxesArgs, BackendChoice, FindingsFormat, SimulatedArgs, parse_switch};
use crate::measure::Stopping;

/// Arguments of `pdl tune`.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// What is run.
    #[command(flatten)]
    pub axes: AxesArgs,
    /// What counts as equal, µs a hop
    #[arg(long, default_value_t = 0.02, env = "PDL_MARGIN_US", value_parser = parse_margin)]
    pub margin_us: f64,
    /// The same, percent of the period; the larger of the two holds
    #[arg(long, default_value_t = 0.5, env = "PDL_MARGIN_PERCENT", value_parser = parse_margin)]
    pub margin_percent: f64,
    /// Fewer seconds, wider intervals: 30 rounds and 3 s a race at most
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Most rounds of a race [default: 60, quick: 30]
    #[arg(long, env = "PDL_ROUNDS_MAX", value_parser = clap::value_parser!(u32).range(3..))]
    pub rounds_max: Option<u32>,
    /// Seconds of device time a race may take [default: 20, quick: 3]
    #[arg(long, env = "PDL_BUDGET_S", value_parser = parse_budget)]
    pub budget_s: Option<Duration>,
    /// Start without a prediction
    #[arg(long, env = "PDL_NO_PREDICTION", value_parser = parse_switch)]
    pub no_prediction: bool,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// The simulated device.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Run directory [default: results/<utc>-tune]
    #[arg(long, env = "PDL_OUT")]
    pub out: Option<PathBuf>,
    /// Seed of the order of arms
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
}

pub(super) fn parse_margin(text: &str) -> Result<f64, String> {
    let margin = text.trim().parse().ok().filter(|margin: &f64| (0.0..=100.0).contains(margin));
    margin.ok_or_else(|| "it is not a number from 0 to 100".to_owned())
}

impl TuneArgs {
    /// When a race ends.
    pub fn stopping(&self) -> Stopping {
        let stopping = Stopping::race(self.quick);
        let rounds_max = self.rounds_max.unwrap_or(stopping.rounds_max);
        Stopping {
            rounds_min: stopping.rounds_min.min(rounds_max),
            rounds_max,
            group_budget: self.budget_s.unwrap_or(stopping.group_budget),
            margin_us: self.margin_us,
            margin_ratio: self.margin_percent / 100.0,
            ..stopping
        }
    }
}
