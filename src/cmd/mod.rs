//! One file a command. Only these and `main` print.

mod device;
mod doctor;
mod inspect;
mod junit;
mod outputs;
mod report;
mod sweep;
mod table;

pub use outputs::rebuild;
pub use sweep::sweep;

use crate::cli::{Cli, Command};
use crate::error::Result;

/// Runs the command that was asked for.
///
/// # Errors
/// What `main` prints, with the exit code of its kind.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Sweep(args) => sweep::sweep(&args).map(drop),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Report(args) => report::report(&args),
    }
}
