//! What `pdl calibrate` leaves in a profile beside the constants of the model.

use serde::{Deserialize, Serialize};

use super::Constant;
use crate::chain::{Arm, Submission, Trigger};

/// What was measured beside the model's constants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Version and revision of the program that measured.
    pub program: String,
    /// When it ended: UTC, RFC 3339.
    pub ended: String,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// Rounds of every experiment.
    pub rounds: u32,
    /// UUID of the device; empty when simulated.
    pub uuid: String,
    /// What a reader should know before believing the numbers.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Device memory to device memory, both directions counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_ns: Option<Constant>,
    /// SM clock by its own cycles and the global timer, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<Constant>,
    /// What an ungated graph chain reads longer than a gated one: the host's launch is inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungated_ns: Option<Constant>,
    /// Last trigger to last begin where the primary does fixed work, which contends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_work_launch_ns: Option<Constant>,
    /// Last end to last release after fixed work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_work_release_ns: Option<Constant>,
    /// Last end to last begin over full edges after fixed work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_work_full_gap_ns: Option<Constant>,
    /// Empty hops, an arm, trigger and grid each.
    #[serde(default)]
    pub empty: Vec<EmptyHop>,
    /// Costs that may be below zero.
    #[serde(default)]
    pub signed: Vec<SignedCost>,
    /// Host time, an arm and regime each.
    #[serde(default)]
    pub launches: Vec<HostLaunch>,
    /// What the programmatic attribute costs the host.
    #[serde(default)]
    pub attribute: Vec<AttributeCost>,
    /// Events, stamps and host wall time of the same runs.
    #[serde(default)]
    pub agreement: Vec<Agreement>,
}

impl Calibration {
    /// Rate of one clock against the events' between the shortest and the longest chain of the
    /// agreement, as a relative difference; `None` without two lengths.
    pub fn rate(&self, clock: impl Fn(&Agreement) -> Option<f64>) -> Option<f64> {
        let (first, last) = (self.agreement.first()?, self.agreement.last()?);
        let events_ns = last.events_ns - first.events_ns;
        let clock_ns = clock(last)? - clock(first)?;
        (events_ns > 0.0).then(|| clock_ns / events_ns - 1.0)
    }
}

/// A median of differences with its 95 % interval, ns; may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Median, ns.
    pub median_ns: f64,
    /// Lower end, ns.
    pub lo_ns: f64,
    /// Upper end, ns.
    pub hi_ns: f64,
}

/// A hop between nodes without work: the marginal period of such a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EmptyHop {
    /// Arm.
    pub arm: Arm,
    /// Trigger; absent for arms without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// Blocks of the grid, of 128 threads.
    pub blocks: u32,
    /// The hop.
    pub hop_ns: Constant,
    /// The baseline's hop − this one; absent for baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Difference>,
}

/// A cost that noise, or a surprise, may take below zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SignedCost {
    /// What it is.
    pub name: String,
    /// The cost.
    pub cost: Difference,
    /// The experiment that gave it.
    pub experiment: String,
}

/// Host time of a launch call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostLaunch {
    /// Arm whose nodes or graph were launched.
    pub arm: Arm,
    /// `host-bound`, `gpu-bound` or `held`.
    pub regime: String,
    /// Nodes that a call queues.
    pub nodes_a_call: u32,
    /// One call.
    pub call_ns: Constant,
    /// A node, from the first call until the device was done.
    pub node_ns: Constant,
}

/// What the programmatic attribute, or edge, costs the host a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttributeCost {
    /// Outside graphs, or inside.
    #[cfg_attr(test, schemars(with = "String"))]
    pub submission: Submission,
    /// `host-bound`, `gpu-bound` or `held`.
    pub regime: String,
    /// Nodes that a call queues.
    pub nodes_a_call: u32,
    /// Call with the attribute − call of the same kernel without it, paired by round.
    pub cost: Difference,
    /// The control − the control again: what the comparison makes of nothing.
    pub again: Difference,
    /// No cost or saving above this, ns a call: the farthest end of both intervals.
    pub at_most_ns: f64,
    /// `costs`, `saves` or `none-seen`: beyond zero and beyond what the control shows.
    pub finding: String,
}

/// One length of chain by three clocks, medians of the same runs, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Nodes of the chain.
    pub nodes: u32,
    /// Between the events.
    pub events_ns: f64,
    /// First begin to last end by stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps_ns: Option<f64>,
    /// From the opening of the gate until the host saw the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<f64>,
    /// Events − stamps of the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_beyond_stamps: Option<Difference>,
    /// Wall − events of the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_beyond_events: Option<Difference>,
}
