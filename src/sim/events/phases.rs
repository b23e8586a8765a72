//! A block from its preamble to its exit, and what its node makes of it.

use super::chance::by_chance;
use super::engine::{Engine, Freed};
use super::memory::Reached;
use super::node::{Node, Phase};
use super::queue::What;
use super::scheduler::Job;
use super::work::{Fires, Link, Piece, Wait};

impl Engine<'_> {
    /// The end of what a block does for a fixed time before its sync.
    pub(super) fn approach(&mut self, node: u32, block: u32) {
        let Piece::Issue(units) = self.work.preamble else { return self.arrive(node, block) };
        let parts = self.work.issue.parts();
        let waiting = self.block(node, block);
        waiting.phase = Phase::Preamble;
        let sm = waiting.sm;
        (waiting.parts_early, waiting.parts_late) = (parts, parts);
        self.issue(sm, Job::preamble(node, block, units));
    }

    /// The body of a block.
    pub(super) fn body_job(&self, node: u32, block: u32, units: f64) -> Job {
        Job::body(node, block, units, self.mark(units))
    }

    /// Where in `amount` of a body's work its trigger stands; `None` where it is not in it.
    fn mark(&self, amount: f64) -> Option<f64> {
        match self.work.fires {
            Fires::Work(part) => Some(part * amount),
            _ => None,
        }
    }

    fn go_on(&mut self, reached: &mut Vec<Reached>) {
        for Reached { node, block, ended } in reached.drain(..) {
            match self.block(node, block).phase {
                Phase::Body if !ended => self.signal(node, block, self.now_ns),
                Phase::Body => self.streamed_out(node, block),
                _ => self.fetched(node, block),
            }
        }
    }

    pub(super) fn streamed(&mut self) {
        let mut reached = std::mem::take(&mut self.reached);
        self.memory.take(self.now_ns, &mut reached);
        self.go_on(&mut reached);
        self.reached = reached;
    }

    fn fetched(&mut self, node: u32, block: u32) {
        let waiting = self.block(node, block);
        waiting.fetched = true;
        if waiting.phase == Phase::Fetching {
            self.body(node, block);
        }
    }

    /// Arrival at the sync.
    pub(super) fn arrive(&mut self, node: u32, block: u32) {
        let now_ns = self.now_ns;
        let arrived = self.block(node, block);
        arrived.arrive_ns = now_ns;
        let gate_ns = self.gate_ns(node, block);
        // Warps that come late to the sync hide each other's way to the body.
        let head_ns = self.work.late_head_ns;
        let waits = gate_ns == f64::INFINITY || self.holds(gate_ns);
        let arrived = self.block(node, block);
        if waits {
            arrived.phase = Phase::Waiting;
            return;
        }
        let release_ns = now_ns.max(gate_ns);
        if arrived.begun & 1 == 0 {
            arrived.release_ns = release_ns;
        }
        arrived.phase = Phase::Head;
        self.released(node, block);
        self.queue.push(release_ns + head_ns, What::Timer { node, block });
    }

    /// From when on nothing holds a block in its sync; infinite where that is not known.
    pub(super) fn gate_ns(&mut self, node: u32, block: u32) -> f64 {
        match self.work.wait {
            _ if node == 0 => f64::NEG_INFINITY,
            Wait::Nothing => f64::NEG_INFINITY,
            Wait::Grid(_) => self.window.node(node).gate_ns,
            Wait::Neighbour(ns) => {
                let neighbour = (block + 1) % self.work.grid_blocks;
                let primary = self.block(node - 1, neighbour);
                if primary.phase == Phase::Ended { primary.end_ns + ns } else { f64::INFINITY }
            }
        }
    }

    /// Whether the return of the sync is an event to come, which takes all that wait along.
    fn holds(&self, gate_ns: f64) -> bool {
        matches!(self.work.wait, Wait::Grid(_)) && gate_ns > self.now_ns
    }

    /// The sync returns to all blocks that wait in it.
    pub(super) fn release(&mut self, node: u32) {
        let (now_ns, fires) = (self.now_ns, self.work.fires);
        let mut any = false;
        for block in 0..self.work.grid_blocks {
            let waiting = self.block(node, block);
            if waiting.phase == Phase::Waiting {
                (waiting.phase, waiting.release_ns, any) = (Phase::Head, now_ns, true);
                if fires == Fires::AfterSync {
                    self.signal(node, block, now_ns);
                }
            } else if waiting.came != 0 {
                self.let_go(node, block);
            }
        }
        if any {
            self.queue.push(now_ns + self.work.head_ns, What::Heads(node));
        }
    }

    pub(super) fn released(&mut self, node: u32, block: u32) {
        if self.work.fires == Fires::AfterSync && !self.block(node, block).signalled {
            let release_ns = self.block(node, block).release_ns;
            self.signal(node, block, release_ns);
        }
    }

    /// The bodies of all blocks that were released together.
    pub(super) fn heads(&mut self, node: u32) {
        let released_ns = self.window.node(node).gate_ns;
        for block in 0..self.work.grid_blocks {
            let waiting = self.block(node, block);
            let together = waiting.release_ns == released_ns && waiting.begun == 0;
            if waiting.phase == Phase::Head && together {
                self.body(node, block);
            }
        }
    }

    pub(super) fn timer(&mut self, node: u32, block: u32) {
        match self.block(node, block).phase {
            Phase::Head => self.body(node, block),
            Phase::Latency => self.stream(node, block),
            _ => self.exit(node, block),
        }
    }

    /// The body's work begins, or waits for what was fetched for it.
    fn body(&mut self, node: u32, block: u32) {
        let (now_ns, work) = (self.now_ns, self.work);
        let state = self.block(node, block);
        if !state.fetched {
            state.phase = Phase::Fetching;
            return;
        }
        state.phase = Phase::Body;
        let sm = state.sm;
        match work.body {
            Piece::Fixed(ns) => {
                if let Some(mark_ns) = self.mark(ns) {
                    self.signal(node, block, now_ns + mark_ns);
                }
                self.end_at(node, block, now_ns + ns);
            }
            Piece::Issue(units) => {
                if state.begun == 0 {
                    state.parts_late = work.issue.parts();
                }
                let job = self.body_job(node, block, units);
                self.issue(sm, job);
            }
            Piece::Stream(_) if work.first_spread_ns == 0.0 => self.stream(node, block),
            Piece::Stream(_) => {
                state.phase = Phase::Latency;
                let apart_ns = work.first_spread_ns * by_chance(!self.seed, node, block);
                self.queue.push(now_ns + apart_ns, What::Timer { node, block });
            }
        }
    }

    /// The first byte of a block's stream has come.
    fn stream(&mut self, node: u32, block: u32) {
        let Piece::Stream(bytes) = self.work.body else { return };
        // Memory serves some SMs sooner than others: as if their blocks read less.
        let apart = by_chance(self.seed.rotate_left(41), node, block) - 0.5;
        let bytes = bytes * (1.0 + self.work.bytes_spread * apart);
        let mark = self.mark(bytes);
        let state = self.block(node, block);
        state.phase = Phase::Body;
        let sm = state.sm;
        self.memory.begin(self.now_ns, sm, (node, block), bytes, mark);
    }

    /// The body's work is done.
    pub(super) fn tail(&mut self, node: u32, block: u32) {
        let reading_ns = self.work.fetch.map_or(0.0, |fetch| fetch.reading_ns);
        if !self.block(node, block).signalled && matches!(self.work.fires, Fires::Work(_)) {
            self.signal(node, block, self.now_ns);
        }
        self.end_at(node, block, self.now_ns + reading_ns);
    }

    /// The body's work ends at `work_end_ns`; what comes after it takes a fixed time.
    fn end_at(&mut self, node: u32, block: u32, work_end_ns: f64) {
        let work = self.work;
        let body_ns = work_end_ns - self.block(node, block).release_ns;
        let most_ns = work.spread_ns + work.spread_ratio * body_ns;
        let apart_ns = most_ns * by_chance(self.seed, node, block);
        let end_ns = (work_end_ns + self.work.tail_ns + apart_ns).max(self.now_ns);
        self.block(node, block).phase = Phase::Tail;
        if let Fires::BeforeEnd(ns) = self.work.fires {
            self.signal(node, block, (end_ns - ns).max(self.now_ns));
        }
        self.queue.push(end_ns, What::Timer { node, block });
    }

    /// A block has triggered at `at_ns`, or exits.
    pub(super) fn signal(&mut self, node: u32, block: u32, at_ns: f64) {
        let state = self.block(node, block);
        state.signalled = true;
        if self.work.fires != Fires::Exit {
            self.block(node, block).trigger_ns = at_ns;
        }
        let grid_blocks = self.work.grid_blocks;
        let primary = self.window.node(node);
        primary.signalled += 1;
        primary.fired_ns = primary.fired_ns.max(at_ns);
        if primary.signalled == grid_blocks
            && let Link::Programmatic { launch_ns, exit_launch_ns } = self.work.link
        {
            let exits = self.work.fires == Fires::Exit;
            let latency_ns = if exits { exit_launch_ns } else { launch_ns };
            let late = (by_chance(self.seed, node, NODE) - PROMPT).max(0.0);
            let apart_ns = self.work.launch_spread_ns * late;
            let at_ns = self.window.node(node).fired_ns + latency_ns + apart_ns;
            self.queue.push(at_ns.max(self.now_ns), What::Launch(node + 1));
        }
    }

    /// Gives the slots of `warps` warps back that leave in `in_ns`.
    pub(super) fn free(&mut self, sm: u32, warps: u32, in_ns: f64) {
        let in_ns = in_ns + self.work.refill_ns;
        let at_ns = self.now_ns + in_ns;
        let freed = &mut self.dispatcher.freed;
        let at = freed.partition_point(|other| other.at_ns <= at_ns);
        freed.insert(at, Freed { at_ns, sm, warps });
        self.wake(in_ns);
    }

    /// A block's last instruction.
    pub(super) fn exit(&mut self, node: u32, block: u32) {
        let (now_ns, work) = (self.now_ns, self.work);
        let state = self.block(node, block);
        (state.phase, state.end_ns) = (Phase::Ended, now_ns);
        let (sm, place, signalled) = (state.sm, state.place, state.signalled);
        self.sms[sm as usize].leave(place, (node, block));
        if !signalled {
            self.signal(node, block, now_ns);
        }
        if work.link == Link::Stays && node + 1 < self.nodes {
            self.window.ensure(node + 1, work.grid_blocks);
            self.put(node + 1, block, sm);
        } else {
            let warps = work.issue.block_warps() - self.block(node, block).warps_left;
            self.free(sm, warps, 0.0);
        }
        if let Wait::Neighbour(ns) = work.wait {
            self.wake_neighbour(node, block, ns);
        }
        let primary = self.window.node(node);
        primary.ended += 1;
        primary.end_ns = now_ns;
        if primary.ended == work.grid_blocks {
            self.complete(node);
        }
    }

    /// The block of the next node that polls this one's flag.
    fn wake_neighbour(&mut self, node: u32, block: u32, ns: f64) {
        let (now_ns, head_ns) = (self.now_ns, self.work.head_ns);
        let waiter = (block + self.work.grid_blocks - 1) % self.work.grid_blocks;
        let Some(secondary) = self.window.get(node + 1) else { return };
        let state = &mut secondary.blocks[waiter as usize];
        if state.phase == Phase::Waiting {
            (state.phase, state.release_ns) = (Phase::Head, now_ns + ns);
            self.queue.push(now_ns + ns + head_ns, What::Timer { node: node + 1, block: waiter });
        }
    }

    /// All blocks of a node have ended.
    fn complete(&mut self, node: u32) {
        let (now_ns, work) = (self.now_ns, self.work);
        self.end_ns = now_ns;
        let next = node + 1;
        if next < self.nodes {
            if let Link::Full(gap_ns) = work.link {
                self.queue.push(now_ns + gap_ns, What::Launch(next));
            }
            if let Wait::Grid(ns) = work.wait {
                self.window.ensure(next, work.grid_blocks).gate_ns = now_ns + ns;
                self.queue.push(now_ns + ns, What::Release(next));
            }
        }
        // Whose flags are polled has to stay one node longer.
        let kept = matches!(work.wait, Wait::Neighbour(_)) && next < self.nodes;
        let done = if kept { node } else { next };
        while self.window.first() < done {
            let see = &mut *self.see;
            self.window.retire(|index, node: &Node| see(index, &node.blocks));
        }
        self.wake(0.0);
    }
}

/// Stands for a whole node in the place of a block.
const NODE: u32 = u32::MAX;
/// Three launches of four come at once, the others late by up to half of their spread.
const PROMPT: f64 = 0.58;
