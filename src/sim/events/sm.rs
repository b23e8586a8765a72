//! SMs: their slots, which of them takes the next block, and how blocks share their schedulers.

use std::collections::VecDeque;

use super::work::IssueRates;

/// Work left that counts as none, multiply-adds a thread.
const NONE: f64 = 1e-4;

/// Warps of a block that keep a scheduler busy by themselves: one's gaps are the other's turns.
pub const PAIR_WARPS: f64 = 2.0;

const PEER_SPREAD: f64 = 1.2;

/// Work of one block on a scheduler of its SM.
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
    /// Warps of the block on the scheduler.
    pub warps: f64,
    /// The scheduler's place after that of the block's first warp.
    pub by: u32,
    rank: f64,
    rate: f64,
}

impl Job {
    /// A job of `units` multiply-adds a thread after the sync, its trigger after `mark` of them.
    pub fn body(node: u32, block: u32, units: f64, mark: Option<f64>) -> Job {
        let mark = mark.unwrap_or(f64::INFINITY);
        Job {
            node,
            block,
            left: units,
            mark,
            early: false,
            warps: 1.0,
            by: 0,
            rank: 0.0,
            rate: 0.0,
        }
    }

    /// The part of the job that `warps` warps do; the trigger stays with the block's first warp.
    pub fn part(self, warps: u32, by: u32) -> Job {
        let mark = if by == 0 { self.mark } else { f64::INFINITY };
        Job { warps: f64::from(warps), mark, by, ..self }
    }

    /// A job of `units` multiply-adds a thread before the sync.
    pub fn preamble(node: u32, block: u32, units: f64) -> Job {
        Job { early: true, ..Job::body(node, block, units, None) }
    }
}

/// One SM.
#[derive(Clone, Debug, Default)]
pub struct Sm {
    /// Blocks that are placed and do not get to their first instruction.
    pub newcomers: VecDeque<(u32, u32)>,
    /// Blocks that have begun and do not get to the trigger at their entry, and their first
    /// warp's scheduler.
    pub entering: Vec<(u32, u32, u32)>,
    /// Places of resident blocks, a bit each: a block's warps follow those of the place before.
    places: u64,
}

impl Sm {
    /// Takes the first free place.
    pub fn place(&mut self) -> u32 {
        let place = (!self.places).trailing_zeros();
        self.places |= 1 << place;
        place
    }

    /// Gives the place of a block back.
    pub fn leave(&mut self, place: u32, who: (u32, u32)) {
        self.places &= !(1 << place);
        self.entering.retain(|&(node, block, _)| (node, block) != who);
    }

    /// Takes the next block that gets to the trigger at its entry on `scheduler`: any where
    /// `served` is none, or the one that is served.
    pub fn enters(&mut self, scheduler: u32, served: Option<(u32, u32)>) -> Option<(u32, u32)> {
        let at = self.entering.iter().position(|&(node, block, of)| {
            of == scheduler && served.is_none_or(|served| served == (node, block))
        })?;
        let (node, block, _) = self.entering.remove(at);
        Some((node, block))
    }
}

/// One scheduler of an SM, or all of them where they do the same.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// In the order in which they are served: of one node the eldest block first.
    jobs: Vec<Job>,
    at_ns: f64,
    /// Counts changes: an event that was made before the last one is stale.
    pub version: u32,
    /// Blocks whose work here is done and whose last instructions find no turn.
    pub leaving: Vec<(u32, u32, u32)>,
}

impl Scheduler {
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

    /// Whether blocks are at work on it.
    pub fn busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// The block whose turn it is, where the warps at work leave no turn to others: two of one
    /// block, or three of several. Blocks whose warps do not divide by the schedulers always find
    /// one with turns left.
    pub fn served(&self, rates: &IssueRates) -> Option<(u32, u32)> {
        let first = self.jobs.first()?;
        let warps: f64 = self.jobs.iter().map(|job| job.warps).sum();
        let full = (first.warps >= PAIR_WARPS || warps > PAIR_WARPS);
        full.then_some((first.node, first.block))
    }

    /// Whether a newcomer does not get to its first instruction: the one whose turn it is leaves no
    /// turn to others and is before its sync, or others wait for what turns it leaves.
    pub fn hogged(&self) -> bool {
        self.jobs.first().is_some_and(|job| {
            job.warps >= PAIR_WARPS && (job.early || self.jobs.len() > 1)
        })
    }

    /// Warps before their sync that are at work on it.
    pub fn warps(&self) -> f64 {
        self.jobs.iter().filter(|job| job.early).map(|job| job.warps).sum()
    }

    /// Adds a job; the others have been brought up to date. Whose turn it is and who leaves no
    /// turn to others goes on; all else are served in the order of their age.
    pub fn add(&mut self, job: Job, rank: f64) {
        let job = Job { rank, ..job };
        let single = job.warps < PAIR_WARPS;
        let before = |other: &Job| match other.node == job.node {
            true => other.block < job.block,
            false if single && other.warps < PAIR_WARPS => other.rank > job.rank,
            false => other.node < job.node,
        };
        let stays = self.jobs.first().is_some_and(|first| first.warps >= PAIR_WARPS);
        let from = usize::from(stays && self.jobs[0].node != job.node);
        let at = from + self.jobs[from..].iter().take_while(|other| before(other)).count();
        self.jobs.insert(at, job);
    }

    /// Shares the turns among the jobs. Each gets a fixed part of the turns of the one that is
    /// served before it, and no more turns than its warps can use. Returns when the next job is
    /// at its trigger or end, ns.
    pub fn share(&mut self, rates: &IssueRates) -> Option<f64> {
        self.version = self.version.wrapping_add(1);
        let mut free = rates.scheduler;
        let mut rest = &mut self.jobs[..];
        // Who can use least of its turns comes first, since turns fall with age: a job that is
        // not kept from its lone rate leaves the rest to the others.
        while let Some(first) = rest.first() {
            let node = first.node;
            let peers = rest.iter().take_while(|job| job.node == node).count();
            let (group, others) = rest.split_at_mut(peers);
            let nodes = 1 + others.chunk_by(|a, b| a.node == b.node).count() as i32;
            let mut turns = free / geometric(rates.elder, nodes);
            for at in 0..peers {
                let job = &mut group[at];
                let peer = match rates.peer < 1.0 {
                    true => (rates.peer + PEER_SPREAD * (job.rank - 0.5)).clamp(0.2, 1.0),
                    false => 1.0,
                };
                let parts = geometric(peer, (peers - at) as i32);
                let own = (turns / parts).min(rates.lone * job.warps);
                job.rate = own / job.warps;
                turns -= own;
                free -= own;
            }
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
    /// Units of a block.
    block: u32,
    /// Blocks that an SM holds at most.
    most: u32,
    /// For each number of resident blocks the SMs that hold as many, a bit each.
    levels: Vec<Vec<u64>>,
    /// Blocks on each SM, as the dispatcher knows it.
    held: Vec<u32>,
}

impl Slots {
    /// Empty SMs that hold `most` blocks each.
    pub fn new(sms: u32, most: u32, block: u32) -> Slots {
        let words = sms.div_ceil(64) as usize;
        let mut levels = vec![vec![0; words]; most as usize + 1];
        (0..sms as usize).for_each(|sm| levels[0][sm / 64] |= 1 << (sm % 64));
        Slots { block, most, levels, held: vec![0; sms as usize] }
    }

    /// Takes a slot on the SM that holds fewest blocks, the first of equals; `None` where no SM
    /// has one.
    pub fn take(&mut self) -> Option<u32> {
        let levels = &self.levels[..=(self.most - self.block) as usize];
        let sm = levels.iter().find_map(|level| {
            let word = level.iter().position(|&word| word != 0)?;
            Some(word as u32 * 64 + level[word].trailing_zeros())
        })?;
        self.shift(sm, self.block as i32);
        Some(sm)
    }

    /// Takes a slot on an SM of a range for each block of a cluster, on the emptiest first; takes
    /// none where they do not all fit.
    pub fn take_cluster(&mut self, sms: std::ops::Range<u32>, blocks: u32) -> Option<Vec<u32>> {
        let free: u32 = sms.clone().map(|sm| (self.most - self.held[sm as usize]) / self.block).sum();
        if free < blocks {
            return None;
        }
        let emptiest = |slots: &Slots| sms.clone().min_by_key(|&sm| slots.held[sm as usize]);
        let taken = (0..blocks).filter_map(|_| {
            let sm = emptiest(self)?;
            self.shift(sm, self.block as i32);
            Some(sm)
        });
        Some(taken.collect())
    }

    /// Gives a slot back.
    pub fn give(&mut self, sm: u32, units: u32) {
        self.shift(sm, -(units as i32));
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
