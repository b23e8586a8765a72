//! How many samples carry each flag, and which flags leave them out.

use serde::Serialize;

use super::index::Tally;
use crate::device::Flag;

/// One flag over all samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flagged {
    /// Flag.
    pub flag: Flag,
    /// Samples that carry it.
    pub samples: u64,
    /// Whether they are left out of statistics.
    pub excludes: bool,
}

/// Every flag there is, in the order files list them.
pub(super) fn flagged(tally: &Tally) -> Vec<Flagged> {
    let one =
        |flag: Flag| Flagged { flag, samples: tally.flagged(flag), excludes: flag.excludes() };
    Flag::ALL.into_iter().map(one).collect()
}
