//! SMs: their slots, which of them takes the next block, and how blocks share their schedulers.

use std::collections::VecDeque;

use super::work::IssueRates;

/// Work left that counts as none, multiply-adds a thread.
const NONE: f64 = 1e-4;

/// Work of one block on the schedulers of its SM.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Node.
    pub node: u32,
    /// Block.
    pub block: u32,
    /// Multiply-adds a thread that are left.
    pub left: f64,
    /// The same to the trigger; infinite where there is none.
    pub mark: f64,
    /// Work before the sync.
    pub early: bool,
    rank: f64,
    rate: f64,
}

impl Job {
    /// A job of `units` multiply-adds a thread after the sync, its trigger after `mark` of them.
    pub fn body(node: u32, block: u32, units: f64, mark: Option<f64>) -> Job {
        let mark = mark.unwrap_or(f64::INFINITY);
        Job { node, block, left: units, mark, early: false, rank: 0.0, rate: 0.0 }
    }

    /// A job of `units` multiply-adds a thread before the sync.
    pub fn preamble(node: u32, block: u32, units: f64) -> Job {
        Job { early: true, ..Job::body(node, block, units, None) }
    }
}

/// One SM.
#[derive(Clone, Debug, Default)]
pub struct Sm {
    /// In the order in which they are served: of one node the eldest block first, of two nodes one
    /// or the other.
    jobs: Vec<Job>,
    /// Blocks that are placed and do not get to their first instruction.
    pub newcomers: VecDeque<(u32, u32)>,
    at_ns: f64,
    /// Counts changes: an event that was made before the last one is stale.
    pub version: u32,
}

impl Sm {
    /// Brings the jobs up to date, and takes those that are at their trigger or end.
    pub fn advance(&mut self, now_ns: f64, mut reached: impl FnMut(&Job, bool)) {
        let ns = now_ns - self.at_ns;
        self.at_ns = now_ns;
        self.jobs.retain_mut(|job| {
            job.left -= ns * job.rate;
            job.mark -= ns * job.rate;
            let ended = job.left <= NONE;
            if ended || job.mark <= NONE {
                reached(job, ended);
                job.mark = f64::INFINITY;
            }
            !ended
        });
    }

    /// Whether blocks are at work on its schedulers.
    pub fn busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether the one whose turn it is is before its sync: it does not let go of its scheduler.
    pub fn hogged(&self) -> bool {
        self.jobs.first().is_some_and(|job| job.early)
    }

    /// Adds a job; the others have been brought up to date. Of two nodes' jobs that of the higher
    /// `rank` is served first: which it is on an H200 differs from SM to SM.
    pub fn add(&mut self, job: Job, rank: f64) {
        let job = Job { rank, ..job };
        let before = |other: &Job| match other.node == job.node {
            true => other.block < job.block,
            false => other.rank > job.rank,
        };
        let at = self.jobs.partition_point(before);
        self.jobs.insert(at, job);
    }

    /// Shares the schedulers among the jobs, each of a block with `warps` warps a scheduler, or
    /// `lone_warps` on the fullest where it is alone. Each block gets a fixed part of the turns of the one that is served before it, and no more turns than its
    /// warps can use. Returns when the next job is at its trigger or end, ns.
    pub fn share(&mut self, rates: &IssueRates) -> Option<f64> {
        self.version = self.version.wrapping_add(1);
        let warps = if self.jobs.len() > 1 { rates.warps } else { rates.lone_warps };
        let mut free = rates.scheduler / warps;
        let mut rest = &mut self.jobs[..];
        // Who can use least of its turns comes first, since turns fall with age: a job that is
        // not kept from its lone rate leaves the rest to the others.
        while let Some((job, others)) = rest.split_first_mut() {
            let turns = geometric(rates.elder, others.len() as i32 + 1);
            job.rate = (free / turns).min(rates.lone);
            free -= job.rate;
            rest = others;
        }
        let next = self.jobs.iter().map(|job| job.left.min(job.mark).max(0.0) / job.rate);
        next.reduce(f64::min).map(|ns| self.at_ns + ns)
    }
}

/// 1 + ratio + ratio² …, `count` terms.
fn geometric(ratio: f64, count: i32) -> f64 {
    match ratio == 1.0 {
        true => f64::from(count),
        false => (1.0 - ratio.powi(count)) / (1.0 - ratio),
    }
}

/// SMs by the number of blocks that they hold, so that the emptiest is found at once.
#[derive(Debug)]
pub struct Slots {
    /// Blocks that an SM holds at most.
    most: u32,
    /// For each number of resident blocks the SMs that hold as many, a bit each.
    levels: Vec<Vec<u64>>,
    /// Blocks on each SM, as the dispatcher knows it.
    held: Vec<u32>,
}

impl Slots {
    /// Empty SMs that hold `most` blocks each.
    pub fn new(sms: u32, most: u32) -> Slots {
        let words = sms.div_ceil(64) as usize;
        let mut levels = vec![vec![0; words]; most as usize + 1];
        (0..sms as usize).for_each(|sm| levels[0][sm / 64] |= 1 << (sm % 64));
        Slots { most, levels, held: vec![0; sms as usize] }
    }

    /// Takes a slot on the SM that holds fewest blocks, the first of equals; `None` where no SM
    /// has one.
    pub fn take(&mut self) -> Option<u32> {
        let levels = &self.levels[..self.most as usize];
        let sm = levels.iter().find_map(|level| {
            let word = level.iter().position(|&word| word != 0)?;
            Some(word as u32 * 64 + level[word].trailing_zeros())
        })?;
        self.shift(sm, 1);
        Some(sm)
    }

    /// Takes a slot on an SM of a range for each block of a cluster, on the emptiest first; takes
    /// none where they do not all fit.
    pub fn take_cluster(&mut self, sms: std::ops::Range<u32>, blocks: u32) -> Option<Vec<u32>> {
        let free: u32 = sms.clone().map(|sm| self.most - self.held[sm as usize]).sum();
        if free < blocks {
            return None;
        }
        let emptiest = |slots: &Slots| sms.clone().min_by_key(|&sm| slots.held[sm as usize]);
        let taken = (0..blocks).filter_map(|_| {
            let sm = emptiest(self)?;
            self.shift(sm, 1);
            Some(sm)
        });
        Some(taken.collect())
    }

    /// Gives a slot back.
    pub fn give(&mut self, sm: u32) {
        self.shift(sm, -1);
    }

    /// Blocks that `blocks` more would find beside them on the SMs of a range.
    pub fn beside(&self, sms: std::ops::Range<u32>, blocks: u32) -> u32 {
        let mut held = self.held[sms.start as usize..sms.end as usize].to_vec();
        let mut beside = 0;
        for _ in 0..blocks {
            let Some(least) = held.iter_mut().min() else { break };
            beside += *least;
            *least += 1;
        }
        beside
    }

    fn shift(&mut self, sm: u32, by: i32) {
        let held = &mut self.held[sm as usize];
        let bit = 1 << (sm % 64);
        self.levels[*held as usize][sm as usize / 64] &= !bit;
        *held = held.saturating_add_signed(by);
        self.levels[*held as usize][sm as usize / 64] |= bit;
    }
}
