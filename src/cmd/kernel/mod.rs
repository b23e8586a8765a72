//! `pdl kernel`: sweep of the user's own kernels.

mod again;
mod chain;
#[cfg(feature = "cuda")]
mod check;
mod dry_run;
mod first;
mod hook;
#[cfg(feature = "cuda")]
mod timeline;
#[cfg(feature = "cuda")]
mod tune;

use crate::cli::{Format, KernelArgs};
use crate::error::{Error, Result};

/// Runs a chain file, or a library with a launch hook.
///
/// # Errors
/// A file that is none, a compiler that fails, no GPU, wrong results, or a fault of the device.
pub fn kernel(args: &KernelArgs) -> Result<()> {
    demand_form(args)?;
    match (&args.file, &args.library) {
        (Some(file), _) => chain::run(args, file),
        (None, Some(library)) => hook::run(args, library),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}

/// Refuses forms that what is asked for has not, before anything is done.
fn demand_form(args: &KernelArgs) -> Result<()> {
    let what = match () {
        () if args.dry_run => return super::dry_run::as_json(args.format).map(drop),
        () if args.check => "a race check",
        () if args.library.is_some() => "the edges of a graph",
        () => return Ok(()),
    };
    match args.format {
        Format::Table | Format::Json => Ok(()),
        _ => Err(Error::usage(format!("print {what} so"), "there is no such form")
            .remedy("use --format table or json")),
    }
}
