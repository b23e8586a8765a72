//! Flags of `pdl report`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, SimulatedArgs, parse_switch};

/// Arguments of `pdl report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directory
    pub run: PathBuf,
    /// Attach what `pdl conform --format json` printed, for report.html to show
    #[arg(long, env = "PDL_CONFORM", value_name = "FILE")]
    pub conform: Option<PathBuf>,
    /// Attach what `pdl check --format json` printed, for report.html to show
    #[arg(long, env = "PDL_CHECK", value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Put a model's period and gain beside every row, with its error; kept in prediction.json
    #[arg(long, env = "PDL_PREDICT", value_parser = parse_switch)]
    pub predict: bool,
    /// The profile and model of the prediction.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}
