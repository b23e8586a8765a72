//! From a chain and an arm to kernels and their arguments.

use super::memory::{StreamBuffer, VECTOR_BYTES, Workspace};
use super::shim::{ChainArgs, Flags, Kernel, Launch, Persistent, sys};
use crate::chain::{
    Arm, Body, BodyKind, Chain, Dependency, L2, Preamble, PreambleKind, Shape, Target, Trigger,
    TriggerBy,
};
use crate::oracle;

/// Multiply-adds of one step of the FMA body and preamble (`kStepFma` in work.cuh).
pub const STEP_FMA: u64 = 32;
/// Vectors a thread loads in one step of a streaming body (`kStepVectors` in work.cuh).
pub const STEP_VECTORS: u64 = 8;
/// The same of the narrow variant, for blocks too large for the registers of the wide one.
pub const STEP_VECTORS_NARROW: u64 = 4;
const WIDE_THREADS: u32 = 512;

/// The kernel that `arm` runs at `chain.trigger`.
pub fn kernel(chain: &Chain, arm: Arm, stamped: bool) -> Kernel {
    let (family, trigger) = match arm {
        Arm::Stream | Arm::StreamAa | Arm::Graph | Arm::GraphAa | Arm::Sentinel => {
            (sys::PDL_FAMILY_CHAIN, sys::PDL_TRIGGER_NATIVE)
        }
        Arm::Flags => (sys::PDL_FAMILY_FLAGS, sys::PDL_TRIGGER_AT_ENTRY),
        Arm::Persistent => (sys::PDL_FAMILY_PERSISTENT, sys::PDL_TRIGGER_NATIVE),
        Arm::GraphCompletion => (sys::PDL_FAMILY_CHAIN, sys::PDL_TRIGGER_IMPLICIT),
        Arm::StreamFull | Arm::StreamPdl | Arm::GraphFull | Arm::GraphPdl => {
            (sys::PDL_FAMILY_CHAIN, trigger(chain.trigger))
        }
    };
    let body = match chain.body.kind {
        BodyKind::Fma => sys::PDL_BODY_FMA,
        BodyKind::Hbm | BodyKind::L2 if chain.shape.block_threads > WIDE_THREADS => {
            sys::PDL_BODY_STREAM_NARROW
        }
        BodyKind::Hbm | BodyKind::L2 => sys::PDL_BODY_STREAM,
        BodyKind::Spin => sys::PDL_BODY_SPIN,
        BodyKind::None | BodyKind::Kernel => sys::PDL_BODY_NONE,
    };
    Kernel { family, trigger, body, stamped: stamped.into() }
}

fn trigger(trigger: Trigger) -> u32 {
    match trigger {
        // Sites are of the user's own kernels, which are launched elsewhere.
        Trigger::Implicit | Trigger::Site(_) => sys::PDL_TRIGGER_IMPLICIT,
        Trigger::AtEntry => sys::PDL_TRIGGER_AT_ENTRY,
        Trigger::Segment { at: 0, .. } => sys::PDL_TRIGGER_AFTER_SYNC,
        Trigger::Segment { at, of } if at == of => sys::PDL_TRIGGER_BEFORE_STORE,
        Trigger::Segment { .. } => sys::PDL_TRIGGER_IN_BODY,
        Trigger::After => sys::PDL_TRIGGER_AFTER,
    }
}

/// The launch of one node behind `dependency`. Launch-completion edges are set on the capture, so
/// the launch itself carries no attribute.
pub fn launch(chain: &Chain, dependency: Dependency) -> Launch {
    Launch {
        grid_blocks: chain.shape.grid_blocks,
        block_threads: chain.shape.block_threads,
        shared_bytes: shared_bytes(chain),
        cluster_blocks: chain.shape.cluster_blocks,
        dependency: match dependency {
            Dependency::Programmatic => sys::PDL_DEPENDENCY_PROGRAMMATIC,
            Dependency::Full | Dependency::LaunchCompletion => sys::PDL_DEPENDENCY_FULL,
        },
    }
}

/// Dynamic shared memory of a block: what was asked for, or what the prefetch needs.
pub fn shared_bytes(chain: &Chain) -> u32 {
    let prefetch = match chain.preamble.kind {
        PreambleKind::PrefetchSmem => {
            let vectors =
                (chain.preamble.units / VECTOR_BYTES).min(chain.body.units / VECTOR_BYTES);
            vectors * VECTOR_BYTES
        }
        _ => 0,
    };
    chain.shape.shared_bytes.max(u32::try_from(prefetch).unwrap_or(u32::MAX))
}

/// Steps of the body, and the step that the trigger comes before.
fn steps(chain: &Chain) -> (u64, u64) {
    let units = chain.body.units;
    let steps = match chain.body.kind {
        BodyKind::Fma => units / STEP_FMA,
        BodyKind::Hbm | BodyKind::L2 => {
            let wide = chain.shape.block_threads <= WIDE_THREADS;
            let vectors = if wide { STEP_VECTORS } else { STEP_VECTORS_NARROW };
            (units / VECTOR_BYTES).div_ceil(u64::from(chain.shape.block_threads) * vectors)
        }
        BodyKind::Spin => units,
        BodyKind::None | BodyKind::Kernel => 0,
    };
    let before = match chain.trigger {
        Trigger::Segment { at, of } => steps * u64::from(at) / u64::from(of),
        _ => 0,
    };
    (steps, before)
}

/// Vectors that all blocks of a node read.
fn node_vectors(chain: &Chain) -> u64 {
    chain.body.units / VECTOR_BYTES * u64::from(chain.shape.grid_blocks)
}

/// Arguments of node `node`. `stamps` is the device address of the chain's stamps, 0 for none.
pub fn args(
    chain: &Chain,
    node: u32,
    workspace: &Workspace,
    buffer: Option<&StreamBuffer>,
    stamps: u64,
) -> ChainArgs {
    let (body_steps, trigger_step) = steps(chain);
    let streams = chain.body.kind.streams();
    let prefetches =
        matches!(chain.preamble.kind, PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem);
    let region = buffer.filter(|_| streams).map_or(0, |buffer| {
        let (first_word, _) = oracle::region(chain, node, 0, buffer.words());
        buffer.address() + first_word * 4
    });
    let stamp_bytes = size_of::<super::shim::Stamp>() as u64;
    let grid = u64::from(chain.shape.grid_blocks);
    ChainArgs {
        previous: workspace.previous(node) as *const u64,
        values: workspace.values(node) as *mut u64,
        region: region as *const _,
        stamps: if stamps == 0 { 0 } else { stamps + u64::from(node) * grid * stamp_bytes }
            as *mut _,
        body_units: if streams { chain.body.units / VECTOR_BYTES } else { chain.body.units },
        body_steps,
        trigger_step,
        preamble_units: chain.preamble.units / if prefetches { VECTOR_BYTES } else { 1 },
        preamble: match chain.preamble.kind {
            PreambleKind::None => sys::PDL_PREAMBLE_NONE,
            PreambleKind::Alu => sys::PDL_PREAMBLE_ALU,
            PreambleKind::Spin => sys::PDL_PREAMBLE_SPIN,
            PreambleKind::PrefetchL2 => sys::PDL_PREAMBLE_PREFETCH_L2,
            PreambleKind::PrefetchSmem => sys::PDL_PREAMBLE_PREFETCH_SMEM,
        },
        node,
        trigger_by_block: (chain.trigger_by == TriggerBy::Block).into(),
        one: 1.0,
        zero: 0.0,
        reserved: 0,
    }
}

/// Flags that node `node` waits for and sets.
pub fn flags(node: u32, workspace: &Workspace) -> Flags {
    Flags {
        previous: workspace.flags(node) as *const u32,
        flags: workspace.flags(node + 1) as *mut u32,
    }
}

/// What the persistent kernel needs besides node 0's arguments.
pub fn persistent(
    chain: &Chain,
    workspace: &Workspace,
    buffer: Option<&StreamBuffer>,
) -> Persistent {
    let stays = chain.body.kind == BodyKind::L2 && chain.l2 == L2::Hot;
    let words = buffer.map_or(4, StreamBuffer::words);
    Persistent {
        arrived: workspace.arrived() as *mut u32,
        stream_buffer: buffer.map_or(0, StreamBuffer::address) as *const _,
        node_vectors: if stays { 0 } else { node_vectors(chain) },
        region_modulus: oracle::region_modulus(chain, words) / 4,
        nodes: chain.nodes,
        reserved: 0,
    }
}

/// The drift sentinel: one fixed kernel, whatever the point.
pub fn sentinel(chain: &Chain) -> Chain {
    const FMA_A_THREAD: u64 = 8192;
    let shape = Shape { grid_blocks: 132, block_threads: 128, shared_bytes: 0, cluster_blocks: 1 };
    let preamble = Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 };
    let body = Body { kind: BodyKind::Fma, target: Target::Ns(0.0), units: FMA_A_THREAD };
    Chain { shape, preamble, body, l2: L2::Hot, ..*chain }
}
