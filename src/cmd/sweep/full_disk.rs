//! A disk that fails at any one call of a small run, from its first file to its last chart.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::{Recorder, manifest, untouched};
use crate::chain::*;
use crate::cmd::outputs;
use crate::device::Health;
use crate::error::{Error, Result};
use crate::measure::{Plan, Stopping, measure_group};
use crate::record::fault::{self, Fault};
use crate::record::{PlanPoint, RunDir, read_run, read_summary};
use crate::sim::SimDevice;

fn plan() -> Plan {
    let chain = Chain {
        nodes: 4,
        shape: Shape { grid_blocks: 2, block_threads: 32, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body: Body { kind: BodyKind::Spin, target: Target::Ns(1000.0), units: 0 },
        ..Chain::default()
    };
    let point = |point: &str, trigger, arms: &[Arm]| PlanPoint {
        point: point.to_owned(),
        group: 0,
        trigger,
        arms: arms.to_vec(),
        chain,
    };
    let fixed = [Arm::Graph, Arm::GraphAa, Arm::Sentinel];
    let swept = [Arm::GraphFull, Arm::GraphPdl];
    let points = vec![point("p000", None, &fixed), point("p001", Some(Trigger::Implicit), &swept)];
    let stopping = Stopping {
        rounds_min: 3,
        rounds_max: 3,
        long_rounds: 1,
        stamp_repetitions: 1,
        warm_up: Duration::ZERO,
        ..Stopping::default()
    };
    Plan { points, seed: 1, stopping }
}

/// What `pdl sweep` does with a plan, but for what it says.
fn sweep(dir: &Path) -> Result<()> {
    let (device, plan) = (SimDevice::h200(1), plan());
    let mut run = RunDir::create(Some(dir), "sweep", Timestamp::now())?;
    run.write_manifest(&manifest("sweep", &device, &plan))?;
    let mut recorder = Recorder::new(run, untouched(&plan));
    let outcome = measure_group(&device, &plan, &plan.points, None, &mut recorder);
    let ending = ["rounds".to_owned()];
    let outcome = outcome.map(drop);
    recorder.finish(&ending, Vec::new(), Duration::ZERO, Health::default(), outcome)?;
    outputs::rebuild(dir).map(drop)
}

/// The kinds of files that errors named.
const DERIVED: [&str; 3] = ["summary.csv", "charts/", "report.html"];
const RAW: [&str; 4] = ["manifest.json", "points.jsonl", "samples.csv", "end.json"];

fn named(error: &Error) -> &'static str {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "one line of what happened and one of what to do: {text}");
    assert!(lines[0].starts_with("cannot write /"), "{text}");
    let found = RAW.iter().chain(&DERIVED).find(|name| lines[0].contains(**name));
    found.unwrap_or_else(|| panic!("{text}"))
}

/// All files below a directory, as text.
fn files(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.push((entry.display().to_string(), fs::read_to_string(&entry).unwrap()));
        }
    }
    found
}

/// Whatever is there is whole, and rows are the first ones of the run that nothing disturbed.
fn check(dir: &Path, whole: &Path) {
    for (name, text) in files(dir) {
        assert!(!name.ends_with(".tmp"), "{name} is left");
        let ends = match name.rsplit('.').next().unwrap() {
            "svg" => text.trim_end().ends_with("</svg>"),
            "html" => text.trim_end().ends_with("</html>"),
            "json" => serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            _ => true,
        };
        assert!(ends, "{name} is cut short");
    }
    let (found, reference) = (read_run(dir).unwrap(), read_run(whole).unwrap());
    assert!(reference.samples.starts_with(&found.samples));
    assert!(reference.points.starts_with(&found.points));
    let summary = dir.join("summary.csv");
    if summary.exists() {
        let reference = read_summary(&whole.join("summary.csv")).unwrap();
        assert_eq!(read_summary(&summary).unwrap(), reference);
    }
}

#[test]
fn every_call_of_a_small_run_may_fail() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    sweep(&whole).unwrap();
    for kind in [Fault::Full, Fault::Gone] {
        let mut met = std::collections::BTreeMap::<_, u32>::new();
        for n in 1.. {
            let dir = root.path().join(format!("{kind:?}-{n}"));
            fault::at(n, kind);
            let outcome = sweep(&dir);
            let was_met = fault::heal();
            let Err(error) = outcome else {
                assert!(!was_met, "{kind:?} at {n} passed unnoticed");
                break;
            };
            *met.entry(named(&error)).or_default() += 1;
            if !dir.join("manifest.json").exists() {
                assert!(!dir.exists(), "{kind:?} at {n}: a directory without a run is left");
                continue;
            }
            check(&dir, &whole);
            // With space again, all that is derived is made, and replaced as a whole.
            outputs::rebuild(&dir).unwrap();
            let complete = read_run(&dir).unwrap().samples == read_run(&whole).unwrap().samples;
            assert!(complete || !dir.join("end.json").exists(), "{kind:?} at {n}: it never ended");
            fs::remove_dir_all(&dir).unwrap();
        }
        // Every kind of file met its fault, rows at each of them: 5 arms in 3 rounds and a long one.
        let kinds: Vec<&str> = met.keys().copied().collect();
        let mut expected: Vec<&str> = RAW.iter().chain(&DERIVED).copied().collect();
        expected.sort_unstable();
        assert_eq!(kinds, expected, "{kind:?}");
        assert!(met["samples.csv"] >= 20 && met["points.jsonl"] >= 5, "{kind:?}: {met:?}");
    }
}
