//! What the exposed time of a row is made of, and what sets its limit.

use serde::{Deserialize, Serialize};

use super::SummaryRow;

/// What sets the shortest period that a row may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitBy {
    /// The body alone: no constants of the device are known.
    Body,
    /// Body, and the launch that follows the primary's end with its preamble behind it.
    Launch,
    /// Body, and what a sync waits after the primary's last end.
    Release,
    /// Launches that follow one another, whatever the body.
    LaunchRate,
    /// Warp instructions of preamble and body that the schedulers have to issue.
    Issue,
    /// Bytes that the body reads.
    Memory,
    /// Body, and a grid barrier.
    Barrier,
}

impl LimitBy {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            LimitBy::Body => "body",
            LimitBy::Launch => "launch",
            LimitBy::Release => "release",
            LimitBy::LaunchRate => "launch-rate",
            LimitBy::Issue => "issue",
            LimitBy::Memory => "memory",
            LimitBy::Barrier => "barrier",
        }
    }

    /// In words, for tables and charts.
    pub fn words(self) -> &'static str {
        match self {
            LimitBy::Body => "body alone",
            LimitBy::Launch => "body + launch + preamble",
            LimitBy::Release => "body + release",
            LimitBy::LaunchRate => "rate of launches",
            LimitBy::Issue => "issue slots of preamble and body",
            LimitBy::Memory => "bytes of the body",
            LimitBy::Barrier => "body + barrier",
        }
    }
}

/// Where the parts of the exposed time come from. The flush and the ends of the chain are the
/// profile's in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExposedBy {
    /// Stamps of the row's own chain.
    Stamps,
    /// Constants of the device's profile alone.
    Profile,
}

/// A part of the exposed time, in the order in which they are stacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The body is longer than alone.
    Contention,
    /// Blocks end after the mean one.
    Drain,
    /// End of the grid to the time from which its values are there.
    Flush,
    /// The rest of what a sync waits.
    Release,
    /// Waiting for the launch.
    Launch,
    /// Blocks placed late, or packed.
    Placement,
    /// Preamble that nothing covers.
    Preamble,
    /// What a chain costs once.
    Ends,
    /// The remainder.
    Unexplained,
}

impl Cause {
    /// All, as they are stacked.
    pub const ALL: [Cause; 9] = [
        Cause::Contention,
        Cause::Drain,
        Cause::Flush,
        Cause::Release,
        Cause::Launch,
        Cause::Placement,
        Cause::Preamble,
        Cause::Ends,
        Cause::Unexplained,
    ];

    /// Its name in files and charts.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Contention => "contention",
            Cause::Drain => "drain",
            Cause::Flush => "flush",
            Cause::Release => "release",
            Cause::Launch => "launch",
            Cause::Placement => "placement",
            Cause::Preamble => "preamble",
            Cause::Ends => "ends",
            Cause::Unexplained => "unexplained",
        }
    }
}

impl SummaryRow {
    /// A part of the exposed time, ns; `None` where the row is not decomposed.
    pub fn exposed(&self, cause: Cause) -> Option<f64> {
        match cause {
            Cause::Contention => self.exposed_contention_ns,
            Cause::Drain => self.exposed_drain_ns,
            Cause::Flush => self.exposed_flush_ns,
            Cause::Release => self.exposed_release_ns,
            Cause::Launch => self.exposed_launch_ns,
            Cause::Placement => self.exposed_placement_ns,
            Cause::Preamble => self.exposed_preamble_ns,
            Cause::Ends => self.exposed_ends_ns,
            Cause::Unexplained => self.exposed_unexplained_ns,
        }
    }
}
