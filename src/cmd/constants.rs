//! Which profile's constants hold for a run.

use std::path::Path;

use crate::analysis::foreign;
use crate::device::{Backend, Facts};
use crate::error::{Error, Result};
use crate::profile::{BUILT_IN, Profile};
use crate::record::{PROFILE, Run, read_profile};

/// The profile whose constants hold for `run`, which lies in `path`: the one it was simulated or
/// predicted with, the calibration beside it, or the built-in one; each only where it is of the
/// run's device. `None` where there is none.
///
/// # Errors
/// A profile.toml that cannot be read, or that is of another device.
pub fn constants(path: &Path, calibration: Option<&Profile>, run: &Run) -> Result<Option<Profile>> {
    if let Some(text) = read_profile(path)? {
        let action = || format!("use {}", path.join(PROFILE).display());
        let profile = text.parse::<Profile>().map_err(|cause| Error::failed(action(), cause))?;
        return match foreign(&profile, &run.manifest.facts) {
            Some(cause) => Err(Error::failed(action(), cause)),
            None => Ok(Some(profile)),
        };
    }
    Ok(known(calibration, &run.manifest.facts))
}

/// The same of a device that nothing was measured on yet.
pub fn known(calibration: Option<&Profile>, facts: &Facts) -> Option<Profile> {
    let holds = |profile: &&Profile| foreign(profile, facts).is_none();
    if let Some(profile) = calibration.filter(holds) {
        return Some(profile.clone());
    }
    // A simulated run has the constants that it was simulated with, or none.
    let own = facts.simulation.as_ref().is_some_and(|made| made.profile == BUILT_IN.name);
    let real = facts.backend == Backend::Gpu;
    Some(&*BUILT_IN).filter(holds).filter(|_| own || real).cloned()
}
