//! The noise floor: the baseline against itself.

use serde::{Deserialize, Serialize};

use super::effect::per_hop;
use super::run::Run;
use crate::chain::Arm;
use crate::stats::{CONFIDENCE, Interval, estimate_median};

/// Rounds of one comparison when the false-positive rate is estimated: enough for an interval of
/// 95 % under some correlation, few enough for several comparisons in a group.
pub const WINDOW_ROUNDS: usize = 12;

/// What the A/A arm of one group says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupFloor {
    /// Group of the plan.
    pub group: u32,
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
    /// One for each group that has an A/A arm.
    pub groups: Vec<GroupFloor>,
    /// The largest floor of the groups, ns a hop; `None` when no group has one.
    pub floor_ns: Option<f64>,
    /// Windows over all groups.
    pub comparisons: u32,
    /// False positives among them; 5 % are expected.
    pub false_positives: u32,
}

impl Floor {
    /// The floor that holds for `group`, ns a hop: its own, or else the largest of the run.
    pub fn of_group(&self, group: u32) -> Option<f64> {
        let own = self.groups.iter().find(|floor| floor.group == group);
        own.and_then(|floor| floor.floor_ns).or(self.floor_ns)
    }

    /// Part of the A/A comparisons that found a difference; `None` without a comparison.
    pub fn false_positive_rate(&self) -> Option<f64> {
        (self.comparisons > 0)
            .then(|| f64::from(self.false_positives) / f64::from(self.comparisons))
    }

    pub(super) fn of(run: &Run) -> Floor {
        let mut floor = Floor::default();
        for group in run.groups() {
            let (Some(baseline), Some(again)) =
                (run.find(group, Arm::Graph, None), run.find(group, Arm::GraphAa, None))
            else {
                continue;
            };
            if let Some((pairs, hops)) = run.pairs(baseline, again) {
                floor.groups.extend(group_floor(group, &per_hop(&pairs, hops)));
            }
        }
        floor.floor_ns = floor.groups.iter().filter_map(|group| group.floor_ns).reduce(f64::max);
        floor.comparisons = floor.groups.iter().map(|group| group.comparisons).sum();
        floor.false_positives = floor.groups.iter().map(|group| group.false_positives).sum();
        floor
    }
}

fn group_floor(group: u32, differences: &[f64]) -> Option<GroupFloor> {
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
        let floor = group_floor(7, &shifted.chain(even).collect::<Vec<_>>()).unwrap();
        assert_eq!((floor.comparisons, floor.false_positives), (3, 1));
        assert_eq!(floor.floor_ns, floor.interval_ns.map(|i| i.lo.abs().max(i.hi.abs())));
        assert_eq!(group_floor(0, &[]), None);
        assert_eq!(group_floor(0, &[1.0, 2.0]).unwrap().floor_ns, None);
    }
}
