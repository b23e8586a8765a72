//! Variants of a graph, and what their samples say of one another.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::options::Progress;
use crate::device::Flag;
use crate::error::Result;

/// Edges that a variant of the graph makes programmatic.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flips(BTreeSet<u32>);

impl Flips {
    /// No edge: the original graph, cloned.
    pub fn none() -> Flips {
        Flips::default()
    }

    /// The edges with these indices.
    pub fn of(edges: impl IntoIterator<Item = u32>) -> Flips {
        Flips(edges.into_iter().collect())
    }

    /// Indices, ascending.
    pub fn edges(&self) -> &BTreeSet<u32> {
        &self.0
    }

    /// With these edges the other way round: flipped ones as they were, the others flipped.
    pub fn toggled(&self, edges: &[u32]) -> Flips {
        let mut flips = self.clone();
        for &edge in edges {
            if !flips.0.remove(&edge) {
                flips.0.insert(edge);
            }
        }
        flips
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is the original graph.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Samples of several variants that were timed in the same rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Of each variant, one entry a round, ns: `None` where a flag excludes the sample.
    pub durations_ns: Vec<Vec<Option<f64>>>,
    /// Of each variant, wrong bytes: the most of any round.
    pub wrong_bytes: Vec<u64>,
    /// Every sample as it was taken, in order of time; those of the fixed kernel too.
    pub raw: Vec<RawSample>,
}

/// One sample of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawSample {
    /// Place among the variants; `None`: the fixed kernel, which tells of drift.
    pub variant: Option<u32>,
    /// Round, from 0.
    pub round: u32,
    /// Place in it, from 0.
    pub order: u32,
    /// From the event before the launch to the event after it, ns, to a tenth.
    pub duration_ns: f64,
    /// SM clock, MHz.
    pub sm_mhz: Option<u32>,
    /// What was noticed.
    pub flags: Vec<Flag>,
}

impl Rounds {
    /// Of so many variants, without a round.
    pub fn new(variants: usize) -> Rounds {
        let (durations_ns, wrong_bytes) = (vec![Vec::new(); variants], vec![0; variants]);
        Rounds { durations_ns, wrong_bytes, raw: Vec::new() }
    }

    /// Adds a sample of the round that is under way; rounds come in order.
    pub fn push(&mut self, sample: RawSample) {
        let (at, round) = (sample.variant, sample.round as usize);
        if let Some(series) = at.and_then(|at| self.durations_ns.get_mut(at as usize)) {
            // Rounds in which the variant has no sample are `None`.
            series.resize(series.len().max(round + 1), None);
            let excluded = sample.flags.iter().any(|flag| flag.excludes());
            series[round] = (!excluded).then_some(sample.duration_ns);
        }
        self.raw.push(sample);
    }

    /// What every complete round says of one variant beside another: `first − second`, ns.
    pub fn differences(&self, first: usize, second: usize) -> Vec<f64> {
        let pairs = self.durations_ns[first].iter().zip(&self.durations_ns[second]);
        pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect()
    }
}

/// What the search needs of a graph: the seam between the device and its simulation in tests.
pub trait Trials {
    /// Times all variants, each once a round in shuffled order, for `rounds` rounds.
    ///
    /// # Errors
    /// The device's, or an interruption.
    fn rounds(&mut self, variants: &[Flips], rounds: u32, seed: u64) -> Result<Rounds>;

    /// Runs a variant a few times; bytes of the outputs that differ from the original's, the most
    /// of any run.
    ///
    /// # Errors
    /// The device's, or an interruption.
    fn wrong_bytes(&mut self, variant: &Flips) -> Result<u64>;

    /// Tells the caller how far the attribution is.
    ///
    /// # Errors
    /// [`Kind::Interrupted`](crate::error::Kind::Interrupted) where the caller wants no more.
    fn tell(&mut self, progress: &Progress) -> Result<()>;

    /// Seconds since the attribution began, on the device's clock.
    fn elapsed_s(&self) -> f64;
}
