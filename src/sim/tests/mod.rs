//! The simulated device against what was measured, and against its own rules.

mod measured;
mod rules;
mod seam;
mod stamped;

use super::*;
use crate::chain::{
    Body, BodyKind, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use crate::profile::BUILT_IN;

const AT_ENTRY: Trigger = Trigger::AtEntry;
const IMPLICIT: Trigger = Trigger::Implicit;

const fn at(at: u32, of: u32) -> Trigger {
    Trigger::Segment { at, of }
}

fn chain(preamble: (PreambleKind, u64), body: (BodyKind, u64)) -> Chain {
    Chain {
        nodes: 50,
        shape: Shape::default(),
        preamble: Preamble { kind: preamble.0, target_ns: 0.0, units: preamble.1 },
        body: Body { kind: body.0, target: Target::Ns(0.0), units: body.1 },
        trigger: IMPLICIT,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

fn empty(grid_blocks: u32) -> Chain {
    let chain = chain((PreambleKind::None, 0), (BodyKind::Spin, 0));
    Chain { shape: Shape { grid_blocks, ..chain.shape }, ..chain }
}

fn spin() -> Chain {
    chain((PreambleKind::Spin, 2000), (BodyKind::Spin, 4000))
}

/// A multiply-add preamble of 2 µs and body of 4 µs.
fn fma() -> Chain {
    let units = |ns: f64| (ns * sm_ghz(&BUILT_IN) / BUILT_IN.issue.lone_warp_cycles.value) as u64;
    chain((PreambleKind::Alu, units(2000.0)), (BodyKind::Fma, units(4000.0)))
}

/// A node of 8 MiB from HBM with enough threads to fill the memory.
pub(super) fn hbm(preamble: PreambleKind, prefetch_bytes: u64) -> Chain {
    let chain = chain((preamble, prefetch_bytes), (BodyKind::Hbm, 65_536));
    Chain { shape: Shape { grid_blocks: 128, block_threads: 256, ..chain.shape }, ..chain }
}

fn sample_ns(device: &SimDevice, chain: &Chain, arm: Arm) -> f64 {
    let mut prepared = device.prepare(chain, arm).unwrap();
    prepared.sample().unwrap();
    prepared.sample().unwrap().duration_ns
}

fn closed() -> SimDevice {
    SimDevice::new(BUILT_IN.clone(), Model::Closed, 1)
}

/// Marginal period of the closed form between 50 and 200 nodes, as in the measurements, ns.
fn period_ns(chain: &Chain, arm: Arm) -> f64 {
    period_on(&closed(), chain, arm)
}

/// The same on a device that keeps the values of the chain before, which saves executing them.
fn period_on(device: &SimDevice, chain: &Chain, arm: Arm) -> f64 {
    let [short, long] = [50, 200].map(|n| sample_ns(device, &chain.with_nodes(n), arm));
    (long - short) / 150.0
}

/// The chain without a preamble.
fn bare(chain: Chain) -> Chain {
    let preamble = Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 };
    Chain { preamble, ..chain }
}
