//! A scheduler of an SM: who is at work on it, and who gets its turns.

use super::work::IssueRates;

/// Work left that counts as none, multiply-adds a thread.
const NONE: f64 = 1e-4;

/// Warps of a block that keep a scheduler busy by themselves: one's gaps are the other's turns.
const PAIR_WARPS: f64 = 2.0;

/// The warps of a block on one scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Node.
    pub node: u32,
    /// Block.
    pub block: u32,
    /// The scheduler's place after that of the block's first warp.
    pub by: u32,
}

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

/// One scheduler of an SM, or all of them where they do the same.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// In the order in which they are served: of one node the eldest block first.
    jobs: Vec<Job>,
    at_ns: f64,
    /// Counts changes: an event that was made before the last one is stale.
    pub version: u32,
    /// Parts whose work is done and whose last instructions find no turn.
    pub leaving: Vec<Part>,
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
    /// block, or three of several.
    pub fn served(&self) -> Option<(u32, u32)> {
        let first = self.jobs.first()?;
        let warps: f64 = self.jobs.iter().map(|job| job.warps).sum();
        let full = first.warps >= PAIR_WARPS || warps > PAIR_WARPS;
        full.then_some((first.node, first.block))
    }

    /// Whether a newcomer does not get to its first instruction: the one whose turn it is leaves few
    /// turns to others, and a preamble takes those.
    pub fn hogged(&self) -> bool {
        let full = self.jobs.first().is_some_and(|job| job.warps >= PAIR_WARPS);
        full && self.jobs.iter().any(|job| job.early)
    }

    /// Whether last instructions find no turn: preambles leave none. Bodies do.
    pub fn starves(&self) -> bool {
        let early = self.jobs.iter().filter(|job| job.early);
        early.map(|job| job.warps).sum::<f64>() >= PAIR_WARPS
    }

    /// Adds a job; the others have been brought up to date. Whose turn it is and who leaves no turn
    /// to others goes on to its end; all else are served in the order of their age, but for single
    /// warps of two nodes: of these that of the higher `rank` is.
    pub fn add(&mut self, job: Job, rank: f64) {
        let job = Job { rank, ..job };
        let before = |other: &Job| match other.node == job.node {
            true => other.block < job.block,
            false if job.warps < PAIR_WARPS && other.warps < PAIR_WARPS => other.rank > job.rank,
            false => other.node < job.node,
        };
        let goes_on = |first: &Job| first.warps >= PAIR_WARPS && first.node != job.node;
        let from = usize::from(self.jobs.first().is_some_and(goes_on));
        let at = from + self.jobs[from..].iter().take_while(|other| before(other)).count();
        self.jobs.insert(at, job);
    }

    /// Shares the turns among the jobs: each node gets a fixed part of the turns of the one that is
    /// served before it, and so does each block of a node. No job gets more turns than its warps can
    /// use. Returns when the next job is at its trigger or end, ns.
    pub fn share(&mut self, rates: &IssueRates) -> Option<f64> {
        self.version = self.version.wrapping_add(1);
        let mut free = rates.scheduler;
        let mut rest = &mut self.jobs[..];
        while let Some(node) = rest.first().map(|job| job.node) {
            let peers = rest.iter().take_while(|job| job.node == node).count();
            let (own, others) = rest.split_at_mut(peers);
            let nodes = 1 + others.chunk_by(|a, b| a.node == b.node).count();
            free -= share_among(own, free / geometric(rates.elder, nodes), rates);
            rest = others;
        }
        let next = self.jobs.iter().map(|job| job.left.min(job.mark).max(0.0) / job.rate);
        next.reduce(f64::min).map(|ns| self.at_ns + ns)
    }
}

/// Shares `turns` among blocks of one node; returns how many they take. Who can use least of its
/// turns comes first, since turns fall with age: a job that is not kept from its lone rate leaves
/// the rest to the others.
fn share_among(peers: &mut [Job], turns: f64, rates: &IssueRates) -> f64 {
    let (mut free, count) = (turns, peers.len());
    for (at, job) in peers.iter_mut().enumerate() {
        let own = free / geometric(rates.peer(job.rank), count - at);
        let own = own.min(rates.lone * job.warps);
        job.rate = own / job.warps;
        free -= own;
    }
    turns - free
}

/// 1 + ratio + ratio² …, `count` terms.
fn geometric(ratio: f64, count: usize) -> f64 {
    match ratio == 1.0 {
        true => count as f64,
        false => (1.0 - ratio.powi(count as i32)) / (1.0 - ratio),
    }
}
