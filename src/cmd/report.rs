//! `pdl report`: everything derived of a run, rebuilt without a GPU.

use super::{outputs, terminal};
use crate::cli::ReportArgs;
use crate::error::Result;

/// Rebuilds and prints.
pub fn report(args: &ReportArgs) -> Result<()> {
    let (summary, run) = outputs::rebuild_beside(&args.run)?;
    for note in &run.notes {
        terminal::note(format_args!("note: {note}"));
    }
    terminal::print(&outputs::render(&summary, &run, args.format)?)?;
    outputs::demand_right_results(&summary)
}
