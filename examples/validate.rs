//! Holds both models of the simulated device against recorded runs of a GPU:
//! `cargo run --release --no-default-features --example validate -- RUN…`
//!
//! Prints a Markdown table of errors; `--rows` prints every row as CSV in its place, `--profile
//! FILE` takes another profile than the built-in one.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use pdl_lab::analysis::summarise;
use pdl_lab::error::{Error, Result};
use pdl_lab::profile::{self, BUILT_IN, Model};
use pdl_lab::record::read_run;
use pdl_lab::sim::validation::{Compared, best_triggers, compare, errors, signs};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("validate: {error}");
            error.exit_code()
        }
    }
}

fn run() -> Result<()> {
    let mut profile = BUILT_IN.clone();
    let (mut as_rows, mut compared) = (false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--rows" => as_rows = true,
            "--profile" => {
                let missing = || Error::usage("use --profile", "it needs a file");
                profile = profile::read(Path::new(&arguments.next().ok_or_else(missing)?))?;
            }
            path => {
                let run = read_run(Path::new(path))?;
                let summary = summarise(&run.manifest, &run.points, &run.samples);
                let before = compared.iter().map(|row: &Compared| row.group + 1).max();
                let mut rows = compare(&profile, &run.points, &summary);
                rows.iter_mut().for_each(|row| row.group += before.unwrap_or(0));
                compared.extend(rows);
            }
        }
    }
    if compared.is_empty() {
        return Err(Error::usage("validate", "there is no run to compare with"));
    }
    match as_rows {
        true => print_rows(&compared),
        false => print_table(&compared),
    }
    Ok(())
}

fn print_rows(rows: &[Compared]) {
    println!(
        "point,arm,trigger,grid_blocks,block_threads,preamble_kind,body_kind,measured_ns,closed_ns,\
         events_ns"
    );
    for row in rows {
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
            row.measured_ns,
            ns(row.closed_ns),
            ns(row.events_ns),
        );
    }
}

fn print_table(rows: &[Compared]) {
    println!("| rows | model | n | median | 95 % | largest |");
    println!("|------|-------|---|--------|------|---------|");
    let mut parts: BTreeMap<String, Vec<&Compared>> = BTreeMap::new();
    for row in rows {
        let trigger = row.trigger.map_or("no trigger".to_owned(), |trigger| trigger.to_string());
        let keys = [
            "all".to_owned(),
            format!("arm {}", row.arm),
            format!("body {}", row.chain.body.kind),
            format!("body {}, {trigger}", row.chain.body.kind),
            format!("block {}", row.chain.shape.block_threads),
            format!("grid {}", row.chain.shape.grid_blocks),
        ];
        keys.into_iter().for_each(|key| parts.entry(key).or_default().push(row));
    }
    for (part, rows) in &parts {
        for model in [Model::Closed, Model::Events] {
            let Some(found) = errors(rows.iter().copied(), model) else { continue };
            let percent = |part: f64| format!("{:.1} %", 100.0 * part);
            println!(
                "| {part} | {} | {} | {} | {} | {} |",
                model.name(),
                found.rows,
                percent(found.median),
                percent(found.p95),
                percent(found.most)
            );
        }
    }
    for model in [Model::Closed, Model::Events] {
        let (effects, right) = signs(rows, model);
        let (lanes, best) = best_triggers(rows, model);
        let uncovered = rows.iter().filter(|row| row.by(model).is_none()).count();
        println!(
            "\n{}: {uncovered} of {} rows are not covered. Of the effects that the measurement \
             decides {right} of {effects} have the right sign; the best trigger is in the measured \
             plateau in {best} of {lanes} sweeps that have one.",
            model.name(),
            rows.len()
        );
    }
}
