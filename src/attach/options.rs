//! How much is run, and what the caller hears of it.

use serde::{Deserialize, Serialize};

use crate::chain::Dependency;

/// How a graph is attributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Seed of the order of variants.
    pub seed: u64,
    /// Rounds of every comparison.
    pub rounds: u32,
    /// Device and host time for all of it, seconds: comparisons that no longer fit are left out,
    /// and the report says so.
    pub budget_s: f64,
    /// What edges are made: programmatic, or launch completion.
    pub dependency: Dependency,
    /// Run the race check on every edge before it is flipped in a timed run. Without it unknown
    /// edges stay refused.
    pub race_check: bool,
    /// Repetitions of the race check of one edge.
    pub race_repetitions: u32,
    /// How long the stand-in of the primary sleeps, µs.
    pub race_sleep_us: f64,
    /// Effects smaller than this are equivalent to none, µs a hop.
    pub margin_us: f64,
    /// The same, as a part of the baseline's period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Flip edges whose secondary has no sync or is unknown. Every output is marked.
    pub unsafe_no_sync: bool,
    /// Attribute edge by edge after the kinds.
    pub refine: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            rounds: 30,
            budget_s: 50.0,
            dependency: Dependency::Programmatic,
            race_check: true,
            race_repetitions: 3,
            race_sleep_us: 100.0,
            margin_us: 0.02,
            margin_ratio: 0.005,
            unsafe_no_sync: false,
            refine: true,
        }
    }
}

/// How far an attribution is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// What is being done: a noun phrase.
    pub step: String,
    /// Items of it that are done.
    pub done: u32,
    /// Items in all.
    pub of: u32,
}
