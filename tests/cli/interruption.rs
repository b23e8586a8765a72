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

/// A sweep of two groups that is killed in each of them on the way.
#[test]
fn a_killed_run_is_resumed_with_every_row_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let sweep =
        ["sweep", "--backend=sim", "--out=run", "--trigger=0/8,4/8", "--nodes=8", "--grid=4"];
    let long = ["--body-us=2,4", "--body-kind=fma", "--rounds-min=400", "--rounds-max=400"];
    let mut child = pdl(dir.path(), sweep.iter().chain(&long))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for rows in [50, 900, 5200] {
        let deadline = Instant::now() + Duration::from_secs(30);
        while lines(dir.path()) < rows && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "no {rows} rows after 30 s");
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let path = dir.path().join("run/samples.csv");
        let kept = fs::read(&path).unwrap();
        let whole = kept.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        child = pdl(dir.path(), ["sweep", "--resume=run"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while lines(dir.path()) <= kept[..whole].iter().filter(|&&byte| byte == b'\n').count()
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(fs::read(&path).unwrap().starts_with(&kept[..whole]), "rows were lost");
    }
    assert!(child.wait().unwrap().success());
    let run = pdl_lab::record::read_run(&dir.path().join("run")).unwrap();
    assert_eq!(run.end.as_ref().unwrap().reason, "done");
    // Two groups, nine arms and triggers each, every round of every one.
    for group in run.manifest.plan.points.chunk_by(|a, b| a.group == b.group) {
        for point in group {
            for &arm in &point.arms {
                let mut rounds: Vec<u32> = run
                    .samples
                    .iter()
                    .filter(|s| *s.point == *point.point && s.arm == arm && s.nodes == 8)
                    .map(|s| s.round)
                    .collect();
                rounds.sort_unstable();
                rounds.dedup();
                // A kill inside a round leaves that round to the arms that had their turn.
                assert!(rounds.len() >= 397, "{} {arm}: {} rounds", point.point, rounds.len());
            }
        }
    }
    let resumed =
        |s: &&pdl_lab::record::SampleRow| s.flags.contains(&pdl_lab::device::Flag::Resumed);
    assert!(run.samples.iter().any(|s| resumed(&s)) && !run.samples.iter().all(|s| resumed(&s)));
    // What is complete is not measured again.
    assert_eq!(run_again(dir.path()), Some(2));
}

fn run_again(dir: &Path) -> Option<i32> {
    run(&mut pdl(dir, ["sweep", "--resume=run"])).code
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
