//! What one chain in one arm asks of the simulated device, in the terms of its events.

/// How the next node comes to be placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// When the node has ended, and this much later, ns.
    Full(f64),
    /// When all blocks have triggered or exited, and this much later, ns.
    Programmatic {
        /// After a trigger.
        launch_ns: f64,
        /// Where the last of them was an exit.
        exit_launch_ns: f64,
    },
    /// When all blocks have begun, and this much later, ns.
    Begun(f64),
    /// At once, block by block where the one before ran: a kernel that stays.
    Stays,
}

/// What a block waits for before its body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// Nothing: the dependency has seen to it.
    Nothing,
    /// The end of all blocks of the node before, and this much longer, ns.
    Grid(f64),
    /// The end of the neighbour's block of the node before, and this much longer, ns.
    Neighbour(f64),
}

/// Where a block triggers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fires {
    /// When it begins.
    AtEntry,
    /// Right after its sync.
    AfterSync,
    /// After this part of the body's work.
    Work(f64),
    /// This long before its end, ns.
    BeforeEnd(f64),
    /// At its exit.
    Exit,
}

/// A piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// Takes this long whatever runs beside it, ns.
    Fixed(f64),
    /// Multiply-adds a thread, on the schedulers that the SM's blocks share.
    Issue(f64),
    /// Bytes of the block, from the memory that all blocks share.
    Stream(f64),
}

/// What a preamble fetches of the body's region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fetch {
    /// Bytes of the block.
    pub bytes: f64,
    /// Begin of the preamble to the first byte, ns.
    pub latency_ns: f64,
    /// Time the body takes to read what was fetched, ns.
    pub reading_ns: f64,
}

/// Least turns of a block for one turn of the block of its node that is served before it.
const LEAST_PEER: f64 = 0.2;

/// How fast an SM issues, multiply-adds of a warp a ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IssueRates {
    /// One warp alone on its scheduler.
    pub lone: f64,
    /// A scheduler whose warps never let it wait.
    pub scheduler: f64,
    /// Turns of a block for one turn of the block on its SM that is served before it.
    pub elder: f64,
    /// The same of blocks of one node that are at work together.
    pub peer: f64,
    /// What that differs by from block to block, up to half of it either way.
    pub peer_spread: f64,
    /// Schedulers of an SM that are told apart: one where a block's warps divide by them.
    pub schedulers: u32,
    /// Warps that a block has on each of them at least.
    pub warps: u32,
    /// Schedulers that hold one warp of the block more.
    pub more: u32,
}

impl IssueRates {
    /// Turns of a block for one turn of the block of its node that is served before it, whose place
    /// by chance is `rank`, 0 to 1.
    pub fn peer(&self, rank: f64) -> f64 {
        (self.peer + self.peer_spread * (rank - 0.5)).clamp(LEAST_PEER, 1.0)
    }

    /// Warps of a block; those of one scheduler where all do the same.
    pub fn block_warps(&self) -> u32 {
        self.warps * self.schedulers + self.more
    }

    /// Warps that a block has on the scheduler `by` after its first warp's.
    pub fn part_warps(&self, by: u32) -> u32 {
        self.warps + u32::from(by < self.more)
    }

    /// Schedulers on which a block has warps, of those that are told apart.
    pub fn parts(&self) -> u32 {
        if self.warps > 0 { self.schedulers } else { self.more }
    }
}

/// What happens in the gap between two turns of a scheduler that leave no turn to others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    /// Chance that a block's last instructions win the gap against preambles, for each of its warps
    /// on the scheduler.
    pub exit_per_warp: f64,
    /// Chance that some of a block's warps leave before the others.
    pub quick_chance: f64,
    /// Chance that a block that begins in the gap loses it before the trigger at its entry, for
    /// each of its warps on the scheduler beyond four.
    pub lost_per_warp: f64,
    /// How much later such a block comes to its trigger, ns.
    pub lost_ns: f64,
    /// How much longer the way to its first work is for a block that begins in a gap, ns.
    pub entry_ns: f64,
}

impl Gaps {
    /// Chance of a block of `warps` warps on its scheduler to lose the gap in which it begins.
    pub fn lost_chance(&self, warps: u32) -> f64 {
        self.lost_per_warp * f64::from(warps.saturating_sub(FEW_WARPS))
    }
}

/// Warps that a block of 512 threads has on each scheduler.
const FEW_WARPS: u32 = 4;

/// How fast streams are, bytes a ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRates {
    /// What one block's loads in flight allow.
    pub block: f64,
    /// What one SM takes in.
    pub sm: f64,
    /// What the memory gives.
    pub source: f64,
    /// Part of its rate that a stream keeps while its SM's schedulers are busy.
    pub beside_alu: f64,
    /// How sharply rates bend where what is asked for comes near to what there is.
    pub bend: f64,
}

/// One node's work, and how it is joined to the next. All nodes are alike.
#[derive(Clone, Debug)]
pub struct Work {
    /// SMs.
    pub sms: u32,
    /// Warps that one SM holds, counted as those of a block in `issue` are.
    pub slots: u32,
    /// Blocks of the grid.
    pub grid_blocks: u32,
    /// Blocks of a cluster.
    pub cluster_blocks: u32,
    /// SMs of each group that a cluster stays in.
    pub cluster_sms: Vec<u32>,
    /// Nodes that may be resident beside the oldest.
    pub run_ahead: u32,
    /// How the next node comes.
    pub link: Link,
    /// What blocks wait for.
    pub wait: Wait,
    /// Where they trigger.
    pub fires: Fires,
    /// Programmatic launches come up to this much apart from node to node, ns.
    pub launch_spread_ns: f64,
    /// Time between two blocks that are placed, ns.
    pub place_ns: f64,
    /// Exit of a block to the next use of its slot, ns.
    pub refill_ns: f64,
    /// Begin of a block to its first work, ns.
    pub entry_ns: f64,
    /// Begin of a block to the time from which its trigger at entry counts, ns.
    pub entry_trigger_ns: f64,
    /// How much sooner than its scheduler is free a trigger at entry counts that had to wait, ns.
    pub freed_ns: f64,
    /// What a block of a kernel that stays spends in its barrier at least, ns.
    pub acquire_ns: f64,
    /// Work before the sync.
    pub preamble: Piece,
    /// What the preamble fetches beside.
    pub fetch: Option<Fetch>,
    /// Return of the sync to the first work of the body, ns.
    pub head_ns: f64,
    /// The same of a block that did not wait: its warps hide each other's.
    pub late_head_ns: f64,
    /// Work after the sync.
    pub body: Piece,
    /// End of the body's work to the block's end, ns.
    pub tail_ns: f64,
    /// Streams that begin together get their first bytes up to this much apart, ns.
    pub first_spread_ns: f64,
    /// Part of its bytes by which streams of blocks that read as much are served sooner or later, up to
    /// half of it either way; less than two.
    pub bytes_spread: f64,
    /// Blocks that do the same end up to this much apart, ns.
    pub spread_ns: f64,
    /// What that grows by, a part of the body's time.
    pub spread_ratio: f64,
    /// The schedulers.
    pub issue: IssueRates,
    /// Gaps between their turns.
    pub gaps: Gaps,
    /// The memory.
    pub memory: MemoryRates,
}
