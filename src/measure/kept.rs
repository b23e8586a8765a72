//! What is measured, in memory.

use super::Sink;
use crate::error::Result;
use crate::record::{PointRecord, SampleRow};

/// Keeps what a sweep would write.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Points in the order in which they were prepared.
    pub points: Vec<PointRecord>,
    /// Samples in the order in which they were taken.
    pub samples: Vec<SampleRow>,
}

impl Sink for Kept {
    fn point(&mut self, record: PointRecord) -> Result<()> {
        self.points.push(record);
        Ok(())
    }

    fn sample(&mut self, row: SampleRow) -> Result<()> {
        self.samples.push(row);
        Ok(())
    }

    fn progress(&mut self, _what: &str, _part: f64) {}
}
