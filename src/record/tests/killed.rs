//! A kill leaves a prefix of each growing file: no row that was finished may be lost.

use std::fs;
use std::path::Path;

use super::fixture::{manifest, point, record, sample};
use crate::chain::Arm;
use crate::record::{RunDir, read_run, samples};

const ROWS: u32 = 6;

/// Cuts `name` of a run of `ROWS` rows to `length` bytes, in `dir`.
fn killed(dir: &Path, name: &str, length: usize) -> Vec<u8> {
    drop(record(dir, ROWS).unwrap());
    let mut bytes = fs::read(dir.join(name)).unwrap();
    bytes.truncate(length);
    fs::write(dir.join(name), &bytes).unwrap();
    bytes
}

fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn samples_cut_at_any_byte_keep_every_whole_row_and_are_resumed() {
    let root = tempfile::tempdir().unwrap();
    let length = samples::header_line().len()
        + (0..ROWS).map(|n| samples::line(&sample(n)).unwrap().len()).sum::<usize>();
    for cut in 0..=length {
        let dir = root.path().join(cut.to_string());
        let left = killed(&dir, "samples.csv", cut);
        let rows = whole_lines(&left).saturating_sub(1);
        let expected: Vec<_> = (0..rows as u32).map(sample).collect();

        let run = read_run(&dir).unwrap();
        assert_eq!(run.samples, expected, "cut at {cut}");
        assert_eq!(run.points.len(), 2);
        let torn = left.last().is_some_and(|byte| *byte != b'\n');
        assert_eq!(run.notes.iter().any(|note| note.contains("cut short")), torn, "cut at {cut}");

        let (mut resumed, before) = RunDir::resume(&dir).unwrap();
        assert_eq!(before.samples, expected);
        for n in rows as u32..ROWS {
            resumed.append_sample(&sample(n)).unwrap();
        }
        drop(resumed);
        let again = read_run(&dir).unwrap();
        assert_eq!(again.samples, (0..ROWS).map(sample).collect::<Vec<_>>(), "cut at {cut}");
        assert_eq!(again.notes, Vec::<String>::new());
        assert_eq!(fs::read(dir.join("samples.csv")).unwrap().len(), length, "cut at {cut}");
    }
}

#[test]
fn points_cut_at_any_byte_keep_every_whole_line_and_are_resumed() {
    let root = tempfile::tempdir().unwrap();
    drop(record(&root.path().join("whole"), ROWS).unwrap());
    let whole = fs::read(root.path().join("whole/points.jsonl")).unwrap();
    for cut in (0..=whole.len()).step_by(7).chain([whole.len() - 1, whole.len()]) {
        let dir = root.path().join(cut.to_string());
        let left = killed(&dir, "points.jsonl", cut);
        let lines = whole_lines(&left);
        let expected = [point("p000", Arm::Graph), point("p001", Arm::GraphPdl)];
        let (mut resumed, run) = RunDir::resume(&dir).unwrap();
        assert_eq!(run.points, expected[..lines], "cut at {cut}");
        assert_eq!(run.samples.len(), ROWS as usize);
        for record in &expected[lines..] {
            resumed.append_point(record).unwrap();
        }
        drop(resumed);
        assert_eq!(fs::read(dir.join("points.jsonl")).unwrap(), whole, "cut at {cut}");
        let _ = fs::remove_dir_all(&dir);
    }
}

#[test]
fn a_tail_of_zeros_left_by_a_power_failure_is_dropped() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    drop(record(&dir, 3).unwrap());
    let file = fs::OpenOptions::new().append(true).open(dir.join("samples.csv")).unwrap();
    file.set_len(file.metadata().unwrap().len() + 4000).unwrap();
    assert_eq!(read_run(&dir).unwrap().samples.len(), 3);
    let (mut run, _) = RunDir::resume(&dir).unwrap();
    run.append_sample(&sample(3)).unwrap();
    assert_eq!(read_run(&dir).unwrap().samples.len(), 4);
    assert_eq!(read_run(&dir).unwrap().manifest, manifest());
}
