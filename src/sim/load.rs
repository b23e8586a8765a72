//! What a chain asks of the simulated SMs: residency, waves, and the time its work takes alone.

use super::covered;
use super::fixed::{self, sm_ghz, stream_bytes};
use super::hop::Hop;
use crate::chain::{Arm, BodyKind, Chain, Dependency, PreambleKind, Submission, WARP_THREADS};
use crate::error::{Error, Result};
use crate::oracle;
use crate::profile::{Constant, Profile};

/// Most threads of a block whose registers hold a streaming body's eight loads a step; larger blocks
/// load half of that.
pub const WIDE_THREADS: u32 = 512;

/// Residency of a chain's grid and the rates of its work. Times in ns, rates in bytes a ns.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The device.
    pub profile: &'a Profile,
    /// Return of the sync to the first work that needs the primary's value, ns.
    pub head_ns: f64,
    /// End of the body's work to the block's end, ns.
    pub tail_ns: f64,
    /// How much later than a typical block the last of a node ends, ns.
    pub drain_ns: f64,
    /// Registers a thread of its kernels.
    pub thread_registers: u32,
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
    /// A load amid a stream.
    pub load_ns: f64,
    /// What the memory gives all SMs.
    pub memory_rate: f64,
    /// What it gives the SMs that hold blocks.
    pub source_rate: f64,
    /// What one SM takes in at most.
    pub sm_rate: f64,
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
fn occupancy(profile: &Profile, chain: &Chain) -> Result<u32> {
    let shape = &chain.shape;
    let shared = block_shared_bytes(chain);
    if shared > u64::from(profile.device.block_shared_bytes) {
        return Err(refused(
            chain,
            format!(
                "a block needs {shared} bytes of shared memory and may have {}",
                profile.device.block_shared_bytes
            ),
        )
        .remedy("lower --shared-kib, or prefetch less"));
    }
    let threads = shape.warps() * WARP_THREADS;
    let by_shared =
        profile.device.sm_shared_bytes / (shared as u32 + profile.device.reserved_shared_bytes);
    Ok((profile.device.sm_threads / threads)
        .min(profile.device.sm_blocks)
        .min(profile.device.sm_registers / (threads * thread_registers(profile, chain)))
        .min(by_shared))
}

/// Half of what blocks that do the same end apart: the mean against the last, ns.
fn drain_ns(profile: &Profile, chain: &Chain) -> f64 {
    match chain.body.kind.streams() {
        true => profile.placement.stream_drain_ns.value / 2.0,
        false => profile.placement.drain_ns.value / 2.0,
    }
}

/// End of the body's work to the block's end: its sum and the last store, ns.
fn tail_ns(profile: &Profile, chain: &Chain) -> f64 {
    match chain.body.kind {
        BodyKind::None => 0.0,
        _ => {
            let threads = f64::from(chain.shape.block_threads);
            profile.block.tail_ns.value + profile.block.tail_thread_ns.value * threads
        }
    }
}

/// Registers a thread of the kernels that run `chain`.
fn thread_registers(profile: &Profile, chain: &Chain) -> u32 {
    match (chain.body.kind.streams(), chain.shape.block_threads > WIDE_THREADS) {
        (true, true) => profile.block.narrow_thread_registers,
        (true, false) => profile.block.stream_thread_registers,
        (false, _) => profile.block.thread_registers,
    }
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
fn check(profile: &Profile, chain: &Chain, arm: Arm, capacity: u32) -> Result<()> {
    let shape = &chain.shape;
    if shape.cluster_blocks > profile.device.cluster_blocks {
        let cause = format!(
            "clusters of {} blocks are not portable; this device takes up to {}",
            shape.cluster_blocks, profile.device.cluster_blocks
        );
        return Err(refused(chain, cause).remedy("use --cluster 8 or fewer"));
    }
    if arm == Arm::Persistent && shape.grid_blocks > capacity {
        let cause = format!("a cooperative grid must be resident at once, {capacity} blocks");
        let remedy = "use a smaller --grid, or leave out --arm persistent";
        return Err(refused(chain, cause).remedy(remedy));
    }
    let words = oracle::node_words(chain);
    if chain.body.kind.streams() && words > stream_bytes(profile) / 4 {
        let (bytes, held) = (words.saturating_mul(4), stream_bytes(profile));
        let cause = format!("a node reads {bytes} bytes and the stream buffer holds {held}");
        return Err(refused(chain, cause).remedy("use a smaller body, or fewer blocks"));
    }
    if u64::from(shape.grid_blocks) * u64::from(chain.nodes) > fixed::MAX_VALUES {
        let cause = format!("{} nodes of them write more values than it holds", chain.nodes);
        return Err(refused(chain, cause).remedy("use fewer --nodes, or a smaller --grid"));
    }
    Ok(())
}

impl<'a> Load<'a> {
    /// The load of `chain` in `arm`.
    ///
    /// # Errors
    /// Unsupported where this device cannot hold or launch the chain.
    pub fn of(profile: &'a Profile, chain: &Chain, arm: Arm) -> Result<Load<'a>> {
        let blocks_per_sm = occupancy(profile, chain)?;
        let capacity = blocks_per_sm * profile.device.sm_count;
        check(profile, chain, arm, capacity)?;
        let shape = &chain.shape;
        let resident = shape.grid_blocks.min(capacity);
        let hop = Hop::of(profile, arm, resident);
        let issue = Issue::of(profile, chain, resident);
        Ok(Load {
            profile,
            head_ns: match chain.body.kind {
                BodyKind::Fma | BodyKind::None => profile.block.head_ns.value,
                BodyKind::Spin | BodyKind::Hbm | BodyKind::L2 | BodyKind::Kernel => 0.0,
            },
            tail_ns: tail_ns(profile, chain),
            drain_ns: drain_ns(profile, chain),
            thread_registers: thread_registers(profile, chain),
            blocks_per_sm,
            capacity,
            resident,
            waves: shape.grid_blocks.div_ceil(capacity),
            hop,
            preamble_ns: preamble_ns(profile, chain, &issue),
            contention: issue.contention(chain),
            packing: issue.packing(profile, chain, resident, blocks_per_sm),
            compute_ns: match chain.body.kind {
                BodyKind::Fma => chain.body.units as f64 * issue.alone_ns,
                BodyKind::Spin => chain.body.units as f64,
                BodyKind::Hbm | BodyKind::L2 | BodyKind::None | BodyKind::Kernel => 0.0,
            },
            stream: chain
                .body
                .kind
                .streams()
                .then(|| stream(profile, chain, arm, resident, &issue)),
        })
    }

    /// End of the body's work to the last end of the node, ns.
    pub fn last_ns(&self) -> f64 {
        self.tail_ns + self.drain_ns
    }

    /// Warps of a block on one of its SM's schedulers, at least one.
    pub fn block_warps(&self, chain: &Chain) -> f64 {
        let warps = f64::from(chain.shape.warps());
        (warps / f64::from(self.profile.device.sm_schedulers)).max(1.0)
    }

    /// Begin of a block to its arrival at the sync when nothing contends, ns.
    pub fn approach_ns(&self) -> f64 {
        self.preamble_ns + self.hop.entry_ns
    }

    /// Work of the first wave's bodies when nothing slows them and `fetched` bytes of their regions
    /// came before the release, ns.
    pub fn work_ns(&self, fetched: f64) -> f64 {
        self.head_ns + self.compute_ns + self.stream.map_or(0.0, |stream| stream.work_ns(fetched))
    }

    /// What every wave after the first adds, ns.
    pub fn wave_ns(&self) -> f64 {
        let profile = self.profile;
        profile.placement.refill_ns.value + self.approach_ns() + self.work_ns(0.0) + self.tail_ns
    }

    /// Grids of this shape that are resident at once, no more than may run ahead.
    pub fn grids(&self) -> u32 {
        (self.capacity / self.resident)
            .min((self.profile.placement.run_ahead_nodes.value as u32) + 1)
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
    fn of(profile: &Profile, chain: &Chain, resident: u32) -> Issue {
        let sm_blocks = resident.div_ceil(profile.device.sm_count);
        let ns = |blocks: u32| {
            let warps = blocks * chain.shape.warps();
            let cycles = match warps.div_ceil(profile.device.sm_schedulers) {
                0 | 1 => profile.issue.lone_warp_cycles.value,
                warps => f64::from(warps),
            };
            cycles / sm_ghz(profile)
        };
        Issue {
            sm_blocks,
            alone_ns: ns(sm_blocks),
            together_ns: ns((2 * resident).div_ceil(profile.device.sm_count)),
            packed_ns: ns(2 * sm_blocks),
        }
    }

    fn contention(&self, chain: &Chain) -> f64 {
        match (chain.preamble.kind, chain.body.kind) {
            (PreambleKind::Alu, BodyKind::Fma) => self.together_ns / self.alone_ns,
            _ => 1.0,
        }
    }

    fn packing(&self, profile: &Profile, chain: &Chain, resident: u32, blocks_per_sm: u32) -> f64 {
        let fits = blocks_per_sm >= 2 * self.sm_blocks;
        let crowded = 2 * resident > profile.device.sm_count;
        match chain.body.kind {
            BodyKind::Fma if fits && crowded => self.packed_ns / self.alone_ns,
            _ => 1.0,
        }
    }
}

/// The preamble alone: computing, spinning, or issuing prefetches, ns.
fn preamble_ns(profile: &Profile, chain: &Chain, issue: &Issue) -> f64 {
    let units = chain.preamble.units as f64;
    let sm_bytes = units.min(chain.body.units as f64) * f64::from(issue.sm_blocks);
    match chain.preamble.kind {
        PreambleKind::None => 0.0,
        PreambleKind::Alu => units * issue.alone_ns,
        PreambleKind::Spin => units,
        PreambleKind::PrefetchSmem => sm_bytes / profile.memory.sm_bytes_per_ns.value,
        // One instruction asks for a whole line in place of 16 bytes.
        PreambleKind::PrefetchL2 => {
            sm_bytes / profile.memory.sm_bytes_per_ns.value * 16.0 / fixed::PREFETCH_LINE_BYTES
        }
    }
}

/// Rates of a streaming body. What L2 keeps is read from there; all else comes from HBM.
fn stream(profile: &Profile, chain: &Chain, arm: Arm, resident: u32, issue: &Issue) -> Stream {
    let memory = &profile.memory;
    let missed = covered::missed(profile, chain);
    // Of a region that stays in part both parts are read in turn.
    let between =
        |hit: &Constant, miss: &Constant| (1.0 - missed) * hit.value + missed * miss.value;
    let rate =
        |hit: &Constant, miss: &Constant| 1.0 / ((1.0 - missed) / hit.value + missed / miss.value);
    let source = rate(&memory.l2_bytes_per_ns, &memory.hbm_bytes_per_ns);
    let one_sm_rate = rate(&memory.sm_bytes_per_ns, &memory.hbm_sm_bytes_per_ns);
    let load_ns = between(&memory.l2_load_ns, &memory.hbm_load_ns);
    let late = (arm.submission(), arm.dependency()) == (Submission::Stream, Dependency::Full);
    let late_ns = if late { missed * memory.hbm_stream_ns.value } else { 0.0 };
    let latency_ns = between(&memory.l2_latency_ns, &memory.hbm_latency_ns) + late_ns;
    let blocks = f64::from(resident);
    let sms = f64::from(resident.div_ceil(issue.sm_blocks));
    let sm_rate = sms * one_sm_rate;
    let near_rate = sms * memory.sm_bytes_per_ns.value;
    let source_rate = source.min(sm_rate);
    // Little's law: bytes in flight over the latency.
    let in_flight =
        blocks * f64::from(chain.shape.block_threads) * profile.memory.thread_in_flight_bytes.value;
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
        load_ns,
        memory_rate: source,
        sm_rate: one_sm_rate,
        source_rate,
        body_rate: source_rate.min(in_flight / load_ns),
        near_rate: match chain.preamble.kind {
            PreambleKind::PrefetchSmem => near_rate,
            _ => near_rate.min(profile.memory.l2_bytes_per_ns.value),
        },
    }
}
