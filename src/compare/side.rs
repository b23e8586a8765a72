//! One of the runs that are compared.

use crate::analysis::{Index, Indexed, Summary, summarise_indexed};
use crate::device::Flag;
use crate::record::{End, Manifest, PointRecord, Run};

/// A run, its samples sorted into series and summarised; the raw rows are given up, so that two
/// large runs fit in memory.
#[derive(Debug)]
pub struct Side {
    /// What was to be measured, where, by what.
    pub manifest: Manifest,
    /// Points in the order they were prepared.
    pub points: Vec<PointRecord>,
    /// How it ended; `None` for a run that was killed or still goes on.
    pub end: Option<End>,
    /// What the reader had to say of the files.
    pub notes: Vec<String>,
    /// Everything that is derived from it.
    pub summary: Summary,
    index: Index,
}

impl Side {
    /// Sorts and summarises a run.
    pub fn of(run: Run) -> Side {
        let Run { manifest, points, samples, end, notes } = run;
        let index = Index::new(&manifest.plan, &samples);
        drop(samples);
        let summary = summarise_indexed(&Indexed::new(&manifest, &points, &index));
        Side { manifest, points, end, notes, summary, index }
    }

    /// Its records and series, joined.
    pub(super) fn indexed(&self) -> Indexed<'_> {
        Indexed::new(&self.manifest, &self.points, &self.index)
    }

    /// Whether any of its samples was taken after it had been cut short.
    pub fn resumed(&self) -> bool {
        self.index.tally.flagged(Flag::Resumed) > 0
    }

    /// SM clock at which the middle sample was taken, MHz.
    pub(super) fn sm_mhz(&self) -> Option<u32> {
        self.index.tally.median_sm_mhz()
    }
}
