//! How long to measure.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::measure::Stopping;

/// How long to measure, and in which order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Seed of the order of arms.
    pub seed: u64,
    /// When a group of rows has been measured enough.
    pub stopping: Stopping,
}

impl Default for Effort {
    /// As `pdl sweep`: a group takes up to 20 s of device time.
    fn default() -> Self {
        Effort { seed: 1, stopping: Stopping::default() }
    }
}

impl Effort {
    /// As `pdl sweep --quick`: seconds, wider intervals.
    pub fn quick() -> Effort {
        Effort { stopping: Stopping::quick(), ..Effort::default() }
    }

    /// Refuses what would end before it begins.
    pub(super) fn check(&self) -> Result<()> {
        let Stopping { rounds_min, rounds_max, group_budget, margin_us, margin_ratio, .. } =
            self.stopping;
        let refuse = |field: &str, cause: &str| Err(Error::usage(format!("use {field}"), cause));
        let margin = |margin: f64| margin.is_finite() && margin >= 0.0;
        match () {
            () if rounds_min == 0 => refuse("rounds_min 0", "nothing would be sampled"),
            () if rounds_max < rounds_min => refuse("rounds_max", "it is below rounds_min"),
            () if group_budget == Duration::ZERO => {
                refuse("group_budget 0", "nothing fits into it")
            }
            () if !margin(margin_us) || !margin(margin_ratio) => {
                refuse("the margin", "it is no number from 0 on")
            }
            () => Ok(()),
        }
    }
}
