//! What a chain asks of the simulated SMs: residency, waves, and the time its work takes alone.

use super::profile::{self, Hop};
use crate::chain::{Arm, BodyKind, Chain, L2, PreambleKind, Submission};
use crate::error::{Error, Result};
use crate::oracle;

/// Residency of a chain's grid and the rates of its work. Times in ns, rates in bytes a ns.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Blocks of this shape that one SM holds.
    pub blocks_per_sm: u32,
    /// Blocks that the device holds at once.
    pub capacity: u32,
    /// Blocks of the first wave.
    pub resident: u32,
    /// Waves of the grid.
    pub waves: u32,
    /// The hop's constants at this grid.
    pub hop: Hop,
    /// Preamble alone, ns.
    pub preamble_ns: f64,
    /// How much longer an ALU preamble and the FMA body of another node take while they share
    /// their SMs; 1 where they do not contend.
    pub contention: f64,
    /// How much longer an FMA body takes where its blocks are packed two to an SM that should
    /// hold one.
    pub packing: f64,
    /// Work of an FMA or spin body in the first wave, ns.
    pub compute_ns: f64,
    /// The streaming part of the body; `None` for bodies that do not stream.
    pub stream: Option<Stream>,
}

/// The streaming part of a node's first wave.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Bytes that the body reads.
    pub bytes: f64,
    /// Bytes of these that the preamble asks for.
    pub prefetch_bytes: f64,
    /// First byte of the source.
    pub latency_ns: f64,
    /// What the source gives at most.
    pub source_rate: f64,
    /// What the body's loads can take, at most the source's.
    pub body_rate: f64,
    /// What prefetched bytes are read with.
    pub near_rate: f64,
}

impl Stream {
    /// Time the body streams when `fetched` bytes of its region came before the release, ns.
    pub fn work_ns(&self, fetched: f64) -> f64 {
        if self.bytes == 0.0 {
            return 0.0;
        }
        let left = (self.bytes - fetched).max(0.0);
        self.latency_ns * left / self.bytes + left / self.body_rate + fetched / self.near_rate
    }
}

/// Dynamic shared memory that a block of the chain has: what the shape asks for, or what the
/// prefetch needs, whichever is larger.
pub fn block_shared_bytes(chain: &Chain) -> u64 {
    let staged = match chain.preamble.kind {
        PreambleKind::PrefetchSmem => chain.preamble.units.min(chain.body.units),
        _ => 0,
    };
    staged.max(u64::from(chain.shape.shared_bytes))
}

/// Blocks of the chain's shape that one SM holds (formula of the CUDA occupancy calculator,
/// allocation granularities left out).
fn occupancy(chain: &Chain) -> Result<u32> {
    let shape = &chain.shape;
    let shared = block_shared_bytes(chain);
    if shared > u64::from(profile::BLOCK_SHARED_BYTES) {
        return Err(refused(
            chain,
            format!(
                "a block needs {shared} bytes of shared memory and may have {}",
                profile::BLOCK_SHARED_BYTES
            ),
        )
        .remedy("lower --shared-kib, or prefetch less"));
    }
    let threads = shape.block_threads.div_ceil(32) * 32;
    let by_shared = profile::SM_SHARED_BYTES / (shared as u32 + profile::RESERVED_SHARED_BYTES);
    Ok((profile::SM_THREADS / threads)
        .min(profile::SM_BLOCKS)
        .min(profile::SM_REGISTERS / (threads * profile::THREAD_REGISTERS))
        .min(by_shared))
}

/// A refusal of a point by the simulated device.
fn refused(chain: &Chain, cause: impl std::fmt::Display) -> Error {
    let shape = &chain.shape;
    Error::unsupported(
        format!("run {} blocks of {} threads", shape.grid_blocks, shape.block_threads),
        cause,
    )
}

/// Checks what a device that holds `capacity` blocks cannot run.
fn check(chain: &Chain, arm: Arm, capacity: u32) -> Result<()> {
    let shape = &chain.shape;
    if shape.cluster_blocks > profile::PORTABLE_CLUSTER_BLOCKS {
        let cause = format!(
            "clusters of {} blocks are not portable; this device takes up to {}",
            shape.cluster_blocks,
            profile::PORTABLE_CLUSTER_BLOCKS
        );
        return Err(refused(chain, cause).remedy("use --cluster 8 or fewer"));
    }
    if arm == Arm::Persistent && shape.grid_blocks > capacity {
        let cause = format!("a cooperative grid must be resident at once, {capacity} blocks");
        let remedy = "use a smaller --grid, or leave out --arm persistent";
        return Err(refused(chain, cause).remedy(remedy));
    }
    let words = oracle::node_words(chain);
    if chain.body.kind.streams() && words > profile::STREAM_BYTES / 4 {
        let (bytes, held) = (words.saturating_mul(4), profile::STREAM_BYTES);
        let cause = format!("a node reads {bytes} bytes and the stream buffer holds {held}");
        return Err(refused(chain, cause).remedy("use a smaller body, or fewer blocks"));
    }
    if u64::from(shape.grid_blocks) * u64::from(chain.nodes) > profile::MAX_VALUES {
        let cause = format!("{} nodes of them write more values than it holds", chain.nodes);
        return Err(refused(chain, cause).remedy("use fewer --nodes, or a smaller --grid"));
    }
    Ok(())
}

impl Load {
    /// The load of `chain` in `arm`.
    ///
    /// # Errors
    /// Unsupported where this device cannot hold or launch the chain.
    pub fn of(chain: &Chain, arm: Arm) -> Result<Load> {
        let blocks_per_sm = occupancy(chain)?;
        let capacity = blocks_per_sm * profile::SM_COUNT;
        check(chain, arm, capacity)?;
        let shape = &chain.shape;
        let resident = shape.grid_blocks.min(capacity);
        let hop = match arm.submission() {
            Submission::Stream => Hop::stream(resident),
            Submission::Graph => Hop::graph(resident),
        };
        let issue = Issue::of(chain, resident);
        Ok(Load {
            blocks_per_sm,
            capacity,
            resident,
            waves: shape.grid_blocks.div_ceil(capacity),
            hop,
            preamble_ns: preamble_ns(chain, &issue),
            contention: issue.contention(chain),
            packing: issue.packing(chain, resident, blocks_per_sm),
            compute_ns: match chain.body.kind {
                BodyKind::Fma => chain.body.units as f64 * issue.alone_ns,
                BodyKind::Spin => chain.body.units as f64,
                BodyKind::Hbm | BodyKind::L2 | BodyKind::None | BodyKind::Kernel => 0.0,
            },
            stream: chain.body.kind.streams().then(|| stream(chain, resident, &issue)),
        })
    }

    /// Begin of a block to its arrival at the sync when nothing contends, ns.
    pub fn approach_ns(&self) -> f64 {
        self.preamble_ns.max(self.hop.entry_ns)
    }

    /// Work of the first wave's bodies when nothing slows them and `fetched` bytes of their regions
    /// came before the release, ns.
    pub fn work_ns(&self, fetched: f64) -> f64 {
        self.compute_ns + self.stream.map_or(0.0, |stream| stream.work_ns(fetched))
    }

    /// What every wave after the first adds, ns.
    pub fn wave_ns(&self) -> f64 {
        profile::REFILL_NS + self.approach_ns() + self.work_ns(0.0) + profile::TAIL_NS
    }

    /// Grids of this shape that are resident at once, no more than may run ahead.
    pub fn grids(&self) -> u32 {
        (self.capacity / self.resident).min(profile::RUN_AHEAD_NODES + 1)
    }
}

/// How blocks share an SM's four schedulers.
struct Issue {
    /// Blocks of one node on the fullest SM.
    sm_blocks: u32,
    /// A multiply-add of every thread of one node, ns.
    alone_ns: f64,
    /// The same while two nodes of the shape share the SMs.
    together_ns: f64,
    /// The same where twice the blocks of one node are on an SM.
    packed_ns: f64,
}

impl Issue {
    fn of(chain: &Chain, resident: u32) -> Issue {
        let sm_blocks = resident.div_ceil(profile::SM_COUNT);
        let ns = |blocks: u32| {
            let warps = blocks * chain.shape.block_threads.div_ceil(32);
            let cycles = match warps.div_ceil(profile::SCHEDULERS) {
                0 | 1 => profile::LONE_WARP_CYCLES,
                warps => f64::from(warps),
            };
            cycles / profile::SM_GHZ
        };
        Issue {
            sm_blocks,
            alone_ns: ns(sm_blocks),
            together_ns: ns((2 * resident).div_ceil(profile::SM_COUNT)),
            packed_ns: ns(2 * sm_blocks),
        }
    }

    fn contention(&self, chain: &Chain) -> f64 {
        match (chain.preamble.kind, chain.body.kind) {
            (PreambleKind::Alu, BodyKind::Fma) => self.together_ns / self.alone_ns,
            _ => 1.0,
        }
    }

    fn packing(&self, chain: &Chain, resident: u32, blocks_per_sm: u32) -> f64 {
        let fits = blocks_per_sm >= 2 * self.sm_blocks;
        let crowded = 2 * resident > profile::SM_COUNT;
        match chain.body.kind {
            BodyKind::Fma if fits && crowded => self.packed_ns / self.alone_ns,
            _ => 1.0,
        }
    }
}

/// The preamble alone: computing, spinning, or issuing prefetches, ns.
fn preamble_ns(chain: &Chain, issue: &Issue) -> f64 {
    let units = chain.preamble.units as f64;
    let sm_bytes = units.min(chain.body.units as f64) * f64::from(issue.sm_blocks);
    match chain.preamble.kind {
        PreambleKind::None => 0.0,
        PreambleKind::Alu => units * issue.alone_ns,
        PreambleKind::Spin => units,
        PreambleKind::PrefetchSmem => sm_bytes / profile::SM_BYTES_PER_NS,
        // One instruction asks for a whole line in place of 16 bytes.
        PreambleKind::PrefetchL2 => {
            sm_bytes / profile::SM_BYTES_PER_NS * 16.0 / profile::PREFETCH_LINE_BYTES
        }
    }
}

/// Rates of a streaming body. What L2 keeps is read from there; all else comes from HBM.
fn stream(chain: &Chain, resident: u32, issue: &Issue) -> Stream {
    let hot = chain.body.kind == BodyKind::L2 && chain.l2 == L2::Hot;
    let (rate, latency_ns) = match hot {
        true => (profile::L2_BYTES_PER_NS, profile::L2_LATENCY_NS),
        false => (profile::HBM_BYTES_PER_NS, profile::HBM_LATENCY_NS),
    };
    let blocks = f64::from(resident);
    let sm_rate = f64::from(resident.div_ceil(issue.sm_blocks)) * profile::SM_BYTES_PER_NS;
    let source_rate = rate.min(sm_rate);
    // Little's law: bytes in flight over the latency.
    let in_flight = blocks * f64::from(chain.shape.block_threads) * profile::THREAD_BYTES_IN_FLIGHT;
    let block_bytes = (oracle::block_words(chain) * 4) as f64;
    let prefetched = match chain.preamble.kind {
        PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem => {
            (chain.preamble.units as f64).min(block_bytes)
        }
        _ => 0.0,
    };
    Stream {
        bytes: block_bytes * blocks,
        prefetch_bytes: prefetched * blocks,
        latency_ns,
        source_rate,
        body_rate: source_rate.min(in_flight / latency_ns),
        near_rate: match chain.preamble.kind {
            PreambleKind::PrefetchSmem => sm_rate,
            _ => sm_rate.min(profile::L2_BYTES_PER_NS),
        },
    }
}
