//! A hop's constants at one number of resident blocks, between the knots of the profile.

use crate::chain::{Arm, Submission};
use crate::profile::{BoundKnot, Constant, HopKnot, Profile};

/// How the hop between two nodes depends on the grid. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Last end of the primary to last begin of the secondary over a full dependency.
    pub full_gap_ns: f64,
    /// Last trigger of the primary to last begin of the secondary.
    pub launch_ns: f64,
    /// The same when the blocks' exits are the trigger.
    pub exit_launch_ns: f64,
    /// Begin of a block to its first useful instruction.
    pub entry_ns: f64,
    /// Begin of a block to the time from which its trigger at entry counts.
    pub entry_trigger_ns: f64,
    /// Last end of the primary to the return of syncs that were waiting.
    pub release_ns: f64,
    /// Last begin of the primary to last begin of the secondary over a launch-completion edge.
    pub completion_launch_ns: f64,
    /// Last end of the primary to the return of acquires that were polling.
    pub flag_ns: f64,
    /// Last arrival at a grid barrier of a cooperative kernel to the return of waits that polled.
    pub barrier_ns: f64,
    /// The shortest such wait, where all have arrived already.
    pub acquire_ns: f64,
    /// Time between two blocks that are placed.
    block_ns: f64,
}

impl Hop {
    /// The constants of an arm's chains at `blocks` resident blocks.
    pub fn of(profile: &Profile, arm: Arm, blocks: u32) -> Hop {
        match arm.submission() {
            Submission::Graph => Hop::between(profile, &profile.hops.graph, blocks),
            Submission::Stream => Hop::between(profile, &profile.hops.stream, blocks),
        }
    }

    fn between(profile: &Profile, knots: &[HopKnot], blocks: u32) -> Hop {
        let hop = |field: fn(&HopKnot) -> &Constant| {
            line(knots, |knot| (knot.blocks, field(knot).value), blocks)
        };
        let bound = |field: fn(&BoundKnot) -> &Constant| {
            line(&profile.hops.bounds, |knot| (knot.blocks, field(knot).value), blocks)
        };
        Hop {
            full_gap_ns: hop(|knot| &knot.full_gap_ns),
            launch_ns: hop(|knot| &knot.launch_ns),
            exit_launch_ns: hop(|knot| &knot.exit_launch_ns),
            entry_ns: hop(|knot| &knot.entry_ns),
            entry_trigger_ns: hop(|knot| &knot.entry_trigger_ns),
            release_ns: hop(|knot| &knot.release_ns),
            completion_launch_ns: bound(|knot| &knot.completion_launch_ns),
            flag_ns: bound(|knot| &knot.flag_ns),
            barrier_ns: bound(|knot| &knot.barrier_ns),
            acquire_ns: bound(|knot| &knot.acquire_ns),
            block_ns: profile.placement.block_ns.value,
        }
    }

    /// First to last block to begin, ns: part of every launch, half of it at most.
    pub fn spread_ns(&self, blocks: u32) -> f64 {
        let launch = self.full_gap_ns.min(self.launch_ns).min(self.exit_launch_ns);
        (self.block_ns * f64::from(blocks.saturating_sub(1))).min(launch / 2.0)
    }
}

/// Linear in the number of blocks, as placing blocks is; past the last knot on along its line.
fn line<K>(knots: &[K], at: impl Fn(&K) -> (u32, f64), blocks: u32) -> f64 {
    let blocks = f64::from(blocks);
    let points: Vec<(f64, f64)> =
        knots.iter().map(&at).map(|(blocks, value)| (f64::from(blocks), value)).collect();
    let Some(inner) = points.len().checked_sub(2) else {
        return points.first().map_or(0.0, |point| point.1);
    };
    let first = points[1..=inner].iter().filter(|point| blocks > point.0).count();
    let (low, high) = (points[first], points[first + 1]);
    let part = (blocks - low.0) / (high.0 - low.0);
    (low.1 + part * (high.1 - low.1)).max(low.1.min(high.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BUILT_IN;

    #[test]
    fn knots_are_met_and_joined_by_lines() {
        let points = [(1, 100.0), (11, 200.0), (21, 500.0)];
        for (blocks, wanted) in
            [(1, 100.0), (6, 150.0), (11, 200.0), (16, 350.0), (21, 500.0), (31, 800.0)]
        {
            assert_eq!(line(&points, |point| *point, blocks), wanted, "{blocks}");
        }
        // A line that falls does not go on below its knots.
        assert_eq!(line(&[(1, 5.0), (2, 1.0)], |point| *point, 9), 1.0);
    }

    #[test]
    fn no_grid_begins_before_it_is_launched() {
        for blocks in [1, 2, 132, 528, 1056, 2112, 4224] {
            for hop in [Arm::Graph, Arm::Stream].map(|arm| Hop::of(&BUILT_IN, arm, blocks)) {
                let spread = hop.spread_ns(blocks);
                let shortest = hop.full_gap_ns.min(hop.launch_ns).min(hop.exit_launch_ns);
                assert!(
                    spread + BUILT_IN.block.code_cost_ns.value < shortest,
                    "{blocks}: {spread} {hop:?}"
                );
            }
        }
    }
}
