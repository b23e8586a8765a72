//! The device profile: what is known of one GPU in constants, each with its interval and the
//! experiment that gave it. `pdl calibrate` writes one, the simulated device runs on one.
//!
//! A profile is TOML (`schema/profile-1.0.json`). Times are ns, rates bytes a ns, sizes bytes.

mod calibration;
mod file;
#[cfg(test)]
mod tests;
mod validate;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use self::calibration::{
    Agreement, AttributeCost, Calibration, Difference, EmptyHop, HostLaunch, SignedCost,
};
pub use self::file::{BUILT_IN, read};

/// Version of the schema of a profile: major, minor. A reader takes its own and older minors.
pub const PROFILE_SCHEMA: (u32, u32) = (1, 0);

/// What is known of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Profile {
    /// `"1.0"`.
    pub schema_version: String,
    /// Short name of the profile: `h200`.
    pub name: String,
    /// Where its constants come from.
    pub origin: Origin,
    /// How and when it was made, in words.
    pub provenance: String,
    /// Facts of the device.
    pub device: DeviceFacts,
    /// What a hop costs.
    pub hops: Hops,
    /// What a block does beside its work.
    pub block: BlockCosts,
    /// How blocks get onto SMs.
    pub placement: Placement,
    /// How an SM issues multiply-adds.
    pub issue: Issue,
    /// Memory.
    pub memory: Memory,
    /// The instruments.
    pub instruments: Instruments,
    /// Host time.
    pub host: Host,
    /// Spread of samples.
    pub noise: NoiseLevel,
    /// What `pdl calibrate` measured beside; no model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// How the simulated device computes times from a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Model {
    /// The closed form of one hop.
    Closed,
    /// Every block on every SM, event by event.
    #[default]
    Events,
}

impl Model {
    /// The name that the command line has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Events => "events",
        }
    }
}

/// Where the constants of a profile come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Origin {
    /// Measured on a device of this kind; every constant has an interval or says it is assumed.
    Measured,
    /// Taken from data sheets and other devices: every output says so.
    Datasheet,
    /// Measured on the simulated device, which was given its constants: every output says so.
    Simulated,
}

impl Origin {
    /// The name of a profile of this origin with the origin, as every output has them.
    pub fn of(self, profile: &str) -> String {
        let origin = match self {
            Self::Measured => "measured",
            Self::Datasheet => "from a data sheet",
            Self::Simulated => "SIMULATED",
        };
        format!("{profile} ({origin})")
    }
}

/// One number, how well it is known, and how it came to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Constant {
    /// The number, in the unit that its name ends in.
    pub value: f64,
    /// Lower end of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
    /// The experiment that gave it: a command or a name, or why it is assumed.
    pub experiment: String,
    /// Not measured, or without an interval: a guess of the right order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

impl Constant {
    /// A measured constant with its 95 % interval.
    pub fn measured(value: f64, (lo, hi): (f64, f64), experiment: impl Into<String>) -> Constant {
        let experiment = experiment.into();
        Constant { value, lo: Some(lo), hi: Some(hi), experiment, assumed: false }
    }

    /// A constant that was not measured; `why` says what it rests on.
    pub fn assumed(value: f64, why: impl Into<String>) -> Constant {
        Constant { value, lo: None, hi: None, experiment: why.into(), assumed: true }
    }
}

/// Facts that the driver or a data sheet tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceFacts {
    /// Product name.
    pub product: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Resident threads an SM.
    pub sm_threads: u32,
    /// Resident blocks an SM.
    pub sm_blocks: u32,
    /// 32-bit registers an SM.
    pub sm_registers: u32,
    /// Shared memory an SM, bytes.
    pub sm_shared_bytes: u32,
    /// Dynamic shared memory that a block may opt in to, bytes.
    pub block_shared_bytes: u32,
    /// Shared memory that the system keeps of each resident block, bytes.
    pub reserved_shared_bytes: u32,
    /// Blocks of the largest cluster.
    pub cluster_blocks: u32,
    /// SMs of each group that a cluster stays in (GPCs).
    pub cluster_sms: Vec<u32>,
    /// Warp schedulers an SM; each issues one warp instruction a cycle.
    pub sm_schedulers: u32,
    /// SM clock under load, MHz.
    pub sm_mhz: u32,
    /// L2 as the runtime reports it, bytes.
    pub l2_bytes: u64,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// Driver that the constants belong to; empty when none was there.
    pub driver: String,
    /// CUDA toolkit that the kernels were built with; empty when unknown.
    pub toolkit: String,
}

/// What a hop costs, at several numbers of resident blocks. Between knots lines, past the last on
/// along its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hops {
    /// Nodes of a graph.
    pub graph: Vec<HopKnot>,
    /// Stream launches behind a gate.
    pub stream: Vec<HopKnot>,
    /// The arms beside: launch-completion edges, flags, persistent.
    pub bounds: Vec<BoundKnot>,
}

/// A hop's constants at one number of resident blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HopKnot {
    /// Blocks of the grid that are resident at once.
    pub blocks: u32,
    /// Last end of the primary to last begin of the secondary over a full dependency.
    pub full_gap_ns: Constant,
    /// Last trigger of the primary to last begin of the secondary.
    pub launch_ns: Constant,
    /// The same when the blocks' exits are the trigger.
    pub exit_launch_ns: Constant,
    /// Begin of a block to its first useful instruction.
    pub entry_ns: Constant,
    /// Begin of a block to the time from which its trigger at entry counts.
    pub entry_trigger_ns: Constant,
    /// Last end of the primary to the return of syncs that were waiting.
    pub release_ns: Constant,
}

/// The constants of the other arms at one number of resident blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BoundKnot {
    /// Blocks of the grid that are resident at once.
    pub blocks: u32,
    /// Last begin of the primary to last begin of the secondary over a launch-completion edge.
    pub completion_launch_ns: Constant,
    /// Last end of the primary to the return of acquires that were polling.
    pub flag_ns: Constant,
    /// Last arrival at a grid barrier of a cooperative kernel to the return of waits that polled.
    pub barrier_ns: Constant,
    /// The shortest such wait, where all have arrived already.
    pub acquire_ns: Constant,
}

/// What a block does beside its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockCosts {
    /// Return of the sync to the first work that needs the primary's value: one load.
    pub head_ns: Constant,
    /// End of the body's work to the block's end: reduction and last store.
    pub tail_ns: Constant,
    /// What every thread of a block adds to that.
    pub tail_thread_ns: Constant,
    /// End of the body's work to a trigger after the last store.
    pub after_ns: Constant,
    /// What the instructions of the sync cost a hop over full dependencies.
    pub code_cost_ns: Constant,
    /// What those of a trigger cost.
    pub trigger_ns: Constant,
    /// What a trigger at entry or right after the sync costs a streaming body.
    pub stream_early_ns: Constant,
    /// What one before the end saves a streaming body of more than 512 threads.
    pub narrow_gain_ns: Constant,
    /// What one amid the body of one of at most 512 threads saves that reads from L2.
    pub l2_split_gain_ns: Constant,
    /// What every thread of a block adds to that where the trigger divides a computing body.
    pub split_thread_ns: Constant,
    /// What a block barrier before the trigger adds to it.
    pub barrier_trigger_ns: Constant,
    /// Registers a thread of kernels whose body computes or spins.
    pub thread_registers: u32,
    /// Registers a thread of kernels whose body streams.
    pub stream_thread_registers: u32,
    /// The same for blocks of more than 512 threads.
    pub narrow_thread_registers: u32,
}

/// How blocks get onto SMs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Placement {
    /// Time between two blocks of a grid that begin on free SMs.
    pub block_ns: Constant,
    /// Twice what the latest programmatic launches in a stream come late, after the same trigger: three
    /// of four come at once.
    pub stream_launch_spread_ns: Constant,
    /// End of a block to the begin of the next in its slot, grid already launched.
    pub refill_ns: Constant,
    /// First to last block of a node to end where all do the same.
    pub drain_ns: Constant,
    /// First to last block of a node to get the first byte of its stream.
    pub stream_first_ns: Constant,
    /// First to last block of a node to end after its stream, and what it grows by with the body.
    pub stream_drain_ns: Constant,
    /// That growth, a part of the body's time.
    pub stream_drain_ratio: Constant,
    /// Part of their bytes by which blocks that read as much are served sooner or later, up to half of
    /// it either way.
    pub stream_bytes_spread: Constant,
    /// Nodes of a graph that may be resident ahead of the one whose body runs.
    pub run_ahead_nodes: Constant,
    /// The same for stream launches.
    pub stream_run_ahead_nodes: Constant,
}

/// How an SM issues multiply-adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Issue {
    /// Cycles a multiply-add of a warp that has its scheduler to itself.
    pub lone_warp_cycles: Constant,
    /// Cycles a multiply-add where warps never let their scheduler wait.
    pub busy_warp_cycles: Constant,
    /// Turns of a node's blocks for one turn of those on their SM that are served before them.
    pub elder_ratio: Constant,
    /// Turns of a block of more than 640 threads for one turn of the block of its node that is at
    /// work with it and is served before it. Smaller blocks share evenly.
    pub wide_peer_ratio: Constant,
    /// What that differs by from block to block, up to half of it either way.
    pub wide_peer_spread: Constant,
    /// Chance that the last instructions of a block that is done win the gap between two preambles,
    /// for each of its warps on the scheduler.
    pub gap_exit_per_warp: Constant,
    /// Chance that some of its warps leave before that.
    pub gap_quick_chance: Constant,
    /// Chance that a block that begins in a gap loses it before the trigger at its entry, for each
    /// of its warps on the scheduler beyond four.
    pub gap_lost_per_warp: Constant,
    /// How much later it then comes to that trigger.
    pub gap_lost_ns: Constant,
    /// How much longer the way to its first work is for a block that begins in a gap.
    pub gap_entry_ns: Constant,
    /// Instructions of a warp around its preamble's multiply-adds.
    pub preamble_instructions: Constant,
    /// The same around its body's.
    pub body_instructions: Constant,
    /// How much sooner a block's trigger at entry counts than the schedulers are free that its
    /// first warp waits for: the last elder warp but one lets it through.
    pub freed_entry_ns: Constant,
    /// Warps that still share a scheduler when the slowest first warp of a node comes to the trigger
    /// in its body: blocks of up to five warps a scheduler.
    pub few_straggler_warps: Constant,
    /// The same where a block has more than five and fewer than eight.
    pub straggler_warps: Constant,
    /// The same where it has eight.
    pub many_straggler_warps: Constant,
}

/// Memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Memory {
    /// Large streaming reads from HBM.
    pub hbm_bytes_per_ns: Constant,
    /// First byte from HBM.
    pub hbm_latency_ns: Constant,
    /// How much later it comes behind a full dependency between stream launches.
    pub hbm_stream_ns: Constant,
    /// A load's time amid a stream from HBM that has the memory to itself.
    pub hbm_load_ns: Constant,
    /// Streaming reads that hit L2.
    pub l2_bytes_per_ns: Constant,
    /// First byte from L2.
    pub l2_latency_ns: Constant,
    /// A load's time amid a stream from L2 that has it to itself.
    pub l2_load_ns: Constant,
    /// How sharply rates bend where what is asked for comes near to what there is: the exponent of
    /// the norm that joins both.
    pub bend_exponent: Constant,
    /// Bytes that stay in L2 from one node to the next. Larger regions do in part, those larger
    /// than L2 not at all.
    pub l2_keeps_bytes: Constant,
    /// What one SM can take in from L2.
    pub sm_bytes_per_ns: Constant,
    /// What one SM can take in from HBM.
    pub hbm_sm_bytes_per_ns: Constant,
    /// Part of its rate that a streaming body keeps beside a computing preamble on its SM.
    pub beside_alu_ratio: Constant,
    /// Bytes that a thread of a streaming body keeps in flight.
    pub thread_in_flight_bytes: Constant,
}

/// The instruments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Instruments {
    /// Between the events of an empty pair.
    pub event_pair_ns: Constant,
    /// What a chain costs once: from the first event to the first begin, and from the last end to
    /// the second event.
    pub chain_ns: Constant,
    /// What stamping adds to a node.
    pub stamp_ns: Constant,
    /// From the opening of the gate to the first event.
    pub gate_ns: Constant,
    /// Step of the global timer.
    pub timer_step_ns: Constant,
    /// Largest offset of the global timer between SMs.
    pub timer_skew_ns: Constant,
    /// Launches that a closed gate holds before the host blocks.
    pub queue_depth: Constant,
}

/// Host time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Host {
    /// One stream launch while the device keeps up (host-bound), without the attribute.
    pub stream_launch_ns: Constant,
    /// The same with the programmatic attribute.
    pub stream_pdl_launch_ns: Constant,
    /// One stream launch into a queue that is behind (GPU-bound), without the attribute.
    pub queued_launch_ns: Constant,
    /// The same with the programmatic attribute.
    pub queued_pdl_launch_ns: Constant,
    /// One launch of a graph.
    pub graph_launch_ns: Constant,
    /// What each node adds to it.
    pub graph_node_ns: Constant,
    /// Instantiating a graph and preparing a chain, a node.
    pub prepare_node_ns: Constant,
    /// Host time around a sample: poison, gate, drain and check.
    pub sample_ns: Constant,
}

/// Spread of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NoiseLevel {
    /// Relative standard deviation of a sample.
    pub sample_ratio: Constant,
    /// Part of it, as variance, that a sample shares with its neighbours in time.
    pub shared_ratio: Constant,
    /// How much of the shared part is left at the next sample.
    pub memory_ratio: Constant,
    /// How much slower the first sample of a chain is.
    pub first_slower_ratio: Constant,
}
