//! One file a command. Only these and `main` print.

mod attached;
mod calibrate;
mod check;
mod closing;
mod compare;
mod conform;
mod constants;
mod device;
mod doctor;
mod dry_run;
mod findings;
mod inspect;
mod junit;
mod kernel;
mod outputs;
mod predict;
mod report;
mod supervise;
mod sweep;
mod table;
mod terminal;
mod timeline;
mod tune;
pub mod unpaired;

pub use attached::save_attributed;
pub use device::{Opened, Without, open, open_for};
pub use outputs::{rebuild, rebuild_beside, render};
pub use sweep::{Finished, sweep};
pub(crate) use sweep::{manifest, now};
pub use terminal::note;

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
        Command::Tune(args) => tune::tune(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Check(args) => check::check(&args),
        Command::Conform(args) => conform::conform(&args),
        Command::Timeline(args) => timeline::timeline(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Kernel(args) => kernel::kernel(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Report(args) => report::report(&args),
    }
}
