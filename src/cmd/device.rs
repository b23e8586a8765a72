//! From `--backend` to a device.

use crate::cli::{BackendChoice, SimulatedArgs, SweepArgs};
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::profile::{self, BUILT_IN};
use crate::sim::SimDevice;

/// A device, and what the user should know about the choice.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// Why it is not what might have been expected.
    pub note: Option<String>,
}

/// What a measurement is to do without, and for how long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Without {
    /// Measure without the gate.
    pub gate: bool,
    /// Leave the launch path as the sample before left it.
    pub conditioning: bool,
    /// Seconds after which a sample that does not end is given up; the device's default where `None`.
    pub deadline_s: Option<u64>,
}

/// Opens the device that a sweep with `args` measures on.
///
/// # Errors
/// Those of [`open`].
pub fn open_for(args: &SweepArgs) -> Result<Opened> {
    let without = Without {
        gate: args.no_gate,
        conditioning: args.no_conditioning,
        deadline_s: Some(args.deadline_s),
    };
    let asked = &args.simulated;
    if args.predict && args.backend != BackendChoice::Sim {
        // The profile is of the device that is predicted.
        return open(args.backend, args.seed, without, &SimulatedArgs::default());
    }
    open(args.backend, args.seed, without, asked)
}

/// Opens the device that was asked for.
///
/// # Errors
/// Exit code 3 for a GPU that should work and does not, or for `gpu` where there is none; a profile
/// that is wrong, or that is given for a GPU.
pub fn open(
    choice: BackendChoice,
    seed: u64,
    without: Without,
    made_of: &SimulatedArgs,
) -> Result<Opened> {
    made_of.check(choice)?;
    let constants = match &made_of.profile {
        Some(path) => profile::read(path)?,
        None => BUILT_IN.clone(),
    };
    let simulated = |note| {
        let device = SimDevice::new(constants, made_of.model, seed);
        Opened { device: Box::new(device), note }
    };
    if choice == BackendChoice::Sim {
        return Ok(simulated(None));
    }
    match open_gpu(without)? {
        Ok(device) => Ok(Opened { device, note: None }),
        Err(reason) if choice == BackendChoice::Auto => Ok(simulated(Some(format!(
            "{reason}: this run is SIMULATED (--backend gpu makes that an error)"
        )))),
        Err(reason) => Err(Error::new(Kind::NoGpu, "use the GPU", reason)
            .remedy("use a GPU of compute capability 9.0 or newer, or --backend sim")),
    }
}

#[cfg(feature = "cuda")]
fn open_gpu(without: Without) -> Result<std::result::Result<Box<dyn Device>, String>> {
    use crate::gpu::{Absence, open};
    Ok(match open()? {
        Ok(mut gpu) => {
            if without.gate {
                gpu.without_gate("--no-gate");
            }
            if without.conditioning {
                gpu.without_conditioning();
            }
            if let Some(seconds) = without.deadline_s {
                gpu.set_deadline(std::time::Duration::from_secs(seconds));
            }
            Ok(Box::new(gpu))
        }
        Err(Absence::None(reason) | Absence::Old(reason)) => Err(reason),
    })
}

#[cfg(not(feature = "cuda"))]
fn open_gpu(_without: Without) -> Result<std::result::Result<Box<dyn Device>, String>> {
    Ok(Err("this program was built without the cuda feature".into()))
}

/// The GPU itself, for what the simulated device cannot do.
///
/// # Errors
/// Exit code 3 where there is none, or none that works.
#[cfg(feature = "cuda")]
pub fn open_own(no_gate: bool, deadline_s: u64) -> Result<crate::gpu::Gpu> {
    use crate::gpu::{Absence, open};
    match open()? {
        Ok(mut gpu) => {
            if no_gate {
                gpu.without_gate("--no-gate");
            }
            gpu.set_deadline(std::time::Duration::from_secs(deadline_s));
            Ok(gpu)
        }
        Err(Absence::None(reason) | Absence::Old(reason)) => {
            Err(Error::new(Kind::NoGpu, "run your own kernels", reason).remedy(
                "use a GPU of compute capability 9.0 or newer; --dry-run compiles, checks and \
                 shows the plan without one",
            ))
        }
    }
}
