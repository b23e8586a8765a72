//! Flags of `pdl timeline`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{BackendChoice, FindingsFormat, SimulatedArgs, distinct, parse_switch, parse_trigger};
use crate::axes::Axis;
use crate::chain::*;
use crate::experiment::{Axes, Grid};

/// What a lane of the timeline shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LaneChoice {
    /// A node.
    #[default]
    Node,
    /// An SM, for chains of up to 8 nodes.
    Sm,
}

/// Arguments of `pdl timeline`: the axes of a sweep, with one value each.
#[derive(Clone, Debug, Args)]
pub struct TimelineArgs {
    /// Arms, above each other on one axis
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "graph-full,graph-pdl",
        env = "PDL_ARM",
        value_enum
    )]
    pub arm: Vec<Arm>,
    /// Trigger: implicit, at-entry, k/n, after
    #[arg(long, default_value = "0/8", env = "PDL_TRIGGER", value_parser = parse_trigger)]
    pub trigger: Trigger,
    /// Kernels in the chain
    #[arg(long, default_value = "50", env = "PDL_NODES", value_parser = parse_one::<u32>)]
    pub nodes: u32,
    /// Blocks in the grid [default: one an SM]
    #[arg(long, env = "PDL_GRID", conflicts_with = "waves", value_parser = parse_one::<u32>)]
    pub grid: Option<u32>,
    /// Grid as waves: 1 fills the device once
    #[arg(long, env = "PDL_WAVES", value_parser = parse_one::<f64>)]
    pub waves: Option<f64>,
    /// Threads in a block
    #[arg(long, default_value = "128", env = "PDL_BLOCK", value_parser = parse_one::<u32>)]
    pub block: u32,
    /// Dynamic shared memory of a block, KiB
    #[arg(long, default_value = "0", env = "PDL_SHARED_KIB", value_parser = parse_one::<u32>)]
    pub shared_kib: u32,
    /// Blocks in a cluster
    #[arg(long, default_value = "1", env = "PDL_CLUSTER", value_parser = parse_one::<u32>)]
    pub cluster: u32,
    /// Work before the sync
    #[arg(long, default_value = "alu", env = "PDL_PREAMBLE_KIND", value_enum)]
    pub preamble_kind: PreambleKind,
    /// Time of the preamble, µs; a prefetch fetches what the body streams in this time
    #[arg(long, default_value = "2", env = "PDL_PREAMBLE_US", value_parser = parse_one::<f64>)]
    pub preamble_us: f64,
    /// Work after the sync
    #[arg(long, default_value = "fma", env = "PDL_BODY_KIND", value_enum)]
    pub body_kind: BodyKind,
    /// Time of the body, µs, calibrated to fixed work [default: 4]
    #[arg(
        long,
        env = "PDL_BODY_US",
        conflicts_with = "body_bytes",
        value_parser = parse_one::<f64>
    )]
    pub body_us: Option<f64>,
    /// Bytes a node streams (hbm and l2 bodies)
    #[arg(long, env = "PDL_BODY_BYTES", value_parser = parse_one::<u64>)]
    pub body_bytes: Option<u64>,
    /// Who triggers in a block
    #[arg(long, default_value = "thread", env = "PDL_TRIGGER_BY", value_enum)]
    pub trigger_by: TriggerBy,
    /// State of L2 when a sample begins
    #[arg(long, default_value = "hot", env = "PDL_L2", value_enum)]
    pub l2: L2,
    /// Lanes of the chart
    #[arg(long, value_enum, default_value_t, env = "PDL_LANES")]
    pub lanes: LaneChoice,
    /// Stamped runs, of which the median is shown, and samples without stamps
    #[arg(
        long,
        default_value_t = 21,
        env = "PDL_REPETITIONS",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub repetitions: u32,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// The simulated device.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Measure without the gate: host launch time is inside
    #[arg(long, env = "PDL_NO_GATE", value_parser = parse_switch)]
    pub no_gate: bool,
    /// Seed
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Directory of the files [default: results/<utc>-timeline]
    #[arg(long, env = "PDL_OUT")]
    pub out: Option<PathBuf>,
    /// How to print the table
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: FindingsFormat,
}

/// One number, checked as the values of a sweep's axis are.
fn parse_one<T: crate::axes::Number>(text: &str) -> std::result::Result<T, String> {
    let axis: Axis<T> = text.parse()?;
    match axis.0[..] {
        [value] => Ok(value),
        _ => Err("a timeline shows one chain: give one value".into()),
    }
}

impl TimelineArgs {
    /// The axes, each with one value.
    pub fn axes(&self) -> Axes {
        let grid = match (self.grid, self.waves) {
            (Some(blocks), _) => Grid::Blocks(blocks),
            (None, Some(waves)) => Grid::Waves(waves),
            (None, None) => Grid::PerSm,
        };
        let body = match (self.body_bytes, self.body_us) {
            (Some(bytes), _) => Target::Bytes(bytes),
            (None, us) => Target::Ns(us.unwrap_or(4.0) * 1e3),
        };
        Axes {
            triggers: vec![self.trigger],
            arms: distinct(&self.arm),
            nodes: vec![self.nodes],
            grids: vec![grid],
            block_threads: vec![self.block],
            shared_kib: vec![self.shared_kib],
            cluster_blocks: vec![self.cluster],
            preamble_kinds: vec![self.preamble_kind],
            preamble_us: vec![self.preamble_us],
            body_kinds: vec![self.body_kind],
            bodies: vec![body],
            trigger_by: vec![self.trigger_by],
            l2: vec![self.l2],
            modes: vec![Mode::Isolated],
        }
    }
}
