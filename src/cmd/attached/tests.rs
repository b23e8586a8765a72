//! An attribution of a simulated graph, saved, read back, reported again and compared.

use super::*;
use crate::attach::tests::attributed;
use crate::compare::{Options, Side, compare_runs};
use crate::record::{Verdict, read_run};

fn saved(seed: u64, saves_ns: &[(u32, f64)]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    save_attributed(&attributed(seed, 40, saves_ns).1, &path).unwrap();
    (dir, path)
}

/// Edges of the second kind save half a microsecond, those of the third cost as much.
const TRUTH: [(u32, f64); 6] =
    [(1, 500.0), (4, 500.0), (7, 500.0), (2, -500.0), (5, -500.0), (8, -500.0)];

#[test]
fn a_report_is_made_again_from_samples_alone() {
    let (said, attributed) = attributed(3, 40, &TRUTH);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    save_attributed(&attributed, &path).unwrap();
    for file in ["report.html", "report.json", "summary.csv", "charts/edges.svg", "end.json"] {
        assert!(path.join(file).exists(), "{file}");
    }
    let run = read_run(&path).unwrap();
    assert_eq!(report(&path, &run).unwrap().unwrap(), said);
    assert_eq!(said.chosen_edges, [1, 4, 7]);
    // Whatever is derived is made again; what was said is not taken from the file.
    std::fs::write(path.join("report.json"), "{}").unwrap();
    std::fs::remove_dir_all(path.join("charts")).unwrap();
    crate::cmd::rebuild(&path).unwrap();
    let again: Report =
        serde_json::from_slice(&std::fs::read(path.join("report.json")).unwrap()).unwrap();
    assert_eq!(again, said);
    let chart = std::fs::read_to_string(path.join("charts/edges.svg")).unwrap();
    assert!(chart.contains("3 programmatic edges save 1.5"), "{}", &chart[..400]);
}

#[test]
fn rows_of_variants_are_a_hop_of_the_edges_that_they_flip() {
    let (_dir, path) = saved(5, &TRUTH);
    let run = read_run(&path).unwrap();
    let (summary, _) = crate::cmd::rebuild(&path).unwrap();
    let attached = run.manifest.attached.as_ref().unwrap();
    let three = attached.flips.iter().filter(|(_, flips)| **flips == [1, 4, 7]);
    let points: Vec<&String> = three.map(|(point, _)| point).collect();
    assert!(!points.is_empty());
    for point in points {
        let row = summary.row(point, Arm::GraphPdl).unwrap();
        let saved = row.saved_ns.unwrap();
        assert!((saved - 500.0).abs() < 30.0, "{saved}");
        assert_eq!((row.verdict, row.proof), (Some(Verdict::Helps), None));
        assert_eq!(row.correct, Some(true));
    }
    // A run of a graph has no trigger to recommend.
    assert!(summary.answers.is_empty() && summary.bests.is_empty());
}

#[test]
fn runs_of_one_graph_are_compared_and_another_graph_has_nothing_in_common() {
    let options =
        Options { margin_us: 0.02, margin_ratio: 0.005, arms: Vec::new(), accept_mismatch: None };
    let side = |path: &Path| Side::of(read_run(path).unwrap());
    let ((_a, a), (_b, b)) = (saved(1, &TRUTH), saved(2, &TRUTH));
    let same = compare_runs(("a", &side(&a)), ("b", &side(&b)), &options).unwrap();
    assert!(same.count(crate::compare::Change::Regression) == 0, "{:?}", same.counts);
    assert!(same.rows.iter().any(|row| row.reasons.is_empty() || row.change_ns.is_some()));
    // The edges save nothing any more: 0.19 µs a hop of the whole graph.
    let slower = TRUTH.map(|(edge, ns)| (edge, if ns > 0.0 { 40.0 } else { ns }));
    let (_c, c) = saved(4, &slower);
    let worse = compare_runs(("a", &side(&a)), ("c", &side(&c)), &options).unwrap();
    assert!(worse.count(crate::compare::Change::Regression) > 0, "{:?}", worse.rows);
    let named = |row: &crate::compare::Row| row.place() == "edges 1, 4, 7";
    assert!(worse.rows.iter().any(named), "{:?}", worse.rows);
}

#[test]
fn trials_that_are_not_of_these_samples_are_an_error_and_never_a_panic() {
    let (_dir, path) = saved(7, &TRUTH);
    let trials = path.join(TRIALS);
    let good = std::fs::read_to_string(&trials).unwrap();
    let error = |text: &str| {
        std::fs::write(&trials, text).unwrap();
        let run = read_run(&path).unwrap();
        report(&path, &run).unwrap_err().to_string()
    };
    assert!(error("{").contains("trials.json"));
    let mut recorded: Recorded = serde_json::from_str(&good).unwrap();
    recorded.steps.pop();
    let text = error(&serde_json::to_string(&recorded).unwrap());
    assert!(text.contains("samples.csv has a row of") || text.contains("this version"), "{text}");
    recorded.steps.clear();
    error(&serde_json::to_string(&recorded).unwrap());
    std::fs::remove_file(&trials).unwrap();
    let run = read_run(&path).unwrap();
    assert!(report(&path, &run).unwrap_err().to_string().contains("missing"));
}
