//! What a child tells its parent: a JSON object a line.

use serde::{Deserialize, Serialize};

use crate::conform::{DeviceFacts, RuleFinding};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// The device is open.
    Device {
        /// What it is.
        facts: DeviceFacts,
    },
    /// There is none that could be used; the child ends.
    NoGpu {
        /// Why.
        reason: String,
    },
    /// The test of a rule begins.
    Begin {
        /// Its name.
        id: String,
    },
    /// It has ended.
    Done {
        /// What it found.
        finding: RuleFinding,
    },
    /// It failed, or the device could not be opened; the child ends.
    Failed {
        /// What the device or the driver said.
        reason: String,
    },
}
