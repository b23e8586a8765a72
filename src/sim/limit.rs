//! The limit: the shortest period that a chain's dependences and the constants of a device allow,
//! whatever the trigger; and the constants that the exposed time is divided by.
//!
//! Each bound below holds for every schedule; the largest is the limit. With `b` and `p` the body
//! and the preamble alone (`docs/limit.md` derives them):
//!
//! - full dependency: a node begins after its primary's end, so `b + full gap + entry + p`;
//! - programmatic: no sync returns before the primary's last end, so `b + release`; and no block
//!   triggers before it begins, so nodes begin no faster than one a `launch`;
//! - issue: an SM's schedulers issue the warp instructions of preamble and body one after another;
//! - memory: the bytes of a streaming body at the full rate of where they come from.
//!
//! No drain, contention or placement is in it: they are what a period may lose, not what it must.

use super::hop::Hop;
use super::load::Load;
use crate::chain::{Arm, BodyKind, Chain, Dependency, L2, Mode, PreambleKind};
use crate::oracle;
use crate::profile::Profile;
use crate::record::LimitBy;

/// The shortest period of an arm, and what sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Period, ns.
    pub ns: f64,
    /// The largest bound.
    pub by: LimitBy,
}

/// A hop's constants for dividing the exposed time, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopTimes {
    /// End of a grid to the time from which its values are there: at most, see [`hop_times`].
    pub flush_ns: f64,
    /// Last end of the primary to the return of syncs that waited.
    pub release_ns: f64,
    /// Last end of the primary to the last begin of the secondary over a full dependency.
    pub full_gap_ns: f64,
    /// Last trigger of the primary to the last begin of the secondary.
    pub launch_ns: f64,
    /// The same where the blocks' exits are the trigger.
    pub exit_launch_ns: f64,
    /// Begin of a block to its first useful instruction.
    pub entry_ns: f64,
    /// Mean to last end of a node.
    pub drain_ns: f64,
    /// Last arrival at a grid barrier to the return of the wait.
    pub barrier_ns: f64,
    /// The shortest wait at a grid barrier.
    pub acquire_ns: f64,
    /// What a chain costs once, a node.
    pub ends_ns: f64,
}

/// The constants of `chain` in `arm` on the device of `profile`; `None` for a chain that it cannot
/// hold.
///
/// The flush is no constant of a profile. A full dependency waits for it and an exit that triggers
/// does not, so their gaps in a graph differ by the flush and what resolving the dependency takes:
/// that difference is taken, at no more blocks than SMs (beyond, placing blocks hides it), and no
/// more than the release, of which it is a part.
pub fn hop_times(profile: &Profile, chain: &Chain, arm: Arm) -> Option<HopTimes> {
    let load = Load::of(profile, chain, arm).ok()?;
    let hop = load.hop;
    let one_each = load.resident.min(profile.device.sm_count);
    let graph = Hop::of(profile, Arm::Graph, one_each);
    let flush_ns = (graph.full_gap_ns - graph.exit_launch_ns).max(0.0).min(hop.release_ns);
    Some(HopTimes {
        flush_ns,
        release_ns: hop.release_ns,
        full_gap_ns: hop.full_gap_ns,
        launch_ns: hop.launch_ns,
        exit_launch_ns: hop.exit_launch_ns,
        entry_ns: hop.entry_ns,
        drain_ns: load.drain_ns,
        barrier_ns: hop.barrier_ns,
        acquire_ns: hop.acquire_ns,
        ends_ns: profile.instruments.chain_ns.value / f64::from(chain.nodes.max(1)),
    })
}

/// The limit of `chain` in `arm` on the device of `profile`, where body and preamble take `body_ns`
/// and `preamble_ns` alone; `None` for the sentinel, and for a chain that the device cannot hold.
pub fn limit(
    profile: &Profile,
    chain: &Chain,
    arm: Arm,
    body_ns: f64,
    preamble_ns: f64,
) -> Option<Limit> {
    if arm == Arm::Sentinel {
        return None;
    }
    let load = Load::of(profile, chain, arm).ok()?;
    let hop = load.hop;
    // Blocks that do not fit at once take turns: each slot runs its share of the bodies.
    let turns = f64::from(chain.shape.grid_blocks) / f64::from(load.capacity.max(1));
    let body_ns = body_ns * turns.max(1.0);
    let preamble_ns = preamble_ns.max(0.0);
    // An isolated chain has a hop less than nodes.
    let hops = match chain.mode {
        Mode::Isolated => f64::from(chain.hops()) / f64::from(chain.nodes.max(1)),
        Mode::Pipelined => 1.0,
    };
    let mut bounds = match (arm, arm.dependency()) {
        (Arm::Persistent, _) => {
            let wait_ns = hop.barrier_ns.max(hop.acquire_ns + preamble_ns);
            vec![(body_ns + hops * wait_ns, LimitBy::Barrier)]
        }
        (_, Dependency::Full) => {
            let behind_ns = hop.full_gap_ns + hop.entry_ns + preamble_ns;
            vec![(body_ns + hops * behind_ns, LimitBy::Launch)]
        }
        (Arm::Flags, _) => vec![
            // A block waits for one block of the primary: for none of the other's ends.
            (body_ns, LimitBy::Body),
            (hops * hop.launch_ns, LimitBy::LaunchRate),
        ],
        (_, Dependency::LaunchCompletion) => vec![
            (body_ns + hops * hop.release_ns, LimitBy::Release),
            (hops * hop.completion_launch_ns, LimitBy::LaunchRate),
        ],
        (_, Dependency::Programmatic) => vec![
            (body_ns + hops * hop.release_ns, LimitBy::Release),
            (hops * hop.launch_ns, LimitBy::LaunchRate),
        ],
    };
    bounds.extend(issue_ns(&load, chain, body_ns, preamble_ns).map(|ns| (ns, LimitBy::Issue)));
    bounds.extend(memory_ns(profile, chain).map(|ns| (ns, LimitBy::Memory)));
    let largest = bounds.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    largest.map(|(ns, by)| Limit { ns, by })
}

/// Time that the schedulers need for the multiply-adds of one node's preamble and body, were they
/// spread over all SMs; `None` where not both compute.
fn issue_ns(load: &Load, chain: &Chain, body_ns: f64, preamble_ns: f64) -> Option<f64> {
    if (chain.preamble.kind, chain.body.kind) != (PreambleKind::Alu, BodyKind::Fma) {
        return None;
    }
    let profile = load.profile;
    let device = &profile.device;
    let warps = f64::from(chain.shape.warps());
    let schedulers = f64::from(device.sm_schedulers);
    let evenly = f64::from(chain.shape.grid_blocks) * warps / f64::from(device.sm_count);
    // Alone, a wave's fullest SM sets the pace.
    let fullest = f64::from(load.resident.div_ceil(device.sm_count)) * warps;
    let waves = (f64::from(chain.shape.grid_blocks) / f64::from(load.capacity.max(1))).max(1.0);
    let alone = (fullest / schedulers).ceil().max(1.0) * waves;
    let spread = evenly / schedulers / alone;
    let busy = profile.issue.busy_warp_cycles.value / profile.issue.lone_warp_cycles.value;
    let turns_ns = (load.head_ns + load.tail_ns) * waves;
    let work_ns = (body_ns - turns_ns).max(0.0) + preamble_ns * waves;
    Some(work_ns * (spread * busy).min(1.0))
}

/// Time that the bytes of one node take at the full rate of their memory; `None` for bodies that
/// read none.
fn memory_ns(profile: &Profile, chain: &Chain) -> Option<f64> {
    if !chain.body.kind.streams() {
        return None;
    }
    let bytes = oracle::node_words(chain) as f64 * 4.0;
    let hot = chain.body.kind == BodyKind::L2 && chain.l2 == L2::Hot;
    let rate = if hot { &profile.memory.l2_bytes_per_ns } else { &profile.memory.hbm_bytes_per_ns };
    Some(bytes / rate.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::chain;
    use crate::chain::{Preamble, Shape};
    use crate::profile::BUILT_IN;

    fn close(limit: Option<Limit>, ns: f64, by: LimitBy) {
        let limit = limit.unwrap();
        assert_eq!(limit.by, by, "{limit:?}");
        assert!((limit.ns - ns).abs() < 0.5, "{limit:?} {ns}");
    }

    #[test]
    fn each_bound_sets_the_limit_where_it_is_the_largest() {
        let profile = &*BUILT_IN;
        let hop = Hop::of(profile, Arm::Graph, 132);
        let spin = Chain {
            body: crate::chain::Body { kind: BodyKind::Spin, ..chain().body },
            preamble: Preamble { kind: PreambleKind::Spin, ..chain().preamble },
            ..chain()
        };
        let of = |chain: &Chain, arm| limit(profile, chain, arm, 4000.0, 2000.0);
        // Fifty hops of 51 nodes.
        let hops = 50.0 / 51.0;
        close(of(&spin, Arm::GraphPdl), 4000.0 + hops * hop.release_ns, LimitBy::Release);
        let full = 4000.0 + hops * (2000.0 + hop.full_gap_ns + hop.entry_ns);
        close(of(&spin, Arm::Graph), full, LimitBy::Launch);
        close(of(&spin, Arm::GraphFull), full, LimitBy::Launch);
        let wait = hop.barrier_ns.max(2000.0 + hop.acquire_ns);
        close(of(&spin, Arm::Persistent), 4000.0 + hops * wait, LimitBy::Barrier);
        let crowded = Chain { shape: Shape { grid_blocks: 528, ..spin.shape }, ..spin };
        let rate = hops * Hop::of(profile, Arm::Graph, 528).launch_ns;
        close(limit(profile, &crowded, Arm::GraphPdl, 100.0, 0.0), rate, LimitBy::LaunchRate);
        assert_eq!(of(&spin, Arm::Sentinel), None);
        // Multiply-adds of preamble and body share the schedulers.
        let busy = profile.issue.busy_warp_cycles.value / profile.issue.lone_warp_cycles.value;
        let tail = profile.block.tail_ns.value + 128.0 * profile.block.tail_thread_ns.value;
        let work = 6000.0 - profile.block.head_ns.value - tail;
        close(of(&chain(), Arm::GraphPdl), work * busy, LimitBy::Issue);
        // On half of the SMs the other half is free for the next node.
        let shape = Shape { grid_blocks: 66, ..chain().shape };
        let half = of(&Chain { shape, ..chain() }, Arm::GraphPdl).unwrap();
        assert_eq!(half.by, LimitBy::Release);
        // 26.4 GB/s of a body that lasts no time alone.
        let mut hbm = spin;
        hbm.body.kind = BodyKind::Hbm;
        hbm.body.units = 1 << 18;
        let bytes = f64::from(132 << 18);
        let rate = profile.memory.hbm_bytes_per_ns.value;
        close(limit(profile, &hbm, Arm::GraphPdl, 100.0, 0.0), bytes / rate, LimitBy::Memory);
        let shape = Shape { shared_bytes: 300 << 10, ..chain().shape };
        assert_eq!(of(&Chain { shape, ..chain() }, Arm::GraphPdl), None, "it fits no SM");
    }

    #[test]
    fn no_constant_lets_a_period_of_the_model_fall_below_the_limit() {
        use crate::chain::Trigger;
        use crate::profile::Model;
        use crate::sim::{SimDevice, predict};
        let device = SimDevice::h200(1);
        for (blocks, threads) in [(1, 128), (66, 128), (132, 128), (132, 512), (264, 128)] {
            let shape = Shape { grid_blocks: blocks, block_threads: threads, ..chain().shape };
            let asked = Chain { shape, ..chain() };
            let found = crate::measure::calibrate(&device, &asked).unwrap();
            let (body_ns, preamble_ns) = (found.body_ns.unwrap(), found.preamble_ns.unwrap());
            let at = |k| Trigger::Segment { at: k, of: 8 };
            for trigger in [Trigger::AtEntry, at(0), at(4), at(6), Trigger::Implicit] {
                let chain = found.chain.with_trigger(trigger);
                for arm in [Arm::Graph, Arm::GraphPdl, Arm::StreamPdl] {
                    let most = limit(&BUILT_IN, &chain, arm, body_ns, preamble_ns).unwrap();
                    let period = predict(&BUILT_IN, Model::Events, &chain, arm).unwrap();
                    let which = (arm, trigger, blocks);
                    assert!(period > most.ns - 32.0, "{which:?}: {period} {most:?}");
                }
            }
        }
    }

    #[test]
    fn the_flush_is_a_part_of_the_release() {
        for blocks in [1, 16, 132, 528, 2112] {
            let shape = Shape { grid_blocks: blocks, ..chain().shape };
            for arm in [Arm::Graph, Arm::Stream] {
                let times = hop_times(&BUILT_IN, &Chain { shape, ..chain() }, arm).unwrap();
                assert!(times.flush_ns > 50.0 && times.flush_ns <= times.release_ns, "{times:?}");
            }
        }
    }
}
