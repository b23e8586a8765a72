//! The noise floor: the baselines against themselves.
//!
//! A floor tells what two instances of one chain differ by, in one process and one run. It does not
//! hold what differs between processes (launch paths have modes that last for a process, 0.12 to
//! 0.16 µs a hop for stream launches on an H200), between calibrations, or between devices.

use serde::{Deserialize, Serialize};

use super::effect::per_hop;
use super::run::Run;
use crate::chain::{Arm, Submission};
use crate::stats::{CONFIDENCE, Interval, estimate_median};

/// Rounds of one comparison when the false-positive rate is estimated: enough for an interval of
/// 95 % under some correlation, few enough for several comparisons in a group.
pub const WINDOW_ROUNDS: usize = 12;

/// What one A/A arm of one group says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupFloor {
    /// Group of the plan.
    pub group: u32,
    /// Arms that it holds for.
    pub submission: Submission,
    /// Rounds compared.
    pub rounds: u32,
    /// (baseline − baseline again) ÷ hops, median, ns.
    pub difference_ns: f64,
    /// 95 % interval of the same; `None` when the rounds are too few.
    pub interval_ns: Option<Interval>,
    /// Distance from zero of the interval's far end, ns a hop: a comparison of the baseline with
    /// itself could not rule out an effect of this size, so none that is smaller is claimed.
    pub floor_ns: Option<f64>,
    /// Consecutive windows of [`WINDOW_ROUNDS`] rounds that gave an interval.
    pub comparisons: u32,
    /// Those of them whose 95 % interval excludes zero: false positives.
    pub false_positives: u32,
}

/// The smallest effect that a run could have seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// One for each group and submission that has an A/A arm.
    pub groups: Vec<GroupFloor>,
    /// The largest floor of all, ns a hop; `None` when there is none.
    pub floor_ns: Option<f64>,
    /// Windows over all groups.
    pub comparisons: u32,
    /// False positives among them; 5 % are expected.
    pub false_positives: u32,
}

impl Floor {
    /// The floor that holds for the arms of a `submission` in `group`, ns a hop: that of their own
    /// A/A arm, or else (in runs of earlier versions, which had one on graphs alone) the group's
    /// other, or else the largest of the run.
    pub fn of(&self, group: u32, submission: Submission) -> Option<f64> {
        let of_group = || self.groups.iter().filter(|floor| floor.group == group);
        let own = of_group().find(|floor| floor.submission == submission);
        own.and_then(|floor| floor.floor_ns)
            .or_else(|| of_group().find_map(|floor| floor.floor_ns))
            .or(self.floor_ns)
    }

    /// Part of the A/A comparisons that found a difference; `None` without a comparison.
    pub fn false_positive_rate(&self) -> Option<f64> {
        (self.comparisons > 0)
            .then(|| f64::from(self.false_positives) / f64::from(self.comparisons))
    }

    pub(super) fn of_run(run: &Run) -> Floor {
        let mut floor = Floor::default();
        for group in run.groups() {
            for again in [Arm::GraphAa, Arm::StreamAa] {
                let baseline = again.baseline().and_then(|arm| run.find(group, arm, None));
                let (Some(baseline), Some(other)) = (baseline, run.find(group, again, None)) else {
                    continue;
                };
                if let Some((pairs, hops)) = run.pairs(baseline, other) {
                    let differences = per_hop(&pairs, hops);
                    floor.groups.extend(group_floor(group, again.submission(), &differences));
                }
            }
        }
        floor.floor_ns = floor.groups.iter().filter_map(|group| group.floor_ns).reduce(f64::max);
        floor.comparisons = floor.groups.iter().map(|group| group.comparisons).sum();
        floor.false_positives = floor.groups.iter().map(|group| group.false_positives).sum();
        floor
    }
}

fn group_floor(group: u32, submission: Submission, differences: &[f64]) -> Option<GroupFloor> {
    let estimate = estimate_median(differences, CONFIDENCE)?;
    let windows = differences
        .chunks_exact(WINDOW_ROUNDS)
        .filter_map(|window| estimate_median(window, CONFIDENCE)?.interval)
        .map(|interval| interval.excludes_zero());
    let (mut comparisons, mut false_positives) = (0, 0);
    for positive in windows {
        comparisons += 1;
        false_positives += u32::from(positive);
    }
    Some(GroupFloor {
        group,
        submission,
        rounds: differences.len() as u32,
        difference_ns: estimate.median,
        interval_ns: estimate.interval,
        floor_ns: estimate.interval.map(|interval| interval.reach()),
        comparisons,
        false_positives,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_far_end_and_windows_count_false_positives() {
        // Twelve rounds of differences at +30 ns, then 24 that alternate about zero.
        let shifted = (0..12).map(|i| 30.0 + f64::from(i % 3));
        let even = (0..24).map(|i| if i % 2 == 0 { 5.0 } else { -5.0 });
        let of = |differences: &[f64]| group_floor(7, Submission::Graph, differences);
        let floor = of(&shifted.chain(even).collect::<Vec<_>>()).unwrap();
        assert_eq!((floor.comparisons, floor.false_positives), (3, 1));
        assert_eq!(floor.floor_ns, floor.interval_ns.map(|i| i.lo.abs().max(i.hi.abs())));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1.0, 2.0]).unwrap().floor_ns, None);
    }

    #[test]
    fn arms_have_the_floor_of_their_own_submission_or_the_next_best() {
        let one = |group, submission, floor_ns| GroupFloor {
            floor_ns,
            ..GroupFloor { group, ..group_floor(0, submission, &[1.0; 20]).unwrap() }
        };
        let floor = Floor {
            groups: vec![
                one(0, Submission::Graph, Some(5.0)),
                one(0, Submission::Stream, Some(12.0)),
                one(1, Submission::Graph, Some(7.0)),
                one(2, Submission::Graph, None),
            ],
            floor_ns: Some(12.0),
            ..Floor::default()
        };
        for (group, submission, expected) in [
            (0, Submission::Graph, 5.0),
            (0, Submission::Stream, 12.0),
            (1, Submission::Stream, 7.0),
            (2, Submission::Graph, 12.0),
            (3, Submission::Stream, 12.0),
        ] {
            assert_eq!(floor.of(group, submission), Some(expected), "{group} {submission:?}");
        }
        assert_eq!(Floor::default().of(0, Submission::Graph), None);
    }
}
