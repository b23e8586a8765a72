//! Adds repetitions up to outcomes.

use super::{Asserted, Kind, Outcome, Repetition, Spread};
use crate::device::EdgeCount;
use crate::stats::median;

/// Counts of one claim.
struct Count {
    asserted: Asserted,
    tested: u64,
    seen: u64,
    measures_ns: Vec<f64>,
}

/// Counts of all claims of one case in one form.
pub struct Tally {
    case: String,
    margin_ns: u64,
    repetitions: u64,
    counts: Vec<Count>,
}

impl Tally {
    /// Nothing yet. `margin_ns`: step and skew of the timer.
    pub fn new(case: &str, claims: &[Asserted], margin_ns: u64) -> Tally {
        let count =
            |&asserted: &Asserted| Count { asserted, tested: 0, seen: 0, measures_ns: Vec::new() };
        let counts = claims.iter().map(count).collect();
        Tally { case: case.to_owned(), margin_ns, repetitions: 0, counts }
    }

    /// Adds one repetition.
    pub fn add(&mut self, repetition: &Repetition) {
        self.repetitions += 1;
        for count in &mut self.counts {
            let Asserted { kind, claim } = count.asserted;
            let Some(judged) = claim.judge(repetition, self.margin_ns) else { continue };
            if !judged.tested {
                // What is wrong is wrong, tested or not.
                if kind != Kind::Law || judged.holds {
                    continue;
                }
            }
            count.tested += 1;
            count.seen += u64::from(judged.holds == (kind != Kind::Law));
            count.measures_ns.push(judged.measure_ns);
        }
    }

    /// What became of each claim.
    pub fn outcomes(&self, edges: &[EdgeCount]) -> Vec<Outcome> {
        let outcome = |count: &Count| {
            let Asserted { kind, claim } = count.asserted;
            let numbers = (self.repetitions, count.tested, count.seen);
            Outcome {
                measure: claim.measure().to_owned(),
                spread: spread(&count.measures_ns),
                edges: edges.to_vec(),
                ..Outcome::counted(&self.case, claim.text(), kind, numbers)
            }
        };
        self.counts.iter().map(outcome).collect()
    }

    /// None of the claims could be tested.
    pub fn not_tested(&self, reason: &str) -> Vec<Outcome> {
        let outcome = |count: &Count| {
            let Asserted { kind, claim } = count.asserted;
            Outcome::not_tested(&self.case, claim.text(), kind, reason)
        };
        self.counts.iter().map(outcome).collect()
    }
}

fn spread(values: &[f64]) -> Option<Spread> {
    let median_ns = median(values)?;
    let min_ns = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max_ns = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Spread { median_ns, min_ns, max_ns })
}

/// `cudaErrorLossyQuery` of driver_types.h.
const LOSSY_QUERY: i32 = 402;

/// What the answers to queries of edges without edge data mean: `programmatic` is the error of a
/// graph with a programmatic edge, `full` that of one without.
pub fn lossy_query(programmatic: i32, full: i32) -> Vec<Outcome> {
    let refused = Outcome::counted(
        "a graph with a programmatic edge",
        "a query without edge data answers cudaErrorLossyQuery".into(),
        Kind::Law,
        (1, 1, u64::from(programmatic != LOSSY_QUERY)),
    );
    let answered = Outcome::counted(
        "a graph with full edges",
        "a query without edge data is answered".into(),
        Kind::Law,
        (1, 1, u64::from(full != 0)),
    );
    let told =
        |outcome: Outcome, error: i32| Outcome { reason: format!("error {error}"), ..outcome };
    vec![told(refused, programmatic), told(answered, full)]
}

/// What the counts of one graph launched `launches` times mean: `wrong` secondaries missed the
/// primary's count, `ahead` began before its end, `seconds` passed.
pub fn many_launches(
    (launches, wrong, ahead): (u64, u64, u64),
    seconds: f64,
    edges: &[EdgeCount],
) -> Vec<Outcome> {
    let outcome = |claim: &str, kind, seen| Outcome {
        edges: edges.to_vec(),
        ..Outcome::counted(
            "one graph, launched again and again",
            claim.into(),
            kind,
            (launches, launches, seen),
        )
    };
    let fresh = outcome("B finds all that A wrote", Kind::Law, wrong);
    let ahead = outcome("B begins before A ends", Kind::Permitted, ahead);
    vec![Outcome { reason: format!("{launches} launches in {seconds:.1} s"), ..fresh }, ahead]
}
