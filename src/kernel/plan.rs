//! The plan of a chain file's sweep: a group for each set of axis values.

use super::Build;
use crate::chain::{
    Arm, Body, BodyKind, Chain, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use crate::chain_file::{Loaded, Resolved};
use crate::measure::{Plan, Stopping};
use crate::record::{KernelNode, KernelRun, KernelVariant, PlanPoint};

/// One group a variant; arms as in a sweep, each trigger a choice of sites.
pub fn plan(build: &Build, triggers: &[Trigger], l2: L2, seed: u64, stopping: Stopping) -> Plan {
    const FIXED: [Arm; 6] =
        [Arm::Stream, Arm::StreamAa, Arm::Graph, Arm::GraphAa, Arm::GraphCompletion, Arm::Sentinel];
    const SWEPT: [Arm; 4] = [Arm::StreamFull, Arm::StreamPdl, Arm::GraphFull, Arm::GraphPdl];
    let mut points: Vec<PlanPoint> = Vec::new();
    for (variant, resolved) in build.variants.iter().enumerate() {
        let chain = chain(variant, resolved, l2);
        let mut push = |trigger: Option<Trigger>, arms: &[Arm]| {
            let point = format!("p{:03}", points.len());
            let chain = trigger.map_or(chain, |trigger| chain.with_trigger(trigger));
            let group = variant as u32;
            points.push(PlanPoint { point, group, trigger, arms: arms.to_vec(), chain });
        };
        push(None, &FIXED);
        triggers.iter().for_each(|&trigger| push(Some(trigger), &SWEPT));
    }
    let effects =
        points.iter().flat_map(|p| &p.arms).filter(|arm| arm.baseline().is_some()).count();
    Plan { points, seed, stopping: stopping.for_effects(effects) }
}

/// The same plan, and behind it every group once more with chains back to back. Isolated groups stay
/// where they were, so that policies are theirs.
pub fn with_pipelined(mut plan: Plan) -> Plan {
    let groups = plan.groups().len() as u32;
    let isolated = plan.points.clone();
    for mut point in isolated {
        point.point = format!("p{:03}", plan.points.len());
        point.group += groups;
        point.chain.mode = Mode::Pipelined;
        plan.points.push(point);
    }
    let arms = plan.points.iter().flat_map(|p| &p.arms);
    let effects = arms.filter(|arm| arm.baseline().is_some()).count();
    Plan { stopping: plan.stopping.for_effects(effects), ..plan }
}

/// The chain as the rest of the program knows it: its length, and the shape of its first kernel.
fn chain(variant: usize, resolved: &Resolved, l2: L2) -> Chain {
    let first = &resolved.nodes[0];
    Chain {
        nodes: resolved.nodes.len() as u32 * resolved.repeat,
        shape: Shape {
            grid_blocks: u32::try_from(first.blocks()).unwrap_or(u32::MAX),
            block_threads: first.threads(),
            shared_bytes: first.shared_bytes,
            cluster_blocks: first.cluster.iter().product(),
        },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body: Body { kind: BodyKind::Kernel, target: Target::Ns(0.0), units: variant as u64 },
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2,
        mode: Mode::Isolated,
    }
}

/// What the manifest keeps.
pub fn record(
    loaded: &Loaded,
    build: &Build,
    triggers: &[Trigger],
    compiler: &str,
    unsafe_no_sync: bool,
) -> KernelRun {
    let variants = build.variants.iter().map(|resolved| KernelVariant {
        axes: resolved.axes.clone(),
        nodes: resolved
            .nodes
            .iter()
            .map(|node| KernelNode {
                kernel: node.kernel.clone(),
                grid: node.grid,
                block: node.block,
                shared_bytes: node.shared_bytes,
                cluster: node.cluster,
            })
            .collect(),
        repeat: resolved.repeat,
    });
    KernelRun {
        name: loaded.name(),
        policy: loaded.policy_axis().map(str::to_owned),
        variants: variants.collect(),
        compiler: compiler.lines().last().unwrap_or("").to_owned(),
        unsafe_no_sync,
        sha256: build.fingerprint(triggers),
    }
}
