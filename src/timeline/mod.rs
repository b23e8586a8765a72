//! What one chain looked like, block by block: phases of every node, the typical hop, placement on
//! SMs, and the files that show it. Pure: stamps in, text out.

mod csv;
mod moments;
mod named;
mod placement;
mod trace;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use self::csv::stamps_csv;
pub use self::moments::{HopMoments, Moments, Spread, typical_hop};
pub use self::named::{NamedPhase, named_phases};
pub use self::placement::{Placement, placement};
pub use self::trace::trace_json;

use crate::chain::{Arm, Trigger};
use crate::stamps::{BlockStamps, Stamps};

/// The median chain of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Arm.
    pub arm: Arm,
    /// Its trigger; `None` where the arm has none.
    pub trigger: Option<Trigger>,
    /// Stamps of the run with the median duration.
    pub stamps: Stamps,
    /// What stamping did to the chain.
    pub cost: StampCost,
    /// The kernel of each node; empty where all nodes run the same one.
    pub kernels: Vec<String>,
}

impl Track {
    /// What a node is called: its place, and its kernel where nodes differ.
    pub fn node_name(&self, node: u32) -> String {
        match self.kernels.get(node as usize) {
            Some(kernel) => format!("node {node} {kernel}"),
            None => format!("node {node}"),
        }
    }
}

/// The price of the stamps, by events.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StampCost {
    /// Median duration of the chain without stamps, ns.
    pub unstamped_ns: f64,
    /// Duration of the stamped chain, ns.
    pub stamped_ns: f64,
    /// Samples without stamps.
    pub samples: usize,
}

impl StampCost {
    /// The chain's slow-down by its stamps: 0.01 is 1 %.
    pub fn ratio(&self) -> f64 {
        self.stamped_ns / self.unstamped_ns - 1.0
    }
}

/// One of the four things a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// From the first instruction to the sync.
    Preamble,
    /// Waiting in the sync.
    Parked,
    /// The body before the trigger; the whole body of a block without one.
    Body,
    /// The body after the trigger.
    AfterTrigger,
}

impl Phase {
    /// All, in order of time.
    pub const ALL: [Phase; 4] = [Phase::Preamble, Phase::Parked, Phase::Body, Phase::AfterTrigger];

    /// As legends and traces call it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Preamble => "preamble",
            Phase::Parked => "parked",
            Phase::Body => "body",
            Phase::AfterTrigger => "after the trigger",
        }
    }

    /// When a block was in it, ns: start and end, which are equal where it was not.
    pub fn of(self, block: &BlockStamps) -> (f64, f64) {
        // A trigger before the sync leaves no body before it, and none at all leaves all of it.
        let trigger = if block.trigger_ns.is_nan() { block.end_ns } else { block.trigger_ns };
        let trigger = trigger.max(block.release_ns).min(block.end_ns);
        match self {
            Phase::Preamble => (block.begin_ns, block.arrive_ns),
            Phase::Parked => (block.arrive_ns, block.release_ns),
            Phase::Body => (block.release_ns, trigger),
            Phase::AfterTrigger => (trigger, block.end_ns),
        }
    }
}
