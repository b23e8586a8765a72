//! Flags of `pdl report`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Arguments of `pdl report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directory
    pub run: PathBuf,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}
