//! Turns on the schedulers of an SM, and what has to wait for a gap between two of them.
//!
//! Two warps of one block leave a scheduler no turn for others until their work is done, and three
//! of several blocks neither. Stamps of an H200 show what comes of that at the edges of such work.
//! Beside preambles a new block does not get to its first instruction, and a block whose body is
//! done does not get to its last ones: both wait for a gap, which is where one's work ends. In it a
//! newcomer may be too late for the trigger at its entry, and some warps of a block leave before the
//! others; the dispatcher then takes their SM for an emptier one.

use super::chance::{by_chance, evenly};
use super::engine::Engine;
use super::node::Block;
use super::queue::What;
use super::scheduler::{Job, Part, Scheduler};
use super::work::{Piece, Wait};

impl Engine<'_> {
    /// Adds a block's work to the schedulers of its SM, but for those where it is at it already.
    /// The trigger is the first warp's.
    pub(super) fn issue(&mut self, sm: u32, job: Job) {
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
        // Which of two single warps is served first differs from SM to SM on an H200.
        let rank = by_chance(self.seed.rotate_left(32), job.node, job.block);
        let part = job.part(rates.part_warps(by), by);
        self.schedulers[scheduler as usize].add(part, rank);
    }

    /// Brings a scheduler up to date; what has come to its trigger or end goes on.
    fn settle(&mut self, scheduler: u32) {
        let mut done = std::mem::take(&mut self.done);
        let now_ns = self.now_ns;
        self.schedulers[scheduler as usize].advance(now_ns, |job, ended| done.push((*job, ended)));
        if done.iter().any(|&(_, ended)| ended) {
            self.gap(scheduler);
        }
        for (job, ended) in done.drain(..) {
            match (job.early, ended) {
                (true, _) => self.approached(scheduler, &job),
                (false, false) => self.signal(job.node, job.block, now_ns),
                (false, true) => {
                    let Job { node, block, by, .. } = job;
                    self.worked(scheduler, Part { node, block, by });
                }
            }
        }
        self.done = done;
    }

    /// One's work has ended: who waits for a gap on this scheduler may go on.
    fn gap(&mut self, scheduler: u32) {
        let sm = scheduler / self.work.issue.schedulers;
        let waiting = std::mem::take(&mut self.sms[sm as usize].newcomers);
        for (node, block) in waiting {
            let place = self.block(node, block).place;
            match self.scheduler(sm, place, 0) == scheduler {
                true => self.begin(node, block, true),
                false => self.sms[sm as usize].newcomers.push((node, block)),
            }
        }
        let starves = self.schedulers[scheduler as usize].starves();
        let mut leaving = std::mem::take(&mut self.schedulers[scheduler as usize].leaving);
        leaving.retain(|part| {
            let stays = starves && !self.gets_out(part);
            if !stays {
                self.part_done(part);
            }
            stays
        });
        self.schedulers[scheduler as usize].leaving = leaving;
    }

    /// Whether a part that waits for its last instructions wins the present gap.
    fn gets_out(&self, part: &Part) -> bool {
        let warps = f64::from(self.work.issue.warps.max(1));
        let seed = self.seed.rotate_left(13) ^ self.now_ns.to_bits();
        evenly(seed, part.node, part.block) < self.work.gaps.exit_per_warp * warps
    }

    /// A part of a block has done its body's work. Beside preambles its last instructions have to
    /// wait, but for those of the warps that are quick.
    fn worked(&mut self, scheduler: u32, part: Part) {
        if !self.schedulers[scheduler as usize].starves() {
            return self.part_done(&part);
        }
        let quick = self.quick(&part);
        if quick >= 1.0 {
            return self.part_done(&part);
        }
        let round = self.drawn(29, &part);
        let warps = f64::from(self.work.issue.part_warps(part.by));
        self.give_warps(&part, (quick * warps + round) as u32);
        self.schedulers[scheduler as usize].leaving.push(part);
    }

    /// A block's stream has come. Beside preambles its last instructions have to wait as well.
    pub(super) fn streamed_out(&mut self, node: u32, block: u32) {
        let state = self.block(node, block);
        state.parts_late = 1;
        let (sm, place) = (state.sm, state.place);
        let scheduler = self.scheduler(sm, place, 0);
        self.worked(scheduler, Part { node, block, by: 0 });
    }

    /// Which part of the warps of a part of a block leaves at once; more than one: all of them.
    fn quick(&self, part: &Part) -> f64 {
        let drawn = self.drawn(23, part);
        (QUICKEST * (1.0 - drawn / self.work.gaps.quick_chance)).max(0.0)
    }

    /// A number from 0 to 1 for a part of a block; another for another `draw`.
    fn drawn(&self, draw: u32, part: &Part) -> f64 {
        let place = part.block * self.work.issue.schedulers + part.by;
        evenly(self.seed.rotate_left(draw), part.node, place)
    }

    /// The last instructions of a part of a block; those of its last part end it.
    fn part_done(&mut self, part: &Part) {
        let state = self.block(part.node, part.block);
        state.parts_late -= 1;
        match state.parts_late {
            0 => self.tail(part.node, part.block),
            _ => self.give_warps(part, self.work.issue.part_warps(part.by)),
        }
    }

    /// Gives the slots of `warps` warps back before their block's end.
    fn give_warps(&mut self, part: &Part, warps: u32) {
        let all = self.work.issue.block_warps();
        let state = self.block(part.node, part.block);
        let warps = warps.min(all - state.warps_left);
        state.warps_left += warps;
        let sm = state.sm;
        if warps > 0 {
            self.free(sm, warps, self.work.tail_ns);
        }
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
    pub(super) fn let_go(&mut self, node: u32, block: u32) {
        let Block { sm, place, came, .. } = *self.block(node, block);
        for by in (0..self.work.issue.parts()).filter(|by| came >> by & 1 == 1) {
            let scheduler = self.scheduler(sm, place, by);
            self.settle(scheduler);
            self.go_ahead(scheduler, node, block, by);
            self.share(scheduler);
        }
        self.block(node, block).came = 0;
    }

    /// Shares the turns of a scheduler anew; a trigger at entry that waited for a turn may count.
    fn share(&mut self, scheduler: u32) {
        let rates = &self.work.issue;
        let sm = scheduler / rates.schedulers;
        let served = self.schedulers[scheduler as usize].served();
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

    /// Work on a scheduler may be done.
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
}

/// Of a block of which some warps leave at once: at most this part of them, so that all do of few.
const QUICKEST: f64 = 1.1;
