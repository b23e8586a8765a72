//! A disk that fails at any one call: what was recorded before stays valid, and the user reads one
//! line of what happened and one of what to do.

use std::fs;

use super::fixture::{end, manifest, point, record, sample};
use crate::chain::Arm;
use crate::error::Error;
use crate::record::disk::fault::{self, Fault};
use crate::record::{RunDir, read_run, write_atomically, write_derived};

const ROWS: u32 = 5;

fn assert_readable(error: &Error) {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("cannot write /"), "{text}");
    let named = ["manifest.json", "points.jsonl", "samples.csv", "end.json"];
    assert!(named.iter().any(|file| lines[0].contains(file)), "{text}");
}

/// Writes a whole run until something fails; the rows that were reported as written.
fn write_run(run: &mut RunDir) -> (u32, Result<(), Error>) {
    let mut rows = 0;
    let mut all = || {
        run.write_manifest(&manifest())?;
        run.append_point(&point("p000", Arm::Graph))?;
        for n in 0..ROWS {
            run.append_sample(&sample(n))?;
            rows += 1;
        }
        run.write_end(&end("done"))
    };
    let outcome = all();
    (rows, outcome)
}

#[test]
fn every_call_of_a_run_may_fail() {
    for fault in [Fault::Full, Fault::Gone] {
        let mut met = 0;
        for n in 1..100 {
            let root = tempfile::tempdir().unwrap();
            let dir = root.path().join("run");
            let mut run = RunDir::create(Some(&dir), "sweep", super::fixture::now()).unwrap();
            fault::at(n, fault);
            let (rows, outcome) = write_run(&mut run);
            let was_met = fault::heal();
            drop(run);
            assert_eq!(outcome.is_err(), was_met, "{fault:?} at {n}");
            let Err(error) = outcome else { break };
            met += 1;
            assert_readable(&error);
            if !dir.join("manifest.json").exists() {
                assert_eq!(rows, 0);
                assert!(!dir.exists(), "{fault:?} at {n}: a directory without a run is left");
                continue;
            }
            let expected: Vec<_> = (0..rows).map(sample).collect();
            let read = read_run(&dir).unwrap();
            assert_eq!(read.samples, expected, "{fault:?} at {n}");
            if fault == Fault::Full {
                assert!(read.notes.is_empty(), "{n}: {:?}", read.notes);
            }
            if read.end.is_none() {
                let (mut resumed, _) = RunDir::resume(&dir).unwrap();
                resumed.append_sample(&sample(rows)).unwrap();
                let expected: Vec<_> = (0..=rows).map(sample).collect();
                assert_eq!(read_run(&dir).unwrap().samples, expected, "{fault:?} at {n}");
            }
            let left = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name());
            let temporary = left.filter(|name| name.to_string_lossy().ends_with(".tmp")).count();
            assert_eq!(temporary, 0, "{fault:?} at {n}");
        }
        // Manifest, header, point, rows and end are nine writes; syncs and renames come on top.
        assert!(met >= if fault == Fault::Full { 9 } else { 15 }, "{fault:?}: {met}");
    }
}

#[test]
fn a_run_goes_on_once_there_is_space_again() {
    for fault in [Fault::Full, Fault::Gone] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        let mut run = record(&dir, 2).unwrap();
        fault::at(1, fault);
        for _ in 0..3 {
            let error = run.append_sample(&sample(2)).unwrap_err().to_string();
            assert!(error.contains("samples.csv: "), "{error}");
            if fault == Fault::Full {
                assert!(error.contains("\n     free space there"), "{error}");
            }
        }
        fault::heal();
        run.append_sample(&sample(2)).unwrap();
        let read = read_run(&dir).unwrap();
        assert_eq!(read.samples, (0..3).map(sample).collect::<Vec<_>>());
        assert_eq!(read.notes, Vec::<String>::new());
    }
}

#[test]
fn a_derived_file_is_replaced_as_a_whole_or_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("summary.csv");
    write_atomically(&path, b"old").unwrap();
    for n in 1..100 {
        fault::at(n, Fault::Gone);
        let outcome = write_atomically(&path, b"a longer new one");
        let met = fault::heal();
        let found = fs::read(&path).unwrap();
        assert_eq!(found, if outcome.is_ok() { &b"a longer new one"[..] } else { b"old" });
        if outcome.is_ok() && !met {
            assert!(n > 4, "create, write, sync and rename can each fail");
            break;
        }
        write_atomically(&path, b"old").unwrap();
    }
    write_derived(root.path(), "charts/saved.svg", b"<svg/>").unwrap();
    assert_eq!(fs::read(root.path().join("charts/saved.svg")).unwrap(), b"<svg/>");
    for name in ["samples.csv", "manifest.json", "../x", "/tmp/x", "charts/../../x", ""] {
        let error = write_derived(root.path(), name, b"").unwrap_err().to_string();
        assert!(error.contains("no derived file"), "{name}: {error}");
    }
}
