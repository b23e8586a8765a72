//! Flags of the axes, which `sweep` and `tune` share.

use clap::Args;

use super::{distinct, parse_trigger};
use crate::axes::Axis;
use crate::chain::*;
use crate::experiment::{Axes, Grid, default_arms};

/// The axes: lists and inclusive ranges make a product.
#[derive(Clone, Debug, Args)]
pub struct AxesArgs {
    /// Triggers: implicit, at-entry, k/n, after [default: all 12 with n = 8]
    #[arg(long, value_delimiter = ',', env = "PDL_TRIGGER", value_parser = parse_trigger)]
    pub trigger: Vec<Trigger>,
    /// Arms; baselines and controls are added [default: stream, graph, their -full and -pdl]
    #[arg(long, value_delimiter = ',', env = "PDL_ARM", value_enum)]
    pub arm: Vec<Arm>,
    /// Kernels in the chain
    #[arg(long, default_value = "50", env = "PDL_NODES")]
    pub nodes: Axis<u32>,
    /// Blocks in the grid [default: one an SM]
    #[arg(long, env = "PDL_GRID", conflicts_with = "waves")]
    pub grid: Option<Axis<u32>>,
    /// Grid as waves: 1 fills the device once
    #[arg(long, env = "PDL_WAVES")]
    pub waves: Option<Axis<f64>>,
    /// Threads in a block
    #[arg(long, default_value = "128", env = "PDL_BLOCK")]
    pub block: Axis<u32>,
    /// Dynamic shared memory of a block, KiB
    #[arg(long, default_value = "0", env = "PDL_SHARED_KIB")]
    pub shared_kib: Axis<u32>,
    /// Blocks in a cluster
    #[arg(long, default_value = "1", env = "PDL_CLUSTER")]
    pub cluster: Axis<u32>,
    /// Work before the sync
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "alu",
        env = "PDL_PREAMBLE_KIND",
        value_enum
    )]
    pub preamble_kind: Vec<PreambleKind>,
    /// Time of the preamble, µs; a prefetch fetches what the body streams in this time
    #[arg(long, default_value = "2", env = "PDL_PREAMBLE_US")]
    pub preamble_us: Axis<f64>,
    /// Work after the sync
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "fma,hbm",
        env = "PDL_BODY_KIND",
        value_enum
    )]
    pub body_kind: Vec<BodyKind>,
    /// Time of the body, µs, calibrated to fixed work [default: 4]
    #[arg(long, env = "PDL_BODY_US", conflicts_with = "body_bytes")]
    pub body_us: Option<Axis<f64>>,
    /// Bytes a node streams (hbm and l2 bodies)
    #[arg(long, env = "PDL_BODY_BYTES")]
    pub body_bytes: Option<Axis<u64>>,
    /// Who triggers in a block
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "thread",
        env = "PDL_TRIGGER_BY",
        value_enum
    )]
    pub trigger_by: Vec<TriggerBy>,
    /// State of L2 when a sample begins
    #[arg(long, value_delimiter = ',', default_value = "hot", env = "PDL_L2", value_enum)]
    pub l2: Vec<L2>,
    /// One drained chain a sample, or chains back to back; a sweep runs isolated ones beside
    /// pipelined ones, which shows how much those are contaminated
    #[arg(long, value_delimiter = ',', default_value = "isolated", env = "PDL_MODE", value_enum)]
    pub mode: Vec<Mode>,
}

impl AxesArgs {
    /// The axes.
    pub fn axes(&self) -> Axes {
        let grids = match (&self.grid, &self.waves) {
            (Some(grid), _) => distinct(&grid.0).into_iter().map(Grid::Blocks).collect(),
            (None, Some(waves)) => distinct(&waves.0).into_iter().map(Grid::Waves).collect(),
            (None, None) => vec![Grid::PerSm],
        };
        let bodies = match (&self.body_bytes, &self.body_us) {
            (Some(bytes), _) => distinct(&bytes.0).into_iter().map(Target::Bytes).collect(),
            (None, Some(us)) => {
                distinct(&us.0).into_iter().map(|us| Target::Ns(us * 1e3)).collect()
            }
            (None, None) => vec![Target::Ns(4000.0)],
        };
        Axes {
            triggers: match self.trigger[..] {
                [] => Trigger::defaults(),
                _ => distinct(&self.trigger),
            },
            arms: if self.arm.is_empty() { default_arms() } else { self.arm.clone() },
            nodes: distinct(&self.nodes.0),
            grids,
            block_threads: distinct(&self.block.0),
            shared_kib: distinct(&self.shared_kib.0),
            cluster_blocks: distinct(&self.cluster.0),
            preamble_kinds: distinct(&self.preamble_kind),
            preamble_us: distinct(&self.preamble_us.0),
            body_kinds: distinct(&self.body_kind),
            bodies,
            trigger_by: distinct(&self.trigger_by),
            l2: distinct(&self.l2),
            modes: distinct(&self.mode),
        }
    }
}
