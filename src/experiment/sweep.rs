//! The trigger sweep: the product of the axes, grouped so that triggers and arms are compared.

use crate::chain::*;
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::measure::{Plan, Stopping};
use crate::record::PlanPoint;

/// The most groups of one sweep.
const MAX_GROUPS: usize = 10_000;

/// Blocks of a grid, given or derived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grid {
    /// Blocks.
    Blocks(u32),
    /// Waves: 1 fills the device once at this shape.
    Waves(f64),
    /// One block an SM.
    PerSm,
}

/// The values of every axis of a sweep.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Triggers, for the arms that sweep them.
    pub triggers: Vec<Trigger>,
    /// Arms.
    pub arms: Vec<Arm>,
    /// Nodes.
    pub nodes: Vec<u32>,
    /// Grids.
    pub grids: Vec<Grid>,
    /// Threads in a block.
    pub block_threads: Vec<u32>,
    /// Dynamic shared memory, KiB.
    pub shared_kib: Vec<u32>,
    /// Blocks in a cluster.
    pub cluster_blocks: Vec<u32>,
    /// Preambles.
    pub preamble_kinds: Vec<PreambleKind>,
    /// Preamble times, µs.
    pub preamble_us: Vec<f64>,
    /// Bodies.
    pub body_kinds: Vec<BodyKind>,
    /// Amounts of body.
    pub bodies: Vec<Target>,
    /// Who triggers.
    pub trigger_by: Vec<TriggerBy>,
    /// States of L2.
    pub l2: Vec<L2>,
    /// Modes.
    pub modes: Vec<Mode>,
}

impl Default for Axes {
    /// Those of the main job: twelve triggers, streams and graphs with their controls, 50 nodes, one
    /// block of 128 threads an SM, a preamble of 2 µs, bodies of multiply-adds and of streaming.
    fn default() -> Self {
        let chain = Chain::default();
        let body_kinds = vec![BodyKind::Fma, BodyKind::Hbm];
        Axes { grids: vec![Grid::PerSm], body_kinds, ..Axes::of(&chain) }
    }
}

impl Axes {
    /// All default triggers and arms of one chain. Of shared memory, whole KiB are taken.
    pub fn of(chain: &Chain) -> Axes {
        let shape = &chain.shape;
        Axes {
            triggers: Trigger::defaults(),
            arms: default_arms(),
            nodes: vec![chain.nodes],
            grids: vec![Grid::Blocks(shape.grid_blocks)],
            block_threads: vec![shape.block_threads],
            shared_kib: vec![shape.shared_bytes.div_ceil(1024)],
            cluster_blocks: vec![shape.cluster_blocks],
            preamble_kinds: vec![chain.preamble.kind],
            preamble_us: vec![chain.preamble.target_ns / 1e3],
            body_kinds: vec![chain.body.kind],
            bodies: vec![chain.body.target],
            trigger_by: vec![chain.trigger_by],
            l2: vec![chain.l2],
            modes: vec![chain.mode],
        }
    }

    /// Refuses an axis without a value.
    ///
    /// # Errors
    /// A usage error that names it.
    pub fn check(&self) -> Result<()> {
        let empty = [
            ("triggers", self.triggers.is_empty()),
            ("arms", self.arms.is_empty()),
            ("nodes", self.nodes.is_empty()),
            ("grids", self.grids.is_empty()),
            ("block_threads", self.block_threads.is_empty()),
            ("shared_kib", self.shared_kib.is_empty()),
            ("cluster_blocks", self.cluster_blocks.is_empty()),
            ("preamble_kinds", self.preamble_kinds.is_empty()),
            ("preamble_us", self.preamble_us.is_empty()),
            ("body_kinds", self.body_kinds.is_empty()),
            ("bodies", self.bodies.is_empty()),
            ("trigger_by", self.trigger_by.is_empty()),
            ("l2", self.l2.is_empty()),
            ("modes", self.modes.is_empty()),
        ];
        match empty.iter().find(|(_, empty)| *empty) {
            None => Ok(()),
            Some((axis, _)) => Err(Error::usage(format!("sweep over {axis}"), "it has no value")),
        }
    }

    /// The same with isolated chains beside pipelined ones: what pipelined chains seem to save is
    /// contaminated by the chain before, and how much shows only beside isolated ones.
    pub fn with_isolated(mut self) -> Axes {
        if self.modes.contains(&Mode::Pipelined) && !self.modes.contains(&Mode::Isolated) {
            self.modes.insert(0, Mode::Isolated);
        }
        self
    }
}

/// Stream and graph, each with its control and its programmatic arm.
pub fn default_arms() -> Vec<Arm> {
    vec![Arm::Stream, Arm::StreamFull, Arm::StreamPdl, Arm::Graph, Arm::GraphFull, Arm::GraphPdl]
}

/// The plan of a sweep. Baselines, the A/A arm and the sentinel of what was asked for are added:
/// an effect without them would have nothing to stand on.
///
/// # Errors
/// A usage error for what no GPU could run, or too large a product.
pub fn plan(axes: &Axes, seed: u64, stopping: Stopping, device: &dyn Device) -> Result<Plan> {
    Ok(plan_of(&chains(axes, device)?, &axes.arms, &axes.triggers, seed, stopping))
}

/// The plan that compares `arms` at `triggers` on every one of these chains: a group each. What
/// effects stand on is added, as in [`plan`].
pub fn plan_of(
    chains: &[Chain],
    asked: &[Arm],
    triggers: &[Trigger],
    seed: u64,
    stopping: Stopping,
) -> Plan {
    let arms = with_controls(asked);
    let mut plan = Plan { points: Vec::new(), seed, stopping };
    // A control that only an arm with a trigger of its own needs is not swept.
    let swept = asked.iter().any(|arm| arm.sweeps_trigger());
    let triggers = if swept { triggers } else { &[] };
    for (&chain, group) in chains.iter().zip(0..) {
        group_points(&mut plan.points, group, chain, &arms, triggers);
    }
    let arms = plan.points.iter().flat_map(|point| &point.arms);
    let effects = arms.filter(|arm| arm.baseline().is_some()).count();
    plan.stopping = plan.stopping.for_effects(effects);
    plan
}

fn with_controls(asked: &[Arm]) -> Vec<Arm> {
    let mut arms: Vec<Arm> = asked.to_vec();
    arms.extend(asked.iter().filter_map(|arm| arm.baseline()));
    arms.extend(asked.iter().filter_map(|arm| arm.full_control()));
    // The noise floor is measured on the graph baseline, in every run, and on the stream's where
    // something is held against it.
    arms.extend([Arm::Graph, Arm::GraphAa, Arm::Sentinel]);
    if arms.contains(&Arm::Stream) {
        arms.push(Arm::StreamAa);
    }
    arms.sort();
    arms.dedup();
    arms
}

/// Arms without a trigger share a point; every trigger has its own.
fn group_points(
    points: &mut Vec<PlanPoint>,
    group: u32,
    chain: Chain,
    arms: &[Arm],
    triggers: &[Trigger],
) {
    let (sweeping, fixed): (Vec<Arm>, Vec<Arm>) = arms.iter().partition(|arm| arm.sweeps_trigger());
    let mut push = |trigger: Option<Trigger>, arms: Vec<Arm>| {
        let point = format!("p{:03}", points.len());
        let chain = trigger.map_or(chain, |trigger| chain.with_trigger(trigger));
        points.push(PlanPoint { point, group, trigger, arms, chain });
    };
    push(None, fixed);
    if sweeping.is_empty() {
        return;
    }
    // The launch-completion arm's control is the implicit one, whatever is swept.
    let needs_implicit =
        arms.contains(&Arm::GraphCompletion) && !triggers.contains(&Trigger::Implicit);
    for &trigger in triggers {
        push(Some(trigger), sweeping.clone());
    }
    if needs_implicit {
        push(Some(Trigger::Implicit), vec![Arm::GraphFull]);
    }
}

/// Every chain of the product, checked, its grid resolved on `device`; triggers and arms are left
/// to the points.
///
/// # Errors
/// A usage error for what no GPU could run, or too large a product.
pub fn chains(axes: &Axes, device: &dyn Device) -> Result<Vec<Chain>> {
    let shapes = axes.block_threads.len() * axes.shared_kib.len() * axes.cluster_blocks.len();
    let groups = axes.nodes.len()
        * axes.grids.len()
        * shapes
        * axes.preamble_kinds.len()
        * axes.preamble_us.len()
        * axes.body_kinds.len()
        * axes.bodies.len()
        * axes.trigger_by.len()
        * axes.l2.len()
        * axes.modes.len();
    if groups > MAX_GROUPS {
        return Err(Error::usage(
            "plan the sweep",
            format!("the axes make {groups} groups of points, more than {MAX_GROUPS}"),
        )
        .remedy("use shorter lists"));
    }
    if let Some(kib) = axes.shared_kib.iter().find(|&&kib| kib > MAX_SHARED_BYTES / 1024) {
        return Err(Error::usage(
            format!("use --shared-kib {kib}"),
            "no GPU allows more than 227 KiB a block",
        ));
    }
    let mut chains = vec![Chain {
        nodes: axes.nodes[0],
        shape: Shape::default(),
        preamble: Preamble { kind: axes.preamble_kinds[0], target_ns: 0.0, units: 0 },
        body: Body { kind: axes.body_kinds[0], target: axes.bodies[0], units: 0 },
        trigger: Trigger::Implicit,
        trigger_by: axes.trigger_by[0],
        l2: axes.l2[0],
        mode: axes.modes[0],
    }];
    // The first axis varies slowest.
    spread(&mut chains, &axes.modes, |chain, &mode| chain.mode = mode);
    spread(&mut chains, &axes.l2, |chain, &l2| chain.l2 = l2);
    spread(&mut chains, &axes.nodes, |chain, &nodes| chain.nodes = nodes);
    spread(&mut chains, &axes.body_kinds, |chain, &kind| chain.body.kind = kind);
    spread(&mut chains, &axes.bodies, |chain, &target| chain.body.target = target);
    spread(&mut chains, &axes.preamble_kinds, |chain, &kind| chain.preamble.kind = kind);
    spread(&mut chains, &axes.preamble_us, |chain, &us| chain.preamble.target_ns = us * 1e3);
    spread(&mut chains, &axes.trigger_by, |chain, &by| chain.trigger_by = by);
    spread(&mut chains, &axes.cluster_blocks, |chain, &n| chain.shape.cluster_blocks = n);
    spread(&mut chains, &axes.shared_kib, |chain, &kib| chain.shape.shared_bytes = kib * 1024);
    spread(&mut chains, &axes.block_threads, |chain, &n| chain.shape.block_threads = n);
    let mut resolved = Vec::new();
    for chain in chains {
        for &grid in &axes.grids {
            let mut chain = chain;
            chain.shape.grid_blocks = chain.shape.cluster_blocks.max(1);
            chain.validate()?;
            chain.shape.grid_blocks = blocks(grid, &chain, device)?;
            chain.validate()?;
            resolved.push(chain);
        }
    }
    Ok(resolved)
}

fn spread<T>(chains: &mut Vec<Chain>, values: &[T], set: impl Fn(&mut Chain, &T)) {
    let combine = |chain: &Chain| {
        let one = |value| {
            let mut chain = *chain;
            set(&mut chain, value);
            chain
        };
        values.iter().map(one).collect::<Vec<_>>()
    };
    *chains = chains.iter().flat_map(combine).collect();
}

/// Whole clusters, at least one.
fn blocks(grid: Grid, chain: &Chain, device: &dyn Device) -> Result<u32> {
    let sms = f64::from(device.facts().sm_count);
    let cluster = chain.shape.cluster_blocks;
    let whole = |blocks: f64| (blocks / f64::from(cluster)).round().max(1.0) * f64::from(cluster);
    match grid {
        Grid::Blocks(blocks) => Ok(blocks),
        Grid::PerSm => Ok(whole(sms) as u32),
        Grid::Waves(waves) if waves > 0.0 => {
            let blocks = whole(waves * sms * resident(chain, device)?);
            if blocks <= f64::from(MAX_GRID_BLOCKS) {
                return Ok(blocks as u32);
            }
            Err(Error::usage(
                format!("use --waves {waves:e}"),
                format!("no GPU allows more than {MAX_GRID_BLOCKS} blocks"),
            ))
        }
        Grid::Waves(waves) => {
            Err(Error::usage(format!("use --waves {waves}"), "it must be above 0"))
        }
    }
}

/// Blocks of this shape that an SM holds at once; 1 for a shape that does not fit, which becomes a
/// skipped row when it is prepared.
fn resident(chain: &Chain, device: &dyn Device) -> Result<f64> {
    let probe = Chain { nodes: 2, ..*chain };
    match device.prepare(&probe, Arm::GraphFull) {
        Ok(prepared) => Ok(prepared.proof().blocks_per_sm.map_or(1.0, f64::from)),
        Err(error) if error.kind() == Kind::Unsupported => Ok(1.0),
        Err(error) => Err(error),
    }
}
