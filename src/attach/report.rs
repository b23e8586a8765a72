//! What is said of a graph: plain data, written as JSON and read back.

use serde::{Deserialize, Serialize};

use super::listing::Listing;
use super::options::Options;
use super::race::Race;
use crate::record::Verdict;

/// Version of the report's schema: major, minor.
pub const SCHEMA: &str = "1.0";

/// A saved time: (baseline − variant) ÷ edges that differ, ns a hop, median of paired rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Edges that differ between the two variants: hops.
    pub hops: u32,
    /// Rounds that both have.
    pub rounds: u32,
    /// ns a hop; positive: the flipped edges save time. `None` for wrong results and where there are
    /// no rounds.
    pub saved_ns: Option<f64>,
    /// Lower end of the 95 % interval; `None` when the rounds are too few.
    pub saved_lo_ns: Option<f64>,
    /// Upper end.
    pub saved_hi_ns: Option<f64>,
    /// Adjusted p-value of the sign test, by Holm over every effect of the report.
    pub p_adjusted: f64,
    /// What may be said.
    pub verdict: Verdict,
    /// Why no more: reason codes.
    pub reasons: Vec<String>,
}

/// What to do with an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeAdvice {
    /// Make it programmatic.
    Flip,
    /// Leave it full: it is slower, or nothing is gained.
    Keep,
    /// It must stay full: unsafe.
    Refused,
    /// Nothing is known: the secondary's sync could neither be seen nor tested.
    Unknown,
    /// It cannot be programmatic.
    LeftAlone,
}

impl EdgeAdvice {
    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            EdgeAdvice::Flip => "flip",
            EdgeAdvice::Keep => "keep",
            EdgeAdvice::Refused => "refused",
            EdgeAdvice::Unknown => "unknown",
            EdgeAdvice::LeftAlone => "left-alone",
        }
    }
}

/// One kind of edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindRow {
    /// Index in the listing.
    pub kind: u32,
    /// Edges of it that may be flipped.
    pub edges: Vec<u32>,
    /// Leave one in: the original against only this kind flipped.
    pub alone: Option<Effect>,
    /// Leave one out: everything but this kind against everything.
    pub in_all: Option<Effect>,
    /// In the chosen set: the set without this kind against the set with it.
    pub in_chosen: Option<Effect>,
    /// Whether the chosen set holds it.
    pub chosen: bool,
}

/// One edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeRow {
    /// Index in the listing.
    pub edge: u32,
    /// What to do with it.
    pub advice: EdgeAdvice,
    /// Why, in words.
    pub why: String,
    /// The chosen set without this edge against the set with it.
    pub in_chosen: Option<Effect>,
    /// The race check, where it was run.
    pub race: Option<Race>,
}

/// What a report was made by and on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Version and revision of this program.
    pub version: String,
    /// Product name of the device, marked where it is simulated.
    pub device: String,
    /// Driver, as NVML prints it.
    pub driver: String,
    /// Why the gate could not be used; empty when it was.
    pub no_gate: String,
}

/// The whole attribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What made it, and on what.
    #[serde(flatten)]
    pub origin: Origin,
    /// How it was run.
    pub options: Options,
    /// The graph.
    pub listing: Listing,
    /// Median duration of the original graph, ns.
    pub baseline_ns: Option<f64>,
    /// Noise floor, ns a graph launch: the far end of the A/A comparison's interval.
    pub floor_ns: Option<f64>,
    /// Every edge that may be flipped, against the original.
    pub all: Option<Effect>,
    /// The chosen edges, against the original, in rounds of their own.
    pub chosen: Option<Effect>,
    /// The chosen edges.
    pub chosen_edges: Vec<u32>,
    /// One a kind.
    pub kinds: Vec<KindRow>,
    /// One an edge of the graph.
    pub edges: Vec<EdgeRow>,
    /// What a reader should know before believing the numbers.
    pub warnings: Vec<String>,
    /// Why it stopped where it did: `done` or `budget`.
    pub stopped: String,
    /// Seconds it took.
    pub elapsed_s: f64,
}

/// A verdict as every file and table spells it.
pub(super) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Helps => "helps",
        Verdict::Hurts => "hurts",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Skipped => "skipped",
        Verdict::Wrong => "wrong",
    }
}
