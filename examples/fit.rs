//! Fits the constants of a profile to measured sweeps:
//!
//! ```text
//! cargo run --release --no-default-features --example fit -- [OPTIONS] --out FILE DATA…
//! ```
//!
//! DATA are run directories of `pdl sweep`, or files that `validate --pack` made of one. Prints what
//! became of every constant; docs/simulator.md says what the intervals hold.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pdl_lab::error::{Error, Result};
use pdl_lab::profile::{self, BUILT_IN, Constant};
use pdl_lab::record::write_atomically;
use pdl_lab::sim::fit::{Calibrated, Finding, Options, Outcome, StageReport, fit};
use pdl_lab::sim::validation::{Sweep, own_command};

/// Fit the constants of a profile to measured sweeps.
#[derive(Parser)]
struct Arguments {
    /// Profile to begin from; the built-in one without it.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Sections or constants to be fitted, such as issue,block.tail_ns; all without it.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    only: Vec<String>,
    /// What pdl calibrate measured on the device.
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Most rows that the constants of a stage are fitted to.
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rows_max: u32,
    /// Resamples of an interval.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    resamples: u32,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the fitted profile goes.
    #[arg(long, value_name = "FILE.toml")]
    out: PathBuf,
    /// Run directories, or files that validate --pack made.
    #[arg(required = true)]
    data: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fit: {error}");
            error.exit_code()
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let profile = match &arguments.profile {
        Some(path) => profile::read(path)?,
        None => BUILT_IN.clone(),
    };
    let calibration = arguments.calibration.as_deref();
    let calibration = calibration.map(|path| Calibrated::read(path, &profile)).transpose()?;
    let sweeps = Sweep::read_all(&arguments.data)?;
    let options = Options {
        only: arguments.only.clone(),
        calibration: calibration.as_ref(),
        rows: arguments.rows_max as usize,
        resamples: arguments.resamples as usize,
        seed: arguments.seed,
    };
    let mut fitted = fit(&profile, &sweeps, &options, &mut print_stage)?;
    let command = own_command("fit");
    fitted.provenance = format!("{}; {command}", before(&profile.provenance));
    fitted.validate().map_err(|cause| Error::failed("keep the fitted profile", cause))?;
    let text = format!("# Made by\n#     {command}\n\n{}", fitted.to_toml());
    write_atomically(&arguments.out, text.as_bytes())?;
    println!("\nwrote {}", arguments.out.display());
    Ok(())
}

/// What was said of a profile before it was fitted.
fn before(provenance: &str) -> &str {
    provenance.split("; cargo run").next().unwrap_or_default()
}

fn print_stage(report: &StageReport) {
    print!("\n{}: ", report.name);
    match report.loss {
        Some((before, after)) => println!(
            "{} rows of {} groups, mean error {:.2} % → {:.2} %",
            report.rows,
            report.groups,
            100.0 * before,
            100.0 * after
        ),
        None if report.rows == 0 && report.groups == 0 => println!("no row is used"),
        None => println!(),
    }
    report.findings.iter().for_each(print_finding);
}

fn print_finding(finding: &Finding) {
    let Finding { path, old, new, outcome } = finding;
    let outcome = match outcome {
        Outcome::Fitted => "fitted".to_owned(),
        Outcome::FittedAgainstCalibration => {
            "fitted; with what was calibrated the rows are worse".to_owned()
        }
        Outcome::Calibrated => "calibrated".to_owned(),
        Outcome::Undetermined(why) => format!("not determined: {why}"),
    };
    println!("  {path:<36} {old:>9} → {:<9} {:<22} {outcome}", new.value, interval(new));
}

fn interval(constant: &Constant) -> String {
    match (constant.lo, constant.hi) {
        (Some(lo), Some(hi)) => format!("[{lo}, {hi}]"),
        _ => "assumed".to_owned(),
    }
}
