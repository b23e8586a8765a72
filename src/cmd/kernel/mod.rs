//! `pdl kernel`: sweep of the user's own kernels.

mod again;
mod chain;
#[cfg(feature = "cuda")]
mod check;
mod first;
mod hook;
#[cfg(feature = "cuda")]
mod timeline;
#[cfg(feature = "cuda")]
mod tune;

use crate::cli::KernelArgs;
use crate::error::Result;

/// Runs a chain file, or a library with a launch hook.
///
/// # Errors
/// A file that is none, a compiler that fails, no GPU, wrong results, or a fault of the device.
pub fn kernel(args: &KernelArgs) -> Result<()> {
    match (&args.file, &args.library) {
        (Some(file), _) => chain::run(args, file),
        (None, Some(library)) => hook::run(args, library),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}
