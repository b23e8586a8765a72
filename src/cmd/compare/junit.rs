//! A comparison as JUnit XML: a test case a row.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::text::{harmless, overall, short, verdict_with_reasons};
use crate::cli::FailOn;
use crate::compare::{Across, AcrossRow, Carried, Change, Comparison, Row};
use crate::error::{Error, Result};

/// One suite; what `--fail-on` names is a failure, what else has no verdict is skipped.
///
/// # Errors
/// Text that is no XML: none.
pub fn render(comparison: &Comparison, fail_on: &[FailOn]) -> Result<String> {
    let (a, b) = (harmless(&comparison.a.name), harmless(&comparison.b.name));
    let mut suite = TestSuite::new(format!(
        "pdl compare {a} ({}) with {b} ({})",
        harmless(&comparison.a.device),
        harmless(&comparison.b.device)
    ));
    suite.add_property(("verdict", overall(comparison).as_str()));
    if let Some(reason) = &comparison.accepted_mismatch {
        suite.add_property(("accepted-mismatch", harmless(reason).as_str()));
    }
    for note in &comparison.notes {
        suite.add_property(("note", harmless(note).as_str()));
    }
    suite.add_test_cases(comparison.rows.iter().map(|row| case(row, fail_on)));
    finish(suite)
}

/// The same for what carries over between devices.
///
/// # Errors
/// Text that is no XML: none.
pub fn render_across(across: &Across, fail_on: &[FailOn]) -> Result<String> {
    let (a, b) = (harmless(&across.a.name), harmless(&across.b.name));
    let mut suite = TestSuite::new(format!("pdl compare --across-devices {a} with {b}"));
    suite.add_test_cases(across.rows.iter().map(|row| across_case(row, across.wrong, fail_on)));
    finish(suite)
}

fn finish(suite: TestSuite) -> Result<String> {
    let mut report = Report::new("pdl compare");
    report.add_test_suite(suite);
    let text = report.to_string().map_err(|error| Error::failed("write JUnit XML", error))?;
    Ok(text + "\n")
}

fn fails(change: Change, fail_on: &[FailOn]) -> bool {
    let on = match change {
        Change::Wrong => FailOn::Wrong,
        Change::Regression => FailOn::Regression,
        Change::Inconclusive => FailOn::Inconclusive,
        _ => return false,
    };
    fail_on.contains(&on)
}

fn case(row: &Row, fail_on: &[FailOn]) -> TestCase {
    let message = format!("{}: {}", verdict_with_reasons(row), short(row));
    let status = match row.verdict {
        change if fails(change, fail_on) => failure(change.name(), message),
        Change::Inconclusive | Change::Skipped => skipped(message),
        _ => TestCaseStatus::success(),
    };
    let name = format!("{} {}", row.arm, row.place());
    let mut case = TestCase::new(name.trim_end(), status);
    case.set_classname(row.group.as_str());
    case
}

fn across_case(row: &AcrossRow, wrong: bool, fail_on: &[FailOn]) -> TestCase {
    let name = match row.submission {
        crate::chain::Submission::Stream => "stream",
        crate::chain::Submission::Graph => "graph",
    };
    let said = |what: &str, carried: Option<Carried>| {
        carried.map(|carried| format!("{what} {}", carried.name()))
    };
    let all =
        [said("sign", Some(row.sign)), said("trigger", row.trigger), said("plateau", row.plateau)];
    let message = all.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let unknown = [Some(row.sign), row.trigger, row.plateau].contains(&Some(Carried::Unknown));
    let status = if wrong && fail_on.contains(&FailOn::Wrong) {
        failure("wrong", "a result of the second run is wrong".to_owned())
    } else if unknown && fail_on.contains(&FailOn::Inconclusive) {
        failure("inconclusive", message)
    } else if unknown {
        skipped(message)
    } else {
        TestCaseStatus::success()
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(row.group.as_str());
    case
}

fn failure(kind: &str, message: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message);
    status
}

fn skipped(message: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}
