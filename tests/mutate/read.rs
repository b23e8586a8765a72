//! Everything that is done with a run that was read.

use std::path::Path;

use pdl_lab::chain::Arm;
use pdl_lab::cli::Format;
use pdl_lab::cmd::{rebuild, rebuild_beside, render};
use pdl_lab::compare::{
    MARGIN_RATIO, MARGIN_US, Options, Side, compare_across, compare_arms, compare_runs,
};
use pdl_lab::error::Error;
use pdl_lab::measure::{Plan, progress};
use pdl_lab::record::{read_run, standing};

use crate::change::Files;

/// The run with what is derived from it.
pub fn with_summary(raw: &Files) -> Files {
    let root = tempfile::tempdir().unwrap();
    raw.write(root.path());
    rebuild(root.path()).unwrap();
    Files::of(root.path())
}

/// Reads `changed`, and does with it what `report`, `compare` and a resumed or repeated sweep do.
/// Returns whether it could be read.
pub fn everything(changed: &Files, whole: &Files) -> bool {
    let root = tempfile::tempdir().unwrap();
    let (dir, other) = (root.path().join("changed"), root.path().join("whole"));
    changed.write(&dir);
    let run = match read_run(&dir) {
        Ok(run) => run,
        Err(error) => {
            named(&error, &dir);
            return false;
        }
    };
    if let Ok(plan) = Plan::from_record(&run.manifest.plan, run.manifest.seed) {
        let plan = plan.with_work(&run.points);
        let _ = plan.expected(&plan.groups());
        for points in plan.groups() {
            let _ = progress(&run, points);
        }
    }
    match rebuild_beside(&dir, &Vec::new()) {
        Ok((summary, run)) => {
            for format in
                [Format::Table, Format::Markdown, Format::Csv, Format::Json, Format::Junit]
            {
                render(&summary, &run, format).unwrap();
            }
            let rows = &summary.rows;
            let again = standing(&dir, rows, true).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again.stale, None, "what was just written is not out of date");
        }
        Err(error) => named(&error, &dir),
    }
    let (summary, _) = rebuild(&dir).unwrap_or_else(|error| panic!("{error}"));
    render(&summary, &run, Format::Table).unwrap();
    whole.write(&other);
    let (changed, whole) = (Side::of(run), Side::of(read_run(&other).unwrap()));
    let options = Options {
        margin_us: MARGIN_US,
        margin_ratio: MARGIN_RATIO,
        arms: Vec::new(),
        accept_mismatch: Some("changed at random".to_owned()),
    };
    for (a, b) in [(&whole, &changed), (&changed, &whole), (&changed, &changed)] {
        if let Ok(comparison) = compare_runs(("A", a), ("B", b), &options) {
            serde_json::to_string(&comparison).unwrap();
        }
        let _ = compare_across(("A", a), ("B", b));
    }
    let _ = compare_arms("A", &changed, Arm::GraphFull, Arm::GraphPdl);
    true
}

/// An error is a line with its file, and a remedy at most; nothing that a terminal would obey.
fn named(error: &Error, dir: &Path) {
    let text = error.to_string();
    assert!(text.contains(&format!("{}", dir.display())), "no file in: {text}");
    assert!(text.lines().count() <= 2, "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}
