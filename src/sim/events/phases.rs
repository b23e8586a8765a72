//! A block from its preamble to its exit, and what its node makes of it.

use super::engine::Engine;
use super::memory::Reached;
use super::node::{Block, Node, Phase};
use super::queue::What;
use super::sm::{Job, PAIR_WARPS, Scheduler};
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

    /// Adds a block's work to the schedulers of its SM, but for those where it is at it already.
    /// The trigger is the first warp's.
    fn issue(&mut self, sm: u32, job: Job) {
        let Block { begun, place, .. } = *self.block(job.node, job.block);
        for by in 0..self.work.issue.parts() {
            if begun >> by & 1 == 0 || job.early {
                let scheduler = self.scheduler(sm, place, by);
                self.settle(scheduler);
                self.add(scheduler, by, job);
                self.share(scheduler);
            }
        }
    }

    /// Adds the part of a block's work that is done on one scheduler, `by` after its first warp's.
    fn add(&mut self, scheduler: u32, by: u32, job: Job) {
        let rates = &self.work.issue;
        let rank = by_chance(self.seed.rotate_left(32), job.node, job.block);
        let part = job.part(rates.warps + u32::from(by < rates.more), by);
        self.schedulers[scheduler as usize].add(part, rank);
    }

    /// Brings a scheduler up to date; what has come to its trigger or end goes on.
    fn settle(&mut self, scheduler: u32) {
        let mut done = std::mem::take(&mut self.done);
        let now_ns = self.now_ns;
        self.schedulers[scheduler as usize].advance(now_ns, |job, ended| done.push((*job, ended)));
        let any = done.iter().any(|&(_, ended)| ended);
        if any {
            self.gap(scheduler);
        }
        for (job, ended) in done.drain(..) {
            let Job { node, block, .. } = job;
            match (job.early, ended) {
                (true, _) => self.approached(scheduler, &job),
                (false, false) => self.signal(node, block, now_ns),
                (false, true) => {
                    let state = &mut self.schedulers[scheduler as usize];
                    match state.warps() >= PAIR_WARPS {
                        true => self.starve(scheduler, &job),
                        false => self.worked(node, block, job.by),
                    }
                }
            }
        }
        self.done = done;
    }

    /// A part of a block's body is done, and its last instructions.
    fn worked(&mut self, node: u32, block: u32, by: u32) {
        let warps = self.work.issue.part_warps(by);
        let state = self.block(node, block);
        state.parts_late -= 1;
        if state.parts_late == 0 {
            self.tail(node, block);
        } else {
            self.leave(node, block, warps);
        }
    }

    fn leave(&mut self, node: u32, block: u32, warps: u32) {
        let most = self.work.issue.block_warps();
        let state = self.block(node, block);
        let warps = warps.min(most - state.left);
        state.left += warps;
        let sm = state.sm;
        self.free(sm, warps, self.work.tail_ns);
    }

    fn starve(&mut self, scheduler: u32, job: &Job) {
        let Job { node, block, by, .. } = *job;
        let u = uniform(self.seed.rotate_left(23), node, block * 4 + by);
        let part = SLIPS * (1.0 - u / SLIP);
        if part >= 1.0 {
            return self.worked(node, block, by);
        }
        let slip = (part.max(0.0) * f64::from(self.work.issue.part_warps(by))) as u32;
        if slip > 0 {
            self.leave(node, block, slip);
        }
        self.schedulers[scheduler as usize].leaving.push((node, block, by));
    }

    /// A turn of a scheduler is over: who waits for a gap may go on.
    fn gap(&mut self, scheduler: u32) {
        let rates = &self.work.issue;
        let sm = scheduler / rates.schedulers;
        let mut at = 0;
        while let Some(&(node, block)) = self.sms[sm as usize].newcomers.get(at) {
            let place = self.block(node, block).place;
            if self.scheduler(sm, place, 0) == scheduler {
                self.sms[sm as usize].newcomers.remove(at);
                self.begin(node, block, true);
            } else {
                at += 1;
            }
        }
        let free = self.schedulers[scheduler as usize].warps() < PAIR_WARPS;
        let wins = WINS_PER_WARP * f64::from(rates.warps.max(1));
        let mut leaving = std::mem::take(&mut self.schedulers[scheduler as usize].leaving);
        let (seed, now_ns) = (self.seed.rotate_left(13), self.now_ns);
        leaving.retain(|&(node, block, by)| {
            let goes = free || uniform(seed ^ now_ns.to_bits(), node, block) < wins;
            if goes {
                self.worked(node, block, by);
            }
            !goes
        });
        self.schedulers[scheduler as usize].leaving = leaving;
    }

    /// A part of a block has come to its sync. Its warps go on where the primary has ended,
    /// whatever the block's others do.
    fn approached(&mut self, scheduler: u32, job: &Job) {
        let Job { node, block, by, .. } = *job;
        let state = self.block(node, block);
        state.parts_early -= 1;
        if state.parts_early == 0 {
            return self.arrive(node, block);
        }
        // Who polls a flag does so for the whole block.
        let polls = node > 0 && matches!(self.work.wait, Wait::Neighbour(_));
        match !polls && self.gate_ns(node, block) <= self.now_ns {
            true => self.go_ahead(scheduler, node, block, by),
            false => self.block(node, block).came |= 1 << by,
        }
    }

    /// A part of a block goes on to its body before the block's others have come to their sync.
    fn go_ahead(&mut self, scheduler: u32, node: u32, block: u32, by: u32) {
        let (now_ns, work) = (self.now_ns, self.work);
        let Piece::Issue(units) = work.body else { return };
        let state = self.block(node, block);
        state.begun |= 1 << by;
        if by == 0 {
            state.release_ns = now_ns;
            self.released(node, block);
        }
        let body = self.body_job(node, block, units);
        self.add(scheduler, by, body);
    }

    /// The same for all parts of a block that wait for the primary, which has ended.
    fn let_go(&mut self, node: u32, block: u32) {
        let Block { sm, place, came, .. } = *self.block(node, block);
        for by in (0..self.work.issue.parts()).filter(|by| came >> by & 1 == 1) {
            let scheduler = self.scheduler(sm, place, by);
            self.settle(scheduler);
            self.go_ahead(scheduler, node, block, by);
            self.share(scheduler);
        }
        self.block(node, block).came = 0;
    }

    /// The body of a block.
    fn body_job(&self, node: u32, block: u32, units: f64) -> Job {
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
                Phase::Body => self.tail(node, block),
                _ => self.fetched(node, block),
            }
        }
    }

    fn share(&mut self, scheduler: u32) {
        let rates = &self.work.issue;
        let sm = scheduler / rates.schedulers;
        let served = self.schedulers[scheduler as usize].served(rates);
        while let Some((node, block)) = self.sms[sm as usize].enters(scheduler, served) {
            let freed_ns = self.now_ns - self.work.freed_ns;
            let begin_ns = self.block(node, block).begin_ns;
            self.signal(node, block, freed_ns.max(begin_ns));
        }
        let state = &mut self.schedulers[scheduler as usize];
        let next_ns = state.share(rates);
        if let Some(next_ns) = next_ns {
            self.queue.push(next_ns, What::Issue { scheduler, version: state.version });
        }
        if matches!(self.work.body, Piece::Stream(_)) {
            let first = (sm * rates.schedulers) as usize;
            let all = &self.schedulers[first..first + rates.schedulers as usize];
            let busy = all.iter().any(Scheduler::busy);
            self.memory.beside(self.now_ns, sm, busy);
        }
    }

    pub(super) fn issued(&mut self, scheduler: u32, version: u32) {
        if self.schedulers[scheduler as usize].version != version {
            self.events -= 1;
            return;
        }
        self.settle(scheduler);
        // Settling may have begun work here, and shared already.
        if self.schedulers[scheduler as usize].version == version {
            self.share(scheduler);
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
    fn arrive(&mut self, node: u32, block: u32) {
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
    fn gate_ns(&mut self, node: u32, block: u32) -> f64 {
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

    fn released(&mut self, node: u32, block: u32) {
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
        let mark = self.mark(bytes);
        let state = self.block(node, block);
        state.phase = Phase::Body;
        let sm = state.sm;
        self.memory.begin(self.now_ns, sm, (node, block), bytes, mark);
    }

    /// The body's work is done.
    fn tail(&mut self, node: u32, block: u32) {
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

    fn free(&mut self, sm: u32, units: u32, in_ns: f64) {
        let in_ns = self.work.refill_ns + in_ns;
        let at_ns = self.now_ns + in_ns;
        let freed = &mut self.dispatcher.freed;
        let at = freed.partition_point(|&(other, _, _)| other <= at_ns);
        freed.insert(at, (at_ns, sm, units));
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
            let left = self.block(node, block).left;
            self.free(sm, work.issue.block_warps() - left, 0.0);
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
const SLIP: f64 = 0.25;
const SLIPS: f64 = 1.1;
const WINS_PER_WARP: f64 = 0.15;
/// Bits of each number.
const BITS: u64 = (1 << 21) - 1;

/// A number from 0 to 1 for each block of each node of a seed (the finaliser of splitmix64): the
/// mean of three, near the middle mostly, as ends of blocks are that do the same.
pub(super) fn by_chance(seed: u64, node: u32, block: u32) -> f64 {
    let z = mix(seed, node, block);
    let sum: u64 = [43, 22, 1].iter().map(|shift| z >> shift & BITS).sum();
    sum as f64 / (3 * BITS) as f64
}

pub(super) fn uniform(seed: u64, node: u32, block: u32) -> f64 {
    (mix(seed, node, block) >> 43) as f64 / BITS as f64
}

fn mix(seed: u64, node: u32, block: u32) -> u64 {
    let place = u64::from(node) << 32 | u64::from(block);
    let z = seed ^ place.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
