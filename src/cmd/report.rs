//! `pdl report`: everything derived of a run, rebuilt without a GPU.

use super::outputs::Attachments;
use super::{attached, outputs, predict, terminal};
use crate::cli::ReportArgs;
use crate::error::Result;
use crate::record::{CHECK, CONFORM, read_findings};
use crate::{check, conform};

/// Attaches, rebuilds and prints.
pub fn report(args: &ReportArgs) -> Result<()> {
    let mut attachments = attachments(args)?;
    match args.predict {
        true => attachments.extend(predict::attachments(&args.run, &args.simulated)?),
        false => predict::demand_unused(&args.simulated)?,
    }
    let (summary, run) = outputs::rebuild_beside(&args.run, &attachments)?;
    for note in &run.notes {
        terminal::note(format_args!("note: {note}"));
    }
    let of_graph = match attached::report(&args.run, &run)? {
        Some(report) => attached::render(&report, args.format)?,
        None => None,
    };
    let text = of_graph.map_or_else(|| outputs::render(&summary, &run, args.format), Ok)?;
    terminal::print(&text)?;
    outputs::demand_right_results(&summary)
}

/// The findings that the run is to carry. Both are read before either is written.
fn attachments(args: &ReportArgs) -> Result<Attachments> {
    let mut attachments = Attachments::new();
    if let Some(path) = &args.conform {
        let (bytes, _) = read_findings::<conform::Findings>(path).map_err(|error| {
            error.remedy("--conform takes what `pdl conform --format json` printed")
        })?;
        attachments.push((CONFORM, bytes));
    }
    if let Some(path) = &args.check {
        let (bytes, _) = read_findings::<check::Findings>(path).map_err(|error| {
            error.remedy("--check takes what `pdl check --format json` printed")
        })?;
        attachments.push((CHECK, bytes));
    }
    Ok(attachments)
}
