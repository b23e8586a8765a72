//! Every constant of the simulated device, with where it comes from.
//!
//! *Measured*: fitted to medians of chains on one H200 (driver 580.159.04, CUDA 13.0, 128 threads,
//! clocks not locked, marginal period between 50 and 200 nodes). *Published*: from the vendor's
//! data sheet or guide. *Assumed*: a guess of the right order that no measurement here settles; a
//! result that rests on one says nothing about a real device.

/// SM clock, GHz (measured under load).
pub const SM_GHZ: f64 = 1.98;
/// Streaming multiprocessors (published).
pub const SM_COUNT: u32 = 132;
/// Resident threads an SM (published).
pub const SM_THREADS: u32 = 2048;
/// Resident blocks an SM (published).
pub const SM_BLOCKS: u32 = 32;
/// Registers an SM (published).
pub const SM_REGISTERS: u32 = 65_536;
/// Shared memory an SM, bytes (published: 228 KiB).
pub const SM_SHARED_BYTES: u32 = 228 * 1024;
/// Shared memory that the system keeps of each resident block, bytes (published).
pub const RESERVED_SHARED_BYTES: u32 = 1024;
/// Dynamic shared memory a block may opt in to, bytes (published: 227 KiB).
pub const BLOCK_SHARED_BYTES: u32 = 227 * 1024;
/// Blocks of a portable cluster (published); the simulated device does not opt in to more.
pub const PORTABLE_CLUSTER_BLOCKS: u32 = 8;
/// L2 as the runtime reports it, bytes (published: 60 MiB reported, 50 MB usable).
pub const L2_BYTES: u64 = 60 << 20;
/// Device memory, bytes (published: 141 GB; this is what the driver reports of it).
pub const MEMORY_BYTES: u64 = 143_771 << 20;
/// Registers a thread of the simulated kernels (assumed).
pub const THREAD_REGISTERS: u32 = 32;
/// Buffer that streaming bodies read, bytes: four times the L2.
pub const STREAM_BYTES: u64 = 4 * L2_BYTES;
/// Values that one chain may write: 512 MiB of host memory.
pub const MAX_VALUES: u64 = 1 << 26;

/// Warp schedulers an SM; each issues one warp instruction a cycle (published).
pub const SCHEDULERS: u32 = 4;
/// Cycles a multiply-add of a warp that has its scheduler to itself: four chains cover the
/// four-cycle latency, and a tenth goes to the loop (assumed).
pub const LONE_WARP_CYCLES: f64 = 1.0 / 0.9;

/// Large streaming reads from HBM, bytes a ns (measured: 4.32 TB/s).
pub const HBM_BYTES_PER_NS: f64 = 4300.0;
/// First byte from HBM, ns (published range 0.7 to 1 µs).
pub const HBM_LATENCY_NS: f64 = 800.0;
/// Streaming reads that hit L2, bytes a ns (assumed).
pub const L2_BYTES_PER_NS: f64 = 5500.0;
/// First byte from L2, ns (assumed).
pub const L2_LATENCY_NS: f64 = 270.0;
/// What one SM can take in, bytes a ns: 64 bytes a cycle (assumed).
pub const SM_BYTES_PER_NS: f64 = 64.0 * SM_GHZ;
/// Bytes that a thread of a streaming body keeps in flight: two steps of four 16-byte loads.
pub const THREAD_BYTES_IN_FLIGHT: f64 = 128.0;
/// Bytes that one prefetch instruction of a thread asks for: a 128-byte line.
pub const PREFETCH_LINE_BYTES: f64 = 128.0;

/// End of the body's work to the block's end: reduction and last store, ns (measured: a 4 µs spin
/// takes 4.19 µs from release to end).
pub const TAIL_NS: f64 = 190.0;
/// End of the body's work to a trigger after the last store, ns (measured: 0.1 µs a hop between
/// the triggers before and after that store).
pub const AFTER_NS: f64 = 90.0;
/// What sync and trigger cost a hop over full dependencies, ns (assumed; the measurements had one
/// kernel for all arms).
pub const CODE_COST_NS: f64 = 10.0;
/// A trigger after a block barrier instead of by the first thread, ns (assumed).
pub const BARRIER_TRIGGER_NS: f64 = 20.0;
/// A block into the slot of one that exited, grid already launched, ns (assumed).
pub const REFILL_NS: f64 = 250.0;
/// Nodes that may be resident ahead of the one whose body runs (assumed: no measurement here
/// bounds it).
pub const RUN_AHEAD_NODES: u32 = 2;
/// First to last block of a grid to begin, ns a block (assumed).
pub const PLACE_NS_PER_BLOCK: f64 = 0.5;
/// First to last block of a node to end where all do the same, ns (assumed).
pub const DRAIN_NS: f64 = 30.0;

/// Between the events of an empty pair, ns (measured).
pub const EVENT_PAIR_NS: f64 = 1300.0;
/// Chains between the events in pipelined mode.
pub const PIPELINED_CHAINS: f64 = 8.0;
/// The drift sentinel's kernel, ns.
pub const SENTINEL_NS: f64 = 20_000.0;
/// Launches that a gate can hold (measured: the host stalls at about the 1,021st).
pub const QUEUE_DEPTH: u32 = 1020;

/// Relative spread of samples (measured: six repetitions of a chain lie within ±0.1 %).
pub const NOISE: f64 = 0.0005;
/// Part of the noise, as variance, that a sample shares with its neighbours in time (assumed).
pub const SHARED_NOISE: f64 = 0.5;
/// How much of the shared part is left at the next sample (assumed).
pub const NOISE_MEMORY: f64 = 0.8;
/// How much slower the first sample of a chain is (measured: the first of six was the slowest).
pub const FIRST_SLOWER: f64 = 0.001;

/// Host time around a sample: poison, gate, drain and check, ns (assumed).
pub const SAMPLE_OVERHEAD_NS: f64 = 40_000.0;
/// Host time of one stream launch, ns (measured: 3.7 to 4.9 µs).
pub const STREAM_LAUNCH_NS: f64 = 4_300.0;
/// Host time of one graph launch, ns (assumed).
pub const GRAPH_LAUNCH_NS: f64 = 10_000.0;
/// Host time to prepare a chain, ns a node (assumed).
pub const PREPARE_NODE_NS: f64 = 10_000.0;

/// How the hop between two nodes depends on the grid. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Last end of the primary to last begin of the secondary over a full dependency.
    pub full_gap_ns: f64,
    /// Last trigger of the primary to last begin of the secondary.
    pub launch_ns: f64,
    /// The same when the blocks' exits are the trigger.
    pub exit_launch_ns: f64,
    /// Begin of a block to its first useful instruction; a preamble at least as long hides it.
    pub entry_ns: f64,
    /// Last end of the primary to the return of syncs that were waiting.
    pub release_ns: f64,
    /// Last end of the primary to the return of acquires that were polling.
    pub flag_ns: f64,
    /// One crossing of a grid barrier in a cooperative kernel.
    pub barrier_ns: f64,
}

/// A hop's constants at one number of resident blocks.
type Knot = (f64, Hop);

/// Graph chains. At 1, 132 and 528 blocks the sums of these give the measured empty chains:
/// full = entry + tail + full gap, after the own sync = launch + entry, at entry = launch, flags =
/// tail + flag. At 132 blocks release, launch and exit launch come from 4 µs spin bodies behind
/// 2 µs preambles (at entry, 4/8 to 8/8, implicit). Release and exit launch at 1 and 528 blocks are
/// assumed, within what the empty chains allow; so are barriers but for 132 blocks (1.22 µs). At 2,112
/// blocks all is assumed: launches go on growing by a block as they do in streams.
const GRAPH: [Knot; 4] = [
    (1.0, hop([590.0, 570.0, 470.0, 290.0, 350.0, 770.0, 700.0])),
    (132.0, hop([990.0, 865.0, 760.0, 190.0, 470.0, 955.0, 1220.0])),
    (528.0, hop([980.0, 1120.0, 950.0, 320.0, 600.0, 1080.0, 1500.0])),
    (2112.0, hop([2560.0, 2800.0, 2500.0, 320.0, 700.0, 1400.0, 2200.0])),
];

/// Stream chains behind a gate, 200 nodes: full 2.02, 2.36, 3.48 µs and programmatic (taken as
/// triggered at entry, and so as the launch) 1.20, 1.41, 2.46 µs at 1, 132 and 1,056 blocks; the
/// rest as in a graph (assumed).
const STREAM: [Knot; 3] = [
    (1.0, hop([1540.0, 1200.0, 1100.0, 290.0, 350.0, 770.0, 700.0])),
    (132.0, hop([1980.0, 1410.0, 1305.0, 190.0, 470.0, 955.0, 1220.0])),
    (1056.0, hop([2970.0, 2460.0, 2290.0, 320.0, 600.0, 1080.0, 1500.0])),
];

const fn hop(ns: [f64; 7]) -> Hop {
    let [full_gap_ns, launch_ns, exit_launch_ns, entry_ns, release_ns, flag_ns, barrier_ns] = ns;
    Hop { full_gap_ns, launch_ns, exit_launch_ns, entry_ns, release_ns, flag_ns, barrier_ns }
}

impl Hop {
    /// The constants of graph chains at `blocks` resident blocks.
    pub fn graph(blocks: u32) -> Hop {
        interpolate(&GRAPH, f64::from(blocks))
    }

    /// The constants of stream chains at `blocks` resident blocks.
    pub fn stream(blocks: u32) -> Hop {
        interpolate(&STREAM, f64::from(blocks))
    }

    /// First to last block to begin, ns: part of every launch, half of it at most.
    pub fn spread_ns(&self, blocks: u32) -> f64 {
        let launch = self.full_gap_ns.min(self.launch_ns).min(self.exit_launch_ns);
        (PLACE_NS_PER_BLOCK * f64::from(blocks.saturating_sub(1))).min(launch / 2.0)
    }
}

/// Linear in the number of blocks, as placing blocks is; past the last knot on along its line.
fn interpolate(knots: &[Knot], blocks: f64) -> Hop {
    let inner = &knots[1..knots.len() - 1];
    let first = inner.iter().filter(|knot| blocks > knot.0).count();
    let (low, high) = (&knots[first], &knots[first + 1]);
    let at = (blocks - low.0) / (high.0 - low.0);
    let between = |field: fn(&Hop) -> f64| {
        let (low, high) = (field(&low.1), field(&high.1));
        (low + at * (high - low)).max(low.min(high))
    };
    Hop {
        full_gap_ns: between(|h| h.full_gap_ns),
        launch_ns: between(|h| h.launch_ns),
        exit_launch_ns: between(|h| h.exit_launch_ns),
        entry_ns: between(|h| h.entry_ns),
        release_ns: between(|h| h.release_ns),
        flag_ns: between(|h| h.flag_ns),
        barrier_ns: between(|h| h.barrier_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knots_are_met_and_joined_by_lines() {
        assert_eq!(Hop::graph(1), GRAPH[0].1);
        assert_eq!(Hop::graph(132), GRAPH[1].1);
        assert_eq!(Hop::graph(528), GRAPH[2].1);
        assert_eq!(Hop::graph(330).launch_ns, (865.0 + 1120.0) / 2.0);
        assert_eq!(Hop::graph(1320).launch_ns, (1120.0 + 2800.0) / 2.0);
        assert_eq!(Hop::stream(1980).launch_ns, 2460.0 + 1050.0);
        assert_eq!(Hop::stream(1056).full_gap_ns, 2970.0);
    }

    #[test]
    fn no_grid_begins_before_it_is_launched() {
        for blocks in [1, 2, 132, 528, 1056, 2112, 4224] {
            for hop in [Hop::graph(blocks), Hop::stream(blocks)] {
                let spread = hop.spread_ns(blocks);
                let shortest = hop.full_gap_ns.min(hop.launch_ns).min(hop.exit_launch_ns);
                assert!(spread + CODE_COST_NS < shortest, "{blocks}: {spread} {hop:?}");
            }
        }
    }
}
