//! The standings of a race after some rounds.

use crate::stats::{CONFIDENCE, Interval, estimate_median, median};

/// Rounds after which a straggler may leave.
const SCREEN_ROUNDS: usize = 3;
/// A straggler is behind by this part of the leader's period in each of these rounds: fifty times
/// the spread of samples on an H200.
const STRAGGLER_RATIO: f64 = 0.05;
/// A candidate that the prediction puts this far behind is a straggler at the margin already.
const PREDICTED_BEHIND: f64 = 1.25;
/// Confidence at which a candidate leaves: looks are many, and a candidate is not asked back.
const LEAVE_CONFIDENCE: f64 = 0.99;

/// What counts as equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// ns a hop.
    pub ns: f64,
    /// As a part of the leader's period; the larger of the two holds.
    pub ratio: f64,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// In the race.
    Running,
    /// Slower than the leader of that round by this, ns a hop.
    Left {
        /// Rounds it took part in.
        rounds: usize,
        /// Median of the paired differences to the leader, ns a hop.
        behind_ns: f64,
    },
}

/// Where the race stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The candidate with the lowest median among those that run.
    pub leader: usize,
    /// Slower than the leader by at most the tolerance, in the median; the leader among them.
    pub equals: Vec<usize>,
    /// How much slower than the leader each running candidate is, ns a hop; `None` where too few
    /// rounds tell.
    pub behind: Vec<(usize, Option<Interval>)>,
    /// Whether no candidate can credibly be faster than the leader by more than the tolerance.
    pub settled: bool,
    /// The tolerance, ns a hop.
    pub tolerance_ns: f64,
}

/// The candidates and their durations.
#[derive(Clone, Debug)]
pub struct Field {
    hops: f64,
    nodes: f64,
    tolerance: Tolerance,
    /// By candidate and round, ns; `None` where a flag left the sample out.
    durations: Vec<Vec<Option<f64>>>,
    fates: Vec<Fate>,
    /// Predicted periods ÷ the shortest of them; empty without a prediction.
    predicted: Vec<Option<f64>>,
}

impl Field {
    /// `candidates` chains of `nodes` nodes each; `predicted_ns` holds a period for each of those
    /// that a model predicts.
    pub fn new(nodes: u32, tolerance: Tolerance, predicted_ns: &[Option<f64>]) -> Field {
        let best = predicted_ns.iter().flatten().copied().reduce(f64::min);
        Field {
            hops: f64::from(nodes.saturating_sub(1).max(1)),
            nodes: f64::from(nodes.max(1)),
            tolerance,
            durations: vec![Vec::new(); predicted_ns.len()],
            fates: vec![Fate::Running; predicted_ns.len()],
            predicted: predicted_ns.iter().map(|ns| Some((*ns)? / best?)).collect(),
        }
    }

    /// The duration of a candidate in the round that runs; `None` where a flag left it out.
    pub fn record(&mut self, candidate: usize, duration_ns: Option<f64>) {
        self.durations[candidate].push(duration_ns);
    }

    /// Candidates in the race.
    pub fn running(&self) -> Vec<usize> {
        let running = |&i: &usize| self.fates[i] == Fate::Running;
        (0..self.fates.len()).filter(running).collect()
    }

    /// What became of each.
    pub fn fates(&self) -> &[Fate] {
        &self.fates
    }

    /// Samples of all candidates.
    pub fn samples(&self) -> usize {
        self.durations.iter().map(Vec::len).sum()
    }

    /// Lets candidates that are credibly slower leave, and says where the race stands; `None` while
    /// no candidate has a sample that counts.
    pub fn judge(&mut self) -> Option<Standing> {
        let leader = self.leader()?;
        let period_ns = self.median_ns(leader)? / self.nodes;
        let tolerance_ns = self.tolerance.ns.max(self.tolerance.ratio * period_ns);
        for candidate in self.running() {
            let behind = self.behind(candidate, leader);
            if candidate != leader && self.leaves(candidate, &behind, tolerance_ns, period_ns) {
                let behind_ns = median(&behind).unwrap_or(f64::NAN);
                self.fates[candidate] = Fate::Left { rounds: behind.len(), behind_ns };
            }
        }
        Some(self.standing(leader, tolerance_ns))
    }

    fn standing(&self, leader: usize, tolerance_ns: f64) -> Standing {
        let mut standing = Standing {
            leader,
            equals: Vec::new(),
            behind: Vec::new(),
            settled: true,
            tolerance_ns,
        };
        for candidate in self.running() {
            if candidate == leader {
                standing.equals.push(candidate);
                continue;
            }
            let estimate = estimate_median(&self.behind(candidate, leader), CONFIDENCE);
            let interval = estimate.and_then(|estimate| estimate.interval);
            if estimate.is_some_and(|estimate| estimate.median <= tolerance_ns) {
                standing.equals.push(candidate);
            }
            standing.settled &= interval.is_some_and(|interval| interval.lo > -tolerance_ns);
            standing.behind.push((candidate, interval));
        }
        standing
    }

    fn leaves(&self, candidate: usize, behind: &[f64], tolerance_ns: f64, period_ns: f64) -> bool {
        let slowest_claim = behind.iter().copied().fold(f64::INFINITY, f64::min);
        let predicted = self.predicted[candidate].is_some_and(|ratio| ratio > PREDICTED_BEHIND);
        let far_ns = if predicted { 0.0 } else { STRAGGLER_RATIO * period_ns };
        if behind.len() >= SCREEN_ROUNDS && slowest_claim > far_ns.max(tolerance_ns) {
            return true;
        }
        let estimate = estimate_median(behind, LEAVE_CONFIDENCE);
        let interval = estimate.and_then(|estimate| estimate.interval);
        interval.is_some_and(|interval| interval.lo > tolerance_ns)
    }

    fn leader(&self) -> Option<usize> {
        let timed = self.running().into_iter().filter_map(|i| Some((i, self.median_ns(i)?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(candidate, _)| candidate)
    }

    fn median_ns(&self, candidate: usize) -> Option<f64> {
        median(&self.durations[candidate].iter().flatten().copied().collect::<Vec<_>>())
    }

    /// Paired differences to the leader, ns a hop, above zero where it is slower.
    fn behind(&self, candidate: usize, leader: usize) -> Vec<f64> {
        let pairs = self.durations[candidate].iter().zip(&self.durations[leader]);
        pairs.filter_map(|(own, best)| Some(((*own)? - (*best)?) / self.hops)).collect()
    }
}
