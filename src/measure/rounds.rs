//! Every arm of a group once a round, in shuffled order, until it is enough.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Sink;
use super::group::{Entry, Turn};
use super::plan::Plan;
use super::resume::Begun;
use super::stopping::{Ending, Stopping};
use super::watch::Watch;
use crate::chain::Arm;
use crate::device::Device;
use crate::error::Result;
use crate::interrupt;
use crate::stats;

/// The sentinel before all others: what it tells is of use to the whole round.
pub(super) fn sentinel_first(entries: &[Entry], order: &[usize]) -> Vec<usize> {
    let mut order = order.to_vec();
    order.sort_by_key(|&index| entries[index].arm != Arm::Sentinel);
    order
}

/// The rounds of one group, or the rest of them.
pub(super) struct Rounds<'a> {
    pub(super) device: &'a dyn Device,
    pub(super) plan: &'a Plan,
    pub(super) group: u32,
    /// When the group began, its calibration included.
    pub(super) began: Duration,
    pub(super) begun: Option<&'a Begun>,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) watch: Watch,
}

impl Rounds<'_> {
    /// Takes rounds until one of the conditions of stopping is met.
    pub(super) fn run(mut self, entries: &mut [Entry]) -> Result<Ending> {
        let stopping = self.plan.stopping;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        // One stream a group: a resumed or repeated group is shuffled alike.
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed ^ u64::from(self.group) << 32);
        // Every so many rounds one of long chains, so that both see the same drift.
        let spacing = (stopping.rounds_min / stopping.long_rounds.max(1)).max(1);
        let mut long_rounds = self.begun.map_or(0, |begun| begun.first_long_round);
        let first_round = self.begun.map_or(0, |begun| begun.first_round);
        for _ in 0..first_round {
            order.shuffle(&mut rng);
        }
        let mut unready = 0;
        if first_round > 0
            && let Some(ending) = self.ending(entries, first_round, &mut unready)
        {
            return Ok(ending); // It was killed between its last round and its end.
        }
        for round in first_round..stopping.rounds_max {
            order.shuffle(&mut rng);
            let spent = self.device.now() - self.began;
            self.sink.progress("measuring", part(round, spent, self.plan));
            let order = sentinel_first(entries, &order);
            self.round(entries, &order, round, false)?;
            if round % spacing == 0 && long_rounds < stopping.long_rounds {
                self.round(entries, &order, long_rounds, true)?;
                long_rounds += 1;
            }
            if let Some(ending) = self.ending(entries, round + 1, &mut unready) {
                return Ok(ending);
            }
        }
        Ok(Ending::Rounds)
    }

    /// Whether the group ends after `rounds` rounds. `unready` is the entry that was not precise
    /// at the last look: looked at first, it spares the look at all others.
    fn ending(&self, entries: &[Entry], rounds: u32, unready: &mut usize) -> Option<Ending> {
        let spent = self.device.now() - self.began;
        let stopping = &self.plan.stopping;
        stopping.ending(rounds, spent, || {
            if !precise(&entries[*unready], entries, stopping) {
                return false;
            }
            match entries.iter().position(|entry| !precise(entry, entries, stopping)) {
                Some(at) => {
                    *unready = at;
                    false
                }
                None => true,
            }
        })
    }

    fn round(
        &mut self,
        entries: &mut [Entry],
        order: &[usize],
        round: u32,
        long: bool,
    ) -> Result<()> {
        self.watch.round(&self.device.health());
        let resumed = self.begun.is_some();
        for (place, &index) in order.iter().enumerate() {
            let entry = &mut entries[index];
            if long && entry.long.is_none() {
                continue;
            }
            interrupt::check("go on measuring")?;
            let turn = Turn { round, order: place as u32, long, resumed };
            let row = entry.sample(self.device, turn, &mut self.watch)?;
            self.sink.sample(row)?;
        }
        Ok(())
    }
}

fn part(round: u32, spent: Duration, plan: &Plan) -> f64 {
    let stopping = &plan.stopping;
    let by_round = f64::from(round) / (1.5 * f64::from(stopping.rounds_min));
    by_round.max(spent.as_secs_f64() / stopping.group_budget.as_secs_f64()).min(1.0)
}

/// Whether the effect of `entry` against its baseline is known well enough.
fn precise(entry: &Entry, entries: &[Entry], stopping: &Stopping) -> bool {
    let Some(baseline) = entry.arm.baseline() else { return true };
    let Some(base) = entries.iter().find(|other| other.arm == baseline) else { return true };
    let hops = f64::from(entry.nodes - 1);
    let pairs = base.durations.iter().zip(&entry.durations);
    let effect: Vec<f64> = pairs.filter_map(|(b, a)| Some(((*b)? - (*a)?) / hops)).collect();
    let base: Vec<f64> = base.durations.iter().flatten().copied().collect();
    let Some(period) = stats::median(&base).map(|ns| ns / f64::from(entry.nodes)) else {
        return false;
    };
    stopping.is_precise(&effect, stopping.margin_ns(period))
}
