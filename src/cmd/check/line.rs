//! What a child tells its parent: a JSON object a line.

use serde::{Deserialize, Serialize};

use crate::check::{DeviceFacts, Measured};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// The device is open.
    Device(DeviceFacts),
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
