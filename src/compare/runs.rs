//! Two runs, point by point: what is compared, and in which state the device was.

use std::collections::{HashMap, HashSet};

use super::Side;
use super::definition::group_label;
use super::fingerprint::{Mismatch, mismatches};
use super::judge::Change;
use super::matched::{Matched, matched};
use super::notes::{notes, party};
use super::outcome::{COMPARISON_SCHEMA, Comparison, Row, Session};
use super::rows::{Draft, draft, verdicts};
use super::views::Rounds;
use crate::analysis::{Entry, Indexed};
use crate::chain::Arm;
use crate::error::{Error, Kind, Result};
use crate::stats::{CONFIDENCE, median_difference};

/// What the user decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Margin between two runs, µs a hop.
    pub margin_us: f64,
    /// The same as a part of the period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Only rows of these arms; all where it is empty.
    pub arms: Vec<Arm>,
    /// Why runs whose fingerprints differ are to be compared all the same.
    pub accept_mismatch: Option<String>,
}

/// Compares `b` with `a`; both with the names that the user gave them.
///
/// # Errors
/// Fingerprints that differ and were not accepted (refused), and runs without a point in common.
pub fn compare_runs(a: (&str, &Side), b: (&str, &Side), options: &Options) -> Result<Comparison> {
    let mismatches = mismatches(a.1, b.1);
    if !mismatches.is_empty() && options.accept_mismatch.is_none() {
        return Err(refused(a.0, b.0, &mismatches));
    }
    let (left, right) = (a.1.indexed(), b.1.indexed());
    let matched = matched(&left, &right, &options.arms);
    if matched.both.is_empty() {
        return Err(nothing_in_common(a.0, b.0, &matched));
    }
    let mut sessions = Sessions::default();
    let drafts: Vec<Draft> = matched
        .both
        .iter()
        .map(|&(of_a, of_b)| {
            let moved = sessions.of(&left, &right, of_a, of_b, options);
            draft(a.1, b.1, (&left, of_a), (&right, of_b), moved, options)
        })
        .collect();
    let rows = verdicts(drafts);
    let mut notes = notes(a.1, b.1);
    notes.extend(work_notes(&matched.both, &rows));
    let accepted_mismatch = options.accept_mismatch.clone().filter(|_| !mismatches.is_empty());
    Ok(Comparison {
        schema: COMPARISON_SCHEMA,
        a: party(a.0, a.1),
        b: party(b.0, b.1),
        paired: false,
        accepted_mismatch,
        mismatches,
        margin_us: options.margin_us,
        margin_ratio: options.margin_ratio,
        notes,
        sessions: sessions.all,
        rows,
        only_a: matched.only_a,
        only_b: matched.only_b,
        verdict: Change::Inconclusive,
        reasons: Vec::new(),
        counts: Vec::new(),
    }
    .settled())
}

fn refused(a: &str, b: &str, mismatches: &[Mismatch]) -> Error {
    let differences: Vec<String> =
        mismatches.iter().map(|m| format!("{} ({} and {})", m.code, m.a, m.b)).collect();
    let cause = format!("their fingerprints differ: {}", differences.join(", "));
    Error::new(Kind::Refused, format!("compare {a} with {b}"), cause).remedy(
        "measure both alike; --accept-mismatch \"reason\" compares all the same, --across-devices \
         tells what carries over",
    )
}

fn nothing_in_common(a: &str, b: &str, matched: &Matched) -> Error {
    let one = |side: &[String]| side.first().cloned().unwrap_or_else(|| "nothing".to_owned());
    let cause = format!(
        "they have no point in common: the first has {} and {} more, the second {} and {} more",
        one(&matched.only_a),
        matched.only_a.len().saturating_sub(1),
        one(&matched.only_b),
        matched.only_b.len().saturating_sub(1)
    );
    Error::failed(format!("compare {a} with {b}"), cause)
        .remedy("measure the same points: pdl sweep --repeat RUN takes plan and work from a run")
}

/// What both runs calibrated their work to, where it differs; once a group.
fn work_notes(both: &[(&Entry, &Entry)], rows: &[Row]) -> Vec<String> {
    let mut told = HashSet::new();
    let differing = both.iter().zip(rows).filter(|(_, row)| row.reasons == ["work-differs"]);
    let note = |((of_a, of_b), row): (&(&Entry, &Entry), &Row)| {
        let amounts = |entry: &Entry| {
            let chain = &entry.record.chain;
            format!("{} units of body and {} of preamble", chain.body.units, chain.preamble.units)
        };
        format!(
            "work-differs: {}: A ran {} a block, B {}; pdl sweep --repeat A measures A's work again",
            row.group,
            amounts(of_a),
            amounts(of_b)
        )
    };
    differing.filter(|(_, row)| told.insert(row.group.clone())).map(note).collect()
}

/// Whether the device was in the same state in both runs, group by group.
#[derive(Default)]
struct Sessions {
    all: Vec<Session>,
    known: HashMap<(u32, u32), Option<bool>>,
}

impl Sessions {
    /// Whether the fixed kernel's time changed beyond the margin; `None` where a run has none.
    fn of(
        &mut self,
        left: &Indexed,
        right: &Indexed,
        a: &Entry,
        b: &Entry,
        options: &Options,
    ) -> Option<bool> {
        let groups = (a.record.group, b.record.group);
        if let Some(&moved) = self.known.get(&groups) {
            return moved;
        }
        let sentinel =
            |run: &Indexed, group| Rounds::of(run, run.find(group, Arm::Sentinel, None)?);
        let pair = sentinel(left, groups.0).zip(sentinel(right, groups.1));
        let change = pair.as_ref().map(|(a, b)| median_difference(&a.own, &b.own, CONFIDENCE));
        let period = pair.as_ref().map_or(0.0, |(a, _)| a.own.estimate(CONFIDENCE).median);
        let margin_ns = (options.margin_us * 1e3).max(options.margin_ratio * period);
        let moved = change.map(|change| change.median.abs() > margin_ns);
        self.all.push(Session {
            group: group_label(&a.record.chain),
            sentinel_change_ns: change.map(|change| change.median),
            moved: moved.unwrap_or(false),
        });
        self.known.insert(groups, moved);
        moved
    }
}
