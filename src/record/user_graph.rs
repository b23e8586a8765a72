//! What a run of a graph that somebody else made adds to the manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the trials of an attached graph were, but for the samples: the file of the run that holds it.
pub const TRIALS: &str = "trials.json";

/// The graph, and which of its edges each point makes programmatic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttachedRun {
    /// Hash of the kernels' names and the edges: two runs of one graph have the same.
    pub graph: String,
    /// Of each point that makes edges programmatic, which: indices in the listing of `trials.json`.
    pub flips: BTreeMap<String, Vec<u32>>,
    /// Whether edges were flipped whose secondary has no sync that was seen: no result is to be
    /// trusted.
    pub unsafe_no_sync: bool,
}

impl AttachedRun {
    /// Edges that a point makes programmatic.
    pub fn flips_of(&self, point: &str) -> &[u32] {
        self.flips.get(point).map_or(&[], Vec::as_slice)
    }
}
