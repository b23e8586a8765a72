//! Flags of `pdl check`.

use clap::Args;

use super::{BackendChoice, FindingsFormat, parse_switch};

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
