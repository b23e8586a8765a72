//! `pdl tune`: the same answer as a sweep, for a part of its samples.

use std::fs;

use serde_json::Value;

use crate::program::{pdl, run, succeed};

/// Arguments of a small chain, without the command.
const SMALL: [&str; 6] = ["--nodes", "20", "--grid", "8", "--backend", "sim"];

fn sweep_best(dir: &std::path::Path, extra: &[&str]) -> (f64, usize) {
    let mut command = vec!["sweep", "--out", "sweep"];
    command.extend(SMALL);
    command.extend(extra);
    succeed(&mut pdl(dir, command));
    let summary = fs::read(dir.join("sweep/summary.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(&summary[..]);
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (arm, period) = (column("arm"), column("period_ns"));
    let periods = reader.records().filter_map(|row| {
        let row = row.unwrap();
        let control = ["graph-aa", "sentinel", "graph-full", "stream-full"].contains(&&row[arm]);
        (!control).then(|| row[period].parse::<f64>().unwrap())
    });
    let best = periods.fold(f64::INFINITY, f64::min);
    let samples = fs::read_to_string(dir.join("sweep/samples.csv")).unwrap().lines().count() - 1;
    (best, samples)
}

#[test]
fn it_finds_what_the_sweep_finds_for_a_quarter_of_its_samples() {
    for work in [
        &["--body-kind", "fma", "--body-us", "4"][..],
        &["--body-kind", "hbm", "--body-us", "4"],
        &["--body-kind", "spin", "--body-us", "6", "--preamble-kind", "spin"],
        &["--body-kind", "none", "--preamble-kind", "none"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (best_ns, sweep_samples) = sweep_best(dir.path(), work);
        let mut command = vec!["tune", "--out", "tune", "--format", "json"];
        command.extend(SMALL);
        command.extend(work);
        let found: Value =
            serde_json::from_str(&succeed(&mut pdl(dir.path(), command)).stdout).unwrap();
        let race = &found["races"][0];
        let winner_ns = race["winner"]["period_ns"].as_f64().unwrap();
        assert!(winner_ns < best_ns * 1.005, "{work:?}: {winner_ns} against {best_ns}");
        let samples = race["samples"].as_u64().unwrap() as usize;
        assert!(samples * 4 < sweep_samples, "{work:?}: {samples} of {sweep_samples}");
        let rows = fs::read_to_string(dir.path().join("tune/samples.csv")).unwrap();
        assert_eq!(rows.lines().count() - 1, samples, "every sample is in the file");
        assert_eq!(race["settled"], true);
    }
}

#[test]
fn its_run_is_one_that_report_reads() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = vec!["tune", "--out", "run"];
    command.extend(SMALL);
    let said = succeed(&mut pdl(dir.path(), command));
    for expected in ["SIMULATED", "Use ", "It obliges: ", "winner", "samples in"] {
        assert!(said.stdout.contains(expected), "{expected}: {}", said.stdout);
    }
    let before = fs::read(dir.path().join("run/summary.csv")).unwrap();
    let report = succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(report.stdout.contains("graph trigger"), "{}", report.stdout);
    assert_eq!(fs::read(dir.path().join("run/summary.csv")).unwrap(), before);
}

#[test]
fn bad_input_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("taken/file")).unwrap();
    for (arguments, code, says) in [
        (&["--margin-us=-1"][..], 2, "it is not a number from 0 to 100"),
        (&["--margin-percent", "nan"], 2, "it is not a number from 0 to 100"),
        (&["--rounds-max", "2"], 2, "2 is not in 3.."),
        (&["--budget-s", "0"], 2, "above 0"),
        (&["--block", "2000"], 2, "1024"),
        (&["--out", "taken"], 2, "is not empty"),
        (&["--format", "csv"], 2, "possible values: table, json, markdown"),
    ] {
        let mut command = vec!["tune", "--backend", "sim"];
        command.extend(arguments);
        let said = run(&mut pdl(dir.path(), command));
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(says), "{arguments:?}: {said:?}");
    }
}

#[test]
fn the_page_of_its_run_shows_the_race_before_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = vec!["tune", "--out", "tune", "--body-kind", "fma", "--rounds-max", "8"];
    command.extend(SMALL);
    let said = succeed(&mut pdl(dir.path(), command));
    let page = fs::read_to_string(dir.path().join("tune/report.html")).unwrap();
    let found: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("tune/tune.json")).unwrap())
            .unwrap();
    let race = page.find("id=\"race\"").unwrap();
    assert!(race < page.find("id=\"answer\"").unwrap());
    let section = &page[race..page.find("id=\"answer\"").unwrap()];
    let lanes = found["races"][0]["lanes"].as_array().unwrap();
    assert_eq!(section.matches("<tr><td>").count(), lanes.len(), "a row a candidate");
    for lane in lanes {
        let state = lane["state"].as_str().unwrap();
        assert!(section.contains(&format!("<td>{state}</td>")), "{state}");
    }
    // What is printed is what the page says, and report keeps it.
    let answer = said.stdout.lines().find(|line| line.starts_with("Use ")).unwrap();
    assert!(section.contains(&answer.replace('/', "&#x2f;")), "{answer}");
    succeed(&mut pdl(dir.path(), ["report", "tune"]));
    assert_eq!(fs::read_to_string(dir.path().join("tune/report.html")).unwrap(), page);
}

#[test]
fn quick_means_fewer_rounds_and_what_is_named_still_holds() {
    let dir = tempfile::tempdir().unwrap();
    let table: [(&[&str], u64, u64); 4] = [
        (&[], 60, 20),
        (&["--quick"], 30, 3),
        (&["--quick", "--rounds-max", "12"], 12, 3),
        (&["--quick", "--budget-s", "9"], 30, 9),
    ];
    for (at, (arguments, rounds, budget_s)) in table.into_iter().enumerate() {
        let out = at.to_string();
        let mut command = vec!["tune", "--out", &out, "--body-kind", "fma", "--trigger", "0/8"];
        command.extend(SMALL);
        command.extend(arguments);
        succeed(&mut pdl(dir.path(), command));
        let manifest = fs::read_to_string(dir.path().join(&out).join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let stopping = &manifest["plan"];
        assert_eq!(stopping["rounds_max"], rounds, "{arguments:?}: {stopping}");
        assert_eq!(stopping["group_budget_s"], budget_s as f64, "{arguments:?}: {stopping}");
    }
}
