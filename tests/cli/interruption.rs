//! A run that is interrupted or killed keeps its rows, and they can be reported.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{pdl, run, succeed};

/// A sweep that would take days.
const ENDLESS: [&str; 12] = [
    "sweep",
    "--backend=sim",
    "--out=run",
    "--trigger=0/8",
    "--arm=graph-pdl",
    "--body-kind=fma",
    "--nodes=8",
    "--grid=4",
    "--rounds-min=4000000",
    "--rounds-max=4000000",
    "--budget-s=86400",
    "--seed=7",
];

/// Starts the endless sweep and waits until it has written `rows` rows.
fn started(dir: &Path, rows: usize) -> Child {
    let mut command = pdl(dir, ENDLESS);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while lines(dir) <= rows {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(Instant::now() < deadline, "no {rows} rows after 30 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Whole lines of samples.csv.
fn lines(dir: &Path) -> usize {
    let bytes = fs::read(dir.join("run/samples.csv")).unwrap_or_default();
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Reports the run; the samples in its rows.
fn reported(dir: &Path) -> u32 {
    let raw = fs::read(dir.join("run/samples.csv")).unwrap();
    succeed(&mut pdl(dir, ["report", "run"]));
    assert_eq!(fs::read(dir.join("run/samples.csv")).unwrap(), raw, "raw rows are never changed");
    let rows = pdl_lab::record::read_summary(&dir.join("run/summary.csv")).unwrap();
    assert_eq!(rows.len(), 5, "graph, graph-aa, sentinel, graph-full, graph-pdl");
    rows.iter().map(|row| row.samples).sum()
}

#[test]
fn an_interruption_ends_with_130_and_keeps_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let child = started(dir.path(), 60);
    let before = lines(dir.path());
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted\n"), "{said}");
    assert!(said.contains("pdl report run reads what was measured so far"), "{said}");
    assert!(!said.contains("panicked at"), "{said}");
    assert!(lines(dir.path()) >= before);
    let raw = fs::read(dir.path().join("run/samples.csv")).unwrap();
    assert_eq!(raw.last(), Some(&b'\n'), "no row is cut short");
    let end = fs::read_to_string(dir.path().join("run/end.json")).unwrap();
    let end: serde_json::Value = serde_json::from_str(&end).unwrap();
    assert_eq!(end["reason"], "interrupted");
    // Rows of long chains are not among the samples of the statistics.
    assert!(reported(dir.path()) as usize >= before / 2);
}

#[test]
fn a_killed_run_is_reported_from_the_rows_it_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = started(dir.path(), 60);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    let before = lines(dir.path());
    assert!(!dir.path().join("run/end.json").exists());
    assert!(reported(dir.path()) as usize >= before / 2);
}

#[test]
fn a_directory_that_a_run_is_written_to_is_not_taken_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = started(dir.path(), 5);
    let said = run(&mut pdl(dir.path(), ENDLESS));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("not empty"), "{said:?}");
}
