//! What a comparison says.

use serde::Serialize;

use super::allowance::Allowance;
use super::fingerprint::Mismatch;
use super::judge::Change;
use super::views::View;
use crate::chain::{Arm, Trigger};
use crate::stats::Interval;

/// Version of the JSON that `pdl compare` prints: major, minor.
pub const COMPARISON_SCHEMA: &str = "1.0";

/// One of the two things that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Party {
    /// How the user named it: a directory, or an arm.
    pub name: String,
    /// Device, marked where it is simulated.
    pub device: String,
    /// Driver; empty when unknown.
    pub driver: String,
    /// Version and revision of the program that measured.
    pub program: String,
    /// UTC, RFC 3339.
    pub started: String,
    /// Seed of the order of arms.
    pub seed: u64,
    /// Whether the run was cut short and taken up again.
    pub resumed: bool,
}

/// A point × arm that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What every node of the group does.
    pub group: String,
    /// Point of the first run's plan.
    pub point_a: String,
    /// Point of the second run's plan.
    pub point_b: String,
    /// Arm; between the arms of one run, the second.
    pub arm: Arm,
    /// Where a block triggers.
    pub trigger: Option<Trigger>,
    /// Of an attached graph: edges that are made programmatic, indices in its listing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<u32>,
    /// Samples of the first.
    pub samples_a: u32,
    /// Samples of the second.
    pub samples_b: u32,
    /// Chain duration ÷ nodes in the first, median, ns.
    pub period_a_ns: Option<f64>,
    /// The same in the second.
    pub period_b_ns: Option<f64>,
    /// Saved time in the first, median over rounds, ns a hop.
    pub saved_a_ns: Option<f64>,
    /// The same in the second.
    pub saved_b_ns: Option<f64>,
    /// The change that every reference shows at least, ns a hop: positive where the second is
    /// slower. That of the reference nearest to none, with its interval.
    pub change_ns: Option<f64>,
    /// 95 % interval of the same.
    pub change_interval_ns: Option<Interval>,
    /// What each reference shows.
    pub views: Vec<View>,
    /// How far apart two runs may be here; `None` where nothing was held against it.
    pub allowance: Option<Allowance>,
    /// What is said of the row.
    pub verdict: Change,
    /// Reason codes.
    pub reasons: Vec<String>,
}

impl Row {
    /// Where a block triggers, or which edges are flipped, in a few words; empty for neither.
    pub fn place(&self) -> String {
        const SHOWN: usize = 4;
        if let Some(trigger) = self.trigger {
            return trigger.to_string();
        }
        let numbers: Vec<String> = self.flips.iter().take(SHOWN).map(u32::to_string).collect();
        match (self.flips.len(), self.flips.len().saturating_sub(SHOWN)) {
            (0, _) => String::new(),
            (1, _) => format!("edge {}", numbers[0]),
            (_, 0) => format!("edges {}", numbers.join(", ")),
            (_, more) => format!("edges {} and {more} more", numbers.join(", ")),
        }
    }
}

/// How the fixed kernel of one group did in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// What every node of the group does.
    pub group: String,
    /// Second run − first, ns a hop of the sentinel's chain; `None` without sentinels.
    pub sentinel_change_ns: Option<f64>,
    /// Whether the change is beyond the margin: the device was not in the same state.
    pub moved: bool,
}

/// Verdicts counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The verdict.
    pub verdict: &'static str,
    /// Rows with it.
    pub rows: usize,
}

/// Two runs, or two arms of one, point by point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// What is compared with.
    pub a: Party,
    /// What is compared.
    pub b: Party,
    /// Whether the rounds of both are the same, so that they could be paired.
    pub paired: bool,
    /// Why a comparison was wanted although the fingerprints differ; `None` when they do not.
    pub accepted_mismatch: Option<String>,
    /// What differs in the fingerprints.
    pub mismatches: Vec<Mismatch>,
    /// Margin, µs a hop.
    pub margin_us: f64,
    /// Margin as a part of the period; the larger of the two holds.
    pub margin_ratio: f64,
    /// What a reader should know, one line each.
    pub notes: Vec<String>,
    /// One for each pair of groups.
    pub sessions: Vec<Session>,
    /// Points × arms that both have, in the order of the first.
    pub rows: Vec<Row>,
    /// What only the first has.
    pub only_a: Vec<String>,
    /// What only the second has.
    pub only_b: Vec<String>,
    /// The worst verdict of the rows.
    pub verdict: Change,
    /// Reason codes of the rows that decided it, each once.
    pub reasons: Vec<String>,
    /// Rows by verdict; those that no row has are left out.
    pub counts: Vec<Count>,
}

impl Comparison {
    /// Rows with `verdict`.
    pub fn count(&self, verdict: Change) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Fills in what follows from the rows.
    pub(super) fn settled(mut self) -> Comparison {
        let worst = Change::ALL.into_iter().find(|&verdict| self.count(verdict) > 0);
        self.verdict = worst.unwrap_or(Change::Inconclusive);
        let deciding = self.rows.iter().filter(|row| row.verdict == self.verdict);
        self.reasons = deciding.flat_map(|row| row.reasons.iter().cloned()).collect();
        self.reasons.sort();
        self.reasons.dedup();
        let counts = Change::ALL.map(|v| Count { verdict: v.name(), rows: self.count(v) });
        self.counts = counts.into_iter().filter(|count| count.rows > 0).collect();
        self
    }
}
