//! The findings as a person reads them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::findings::table;
use super::{Findings, Row};
use crate::check::{CounterExample, Outcome, Test, Verdict, may_go_right};
use crate::stats::never_seen_bound;
use crate::units::ABSENT;

/// Both tables and what follows from them.
pub fn render(findings: &Findings<'_>, markdown: bool) -> String {
    let title = if markdown { "### " } else { "" };
    let device = &findings.device;
    let driver = match device.driver.as_str() {
        "" => String::new(),
        driver => format!(", driver {driver}"),
    };
    let skew = device.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    let mut text = format!(
        "{title}{}{driver}: sleeps {} µs, seed {}; timer step {} ns, skew {skew}\n\n",
        device.name,
        range(findings.sleep_us),
        findings.seed,
        device.timer_step_ns,
    );
    if !findings.correct.is_empty() {
        text += &correct(&findings.correct, markdown);
    }
    if !findings.mutants.is_empty() {
        text += &mutants(&findings.mutants, markdown);
    }
    text + LEGEND
}

const LEGEND: &str = "\
co-resident: repetitions in which the node that could go wrong began before the node it could \
harm had ended, by the stamps.\nwent right: the documentation leaves open that this goes wrong, and here it never did.\nWithout any, the verdict is `not tested`. below: upper bound of \
the share of repetitions that go wrong, 95 %, of the co-resident ones.\n";

fn range(values: &[f64]) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    if lowest == highest { lowest.to_string() } else { format!("{lowest} to {highest}") }
}

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

fn correct(rows: &[Row<'_>], markdown: bool) -> String {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut all = Sum::default();
    for row in rows {
        sums.entry(row.outcome.test).or_default().add(row.outcome);
        all.add(row.outcome);
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
    let mut text = table(&header, rows_of_table, &[2, 3, 4, 5, 6], markdown);
    for row in rows.iter().filter(|row| row.outcome.verdict != Verdict::Clean) {
        let _ = writeln!(text, "{}: {}", row.outcome.case, told(row.outcome));
    }
    let bound = match (all.wrong, all.co_resident) {
        (0, 1..) => format!(", so a race shows in fewer than {} of those (95 %)", all.below()),
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "{} repetitions of correct kernels, {} wrong; co-resident in {}{bound}\n",
        all.repetitions, all.wrong, all.co_resident
    );
    text
}

fn mutants(rows: &[Row<'_>], markdown: bool) -> String {
    let caught = |row: &Row<'_>| {
        let same = |other: &&Row<'_>| other.outcome.mutant == row.outcome.mutant;
        rows.iter().filter(same).any(|other| other.outcome.verdict == Verdict::Race)
    };
    let cells = |row: &Row<'_>| {
        let outcome = row.outcome;
        let measured = outcome.measured.as_ref();
        let first = measured.and_then(|m| m.first.as_ref());
        let of = |value: Option<String>| value.unwrap_or_else(|| ABSENT.into());
        vec![
            outcome.mutant.unwrap_or_default().to_owned(),
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
    table(&header, rows.iter().map(cells).collect(), &[3, 4, 5, 6], markdown)
}

/// `caught`: whether any of the mutant's tests caught it.
fn mutant_verdict(outcome: &Outcome, caught: bool) -> &'static str {
    match (outcome.verdict, caught) {
        (Verdict::Race, _) => "caught",
        (Verdict::Clean, true) => "not caught here",
        (Verdict::Clean, false) if outcome.mutant.is_some_and(may_go_right) => "went right",
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

#[cfg(test)]
mod tests;
