//! The words of the page for what is coded elsewhere.

use serde::Serialize;

use crate::analysis::reason_words;
use crate::chain::Dependency;
use crate::device::EdgeCount;
use crate::record::{ProofVerdict, Verdict};

/// A word and how it is coloured; the word alone carries the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Badge {
    /// The word.
    pub word: &'static str,
    /// A class of the style sheet.
    pub tone: &'static str,
}

/// A verdict as a badge.
pub(super) fn verdict(verdict: Verdict) -> Badge {
    let (word, tone) = match verdict {
        Verdict::Helps => ("helps", "good"),
        Verdict::Hurts => ("HURTS", "bad"),
        Verdict::Equivalent => ("equivalent", "plain"),
        Verdict::Inconclusive => ("inconclusive", "open"),
        Verdict::Skipped => ("skipped", "open"),
        Verdict::Wrong => ("WRONG RESULT", "wrong"),
    };
    Badge { word, tone }
}

/// The proof of a row as a badge.
pub(super) fn proof(proof: ProofVerdict) -> Badge {
    let (word, tone) = match proof {
        ProofVerdict::Active => ("active", "good"),
        ProofVerdict::Armed => ("armed", "open"),
        ProofVerdict::Inactive => ("INACTIVE", "bad"),
    };
    Badge { word, tone }
}

/// Whether the values of a row were right, as a badge.
pub(super) fn correct(correct: bool) -> Badge {
    match correct {
        true => Badge { word: "correct", tone: "good" },
        false => Badge { word: "WRONG", tone: "wrong" },
    }
}

/// The reason codes of a row in words; a reason that is no code is told as it is.
pub(super) fn reasons(codes: &str) -> Vec<String> {
    let codes = codes.split('|').filter(|code| !code.is_empty());
    codes.map(|code| reason_words(code).unwrap_or(code).to_owned()).collect()
}

/// Edges of a captured graph: `49 programmatic (port programmatic)`.
pub(super) fn edges(edges: &[EdgeCount]) -> String {
    let full = Dependency::Full.name();
    let one = |edge: &EdgeCount| match (edge.edge_type.as_str(), edge.from_port.as_str()) {
        ("default", "default") => format!("{} {full}", edge.count),
        (edge_type, port) => format!("{} {edge_type} (port {port})", edge.count),
    };
    edges.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `yes`, `no` or `unknown`.
pub(super) fn known(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}

/// A CUDA version from 1000 × major + 10 × minor.
pub(super) fn cuda(version: u32) -> String {
    match version {
        0 => "none".to_owned(),
        version => format!("{}.{}", version / 1000, version % 1000 / 10),
    }
}
