//! Flags of `pdl inspect`.

use std::path::PathBuf;

use clap::Args;

use super::{FindingsFormat, parse_switch};
use crate::inspect::Deny;

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
