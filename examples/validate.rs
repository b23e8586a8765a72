//! Holds both models of the simulated device against measured sweeps of a GPU:
//!
//! ```text
//! cargo run --release --no-default-features --example validate -- [OPTIONS] DATA…
//! ```
//!
//! DATA are run directories of `pdl sweep`, or the files that `--pack FILE` makes of one. Prints a
//! Markdown table of errors. `--table` and `--svg` write the table and the chart that are kept
//! under plots/.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use pdl_lab::error::{Error, Result};
use pdl_lab::plot::validation;
use pdl_lab::profile::{self, BUILT_IN, Profile};
use pdl_lab::record::write_atomically;
use pdl_lab::sim::validation::{
    Again, Compared, Sweep, compare, own_command, report, same_device, section,
};

/// Hold both models against measured sweeps.
#[derive(Parser)]
struct Options {
    /// Profile of the device; the built-in one without it.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Print every row as CSV in place of the table.
    #[arg(long)]
    rows: bool,
    /// Write the table of every sweep to this file.
    #[arg(long, value_name = "FILE.md")]
    table: Option<PathBuf>,
    /// Write the chart to this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Make one file of one run directory, and nothing else.
    #[arg(long, value_name = "FILE.csv")]
    pack: Option<PathBuf>,
    /// What the file of --pack should say beside the run.
    #[arg(long, requires = "pack", default_value = "")]
    note: String,
    /// A sweep of DATA that was measured a second time: the table says how far it is off.
    #[arg(long, value_name = "DATA")]
    again: Vec<PathBuf>,
    /// Run directories, or files of --pack.
    #[arg(required = true)]
    data: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("validate: {error}");
            error.exit_code()
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let mut sweeps = Sweep::read_all(&options.data)?;
    if let Some(path) = &options.pack {
        let [sweep] = sweeps.as_mut_slice() else {
            return Err(Error::usage("use --pack", "a file holds one run").remedy("name one run"));
        };
        sweep.provenance.note.clone_from(&options.note);
        return write(path, &sweep.to_csv());
    }
    let profile = match &options.profile {
        Some(path) => profile::read(path)?,
        None => BUILT_IN.clone(),
    };
    sweeps.iter().try_for_each(|sweep| same_device(&profile, sweep))?;
    let again = options.again.iter().map(|path| Again::find(&sweeps, &Sweep::read(path)?));
    let again: Vec<Again> = again.collect::<Result<_>>()?;
    let compared: Vec<Vec<Compared>> =
        sweeps.iter().map(|sweep| compare(&profile, &sweep.rows)).collect();
    let all: Vec<Compared> = compared.iter().flatten().cloned().collect();
    if let Some(path) = &options.svg {
        write(path, &validation(&all, &caption(&profile, &sweeps)))?;
    }
    if let Some(path) = &options.table {
        let chart = options.svg.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        let parts: Vec<(&Sweep, &[Compared])> =
            sweeps.iter().zip(&compared).map(|(sweep, rows)| (sweep, rows.as_slice())).collect();
        write(path, &report(&profile, &own_command("validate"), chart, &parts, &again))?;
    }
    match (options.rows, options.table.is_some() || options.svg.is_some()) {
        (true, _) => print_rows(&all),
        (false, false) => {
            print!("{}", section(&all));
            again.iter().for_each(|again| print!("{}", again.section()));
        }
        (false, true) => {}
    }
    Ok(())
}

fn caption(profile: &Profile, sweeps: &[Sweep]) -> String {
    let of = |sweep: &Sweep| {
        let provenance = &sweep.provenance;
        format!("{}: {}, driver {}", sweep.name, provenance.device, provenance.driver)
    };
    let sweeps: Vec<String> = sweeps.iter().map(of).collect();
    format!("profile {} · measured: {}", profile.name, sweeps.join("; "))
}

fn write(path: &Path, text: &str) -> Result<()> {
    write_atomically(path, text.as_bytes())
}

fn print_rows(rows: &[Compared]) {
    println!(
        "point,arm,trigger,grid_blocks,block_threads,preamble_kind,body_kind,measured_ns,closed_ns,\
         events_ns"
    );
    for compared in rows {
        let row = &compared.row;
        let trigger = row.trigger.map(|trigger| trigger.to_string()).unwrap_or_default();
        let ns = |ns: Option<f64>| ns.map(|ns| format!("{ns:.1}")).unwrap_or_default();
        println!(
            "{},{},{trigger},{},{},{},{},{:.1},{},{}",
            row.point,
            row.arm,
            row.chain.shape.grid_blocks,
            row.chain.shape.block_threads,
            row.chain.preamble.kind,
            row.chain.body.kind,
            row.period_ns,
            ns(compared.closed_ns),
            ns(compared.events_ns),
        );
    }
}
