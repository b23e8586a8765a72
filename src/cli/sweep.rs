//! Flags of `pdl sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use super::{BackendChoice, Format, distinct, parse_switch, parse_trigger};
use crate::axes::Axis;
use crate::chain::*;
use crate::error::{Error, Result};
use crate::experiment::{Axes, Grid, default_arms};
use crate::measure::Stopping;

/// Arguments of `pdl sweep`.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
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
    /// One drained chain a sample, or chains back to back
    #[arg(long, value_delimiter = ',', default_value = "isolated", env = "PDL_MODE", value_enum)]
    pub mode: Vec<Mode>,
    /// Device
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
    /// Seconds in place of a minute, wider intervals
    #[arg(long, env = "PDL_QUICK", value_parser = parse_switch)]
    pub quick: bool,
    /// Print the points and the expected time, measure nothing
    #[arg(long, env = "PDL_DRY_RUN", value_parser = parse_switch)]
    pub dry_run: bool,
    /// Measure without the gate: host launch time is inside
    #[arg(long, env = "PDL_NO_GATE", value_parser = parse_switch)]
    pub no_gate: bool,
    /// Do not bring the launch path into one state before each sample: arms leak into each other
    #[arg(long, env = "PDL_NO_CONDITIONING", value_parser = parse_switch)]
    pub no_conditioning: bool,
    /// Run directory [default: results/<utc>-sweep]
    #[arg(long, env = "PDL_OUT", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was killed
    #[arg(long, env = "PDL_RESUME")]
    pub resume: Option<PathBuf>,
    /// Seed of the order of arms
    #[arg(long, default_value_t = 1, env = "PDL_SEED")]
    pub seed: u64,
    /// Fewest rounds of a group (every arm once a round)
    #[arg(long, env = "PDL_ROUNDS_MIN")]
    pub rounds_min: Option<u32>,
    /// Most rounds of a group
    #[arg(long, env = "PDL_ROUNDS_MAX")]
    pub rounds_max: Option<u32>,
    /// Seconds of device time a group may take
    #[arg(long, env = "PDL_BUDGET_S", value_parser = parse_budget)]
    pub budget_s: Option<Duration>,
    /// Seconds after which a sample that does not end is given up, and the device with it
    #[arg(long, default_value_t = 60, env = "PDL_DEADLINE_S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: u64,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t, env = "PDL_FORMAT")]
    pub format: Format,
}

fn parse_budget(text: &str) -> std::result::Result<Duration, String> {
    /// A day: a group that takes longer is a mistake.
    const MOST_S: f64 = 86_400.0;
    let seconds = text.trim().parse().ok().filter(|s| (0.0..=MOST_S).contains(s));
    let budget = seconds.map(Duration::from_secs_f64).filter(|budget| !budget.is_zero());
    budget.ok_or_else(|| format!("it is not a number of seconds above 0, up to {MOST_S}"))
}

impl SweepArgs {
    /// The arguments that no flag and no variable changes, and those of `PDL_*`.
    pub fn from_environment() -> Self {
        #[derive(Parser)]
        struct Wrapper {
            #[command(flatten)]
            args: SweepArgs,
        }
        Wrapper::parse_from(["trigger_sweep"]).args
    }

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

    /// When to stop.
    ///
    /// # Errors
    /// A usage error for numbers that contradict one another.
    pub fn stopping(&self) -> Result<Stopping> {
        let mut stopping = if self.quick { Stopping::quick() } else { Stopping::default() };
        if let Some(rounds) = self.rounds_min {
            stopping.rounds_min = rounds;
            stopping.rounds_max = stopping.rounds_max.max(rounds);
        }
        if let Some(rounds) = self.rounds_max {
            stopping.rounds_max = rounds;
            stopping.rounds_min = stopping.rounds_min.min(rounds);
        }
        if stopping.rounds_min == 0 || self.rounds_min > Some(stopping.rounds_max) {
            return Err(Error::usage(
                "use these --rounds-min and --rounds-max",
                "there is at least one round, and the fewest are not above the most",
            ));
        }
        if let Some(budget) = self.budget_s {
            stopping.group_budget = budget;
        }
        Ok(stopping)
    }
}
