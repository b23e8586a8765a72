//! `--predict`: a model beside what was measured, the limit and the exposed time, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use pdl_lab::record::{Cause, SummaryRow, read_summary};
use tempfile::TempDir;

use crate::program::{copied, pdl, run, small_copy, succeed};

fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// The raw files of a recorded H200 run, as `run` in a directory of their own.
fn recorded() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    copied(&root().join("plots/spin-h200"), &dir.path().join("run"));
    for derived in ["summary.csv", "report.html", "charts"] {
        let path = dir.path().join("run").join(derived);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    dir
}

fn rows(dir: &Path) -> Vec<SummaryRow> {
    read_summary(&dir.join("run/summary.csv")).unwrap()
}

#[test]
fn a_recorded_run_is_overlaid_without_a_gpu_and_says_by_how_much_the_model_is_off() {
    let dir = recorded();
    let said = succeed(&mut pdl(dir.path(), ["report", "run", "--predict"]));
    for text in ["model: events, SIMULATED over h200 (measured)", "(median)", "most at ", " off "] {
        assert!(said.stdout.contains(text), "{text}: {}", said.stdout);
    }
    let events = rows(dir.path());
    let measured = |row: &&SummaryRow| row.period_ns.is_some() && row.arm.to_string() != "sentinel";
    for row in events.iter().filter(measured) {
        let (predicted, period) = (row.predicted_ns.unwrap(), row.period_ns.unwrap());
        let error = (predicted / period - 1.0) * 100.0;
        assert!((row.error_pct.unwrap() - error).abs() < 0.011, "{row:?}");
        assert_eq!(row.not_predicted, "");
    }
    let chart = dir.path().join("run/charts/gain-g0-spin-graph.svg");
    assert!(fs::read_to_string(&chart).unwrap().contains("graph-pdl, model: events, SIMULATED"));
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("id=\"prediction\"") && page.contains("href=\"prediction.json\""));
    // It lies beside the run: a later report has it without being told.
    let again = succeed(&mut pdl(dir.path(), ["report", "run", "--format", "csv"]));
    assert!(again.stdout.lines().next().unwrap().contains(",predicted_ns,"));
    assert_eq!(rows(dir.path()), events);
    // The closed form says something else, under its own name.
    let said = succeed(&mut pdl(dir.path(), ["report", "run", "--predict", "--model", "closed"]));
    assert!(said.stdout.contains("model: closed, SIMULATED"), "{}", said.stdout);
    assert_ne!(rows(dir.path())[2].predicted_ns, events[2].predicted_ns);
}

#[test]
fn limit_and_exposed_time_stand_in_every_row_of_a_recorded_run() {
    let dir = recorded();
    let said = succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(said.stdout.contains("limit, graph, by h200 (measured): "), "{}", said.stdout);
    assert!(!said.stdout.contains("model:"), "nothing was predicted");
    let mut divided = 0;
    for row in rows(dir.path()).iter().filter(|row| row.exposed_ns.is_some()) {
        let sum: f64 = Cause::ALL.iter().map(|&cause| row.exposed(cause).unwrap()).sum();
        assert!((sum - row.exposed_ns.unwrap()).abs() < 1e-6, "{row:?}");
        assert!(row.period_ns > row.limit_ns && row.limit_ns > row.body_ns, "{row:?}");
        assert_eq!(row.constants, "h200 (measured)");
        divided += 1;
    }
    assert!(divided > 20, "{divided}");
    assert!(dir.path().join("run/charts/exposed-g0-spin-graph.svg").exists());
}

#[test]
fn a_model_is_not_compared_with_itself() {
    let dir = tempfile::tempdir().unwrap();
    let said = run(&mut pdl(dir.path(), ["sweep", "--backend=sim", "--predict", "--out=x"]));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("compared with itself") && said.stderr.contains("pdl report"));
    assert!(!dir.path().join("x").exists(), "nothing was measured");
    let dir = small_copy();
    let said = run(&mut pdl(dir.path(), ["report", "run", "--predict"]));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("simulated by the same model over h200"), "{}", said.stderr);
    assert!(!dir.path().join("run/prediction.json").exists());
    // The other model is another.
    succeed(&mut pdl(dir.path(), ["report", "run", "--predict", "--model=closed"]));
    assert!(rows(dir.path()).iter().any(|row| row.error_pct.is_some()));
}

#[test]
fn what_a_prediction_cannot_be_made_with_is_refused_and_named() {
    let dir = recorded();
    let h100 = root().join("devices/h100-sxm.toml").display().to_string();
    let table: [(&[&str], i32, &str); 5] = [
        (&["--profile", &h100], 2, "--profile"),
        (&["--model=closed"], 2, "--model: it is what a prediction is made with"),
        (&["--predict", "--profile", &h100], 6, "and the run of NVIDIA H200 with 132"),
        (&["--predict", "--profile", "none.toml"], 1, "none.toml"),
        (&["--predict", "--model=guess"], 2, "invalid value 'guess'"),
    ];
    for (arguments, code, text) in table {
        let all = ["report", "run"].iter().chain(arguments);
        let said = run(&mut pdl(dir.path(), all));
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(text), "{arguments:?}: {}", said.stderr);
        assert!(!dir.path().join("run/prediction.json").exists());
        assert!(!dir.path().join("run/profile.toml").exists());
    }
    // A device that no profile is known of.
    let path = dir.path().join("run/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, manifest.replace("NVIDIA H200", "NVIDIA B200")).unwrap();
    let said = run(&mut pdl(dir.path(), ["report", "run", "--predict"]));
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.stderr.contains("no profile of NVIDIA B200") && said.stderr.contains("--profile"));
    // Without constants the limit is the body, and nothing is divided.
    succeed(&mut pdl(dir.path(), ["report", "run"]));
    let row = &rows(dir.path())[0];
    assert_eq!((row.limit_ns, &*row.constants, row.exposed_ns), (row.body_ns, "", None));
}

#[test]
fn a_prediction_that_was_tampered_with_is_said_and_the_run_is_still_worth_its_tables() {
    let dir = recorded();
    succeed(&mut pdl(dir.path(), ["report", "run", "--predict"]));
    let path = dir.path().join("run/prediction.json");
    let text = fs::read_to_string(&path).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let said = succeed(&mut pdl(dir.path(), ["report", "run"]));
        assert!(said.stderr.contains("prediction.json"), "{from}: {}", said.stderr);
        assert!(rows(dir.path()).iter().all(|row| row.predicted_ns.is_none()));
    };
    changed("\"schema\": \"1.0\"", "\"schema\": \"7.0\"");
    changed("\"model\": \"events\"", "\"model\": \"crystal-ball\"");
    changed("{", "");
}
