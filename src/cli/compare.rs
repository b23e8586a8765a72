//! Flags of `pdl compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::parse_switch;
use crate::chain::Arm;
use crate::compare::{MARGIN_RATIO, MARGIN_US};

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people.
    #[default]
    Table,
    /// For a comment on a pull request.
    Markdown,
    /// One JSON object.
    Json,
    /// JUnit XML: what --fail-on names is a failure, what has no verdict is skipped.
    Junit,
}

/// What makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// The second is slower: exit code 5.
    Regression,
    /// The second computes wrong values: exit code 4.
    Wrong,
    /// A row has no verdict: exit code 6.
    Inconclusive,
    /// Nothing.
    Nothing,
}

/// Arguments of `pdl compare`.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// Run directory to compare with
    pub a: PathBuf,
    /// Run directory to judge; without it, two arms of the one run are compared
    #[arg(required_unless_present = "arm")]
    pub b: Option<PathBuf>,
    /// Of one run: the two arms to compare, paired (graph-full,graph-pdl). Of two: only these arms
    #[arg(long, value_delimiter = ',', value_name = "ARM", env = "PDL_ARM", value_enum)]
    pub arm: Vec<Arm>,
    /// Compare although device, driver, toolkit, clocks, MIG, MPS or protocol differ; every output
    /// prints the reason
    #[arg(
        long,
        value_name = "REASON",
        env = "PDL_ACCEPT_MISMATCH",
        value_parser = parse_reason,
        conflicts_with = "across_devices"
    )]
    pub accept_mismatch: Option<String>,
    /// Tell what carries over between devices (sign, best trigger, plateau); compares no times
    #[arg(long, env = "PDL_ACROSS_DEVICES", value_parser = parse_switch, requires = "b")]
    pub across_devices: bool,
    /// What makes the exit code other than 0
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "regression,wrong",
        env = "PDL_FAIL_ON",
        value_enum
    )]
    pub fail_on: Vec<FailOn>,
    /// What two runs of the same may differ by, µs a hop
    #[arg(
        long,
        default_value_t = MARGIN_US,
        env = "PDL_MARGIN_US",
        value_parser = parse_margin
    )]
    pub margin_us: f64,
    /// The same as a part of the period; the larger of the two holds
    #[arg(
        long,
        default_value_t = MARGIN_RATIO,
        env = "PDL_MARGIN_RATIO",
        value_parser = parse_margin
    )]
    pub margin_ratio: f64,
    /// In the table, equivalent and skipped rows too
    #[arg(long, env = "PDL_ALL", value_parser = parse_switch, conflicts_with = "across_devices")]
    pub all: bool,
    /// How to print the comparison
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: CompareFormat,
}

fn parse_reason(text: &str) -> std::result::Result<String, String> {
    match text.trim() {
        "" => Err("a reason has words".to_owned()),
        reason => Ok(reason.to_owned()),
    }
}

fn parse_margin(text: &str) -> std::result::Result<f64, String> {
    let margin: Option<f64> = text.trim().parse().ok();
    let margin = margin.filter(|margin| margin.is_finite() && *margin >= 0.0);
    margin.ok_or_else(|| "it is not a number from 0 on".to_owned())
}
