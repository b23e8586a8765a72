//! The events and what each of them does.

use std::collections::VecDeque;

use super::chance::evenly;
use super::memory::{Memory, Reached};
use super::node::{Block, Phase, Window};
use super::queue::{Queue, What};
use super::scheduler::{Job, Scheduler};
use super::sm::{Slots, Sm};
use super::work::{Fires, Link, Piece, Work};

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Last end of the last node, from the first node's launch, ns.
    pub end_ns: f64,
    /// Events that it took.
    pub events: u64,
    /// Nodes that were held at once: what its memory grows with.
    pub nodes_held: usize,
}

/// Runs `nodes` nodes of `work`; blocks that do the same end apart by the noise of `seed`. `see`
/// gets each node and its blocks when it is done, in order.
pub fn run(work: &Work, nodes: u32, seed: u64, see: &mut dyn FnMut(u32, &[Block])) -> Outcome {
    let mut engine = Engine::new(work, nodes, seed, see);
    engine.queue.push(0.0, What::Launch(0));
    while engine.step() {}
    let Engine { end_ns, events, window, .. } = engine;
    Outcome { end_ns, events, nodes_held: window.buffers() }
}

/// Slots of warps that have left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// When they can be used, ns.
    pub(super) at_ns: f64,
    /// SM.
    pub(super) sm: u32,
    /// How many.
    pub(super) warps: u32,
}

/// What the dispatcher knows.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) slots: Slots,
    /// Slots of warps that have left, in order of time.
    pub(super) freed: VecDeque<Freed>,
    /// Nodes to be placed, in order, and the next block of the first.
    pub(super) nodes: VecDeque<u32>,
    pub(super) block: u32,
    /// Whether an event to place is under way.
    pub(super) due: bool,
}

/// A run under way.
pub(super) struct Engine<'a> {
    pub(super) work: &'a Work,
    pub(super) nodes: u32,
    pub(super) seed: u64,
    pub(super) see: &'a mut dyn FnMut(u32, &[Block]),
    pub(super) queue: Queue,
    pub(super) memory: Memory,
    pub(super) sms: Vec<Sm>,
    pub(super) schedulers: Vec<Scheduler>,
    pub(super) dispatcher: Dispatcher,
    pub(super) window: Window,
    pub(super) now_ns: f64,
    pub(super) end_ns: f64,
    pub(super) events: u64,
    pub(super) reached: Vec<Reached>,
    pub(super) done: Vec<(Job, bool)>,
}

impl<'a> Engine<'a> {
    fn new(work: &'a Work, nodes: u32, seed: u64, see: &'a mut dyn FnMut(u32, &[Block])) -> Self {
        let slots = Slots::new(work.sms, work.slots, work.issue.block_warps());
        Engine {
            work,
            nodes,
            seed,
            see,
            queue: Queue::default(),
            memory: Memory::new(work.memory, work.sms),
            sms: vec![Sm::default(); work.sms as usize],
            schedulers: vec![Scheduler::default(); (work.sms * work.issue.schedulers) as usize],
            dispatcher: Dispatcher {
                slots,
                freed: VecDeque::new(),
                nodes: VecDeque::new(),
                block: 0,
                due: false,
            },
            window: Window::default(),
            now_ns: 0.0,
            end_ns: 0.0,
            events: 0,
            reached: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The next event; false when there is none.
    fn step(&mut self) -> bool {
        let memory_ns = self.memory.next_ns();
        if memory_ns < self.queue.next_ns() {
            self.events += 1;
            self.now_ns = memory_ns;
            self.streamed();
            return true;
        }
        let Some(event) = self.queue.pop() else { return false };
        self.events += 1;
        self.now_ns = event.at_ns;
        match event.what {
            What::Launch(node) => self.launch(node),
            What::Place => self.place(),
            What::Approach { node, block } => self.approach(node, block),
            What::Timer { node, block } => self.timer(node, block),
            What::Enter { node, block } => self.enter(node, block, self.now_ns),
            What::Issue { scheduler, version } => self.issued(scheduler, version),
            What::Release(node) => self.release(node),
            What::Heads(node) => self.heads(node),
        }
        true
    }

    pub(super) fn block(&mut self, node: u32, block: u32) -> &mut Block {
        &mut self.window.node(node).blocks[block as usize]
    }

    fn launch(&mut self, node: u32) {
        if node < self.nodes {
            self.window.ensure(node, self.work.grid_blocks);
            self.dispatcher.nodes.push_back(node);
            self.wake(0.0);
        }
    }

    /// Has the dispatcher look again, unless it is going to.
    pub(super) fn wake(&mut self, in_ns: f64) {
        if !self.dispatcher.due && !self.dispatcher.nodes.is_empty() {
            self.dispatcher.due = true;
            self.queue.push(self.now_ns + in_ns, What::Place);
        }
    }

    /// Places blocks until it has to wait for a slot, or for time to pass.
    fn place(&mut self) {
        self.dispatcher.due = false;
        while let Some(&node) = self.dispatcher.nodes.front() {
            if node > self.window.first() + self.work.run_ahead {
                return;
            }
            while let Some(&Freed { at_ns, sm, warps }) = self.dispatcher.freed.front()
                && at_ns <= self.now_ns
            {
                self.dispatcher.slots.give(sm, warps);
                self.dispatcher.freed.pop_front();
            }
            let Some(placed) = self.place_one(node) else {
                if let Some(next) = self.dispatcher.freed.front() {
                    self.wake(next.at_ns - self.now_ns);
                }
                return;
            };
            self.dispatcher.block += placed;
            if self.dispatcher.block == self.work.grid_blocks {
                self.dispatcher.block = 0;
                self.dispatcher.nodes.pop_front();
            }
            let next_ns = self.now_ns + self.work.place_ns * f64::from(placed);
            // Going on without an event changes nothing as long as no other comes before.
            if next_ns >= self.queue.next_ns().min(self.memory.next_ns()) {
                self.wake(next_ns - self.now_ns);
                return;
            }
            self.now_ns = next_ns;
        }
    }

    /// Places a block, or a cluster of them; returns how many.
    fn place_one(&mut self, node: u32) -> Option<u32> {
        let first = self.dispatcher.block;
        if self.work.cluster_blocks == 1 {
            let sm = self.dispatcher.slots.take()?;
            self.put(node, first, sm);
            return Some(1);
        }
        let slots = &mut self.dispatcher.slots;
        let clusters = groups(&self.work.cluster_sms);
        let blocks = self.work.cluster_blocks;
        let emptiest = clusters.min_by_key(|sms| slots.beside(sms.clone(), blocks))?;
        let sms = slots.take_cluster(emptiest, blocks)?;
        sms.iter().zip(first..).for_each(|(&sm, block)| self.put(node, block, sm));
        Some(self.work.cluster_blocks)
    }

    /// Puts a block on an SM, where it begins unless warps hog the scheduler of its first warp.
    pub(super) fn put(&mut self, node: u32, block: u32, sm: u32) {
        let place = self.sms[sm as usize].place();
        let placed = self.block(node, block);
        (placed.sm, placed.place) = (sm, place);
        let scheduler = self.scheduler(sm, place, 0);
        match self.schedulers[scheduler as usize].hogged() {
            true => self.sms[sm as usize].newcomers.push((node, block)),
            false => self.begin(node, block, false),
        }
    }

    /// The scheduler that is `by` after that of the first warp of the block at `place`.
    pub(super) fn scheduler(&self, sm: u32, place: u32, by: u32) -> u32 {
        let issue = &self.work.issue;
        let warps = issue.warps * issue.schedulers + issue.more;
        sm * issue.schedulers + (place * warps + by) % issue.schedulers
    }

    /// A block comes to the trigger at its entry, which counts from `at_ns` unless it is starved.
    fn enter(&mut self, node: u32, block: u32, at_ns: f64) {
        let Block { sm, place, .. } = *self.block(node, block);
        let scheduler = self.scheduler(sm, place, 0);
        match self.schedulers[scheduler as usize].served().is_some() {
            true => self.sms[sm as usize].entering.push((node, block, scheduler)),
            false => self.signal(node, block, at_ns),
        }
    }

    /// A block's first instruction, in a `gap` between turns or at once.
    pub(super) fn begin(&mut self, node: u32, block: u32, gap: bool) {
        let (now_ns, work) = (self.now_ns, self.work);
        let placed = self.block(node, block);
        (placed.begin_ns, placed.phase) = (now_ns, Phase::Approach);
        let sm = placed.sm;
        placed.fetched = work.fetch.is_none();
        let stays = work.link == Link::Stays && node > 0;
        let entry_ns = if stays { work.acquire_ns } else { work.entry_ns };
        let fixed_ns = match work.preamble {
            Piece::Fixed(ns) => ns,
            _ => 0.0,
        };
        let gap_ns = if gap { work.gaps.entry_ns } else { 0.0 };
        self.queue.push(now_ns + entry_ns + gap_ns + fixed_ns, What::Approach { node, block });
        if let Some(fetch) = work.fetch {
            self.memory.begin(now_ns, sm, (node, block), fetch.bytes, None);
        }
        if work.fires == Fires::AtEntry {
            let chance = if gap { work.gaps.lost_chance(work.issue.warps) } else { 0.0 };
            match evenly(self.seed.rotate_left(7), node, block) < chance {
                true => self.queue.push(now_ns + work.gaps.lost_ns, What::Enter { node, block }),
                false => self.enter(node, block, now_ns + work.entry_trigger_ns),
            }
        }
        let launched = self.window.node(node);
        launched.begun += 1;
        if launched.begun == work.grid_blocks
            && let Link::Begun(launch_ns) = work.link
        {
            self.queue.push(now_ns + launch_ns, What::Launch(node + 1));
        }
    }
}

/// Ranges of SMs that a cluster stays in.
fn groups(sizes: &[u32]) -> impl Iterator<Item = std::ops::Range<u32>> {
    sizes.iter().scan(0, |first, size| {
        let group = *first..*first + size;
        *first = group.end;
        Some(group)
    })
}
