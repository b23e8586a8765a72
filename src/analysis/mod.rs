//! From raw records to what is said of a run. Pure: the same records give the same summary, and
//! the order of samples does not matter.
//!
//! Samples pair by round: an effect is the median of what each round says, never a difference of
//! two medians. Samples with a flag that [excludes](crate::device::Flag::excludes) are left out; a
//! row with any wrong value has no period, no saved time and no speed-up.

mod answer;
mod best;
mod bounds;
mod cause;
mod command;
mod contamination;
mod crossover;
mod effect;
mod exposed;
#[cfg(test)]
pub(crate) mod fixture;
mod flags;
mod floor;
mod forecast;
mod groups;
mod index;
mod limits;
mod paste;
mod plateau;
mod proof;
mod reason;
mod rows;
mod run;
mod told;
mod verdict;
mod warnings;

use serde::Serialize;

pub use answer::{Answer, obligation};
pub use best::{Best, Next, Standing};
pub use bounds::{Bounds, bounds, mismatch};
pub use cause::{from_to, outlasts, placement};
pub use command::{exact_command, repeat_command};
pub use contamination::Contamination;
pub use crossover::{Course, Crossover, NO_CROSSOVER, Step};
pub use flags::Flagged;
pub use floor::{Floor, GroupFloor, WINDOW_ROUNDS};
pub use forecast::Forecast;
pub use groups::group_names;
pub use limits::foreign;
pub use plateau::{Choice, Plateau};
pub use proof::{proof_verdict, tolerance_ns};
pub use reason::reason_words;
pub use verdict::{LEVEL, judge, margin_ns};
pub use warnings::Warning;

pub(crate) use effect::Effect;
pub(crate) use index::Index;
pub(crate) use run::{Entry, Run as Indexed};

use crate::chain::Arm;
use crate::profile::Profile;
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
    /// The best arm of each isolated group that has a subject.
    pub bests: Vec<Best>,
    /// One for each submission of groups that differ in one quantity alone.
    pub crossovers: Vec<Crossover>,
    /// Every flag, with the samples that carry it.
    pub flags: Vec<Flagged>,
    /// What a reader should know before believing the numbers.
    pub warnings: Vec<Warning>,
    /// The answer in one line, for a pull request.
    pub paste: String,
    /// Floor and ceiling by the calibration that lies beside the run; empty without one.
    pub bounds: Vec<Bounds>,
    /// How far the prediction beside the run is off; `None` without one.
    pub forecast: Option<Forecast>,
}

impl Summary {
    /// Adds the floor and ceiling that `profile` gives, or a warning that it gives none.
    pub fn bound(&mut self, profile: &Profile, manifest: &Manifest) {
        match mismatch(profile, manifest) {
            None => self.bounds = bounds(profile, &self.rows, &manifest.plan.points),
            Some(cause) => self.warnings.push(Warning {
                code: "calibration".to_owned(),
                cause: format!("the calibration beside the run says nothing of it: {cause}"),
                cure: "calibrate the device that the run was measured on".to_owned(),
            }),
        }
    }

    /// The row of a point and arm.
    pub fn row(&self, point: &str, arm: Arm) -> Option<&SummaryRow> {
        self.rows.iter().find(|row| row.arm == arm && row.point == point)
    }
}

/// Derives the summary of a run. `points` in the order of the file (of two records of one point
/// and arm the later holds); `samples` in any order. Linear in samples but for a sort of each
/// series.
pub fn summarise(manifest: &Manifest, points: &[PointRecord], samples: &[SampleRow]) -> Summary {
    summarise_indexed(&Indexed::new(manifest, points, &Index::new(&manifest.plan, samples)))
}

/// The same of a run whose samples were sorted into series before.
pub(crate) fn summarise_indexed(run: &Indexed) -> Summary {
    let floor = Floor::of_run(run);
    let mut rows = rows::rows(run, &floor);
    let contamination = contamination::contamination(run, &rows);
    contamination::mark(&mut rows, &contamination);
    let answers = answer::answers(run, &rows, &contamination);
    Summary {
        bests: best::bests(run, &rows, &answers),
        crossovers: crossover::crossovers(run, &answers),
        flags: flags::flagged(&run.index.tally),
        warnings: warnings::warnings(run, &rows, &floor),
        paste: paste::paste(run, &rows, &answers, &floor),
        bounds: Vec::new(),
        forecast: None,
        rows,
        floor,
        answers,
        contamination,
    }
}

#[cfg(test)]
mod tests;
