//! The findings as tables.

use std::collections::BTreeMap;

use super::{CounterExample, Outcome, Row, Test, Verdict, may_go_right};
use crate::cells::Cells;
use crate::stats::never_seen_bound;
use crate::units::ABSENT;

/// All cases of one test together.
#[derive(Default)]
struct Sum {
    cases: u64,
    untested: u64,
    repetitions: u64,
    co_resident: u64,
    wrong: u64,
    worst: Option<Verdict>,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        self.untested += u64::from(outcome.verdict == Verdict::NotTested);
        if let Some(measured) = &outcome.measured {
            self.repetitions += measured.repetitions;
            self.co_resident += measured.co_resident;
            self.wrong += measured.wrong;
        }
        let rank = |verdict: Verdict| match verdict {
            Verdict::Race => 4,
            Verdict::Hang => 3,
            Verdict::Fault => 2,
            Verdict::Clean | Verdict::SameCode => 1,
            Verdict::NotTested => 0,
        };
        let worse = self.worst.is_none_or(|worst| rank(outcome.verdict) > rank(worst));
        if worse {
            self.worst = Some(outcome.verdict);
        }
    }

    fn verdict(&self) -> String {
        let worst = self.worst.unwrap_or(Verdict::NotTested);
        match (worst, self.untested) {
            (Verdict::Race, _) => "RACE".into(),
            (Verdict::NotTested, _) | (_, 0) => worst.name().into(),
            (_, untested) => format!("{}; {untested} not tested", worst.name()),
        }
    }

    fn below(&self) -> String {
        match (self.wrong, self.co_resident) {
            (0, 1..) => below(never_seen_bound(self.co_resident)),
            _ => ABSENT.into(),
        }
    }
}

fn below(bound: f64) -> String {
    format!("{bound:.1e}")
}

/// A row a test of the correct kernels.
pub fn correct(rows: &[Row]) -> Cells {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for row in rows {
        sums.entry(&row.outcome.test).or_default().add(&row.outcome);
    }
    let cells = |test: Test, sum: &Sum| {
        vec![
            test.name().to_owned(),
            test.hazard().to_owned(),
            sum.cases.to_string(),
            sum.repetitions.to_string(),
            sum.co_resident.to_string(),
            sum.wrong.to_string(),
            sum.below(),
            sum.verdict(),
        ]
    };
    let rows_of_table = Test::ALL
        .into_iter()
        .filter_map(|test| sums.get(test.name()).map(|sum| cells(test, sum)))
        .collect();
    let header = [
        "correct kernels",
        "hazard",
        "cases",
        "repetitions",
        "co-resident",
        "wrong",
        "below",
        "verdict",
    ];
    Cells::new(&header, rows_of_table, &[2, 3, 4, 5, 6])
}

/// What is to be said of the correct kernels under the table: each case that is not clean, then all
/// together.
pub fn remarks(rows: &[Row]) -> Vec<String> {
    let mut all = Sum::default();
    rows.iter().for_each(|row| all.add(&row.outcome));
    let unclean = rows.iter().filter(|row| row.outcome.verdict != Verdict::Clean);
    let mut remarks: Vec<String> =
        unclean.map(|row| format!("{}: {}", row.outcome.case, told(&row.outcome))).collect();
    let bound = match (all.wrong, all.co_resident) {
        (0, 1..) => format!(", so a race shows in fewer than {} of those (95 %)", all.below()),
        _ => String::new(),
    };
    remarks.push(format!(
        "{} repetitions of correct kernels, {} wrong; co-resident in {}{bound}",
        all.repetitions, all.wrong, all.co_resident
    ));
    remarks
}

/// A row a mutant and test.
pub fn mutants(rows: &[Row]) -> Cells {
    let caught = |row: &Row| {
        let same = |other: &&Row| other.outcome.mutant == row.outcome.mutant;
        rows.iter().filter(same).any(|other| other.outcome.verdict == Verdict::Race)
    };
    let cells = |row: &Row| {
        let outcome = &row.outcome;
        let measured = outcome.measured.as_ref();
        let first = measured.and_then(|m| m.first.as_ref());
        let of = |value: Option<String>| value.unwrap_or_else(|| ABSENT.into());
        vec![
            outcome.mutant.clone().unwrap_or_default(),
            outcome.case.clone(),
            mutant_verdict(outcome, caught(row)).to_owned(),
            of(first.map(|first| first.repetition.to_string())),
            of(measured.map(|m| format!("{} of {}", m.wrong, m.repetitions))),
            of(row
                .rate
                .map(|rate| format!("{:.4} to {:.4}", rate.lo, rate.hi))
                .or(row.rate_below.map(|bound| format!("below {}", below(bound))))),
            of(measured.map(|m| m.co_resident.to_string())),
            first.map_or_else(|| told(outcome), example),
        ]
    };
    let header = [
        "mutant",
        "test",
        "verdict",
        "caught after",
        "wrong",
        "share, 95 %",
        "co-resident",
        "first wrong value",
    ];
    Cells::new(&header, rows.iter().map(cells).collect(), &[3, 4, 5, 6])
}

/// `caught`: whether any of the mutant's tests caught it.
fn mutant_verdict(outcome: &Outcome, caught: bool) -> &'static str {
    match (outcome.verdict, caught) {
        (Verdict::Race, _) => "caught",
        (Verdict::Clean, true) => "not caught here",
        (Verdict::Clean, false) if outcome.mutant.as_deref().is_some_and(may_go_right) => {
            "went right"
        }
        (Verdict::Clean, false) => "NOT CAUGHT",
        (other, _) => other.name(),
    }
}

fn example(first: &CounterExample) -> String {
    format!(
        "{} at node {}, block {}: found {}",
        first.record.hazard(),
        first.node,
        first.block,
        first.found_is
    )
}

/// What there is to say beside the verdict.
fn told(outcome: &Outcome) -> String {
    let first = outcome.measured.as_ref().and_then(|measured| measured.first.as_ref());
    match (first, outcome.verdict) {
        (Some(first), _) => format!(
            "{} (repetition {}, thread {}; {} in place of {})",
            example(first),
            first.repetition,
            first.thread,
            first.found,
            first.expected
        ),
        (None, _) if !outcome.reason.is_empty() => {
            format!("{}: {}", outcome.verdict.name(), outcome.reason)
        }
        (None, Verdict::NotTested) => "not tested: nothing was co-resident".into(),
        (None, Verdict::SameCode) => "the compiler made the correct kernel of it".into(),
        (None, _) => String::new(),
    }
}
