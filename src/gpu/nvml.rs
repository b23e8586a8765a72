//! Clocks, throttle reasons and co-tenants through NVML, for the device with a given UUID.
//!
//! NVML is optional: where it is missing or refuses, fields are `None`. Nothing is ever set.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::{Device, Nvml};

use crate::device::Health;

/// What NVML says once for a run.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// Driver version (580.159.04).
    pub driver: String,
    /// Error correction.
    pub ecc: Option<bool>,
    /// MIG mode enabled.
    pub mig: Option<bool>,
    /// Highest SM clock, MHz.
    pub sm_mhz_max: Option<u32>,
    /// Whether application clocks are set and limit the SM clock. NVML has no query for clocks
    /// locked by `nvidia-smi --lock-gpu-clocks`, so `false` does not say that the clock may move.
    pub clocks_locked: Option<bool>,
}

/// NVML and the UUID of one device.
pub struct Monitor {
    nvml: Option<Nvml>,
    uuid: String,
}

impl Monitor {
    /// Opens NVML; `uuid` as `GPU-…`.
    pub fn new(uuid: &str) -> Monitor {
        Monitor { nvml: Nvml::init().ok(), uuid: uuid.to_owned() }
    }

    fn device(&self) -> Option<Device<'_>> {
        self.nvml.as_ref()?.device_by_uuid(self.uuid.as_str()).ok()
    }

    /// What does not change during a run.
    pub fn constants(&self) -> Constants {
        let driver = self.nvml.as_ref().and_then(|nvml| nvml.sys_driver_version().ok());
        let mut constants = Constants { driver: driver.unwrap_or_default(), ..Default::default() };
        let Some(device) = self.device() else { return constants };
        constants.ecc = device.is_ecc_enabled().ok().map(|state| state.currently_enabled);
        constants.mig = device.mig_mode().ok().map(|mode| mode.current != 0);
        constants.sm_mhz_max = device.max_clock_info(Clock::SM).ok();
        constants.clocks_locked = clocks_set(&device);
        constants
    }

    /// The SM clock now, MHz; 0.5 µs a query.
    pub fn sm_mhz(&self) -> Option<u32> {
        self.device()?.clock_info(Clock::SM).ok()
    }

    /// The device now.
    pub fn health(&self) -> Health {
        let Some(device) = self.device() else { return Health::default() };
        let others = device.running_compute_processes().ok();
        let others =
            others.map(|all| others_than_this(&all.iter().map(|p| p.pid).collect::<Vec<_>>()));
        Health {
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            throttle: device.current_throttle_reasons().map(names).unwrap_or_default(),
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
            power_w: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            other_processes: others,
        }
    }
}

/// Whether application clocks hold the SM clock down: the clock event reason says that they do now,
/// which an idle GPU never does, or they differ from the default. `None` where NVML tells neither.
fn clocks_set(device: &Device) -> Option<bool> {
    let settings = ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
    let limits = device.current_throttle_reasons().ok().map(|reasons| reasons.contains(settings));
    let set = device.applications_clock(Clock::SM).ok();
    let moved = set.zip(device.default_applications_clock(Clock::SM).ok()).map(|(a, b)| a != b);
    match (limits, moved) {
        (None, None) => None,
        (limits, moved) => Some(limits == Some(true) || moved == Some(true)),
    }
}

/// Processes with a context beside this one, which has one. In a container the numbers that NVML
/// knows are the host's: then one of them is this process under another number.
fn others_than_this(pids: &[u32]) -> u32 {
    let own = std::process::id();
    let others = pids.iter().filter(|&&pid| pid != own).count();
    let hidden = usize::from(others == pids.len()).min(others);
    (others - hidden) as u32
}

/// NVML's names in kebab case. An idle GPU clocks down by design: that is no reason.
fn names(reasons: ThrottleReasons) -> Vec<String> {
    reasons
        .iter_names()
        .filter(|(_, reason)| *reason != ThrottleReasons::GPU_IDLE && !reason.is_empty())
        .filter(|(name, _)| *name != "NONE")
        .map(|(name, _)| name.to_lowercase().replace('_', "-"))
        .collect()
}
