//! What a run leaves on disk: one type a file, and the only code that reads and writes them.
//!
//! A run directory holds `manifest.json`, `points.jsonl`, `samples.csv` (raw, append-only),
//! `end.json`, and what is derived from them: `summary.csv`, `charts/*.svg` and `report.html`.

mod attached;
mod cell;
mod derived;
mod disk;
mod exposed;
mod header;
mod kernel;
mod lines;
mod output;
mod place;
mod prediction;
mod read;
mod rounds;
mod run_dir;
mod samples;
mod standing;
mod summary;
#[cfg(test)]
mod tests;
mod user_graph;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::attached::{CHECK, CONFORM, read_attached, read_findings};
pub use self::derived::write_derived;
#[cfg(test)]
pub(crate) use self::disk::fault;
pub use self::disk::write_atomically;
pub use self::exposed::{Cause, ExposedBy, LimitBy};
pub use self::kernel::{KernelNode, KernelRun, KernelVariant};
pub use self::output::Output;
pub use self::place::directory;
pub use self::prediction::{PREDICTION, PREDICTION_SCHEMA, PredictedRow, Prediction};
pub use self::read::{CALIBRATION, PROFILE, Run, read_calibration, read_profile, read_run};
pub use self::run_dir::{RunDir, schema_version};
pub use self::samples::Samples;
pub use self::standing::{Standing, standing};
pub use self::summary::{SUMMARY_COLUMNS, read_summary, write_summary};
pub use self::user_graph::{AttachedRun, TRIALS};
use crate::chain::{
    Arm, BodyKind, Chain, Dependency, L2, Mode, PreambleKind, Submission, Trigger, TriggerBy,
};
use crate::device::{Backend, Facts, Flag, Health, Proof, Verification};
use crate::stamps::Reduced;

/// Version of the schema of every file of a run directory: major, minor. A reader takes any minor
/// of its own major.
pub const SCHEMA: (u32, u32) = (1, 1);

/// `manifest.json`: written once, before the first sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// `"1.1"`.
    pub schema: String,
    /// What made the run: `sweep`, `tune`, `kernel` or `attach`.
    pub what: String,
    /// Version of this package.
    pub version: String,
    /// Revision of the sources the binary was built from, `-dirty` appended; empty when unknown.
    pub revision: String,
    /// UTC, RFC 3339.
    pub started: String,
    /// Command line, program name first.
    pub argv: Vec<String>,
    /// `PDL_*` variables that were set.
    pub environment: Vec<(String, String)>,
    /// Seed of the order of arms and of every resampling.
    pub seed: u64,
    /// The device.
    pub facts: Facts,
    /// The device when the run began.
    pub health: Health,
    /// Points and arms to be measured, and when to stop.
    pub plan: PlanRecord,
    /// The user's own kernels; none in a run of this program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRun>,
    /// A graph of somebody else's process; none in a run of chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedRun>,
}

/// The plan as the manifest keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanRecord {
    /// Points, in the order they are measured.
    pub points: Vec<PlanPoint>,
    /// Fewest and most rounds of a group.
    pub rounds_min: u32,
    /// Most rounds of a group.
    pub rounds_max: u32,
    /// Budget of one group, seconds of device time.
    pub group_budget_s: f64,
    /// Effects smaller than this are equivalent to none, µs a hop.
    pub margin_us: f64,
    /// The same, as a part of the baseline's period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Rounds of the long chains.
    pub long_rounds: u32,
    /// Device time of warm-up before the first group, seconds.
    pub warm_up_s: f64,
    /// Stamped runs per point × arm.
    pub stamp_repetitions: u32,
    /// Independent rounds that an effect above the margin needs.
    pub effective_rounds: f64,
}

/// A point of the plan: one combination of axes, and the arms it is run in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanPoint {
    /// `p000`, `p001` … unique in the run.
    pub point: String,
    /// Points of one group differ in trigger and arm alone, share calibration and rounds, and are
    /// compared with each other.
    pub group: u32,
    /// Trigger; `None` for the point that holds a group's arms without one.
    pub trigger: Option<Trigger>,
    /// Arms of the point.
    pub arms: Vec<Arm>,
    /// The chain, before calibration: its amounts of work are 0, or those of the run that it
    /// repeats.
    pub chain: Chain,
}

/// `points.jsonl`: one object per point × arm, written when it is prepared, verified and stamped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointRecord {
    /// Point of the plan.
    pub point: String,
    /// Group of the plan.
    pub group: u32,
    /// Arm.
    pub arm: Arm,
    /// Trigger; `None` for an arm without one.
    pub trigger: Option<Trigger>,
    /// The chain as it ran, calibrated.
    pub chain: Chain,
    /// Body alone as measured by stamps over full dependencies, ns.
    pub body_ns: Option<f64>,
    /// Preamble as measured, ns.
    pub preamble_ns: Option<f64>,
    /// What was armed.
    pub proof: Proof,
    /// Values compared with the oracle before timing.
    pub verification: Verification,
    /// Stamps of the median stamped chain, reduced.
    pub stamps: Option<Reduced>,
    /// Why the point could not be run; `None` when it was.
    pub skipped: Option<String>,
}

/// `samples.csv`: one raw sample a row, flushed row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Point of the plan; rows of one point share its text.
    pub point: Arc<str>,
    /// Arm.
    pub arm: Arm,
    /// Nodes of this chain: the point's, or the longer one of the marginal period.
    pub nodes: u32,
    /// Round, from 0; the long chains have rounds of their own numbering.
    pub round: u32,
    /// Place in the shuffled round, from 0.
    pub order: u32,
    /// Duration of the chain, ns.
    pub duration_ns: f64,
    /// SM clock when the sample ended, MHz; in runs of earlier versions when its round began.
    pub sm_mhz: Option<u32>,
    /// Why the sample is special.
    pub flags: Vec<Flag>,
}

/// `end.json`: written when the run ends by itself or is interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct End {
    /// UTC, RFC 3339.
    pub ended: String,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// Why it stopped: `done`, `interrupted`, or an error's text.
    pub reason: String,
    /// How each group ended: `precision`, `rounds`, `budget`, `skipped`.
    pub groups: Vec<String>,
    /// Lowest and highest SM clock seen at a round, MHz.
    pub sm_mhz_min: Option<u32>,
    /// Highest SM clock seen at a round, MHz.
    pub sm_mhz_max: Option<u32>,
    /// Throttle reasons seen during the run.
    pub throttle: Vec<String>,
    /// The device when the run ended.
    pub health: Health,
}

/// What is said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Faster than the baseline by more than the margin could hide.
    Helps,
    /// Slower than the baseline.
    Hurts,
    /// The interval lies inside the margin.
    Equivalent,
    /// Nothing can be said at this precision.
    Inconclusive,
    /// This device cannot run the point.
    Skipped,
    /// The result was wrong: no speed is given.
    Wrong,
}

/// Whether the programmatic edges of a row did anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofVerdict {
    /// Overlap, or a launch gap shorter than the full control's by more than step + skew.
    Active,
    /// Edges and code are there, no effect was seen.
    Armed,
    /// Edges or code are missing.
    Inactive,
}

/// `summary.csv`: one row per point × arm, derived from the files above. `None` is an empty
/// field: not applicable, or not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Point of the plan.
    pub point: String,
    /// Arm.
    pub arm: Arm,
    /// Submission of the arm.
    pub submission: Submission,
    /// Dependency of the arm's hops.
    pub dependency: Dependency,
    /// Trigger.
    pub trigger: Option<Trigger>,
    /// Nodes of the chain.
    pub nodes: u32,
    /// Blocks in the grid.
    pub grid_blocks: u32,
    /// Threads in a block.
    pub block_threads: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks in a cluster.
    pub cluster_blocks: u32,
    /// Who triggers.
    pub trigger_by: TriggerBy,
    /// Preamble.
    pub preamble_kind: PreambleKind,
    /// Preamble, measured.
    pub preamble_ns: Option<f64>,
    /// Body.
    pub body_kind: BodyKind,
    /// Body, measured.
    pub body_ns: Option<f64>,
    /// State of the L2.
    pub l2: L2,
    /// How chains follow one another.
    pub mode: Mode,
    /// Samples in the statistics.
    pub samples: u32,
    /// Chain duration ÷ nodes, median.
    pub period_ns: Option<f64>,
    /// 95 % interval of the median.
    pub period_lo_ns: Option<f64>,
    /// 95 % interval of the median.
    pub period_hi_ns: Option<f64>,
    /// Slope of the duration between N and 4N nodes.
    pub marginal_ns: Option<f64>,
    /// Arm that `saved` is measured against.
    pub baseline: Option<Arm>,
    /// (baseline chain − chain) ÷ hops, median over rounds.
    pub saved_ns: Option<f64>,
    /// 95 % interval.
    pub saved_lo_ns: Option<f64>,
    /// 95 % interval.
    pub saved_hi_ns: Option<f64>,
    /// exp(median paired log ratio of baseline to this).
    pub speedup: Option<f64>,
    /// 95 % interval.
    pub speedup_lo: Option<f64>,
    /// 95 % interval.
    pub speedup_hi: Option<f64>,
    /// (full control − baseline) ÷ hops.
    pub code_cost_ns: Option<f64>,
    /// Body in this arm − body in the full control, by stamps.
    pub primary_slowed_ns: Option<f64>,
    /// What is said of the row.
    pub verdict: Option<Verdict>,
    /// Whether programmatic edges did anything; `None` for arms without them.
    pub proof: Option<ProofVerdict>,
    /// Whether every value of every sample was right.
    pub correct: Option<bool>,
    /// By stamps.
    pub launch_gap_ns: Option<f64>,
    /// By stamps.
    pub hop_latency_ns: Option<f64>,
    /// By stamps.
    pub useful_ns: Option<f64>,
    /// By stamps.
    pub parked_ns: Option<f64>,
    /// Shortest period that the dependences and the device's constants allow.
    pub limit_ns: Option<f64>,
    /// GPU or simulated.
    pub backend: Backend,
    /// Product name.
    pub device: String,
    /// Reason codes, joined by `|`.
    pub reason: String,
    /// Of a pipelined row: (pipelined ÷ isolated) ÷ the same of its baseline. Below 1, pipelining
    /// flatters the arm.
    pub contamination: Option<f64>,
    /// Interval of the same, at least 95 %.
    pub contamination_lo: Option<f64>,
    /// Interval of the same, at least 95 %.
    pub contamination_hi: Option<f64>,
    /// What sets the limit.
    pub limit_by: Option<LimitBy>,
    /// Profile that the constants of limit and flush are of, and its origin; empty without one.
    pub constants: String,
    /// Period − body alone: what the parts below add up to.
    pub exposed_ns: Option<f64>,
    /// Where the parts come from.
    pub exposed_by: Option<ExposedBy>,
    /// Waiting for the launch: last end of the primary to the first begin, less the flush.
    pub exposed_launch_ns: Option<f64>,
    /// Blocks that were placed after the first, or packed where SMs were free.
    pub exposed_placement_ns: Option<f64>,
    /// Preamble that the primary did not cover.
    pub exposed_preamble_ns: Option<f64>,
    /// End of the grid to the time from which its values are there for all, by the profile.
    pub exposed_flush_ns: Option<f64>,
    /// The rest of what a sync waits after the primary's last end.
    pub exposed_release_ns: Option<f64>,
    /// Blocks that end after the mean one.
    pub exposed_drain_ns: Option<f64>,
    /// How much longer the body is than alone.
    pub exposed_contention_ns: Option<f64>,
    /// What a chain costs once, a node, by the profile.
    pub exposed_ends_ns: Option<f64>,
    /// The remainder; may be negative.
    pub exposed_unexplained_ns: Option<f64>,
    /// Period by the model that was asked, SIMULATED.
    pub predicted_ns: Option<f64>,
    /// (baseline chain − chain) ÷ hops by the model, SIMULATED.
    pub predicted_saved_ns: Option<f64>,
    /// (predicted ÷ measured − 1) × 100.
    pub error_pct: Option<f64>,
    /// Why the model says nothing of the row; empty where it does, or was not asked.
    pub not_predicted: String,
}
