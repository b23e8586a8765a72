//! `pdl timeline` on the simulated device: its files, its table, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::program::{names, pdl, run, succeed};

const SMALL: [&str; 7] = ["timeline", "--backend", "sim", "--nodes", "6", "--grid", "8"];

#[test]
fn it_leaves_chart_trace_and_stamps_and_prints_a_row_an_arm() {
    let dir = tempfile::tempdir().unwrap();
    let said = succeed(pdl(dir.path(), SMALL).args(["--out", "out"]));
    let out = dir.path().join("out");
    assert_eq!(names(&out), ["stamps.csv", "timeline.json", "timeline.svg", "trace.json"]);
    for expected in ["SIMULATED", "graph-full", "graph-pdl", "Timer step"] {
        assert!(said.stdout.contains(expected), "{expected}: {}", said.stdout);
    }
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("stamps.csv").lines().count(), 1 + 2 * 6 * 8);
    assert!(read("timeline.svg").contains("<title id=\"timeline-title\">SIMULATED"));
    let trace: Value = serde_json::from_str(&read("trace.json")).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X");
    assert!(slices.count() >= 2 * 6 * 2);
    let summary: Value = serde_json::from_str(&read("timeline.json")).unwrap();
    let gaps: Vec<f64> = summary["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arm| arm["stamps"]["launch_gap_ns"].as_f64().unwrap())
        .collect();
    assert!(gaps[0] > 0.0 && gaps[1] < 0.0, "full waits, programmatic overlaps: {gaps:?}");
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let dir = tempfile::tempdir().unwrap();
    for out in ["a", "b"] {
        succeed(pdl(dir.path(), SMALL).args(["--out", out]));
    }
    for name in ["stamps.csv", "timeline.svg", "trace.json"] {
        let read = |out: &str| fs::read(dir.path().join(out).join(name)).unwrap();
        assert_eq!(read("a"), read("b"), "{name}");
    }
}

#[test]
fn formats_are_for_programs_and_for_pages() {
    let dir = tempfile::tempdir().unwrap();
    let json = succeed(pdl(dir.path(), SMALL).args(["--out", "a", "--format", "json"])).stdout;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["arms"].as_array().unwrap().len(), 2);
    assert_eq!(document["chain"]["nodes"], 6);
    let page = succeed(pdl(dir.path(), SMALL).args(["--out", "b", "--format", "markdown"])).stdout;
    assert!(page.contains("| graph-pdl"), "{page}");
}

#[test]
fn what_cannot_be_shown_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("taken/file")).unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--nodes", "1,2"], 2, "a timeline shows one chain: give one value"),
        (&["--nodes", "0"], 2, "a chain has at least 2 nodes"),
        (&["--preamble-us=nan"], 2, "is not a finite number"),
        (&["--lanes", "sm", "--nodes", "9"], 2, "more than 8"),
        (&["--lanes", "sm", "--grid", "4000"], 2, "more than 4096"),
        (&["--arm", "persistent"], 1, "its kernel has no stamped instance"),
        (&["--arm", "nobody"], 2, "possible values"),
        (&["--repetitions", "0"], 2, "0 is not in 1..=10000"),
        (&["--out", "taken"], 2, "is not empty"),
    ];
    for (arguments, code, says) in cases {
        let mut merged: Vec<&str> = SMALL.to_vec();
        // A flag is given once: what a case sets replaces the default.
        for pair in arguments.chunks(2) {
            if let Some(at) = merged.iter().position(|flag| flag == &pair[0]) {
                merged.drain(at..at + 2);
            }
        }
        merged.extend(arguments);
        let said = run(&mut pdl(dir.path(), merged));
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(says), "{arguments:?}: {said:?}");
        assert!(!dir.path().join("results").exists(), "{arguments:?}");
    }
}
