//! What a child tells its parent: a JSON object a line.

use serde::{Deserialize, Serialize};

use crate::check::Measured;

/// The device that the cases run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceLine {
    /// Product name.
    pub name: String,
    /// Driver, as NVML prints it; empty when unknown.
    pub driver: String,
    /// CUDA version that the driver serves, 1000 × major + 10 × minor.
    pub driver_cuda: u32,
    /// CUDA version of the runtime.
    pub runtime_cuda: u32,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Step of the global timer, ns.
    pub timer_step_ns: u64,
    /// Its largest offset between SMs, ns; `None` when unknown.
    pub timer_skew_ns: Option<u64>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// The device is open.
    Device(DeviceLine),
    /// There is none that could be used; the child ends.
    NoGpu {
        /// Why.
        reason: String,
    },
    /// A case begins.
    Begin {
        /// Its index in the group.
        index: usize,
    },
    /// The case is done.
    Done {
        /// What it measured.
        measured: Measured,
    },
    /// This device cannot run the case.
    Skipped {
        /// Why.
        reason: String,
    },
    /// The case failed and the device is lost; the child ends.
    Failed {
        /// What the device or the driver said.
        reason: String,
    },
}
