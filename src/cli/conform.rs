//! Flags of `pdl conform`.

use std::path::PathBuf;

use clap::Args;

use super::{BackendChoice, FindingsFormat, parse_switch};

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
    /// Seconds without an answer after which a rule is given up
    #[arg(long, default_value_t = 60, env = "PDL_DEADLINE_S", value_parser = clap::value_parser!(u64).range(1..))]
    pub deadline_s: u64,
    /// Test the rules and print what was found, a JSON object a line
    #[arg(long, hide = true)]
    pub child: bool,
}
