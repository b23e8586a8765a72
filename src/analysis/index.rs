//! Raw samples by point, arm and number of nodes, one valid sample a round.

use std::collections::{BTreeMap, HashMap};

use crate::chain::Arm;
use crate::device::Flag;
use crate::record::{PlanRecord, SampleRow};

/// One valid sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    round: u32,
    order: u32,
    resumed: bool,
    sm_mhz: Option<u32>,
    duration_ns: f64,
}

/// Valid samples of one point, arm and number of nodes, in order of rounds.
#[derive(Debug, Default)]
pub(crate) struct Series {
    observations: Vec<Observation>,
    /// Samples that a flag leaves out of statistics.
    pub excluded: u32,
    /// Whether the result of any sample was wrong.
    pub wrong: bool,
}

impl Series {
    /// Rounds with a valid sample.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// Durations in order of rounds, ns.
    pub fn durations_ns(&self) -> Vec<f64> {
        self.observations.iter().map(|o| o.duration_ns).collect()
    }

    /// Durations of this and the other series in the rounds that have both, ns.
    pub fn paired_ns(&self, other: &Series) -> Vec<(f64, f64)> {
        let mut others = other.observations.iter().peekable();
        let mut pairs = Vec::with_capacity(self.len().min(other.len()));
        for mine in &self.observations {
            while others.next_if(|theirs| theirs.round < mine.round).is_some() {}
            if let Some(theirs) = others.next_if(|theirs| theirs.round == mine.round) {
                pairs.push((mine.duration_ns, theirs.duration_ns));
            }
        }
        pairs
    }

    /// Whether some rounds were measured before the run was taken up again and some after.
    pub fn mixed(&self) -> bool {
        let resumed = self.observations.iter().filter(|o| o.resumed).count();
        resumed > 0 && resumed < self.len()
    }

    /// Mean SM clock of the samples, MHz; `None` where no sample has one.
    pub fn mean_sm_mhz(&self) -> Option<f64> {
        let clocks = || self.observations.iter().filter_map(|o| o.sm_mhz).map(f64::from);
        let count = clocks().count();
        (count > 0).then(|| clocks().sum::<f64>() / count as f64)
    }

    fn push(&mut self, sample: &SampleRow) {
        self.wrong |= sample.flags.contains(&Flag::Wrong);
        if sample.flags.iter().any(|flag| flag.excludes()) {
            self.excluded += 1;
            return;
        }
        self.observations.push(Observation {
            round: sample.round,
            order: sample.order,
            resumed: sample.flags.contains(&Flag::Resumed),
            sm_mhz: sample.sm_mhz,
            duration_ns: sample.duration_ns,
        });
    }

    /// Sorts by round and keeps one sample of each. Where a round is there twice, the resumed sample
    /// holds: its partners were measured beside it.
    fn settle(&mut self) {
        self.observations.sort_unstable_by(|a, b| {
            (a.round, !a.resumed, a.order)
                .cmp(&(b.round, !b.resumed, b.order))
                .then(a.duration_ns.total_cmp(&b.duration_ns))
        });
        self.observations.dedup_by_key(|observation| observation.round);
    }
}

/// What is counted over all samples of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Samples read.
    pub samples: u64,
    /// Samples with each flag, in the order of [`Flag::ALL`].
    flags: [u64; Flag::ALL.len()],
    /// Samples whose point is not in the plan.
    pub unplanned: u64,
    /// Samples whose duration is not a positive number.
    pub malformed: u64,
    /// Lowest and highest SM clock, MHz.
    pub sm_mhz: Option<(u32, u32)>,
    /// Samples at each SM clock, MHz.
    clocks: BTreeMap<u32, u64>,
}

impl Tally {
    /// Samples with `flag`.
    pub fn flagged(&self, flag: Flag) -> u64 {
        Flag::ALL.iter().position(|&each| each == flag).map_or(0, |at| self.flags[at])
    }

    /// SM clock of the middle sample, by clock, MHz.
    pub fn median_sm_mhz(&self) -> Option<u32> {
        let half = self.clocks.values().sum::<u64>().div_ceil(2);
        let mut below = 0;
        self.clocks.iter().find_map(|(&mhz, &samples)| {
            below += samples;
            (below >= half).then_some(mhz)
        })
    }

    fn count(&mut self, sample: &SampleRow) {
        self.samples += 1;
        for flag in &sample.flags {
            if let Some(at) = Flag::ALL.iter().position(|each| each == flag) {
                self.flags[at] += 1;
            }
        }
        if let Some(mhz) = sample.sm_mhz {
            let (low, high) = self.sm_mhz.unwrap_or((mhz, mhz));
            self.sm_mhz = Some((low.min(mhz), high.max(mhz)));
            *self.clocks.entry(mhz).or_default() += 1;
        }
    }
}

/// All series of a run.
#[derive(Debug, Default)]
pub(crate) struct Index {
    series: HashMap<(u32, Arm, u32), Series>,
    lengths: HashMap<(u32, Arm), Vec<u32>>,
    pub tally: Tally,
}

impl Index {
    /// Sorts `samples` into series; one pass, and a sort of each series.
    pub fn new(plan: &PlanRecord, samples: &[SampleRow]) -> Index {
        let places: HashMap<&str, u32> = plan
            .points
            .iter()
            .zip(0..)
            .map(|(point, place)| (point.point.as_str(), place))
            .collect();
        let mut index = Index::default();
        for sample in samples {
            index.tally.count(sample);
            let Some(&place) = places.get(&*sample.point) else {
                index.tally.unplanned += 1;
                continue;
            };
            if !(sample.duration_ns > 0.0 && sample.duration_ns.is_finite()) {
                index.tally.malformed += 1;
                // A sample without a usable time can still carry the news that it was wrong.
                let series = index.series.entry((place, sample.arm, sample.nodes)).or_default();
                series.wrong |= sample.flags.contains(&Flag::Wrong);
                continue;
            }
            index.series.entry((place, sample.arm, sample.nodes)).or_default().push(sample);
        }
        for (&(place, arm, nodes), series) in &mut index.series {
            series.settle();
            index.lengths.entry((place, arm)).or_default().push(nodes);
        }
        index.lengths.values_mut().for_each(|lengths| lengths.sort_unstable());
        index
    }

    /// Numbers of nodes that a point and arm were measured with, in increasing order.
    pub fn lengths(&self, place: u32, arm: Arm) -> &[u32] {
        self.lengths.get(&(place, arm)).map_or(&[], Vec::as_slice)
    }

    /// The series of one point, arm and number of nodes.
    pub fn series(&self, place: u32, arm: Arm, nodes: u32) -> Option<&Series> {
        self.series.get(&(place, arm, nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(round: u32, duration_ns: f64, flags: &[Flag]) -> SampleRow {
        SampleRow {
            point: "p000".into(),
            arm: Arm::Graph,
            nodes: 50,
            round,
            order: 0,
            duration_ns,
            sm_mhz: Some(1980 - round),
            flags: flags.to_vec(),
        }
    }

    fn series(samples: &[SampleRow]) -> Series {
        let mut series = Series::default();
        samples.iter().for_each(|sample| series.push(sample));
        series.settle();
        series
    }

    #[test]
    fn rounds_pair_by_number_and_not_by_place() {
        let one = series(&[sample(3, 30.0, &[]), sample(0, 10.0, &[]), sample(1, 11.0, &[])]);
        let other = series(&[sample(1, 1.0, &[]), sample(2, 2.0, &[]), sample(3, 3.0, &[])]);
        assert_eq!(one.paired_ns(&other), [(11.0, 1.0), (30.0, 3.0)]);
        assert_eq!(other.paired_ns(&one), [(1.0, 11.0), (3.0, 30.0)]);
    }

    #[test]
    fn excluding_flags_leave_samples_out_and_others_do_not() {
        let one = series(&[
            sample(0, 10.0, &[Flag::GateTimeout]),
            sample(1, 11.0, &[Flag::Throttled, Flag::Drift]),
            sample(2, 12.0, &[Flag::Wrong]),
        ]);
        assert_eq!(one.durations_ns(), [11.0]);
        assert_eq!((one.excluded, one.wrong), (2, true));
    }

    #[test]
    fn a_resumed_round_replaces_the_one_that_was_cut_off() {
        for cut_off in [5.0, 99.0] {
            let (first, again) = (sample(4, cut_off, &[]), sample(4, 10.0, &[Flag::Resumed]));
            assert_eq!(series(&[first.clone(), again.clone()]).durations_ns(), [10.0]);
            assert_eq!(series(&[again, first]).durations_ns(), [10.0]);
        }
    }
}
