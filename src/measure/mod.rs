//! The protocol: calibrate the work, prepare and verify every arm, warm up, then sample all arms in
//! shuffled rounds. Knows devices and records; nothing of files, charts or terminals.

mod calibrate;
mod expected;
mod group;
mod kept;
mod plan;
mod race;
mod resume;
mod rounds;
mod stopping;
mod unpaired;
mod watch;

pub use calibrate::{Calibrated, calibrate, measure_work};
pub use expected::Expected;
pub use group::measure_group;
pub use kept::Kept;
pub use plan::{LONG_FACTOR, Plan};
pub use race::{Candidate, Predict, Raced, race_group};
pub use resume::{Begun, Progress, progress};
pub use stopping::{Ending, Stopping};
pub use unpaired::Unpaired;

use crate::error::Result;
use crate::record::{PointRecord, SampleRow};

/// Where a measurement reports to, as it goes.
pub trait Sink {
    /// A point × arm is prepared, verified and stamped, or skipped.
    ///
    /// # Errors
    /// Those of writing it.
    fn point(&mut self, record: PointRecord) -> Result<()>;

    /// A sample was taken.
    ///
    /// # Errors
    /// Those of writing it.
    fn sample(&mut self, row: SampleRow) -> Result<()>;

    /// Between rounds only: what is being done, and how much of the group is done (0 to 1).
    fn progress(&mut self, what: &str, part: f64);
}

#[cfg(test)]
mod tests;
