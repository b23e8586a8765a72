//! From raw records to what is said of a run. Pure: the same records give the same summary, and
//! the order of samples does not matter.
//!
//! Samples pair by round: an effect is the median of what each round says, never a difference of
//! two medians. Samples with a flag that [excludes](crate::device::Flag::excludes) are left out; a
//! row with any wrong value has no period, no saved time and no speed-up.

mod answer;
mod cause;
mod contamination;
mod crossover;
mod effect;
#[cfg(test)]
mod fixture;
mod floor;
mod index;
mod plateau;
mod proof;
mod rows;
mod run;
mod verdict;
mod warnings;

use serde::Serialize;

pub use answer::{Answer, obligation};
pub use cause::outlasts;
pub use contamination::{Contamination, contamination_index};
pub use crossover::Crossover;
pub use floor::{Floor, GroupFloor, WINDOW_ROUNDS};
pub use plateau::{Choice, Plateau};
pub use proof::{proof_verdict, tolerance_ns};
pub use verdict::{LEVEL, judge, margin_ns};
pub use warnings::Warning;

use crate::chain::Arm;
use crate::record::{Manifest, PointRecord, SampleRow, SummaryRow};

/// Everything that is derived from the raw records of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Rows of summary.csv, in the order of the plan.
    pub rows: Vec<SummaryRow>,
    /// Noise floor.
    pub floor: Floor,
    /// One for each group and submission that has a subject.
    pub answers: Vec<Answer>,
    /// One for each arm and trigger that was run both isolated and pipelined.
    pub contamination: Vec<Contamination>,
    /// One for each submission of groups that differ in body alone.
    pub crossovers: Vec<Crossover>,
    /// What a reader should know before believing the numbers.
    pub warnings: Vec<Warning>,
}

impl Summary {
    /// The row of a point and arm.
    pub fn row(&self, point: &str, arm: Arm) -> Option<&SummaryRow> {
        self.rows.iter().find(|row| row.arm == arm && row.point == point)
    }
}

/// Derives the summary of a run. `points` in the order of the file (of two records of one point
/// and arm the later holds); `samples` in any order. Linear in samples but for a sort of each
/// series.
pub fn summarise(manifest: &Manifest, points: &[PointRecord], samples: &[SampleRow]) -> Summary {
    let run = run::Run::new(manifest, points, samples);
    let floor = Floor::of(&run);
    let rows = rows::rows(&run, &floor);
    let answers = answer::answers(&run, &rows);
    let contamination = contamination::contamination(&run, &rows);
    let crossovers = crossover::crossovers(&run, &answers);
    let warnings = warnings::warnings(&run, &rows, &floor);
    Summary { rows, floor, answers, contamination, crossovers, warnings }
}

#[cfg(test)]
mod tests;
