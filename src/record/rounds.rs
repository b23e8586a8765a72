//! Which rounds of samples.csv were seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::SampleRow;
use super::cell::Bad;
use crate::chain::Arm;
use crate::device::Flag;

/// Point, arm and length. Rows of one point share its text, so that its address stands for it.
type Series = (*const u8, Arm, u32);

/// Rounds seen of each series, as ranges: a run has one of each.
#[derive(Default)]
pub(super) struct Rounds {
    seen: HashMap<Series, BTreeMap<u32, u32>>,
}

impl Rounds {
    /// Refuses a second sample of the same round: a file that was joined to itself, or two runs in
    /// one file. A resumed run may measure the round again that it was cut short in.
    pub(super) fn check(&mut self, row: &SampleRow) -> Result<(), Bad> {
        if row.flags.contains(&Flag::Resumed) {
            return Ok(());
        }
        if self.add((Arc::as_ptr(&row.point).cast(), row.arm, row.nodes), row.round) {
            return Ok(());
        }
        let cause = format!(
            "{} {} of {} nodes has a sample of round {} before this one",
            row.point, row.arm, row.nodes, row.round
        );
        Err(Bad::column("round", cause))
    }

    /// Adds a round; false where it was there before.
    fn add(&mut self, key: Series, round: u32) -> bool {
        let ranges = self.seen.entry(key).or_default();
        match ranges.range_mut(..=round).next_back() {
            Some((_, last)) if *last >= round => return false,
            Some((_, last)) if *last + 1 == round => *last = round,
            _ => {
                ranges.insert(round, round);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_seen_once_in_whatever_order() {
        let point: Arc<str> = Arc::from("p000");
        let key = || (Arc::as_ptr(&point).cast(), Arm::Graph, 50);
        let mut rounds = Rounds::default();
        let order = [0, 1, 2, 7, 5, 6, u32::MAX, u32::MAX - 1, 3];
        for round in order {
            assert!(rounds.add(key(), round), "{round}");
        }
        for round in order {
            assert!(!rounds.add(key(), round), "{round}");
        }
        assert!(rounds.add(key(), 4));
        assert!(rounds.add((Arc::as_ptr(&point).cast(), Arm::Graph, 200), 0), "another length");
    }
}
