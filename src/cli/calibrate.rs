//! Flags of `pdl calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::{BackendChoice, FindingsFormat, parse_switch};

/// Arguments of `pdl calibrate`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateArgs {
    /// Host cost of launches and graph replays too, with the programmatic attribute and without
    #[arg(long, env = "PDL_HOST", value_parser = parse_switch)]
    pub host: bool,
    /// Seconds in place of half a minute: two grids, wider intervals
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Print the experiments and the expected time, measure nothing
    #[arg(long, env = "PDL_DRY_RUN", value_parser = parse_switch)]
    pub dry_run: bool,
    /// The device profile [default: results/<utc>-calibrate/calibration.toml]
    #[arg(long, env = "PDL_OUT", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file that --out names
    #[arg(long, env = "PDL_OVERWRITE", value_parser = parse_switch)]
    pub overwrite: bool,
    /// Device: auto is a GPU; the simulated one gives back the constants it was given
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// Seed of the order in a round
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
}
