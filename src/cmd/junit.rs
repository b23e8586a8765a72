//! The summary as JUnit XML: a test case a row.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::analysis::Summary;
use crate::error::{Error, Result};
use crate::record::{Run, SummaryRow, Verdict};

/// One suite; a wrong result is a failure, a skipped row is skipped.
///
/// # Errors
/// Text that is no XML: none.
pub fn render(summary: &Summary, run: &Run) -> Result<String> {
    let mut suite = TestSuite::new(format!("pdl {} on {}", run.manifest.what, run.manifest.facts.label()));
    suite.add_test_cases(summary.rows.iter().map(case));
    let mut report = Report::new("pdl");
    report.add_test_suite(suite);
    let text = report.to_string().map_err(|error| Error::failed("write JUnit XML", error))?;
    Ok(text + "\n")
}

fn case(row: &SummaryRow) -> TestCase {
    let status = match row.verdict {
        Some(Verdict::Wrong) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message("wrong values");
            status
        }
        Some(Verdict::Skipped) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(row.reason.clone());
            status
        }
        _ => TestCaseStatus::success(),
    };
    let trigger = row.trigger.map_or(String::new(), |trigger| format!(" trigger={trigger}"));
    TestCase::new(format!("{} {}{trigger}", row.point, row.arm), status)
}
