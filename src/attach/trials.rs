//! Variants of a graph, and what their samples say of one another.

use std::collections::BTreeSet;

use super::options::Progress;
use crate::error::Result;

/// Edges that a variant of the graph makes programmatic.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
}

impl Rounds {
    /// Of so many variants, without a round.
    pub fn new(variants: usize) -> Rounds {
        Rounds { durations_ns: vec![Vec::new(); variants], wrong_bytes: vec![0; variants] }
    }

    /// Adds a round: one entry a variant.
    pub fn push(&mut self, round: &[Option<f64>]) {
        for (all, &sample) in self.durations_ns.iter_mut().zip(round) {
            all.push(sample);
        }
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
