//! Nodes in flight and their blocks.

use std::collections::VecDeque;

/// What a block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not yet placed.
    #[default]
    Absent,
    /// On its way to the sync, a fixed time.
    Approach,
    /// On its way to the sync, at work on the schedulers.
    Preamble,
    /// In the sync.
    Waiting,
    /// Between the sync and the body's work.
    Head,
    /// Waits for the first byte of its stream.
    Latency,
    /// Waits for what its preamble fetches.
    Fetching,
    /// At the body's work.
    Body,
    /// Between the body's work and its end.
    Tail,
    /// Gone.
    Ended,
}

/// One block of one node. Times in ns; NaN where nothing has happened yet.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// SM.
    pub sm: u32,
    /// Its place on it.
    pub place: u32,
    /// Schedulers on which its warps are before their sync, and before its end.
    pub parts_early: u32,
    /// The same for their body.
    pub parts_late: u32,
    /// Schedulers on which they wait for the others and the primary, a bit each.
    pub came: u32,
    /// Schedulers on which they went on to the body before the others, a bit each.
    pub begun: u32,
    /// Warps that have left before the block's end.
    pub warps_left: u32,
    /// What it is doing.
    pub phase: Phase,
    /// Whether what its preamble fetches has come.
    pub fetched: bool,
    /// Whether it has triggered or exited.
    pub signalled: bool,
    /// First instruction.
    pub begin_ns: f64,
    /// Trigger.
    pub trigger_ns: f64,
    /// Arrival at the sync.
    pub arrive_ns: f64,
    /// Return of the sync.
    pub release_ns: f64,
    /// End.
    pub end_ns: f64,
}

impl Default for Block {
    fn default() -> Block {
        Block {
            sm: 0,
            place: 0,
            parts_early: 0,
            parts_late: 0,
            came: 0,
            begun: 0,
            warps_left: 0,
            phase: Phase::Absent,
            fetched: false,
            signalled: false,
            begin_ns: f64::NAN,
            trigger_ns: f64::NAN,
            arrive_ns: f64::NAN,
            release_ns: f64::NAN,
            end_ns: f64::NAN,
        }
    }
}

/// A node in flight.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Blocks that have begun.
    pub begun: u32,
    /// Blocks that have triggered or exited, and when the last of them did.
    pub signalled: u32,
    /// When the last of these did, ns.
    pub fired_ns: f64,
    /// Blocks that have ended.
    pub ended: u32,
    /// Last end, ns.
    pub end_ns: f64,
    /// When the sync returns to blocks that wait; infinite where that is not known.
    pub gate_ns: f64,
}

/// The nodes from the oldest that is needed to the youngest that is placed. Buffers of nodes that
/// are done serve again, so that the memory does not grow with the chain.
#[derive(Debug, Default)]
pub struct Window {
    first: u32,
    nodes: VecDeque<Node>,
    spare: Vec<Node>,
}

impl Window {
    /// The oldest node.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Node `index`, which is not done.
    pub fn node(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[(index - self.first) as usize]
    }

    /// Node `index`, added with `blocks` absent blocks where it is new.
    pub fn ensure(&mut self, index: u32, blocks: u32) -> &mut Node {
        while self.first + self.nodes.len() as u32 <= index {
            let mut node = self.spare.pop().unwrap_or_default();
            node.blocks.clear();
            node.blocks.resize(blocks as usize, Block::default());
            (node.begun, node.signalled, node.ended) = (0, 0, 0);
            (node.fired_ns, node.end_ns, node.gate_ns) = (0.0, 0.0, f64::INFINITY);
            self.nodes.push_back(node);
        }
        self.node(index)
    }

    /// Node `index`, where it is in flight.
    pub fn get(&mut self, index: u32) -> Option<&mut Node> {
        self.nodes.get_mut(index.checked_sub(self.first)? as usize)
    }

    /// Nodes for which there is memory.
    pub fn buffers(&self) -> usize {
        self.nodes.len() + self.spare.len()
    }

    /// Takes the oldest node out of flight.
    pub fn retire(&mut self, see: impl FnOnce(u32, &Node)) {
        if let Some(node) = self.nodes.pop_front() {
            see(self.first, &node);
            self.first += 1;
            self.spare.push(node);
        }
    }
}
