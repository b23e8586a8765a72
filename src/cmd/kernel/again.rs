//! A run of a chain file that was cut short, taken up again.

use std::path::Path;

use super::super::sweep::{self, Recorder};
use super::chain::Ready;
use crate::cli::KernelArgs;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::measure::Plan;

/// The plan of the run in `path`, and what writes the rest of it, where the chain file still makes what
/// was measured there: the same launches, the same machine code, the same points.
///
/// # Errors
/// A run of something else, of another device or another build.
pub fn resume(
    args: &KernelArgs,
    ready: &Ready,
    device: &dyn Device,
    path: &Path,
    plan: &Plan,
) -> Result<(Plan, Recorder)> {
    let (manifest, recorded, recorder) = sweep::taken_up(path, device)?;
    let action = || format!("resume {}", path.display());
    let Some(kernel) = &manifest.kernel else {
        return Err(Error::usage(action(), "it is no run of your own kernels")
            .remedy("pdl sweep --resume goes on with it"));
    };
    let now = ready.record(args);
    let cause = if kernel.sha256 != now.sha256 || *kernel != now {
        "the chain file, its sources or the compiler have changed since"
    } else if recorded.points != plan.points {
        "it has other points: the flags differ from those that began it"
    } else {
        return Ok((recorded, recorder));
    };
    Err(Error::new(Kind::Refused, action(), cause)
        .remedy("start a new run, or give the flags and files that began it (manifest.json, argv)"))
}
