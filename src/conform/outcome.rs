//! What became of a claim, of a rule.

use serde::{Deserialize, Serialize};

use super::Kind;
use crate::device::EdgeCount;
use crate::stats::{Interval, never_seen_bound, proportion};

/// What is said of a claim or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Documented, and no counter-example; or permitted, and seen.
    Holds,
    /// Documented, and there is a counter-example.
    Violated,
    /// The documentation leaves it open: what was seen is no law.
    Observed,
    /// Nothing that was run could tell.
    NotTested,
}

impl Verdict {
    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Observed => "observed",
            Verdict::NotTested => "not tested",
        }
    }
}

/// One verdict for several: a violation counts most, then what holds, then what was observed.
pub fn combine(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::NotTested => 0,
        Verdict::Observed => 1,
        Verdict::Holds => 2,
        Verdict::Violated => 3,
    };
    verdicts.into_iter().max_by_key(rank).unwrap_or(Verdict::NotTested)
}

/// Where a difference lies over all repetitions, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub median_ns: f64,
    /// Smallest.
    pub min_ns: f64,
    /// Largest.
    pub max_ns: f64,
}

/// What became of one claim in one form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The case it was tested in.
    pub case: String,
    /// The claim, as the user reads it. Actors are A, B, C in the order of submission.
    pub claim: String,
    /// Whether the documentation promises it, permits it or leaves it open.
    pub kind: Kind,
    /// Verdict.
    pub verdict: Verdict,
    /// Repetitions.
    pub repetitions: u64,
    /// Repetitions that put the claim to the test.
    pub tested: u64,
    /// Of those: counter-examples of what is promised, examples of everything else.
    pub seen: u64,
    /// Interval of the share that `seen` is of `tested`, 95 % (Clopper and Pearson).
    pub share: Option<Interval>,
    /// Upper bound of the share where none was seen, 95 %.
    pub below: Option<f64>,
    /// What `spread` is.
    pub measure: String,
    /// The difference that tells.
    pub spread: Option<Spread>,
    /// Edges of the graph, or of a capture of the same calls.
    pub edges: Vec<EdgeCount>,
    /// Why there is no more to say.
    pub reason: String,
}

impl Outcome {
    /// The outcome of `seen` among `tested` of `repetitions`.
    pub fn counted(
        case: &str,
        claim: String,
        kind: Kind,
        (repetitions, tested, seen): (u64, u64, u64),
    ) -> Outcome {
        let (verdict, reason) = match (kind, tested, seen) {
            (_, 0, _) if repetitions > 0 => (
                Verdict::NotTested,
                format!("the secondary never ran ahead in {repetitions} repetitions"),
            ),
            (_, 0, _) => (Verdict::NotTested, "nothing was run".to_owned()),
            (Kind::Law, _, 0) => (Verdict::Holds, String::new()),
            (Kind::Law, _, _) => (Verdict::Violated, String::new()),
            (Kind::Permitted, _, 0) => (
                Verdict::NotTested,
                format!("permitted, not promised, and not seen in {tested} repetitions"),
            ),
            (Kind::Permitted, _, _) => (Verdict::Holds, String::new()),
            (Kind::Open, _, _) => (Verdict::Observed, String::new()),
        };
        Outcome {
            case: case.to_owned(),
            claim,
            kind,
            verdict,
            repetitions,
            tested,
            seen,
            share: proportion(seen, tested),
            below: (seen == 0 && tested > 0).then(|| never_seen_bound(tested)),
            measure: String::new(),
            spread: None,
            edges: Vec::new(),
            reason,
        }
    }

    /// A claim that could not be tested.
    pub fn not_tested(case: &str, claim: String, kind: Kind, reason: &str) -> Outcome {
        let outcome = Outcome::counted(case, claim, kind, (0, 0, 0));
        Outcome { reason: reason.to_owned(), ..outcome }
    }
}
