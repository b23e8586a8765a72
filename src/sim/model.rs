//! The closed form: when every node of a chain begins, is released and ends.
//!
//! Per hop, with `F` the time by which all blocks of the primary have triggered (or exited) and
//! `E` its last end:
//!
//! - full dependency: begin = E + full gap;
//! - programmatic: begin = max(F + launch, a free slot), release = max(begin + preamble,
//!   E + release latency) whatever the trigger: the sync waits for completion;
//! - a grid of several waves cannot fire before its last wave has begun;
//! - where the SMs do not hold two grids, the secondary's blocks begin as the primary's exit.
//!
//! Work that shares a resource is conserved. An ALU preamble and an issue-bound body on the same
//! schedulers slow each other; a prefetch delays a body that streams from the same memory by what
//! it takes, so that prefetching gains only the time in which the memory would be idle.
//!
//! A hypothesis of this closed form, which no measurement here settles: a grid that is placed
//! while its primary's blocks exit finds uneven SMs, is packed two blocks to an SM, and an
//! issue-bound body then takes as long as its packed blocks.

use super::contention::{self, Ahead};
use super::load::Load;
use crate::chain::{Arm, Chain, Dependency, Trigger, TriggerBy};

/// When one node runs, ns from the first node's last begin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Node {
    /// Last begin of the first wave.
    pub begin_ns: f64,
    /// Begin of the blocks that found free slots while the primary held the others; equal to
    /// `begin_ns` where all are placed together.
    pub early_ns: f64,
    /// Last arrival of the first wave at the sync.
    pub arrive_ns: f64,
    /// When a sync that was waiting for the primary returns; no block is released before.
    pub gate_ns: f64,
    /// Last release of the first wave.
    pub release_ns: f64,
    /// End of the first wave's work.
    pub work_end_ns: f64,
    /// Last end of the node.
    pub end_ns: f64,
    /// Whether its blocks were packed two to an SM.
    pub packed: bool,
}

/// The nodes of the chain in one arm.
pub fn timeline(chain: &Chain, arm: Arm, load: &Load, nodes: u32) -> Vec<Node> {
    if arm == Arm::Persistent {
        return persistent(load, nodes);
    }
    let mut model = Model { chain, arm, load, nodes: vec![], ahead: vec![] };
    model.place(0.0, 0.0);
    for node in 0..nodes as usize {
        model.release(node);
        while let Some(begin_ns) = model.run_ahead(node) {
            model.place(begin_ns, begin_ns);
        }
        model.execute(node);
        if model.nodes.len() == node + 1 {
            let (begin_ns, early_ns) = model.after_end(node);
            model.place(begin_ns, early_ns);
        }
    }
    model.nodes.truncate(nodes as usize);
    model.nodes
}

/// One cooperative kernel: arrive at the barrier, the next preamble, wait.
fn persistent(load: &Load, nodes: u32) -> Vec<Node> {
    let approach_ns = (load.preamble_ns + load.hop.acquire_ns).max(load.hop.barrier_ns);
    let fetched = load.stream.map_or(0.0, |stream| {
        let fetching_ns = (approach_ns - stream.latency_ns).max(0.0);
        stream.prefetch_bytes.min(fetching_ns * stream.source_rate)
    });
    let mut end_ns = 0.0;
    let mut node = |index: u32| {
        let begin_ns = end_ns;
        let first = index == 0;
        let release_ns = begin_ns + if first { load.approach_ns() } else { approach_ns };
        let work_end_ns = release_ns + load.work_ns(if first { 0.0 } else { fetched });
        end_ns = work_end_ns + load.tail_ns;
        let (early_ns, arrive_ns) = (begin_ns, begin_ns + load.preamble_ns);
        let gate_ns = release_ns;
        let packed = false;
        Node { begin_ns, early_ns, arrive_ns, gate_ns, release_ns, work_end_ns, end_ns, packed }
    };
    (0..nodes).map(&mut node).collect()
}

/// Runs the nodes one after another; nodes that run ahead are placed before those before them end.
struct Model<'a> {
    chain: &'a Chain,
    arm: Arm,
    load: &'a Load<'a>,
    nodes: Vec<Node>,
    ahead: Vec<Ahead>,
}

impl Model<'_> {
    fn contends(&self) -> bool {
        self.load.contention > 1.0
    }

    /// The trigger of the arm: a launch-completion edge fires as all blocks begin.
    fn trigger(&self) -> Trigger {
        match self.arm {
            Arm::GraphCompletion | Arm::Flags => Trigger::AtEntry,
            _ => self.chain.trigger,
        }
    }

    /// Last trigger to last begin.
    fn launch_ns(&self) -> f64 {
        let barrier_ns = match self.chain.trigger_by {
            TriggerBy::Block if self.arm != Arm::GraphCompletion => {
                self.load.profile.block.barrier_trigger_ns.value
            }
            _ => 0.0,
        };
        match self.trigger() {
            Trigger::Implicit => self.load.hop.exit_launch_ns,
            Trigger::AtEntry if self.arm == Arm::GraphCompletion => {
                self.load.hop.completion_launch_ns
            }
            Trigger::AtEntry => self.load.hop.launch_ns + self.load.hop.entry_trigger_ns,
            _ => self.load.hop.launch_ns + barrier_ns,
        }
    }

    /// Adds a node whose begin is known.
    fn place(&mut self, begin_ns: f64, early_ns: f64) {
        let latency_ns = self.load.stream.map_or(0.0, |stream| stream.latency_ns);
        self.ahead.push(Ahead {
            work_at_ns: begin_ns,
            work_left_ns: if self.contends() { self.load.preamble_ns } else { 0.0 },
            fetch_at_ns: begin_ns + latency_ns,
            fetched: 0.0,
        });
        self.nodes.push(Node { begin_ns, early_ns, ..Node::default() });
    }

    /// Arrival and release of a node whose primary has ended.
    fn release(&mut self, node: usize) {
        let hop = &self.load.hop;
        let approach_ns = match self.contends() {
            true => hop.entry_ns,
            false => self.load.approach_ns(),
        };
        let Ahead { work_at_ns, work_left_ns, .. } = self.ahead[node];
        let arrive_ns = (self.nodes[node].begin_ns + approach_ns).max(work_at_ns + work_left_ns);
        let wait_ns = match (self.arm, self.arm.dependency()) {
            (Arm::Flags, _) => hop.flag_ns,
            (_, Dependency::Full) => 0.0,
            _ => hop.release_ns,
        };
        let gate_ns = match node.checked_sub(1) {
            Some(primary) => self.nodes[primary].end_ns + wait_ns,
            None => f64::MIN,
        };
        let release_ns = arrive_ns.max(gate_ns);
        self.ahead[node].work_left_ns = 0.0;
        self.nodes[node].arrive_ns = arrive_ns;
        self.nodes[node].gate_ns = gate_ns;
        self.nodes[node].release_ns = release_ns;
        let ahead = &mut self.ahead[node..];
        contention::go_on_until(ahead, self.load.stream.as_ref(), arrive_ns, release_ns);
    }

    /// Work of a node's first wave if nothing slows it.
    fn work_ns(&self, node: usize) -> f64 {
        let packing = if self.nodes[node].packed { self.load.packing } else { 1.0 };
        self.load.work_ns(self.ahead[node].fetched) * packing
    }

    /// Begin of the next node, if it is known before `node` has ended.
    fn run_ahead(&self, node: usize) -> Option<f64> {
        let grids = self.load.grids() as usize;
        let next = self.nodes.len();
        if self.arm.dependency() == Dependency::Full || grids < 2 || next - node >= grids {
            return None;
        }
        let fired_ns = match self.trigger() {
            Trigger::AtEntry => self.nodes[next - 1].begin_ns,
            Trigger::Segment { at, of } if at < of && next == node + 1 => {
                let part = f64::from(at) / f64::from(of);
                self.nodes[node].release_ns + part * self.work_ns(node)
            }
            _ => return None,
        };
        let slot_ns = match next.checked_sub(grids) {
            Some(left) => self.nodes[left].end_ns + self.load.profile.placement.refill_ns.value,
            None => f64::MIN,
        };
        Some((fired_ns + self.launch_ns()).max(slot_ns))
    }

    /// The body: what runs ahead slows it where they share schedulers or memory.
    fn execute(&mut self, node: usize) {
        let release_ns = self.nodes[node].release_ns;
        let mut work_end_ns = release_ns + self.work_ns(node);
        for ahead in &mut self.ahead[node + 1..] {
            work_end_ns =
                contention::share_schedulers(ahead, self.load.contention, release_ns, work_end_ns);
            if let Some(stream) = &self.load.stream {
                work_end_ns = contention::share_memory(ahead, stream, release_ns, work_end_ns);
            }
        }
        let timed = &mut self.nodes[node];
        timed.work_end_ns = work_end_ns;
        timed.end_ns = work_end_ns
            + self.load.last_ns()
            + f64::from(self.load.waves - 1) * self.load.wave_ns();
        let end_ns = timed.end_ns;
        // The hypothesis of packing: placed while the primary's blocks exit.
        let spread_ns = self.load.hop.spread_ns(self.load.resident);
        if let Some(next) = self.nodes.get_mut(node + 1) {
            let meets_exits = next.begin_ns - spread_ns < end_ns
                && next.begin_ns > end_ns - self.load.profile.placement.drain_ns.value;
            next.packed = self.load.packing > 1.0 && meets_exits;
        }
    }

    /// Begin of the node after one that has ended, and of its blocks that found free slots.
    fn after_end(&self, node: usize) -> (f64, f64) {
        let timed = &self.nodes[node];
        if self.arm.dependency() == Dependency::Full {
            let saved_ns =
                if self.arm.is_native() { self.load.profile.block.code_cost_ns.value } else { 0.0 };
            let begin_ns = timed.end_ns + self.load.hop.full_gap_ns - saved_ns;
            return (begin_ns, begin_ns);
        }
        let work_end_ns = timed.end_ns - self.load.last_ns();
        let (last_begin_ns, last_release_ns) = match self.load.waves {
            1 => (timed.begin_ns, timed.release_ns),
            _ => {
                let release_ns = work_end_ns - self.load.work_ns(0.0);
                (release_ns - self.load.approach_ns(), release_ns)
            }
        };
        let fired_ns = match self.trigger() {
            Trigger::AtEntry => last_begin_ns,
            Trigger::Segment { at, of } => {
                let part = f64::from(at) / f64::from(of);
                last_release_ns + part * (work_end_ns - last_release_ns)
            }
            Trigger::After => work_end_ns + self.load.profile.block.after_ns.value,
            // The simulated device refuses kernels with sites.
            Trigger::Implicit | Trigger::Site(_) => timed.end_ns,
        };
        let free_ns = fired_ns + self.launch_ns();
        match self.load.grids() {
            1 => (free_ns.max(timed.end_ns + self.load.profile.placement.refill_ns.value), free_ns),
            _ => (free_ns, free_ns),
        }
    }
}
