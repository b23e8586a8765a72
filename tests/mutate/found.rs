//! What changed runs have led to before, kept: one case each.

use std::fs;
use std::path::Path;

use pdl_lab::measure::{Plan, Progress, progress};
use pdl_lab::record::read_run;

use crate::change::Files;
use crate::{read, root};

fn whole() -> Files {
    Files::of(&root().join("tests/old-runs/1.0"))
}

/// The run without an end, one text of a file replaced by another.
fn killed(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    whole().write(dir.path());
    fs::remove_file(dir.path().join("end.json")).unwrap();
    let path = dir.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} lacks {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
    dir
}

fn resumes(dir: &Path) -> bool {
    let run = read_run(dir).unwrap();
    let plan = Plan::from_record(&run.manifest.plan, 1).unwrap();
    plan.groups().iter().all(|points| matches!(progress(&run, points), Progress::Begun(_)))
}

#[test]
fn a_round_of_four_billion_neither_fills_the_memory_nor_overflows() {
    let text = fs::read_to_string(root().join("tests/old-runs/1.0/samples.csv")).unwrap();
    let last = text.lines().last().unwrap();
    let cells: Vec<&str> = last.split(',').collect();
    for round in ["4294967294", "4294967295"] {
        let mut changed = cells.clone();
        changed[3] = round;
        let dir = killed("samples.csv", last, &changed.join(","));
        assert!(resumes(dir.path()), "{round}");
        let most = killed("manifest.json", "\"rounds_max\": 20", "\"rounds_max\": 4294967295");
        fs::copy(dir.path().join("samples.csv"), most.path().join("samples.csv")).unwrap();
        assert!(resumes(most.path()), "{round}, with a plan that allows it");
    }
}

#[test]
fn numbers_at_the_ends_of_their_types_are_read() {
    let cases = [
        ("points.jsonl", "\"nodes\":10", "\"nodes\":0"),
        ("points.jsonl", "\"nodes\":10", "\"nodes\":4294967295"),
        ("points.jsonl", "\"body_ns\":", "\"body_ns\":1e308,\"was\":"),
        ("points.jsonl", "\"group\":0", "\"group\":4294967295"),
        ("manifest.json", "\"margin_us\": 0.02", "\"margin_us\": 1e308"),
        ("manifest.json", "\"margin_us\": 0.02", "\"margin_us\": -1e308"),
        ("manifest.json", "\"sm_count\": 132", "\"sm_count\": 0"),
        (
            "manifest.json",
            "\"timer_step_ns\": 32,\n    \"timer_skew_ns\": 0",
            "\"timer_step_ns\": 18446744073709551615,\n    \"timer_skew_ns\": 18446744073709551615",
        ),
    ];
    for (file, from, to) in cases {
        let dir = killed(file, from, to);
        read::everything(&Files::of(dir.path()), &whole());
    }
}
