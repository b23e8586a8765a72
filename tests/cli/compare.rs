//! `compare`: what is said of two runs, in every format, and the exit codes that CI relies on.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::program::{Said, copied, pdl, run, succeed};

const SWEEP: [&str; 14] = [
    "sweep",
    "--backend=sim",
    "--quick",
    "--trigger=0/8,4/8,implicit",
    "--arm=graph-pdl,stream-pdl",
    "--body-kind=fma",
    "--nodes=20",
    "--grid=132",
    "--rounds-min=40",
    "--rounds-max=40",
    "--seed=1",
    "--out=a",
    "--format=csv",
    "--budget-s=60",
];

/// Runs `a` and `b`, the second a repetition of the first under another seed.
fn runs() -> &'static Path {
    static RUNS: OnceLock<TempDir> = OnceLock::new();
    let dir = RUNS.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        succeed(&mut pdl(dir.path(), SWEEP));
        let repeat = ["sweep", "--backend=sim", "--repeat=a", "--out=b", "--seed=2"];
        succeed(&mut pdl(dir.path(), repeat));
        dir
    });
    dir.path()
}

/// Both runs, to be changed.
fn copies() -> TempDir {
    let to = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        copied(&runs().join(name), &to.path().join(name));
    }
    to
}

/// Rewrites the durations of `arm` in samples.csv of `run`, and removes what was derived before.
fn perturb(run: &Path, arm: &str, change: impl Fn(f64) -> f64) {
    let path = run.join("samples.csv");
    let text = fs::read_to_string(&path).unwrap();
    let mut changed = 0;
    let rows = text.lines().map(|line| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if cells[1] == arm && cells[2] == "20" {
            cells[5] = format!("{:.1}", change(cells[5].parse().unwrap()));
            changed += 1;
        }
        cells.join(",") + "\n"
    });
    let text: String = rows.collect();
    assert!(changed > 0);
    fs::write(path, text).unwrap();
    fs::remove_file(run.join("summary.csv")).unwrap();
}

/// A body of 4 µs that is 2 % longer: 80 ns a node.
fn longer(duration_ns: f64) -> f64 {
    duration_ns + 20.0 * 80.0
}

fn compare(dir: &Path, arguments: &[&str]) -> Said {
    run(pdl(dir, ["compare"]).args(arguments))
}

/// Changes the manifest of a run, and removes what was derived with it.
fn edit(run: PathBuf, from: &str, to: &str) {
    fs::remove_file(run.join("summary.csv")).unwrap();
    let path = run.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_repeated_run_has_the_work_of_the_first_and_no_verdict_against_it() {
    let units = |name: &str| -> Vec<(u64, u64)> {
        let text = fs::read_to_string(runs().join(name).join("points.jsonl")).unwrap();
        let point = |line: &str| -> (u64, u64) {
            let point: serde_json::Value = serde_json::from_str(line).unwrap();
            let units = |what: &str| point["chain"][what]["units"].as_u64().unwrap();
            (units("body"), units("preamble"))
        };
        text.lines().map(point).collect()
    };
    assert_eq!(units("a"), units("b"));
    assert!(units("a").iter().all(|(body, preamble)| *body > 0 && *preamble > 0));
    let said = compare(runs(), &["a", "b"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.stderr, "");
    assert!(
        said.stdout.contains("verdict: equivalent (inside-margin): 16 equivalent of 16 rows"),
        "{said:?}"
    );
    assert!(said.stdout.contains("A: a: NVIDIA H200 SIMULATED"), "{said:?}");
    // Nothing changed, and so there is nothing to look through.
    assert!(
        said.stdout.contains("\nnot shown (--all shows them): 16 equivalent rows\n"),
        "{said:?}"
    );
    let rows = |text: &str| text.lines().filter(|line| line.ends_with(" equivalent")).count();
    assert_eq!((rows(&said.stdout), said.stdout.contains("95 %")), (0, false), "{said:?}");
    let all = compare(runs(), &["a", "b", "--all"]).stdout;
    assert_eq!((rows(&all), all.contains("not shown")), (16, false), "{all}");
    let samples = fs::read_to_string(runs().join("b/samples.csv")).unwrap();
    assert!(!samples.contains("resumed"), "nothing of it was taken up");
}

#[test]
fn a_body_two_percent_longer_in_one_arm_is_a_regression_in_every_format() {
    let dir = copies();
    perturb(&dir.path().join("b"), "graph-pdl", longer);
    for format in ["table", "markdown", "json", "junit"] {
        let said = compare(dir.path(), &["a", "b", "--format", format]);
        assert_eq!(said.code, Some(5), "{said:?}");
        let expected = "pdl: cannot accept b: 3 of 16 rows are slower than in A: graph-pdl";
        assert!(said.stderr.starts_with(expected), "{said:?}");
    }
    let said = compare(dir.path(), &["a", "b"]).stdout;
    let slower: Vec<&str> = said.lines().filter(|line| line.contains("REGRESSION")).collect();
    assert_eq!(slower.len(), 4, "three rows and the verdict: {said}");
    assert!(slower[0].split_whitespace().take(2).eq(["graph-pdl", "0/8"]), "{said}");
    assert!(said.contains("\nnot shown (--all shows them): 13 equivalent rows\n"), "{said}");
    assert!(!said.lines().any(|line| line.ends_with(" equivalent")), "{said}");

    let json = compare(dir.path(), &["a", "b", "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["verdict"], "regression");
    let rows = json["rows"].as_array().unwrap();
    for row in rows.iter().filter(|row| row["verdict"] == "regression") {
        assert_eq!(row["arm"], "graph-pdl");
        let change = row["change_ns"].as_f64().unwrap();
        assert!((75.0..95.0).contains(&change), "{row}");
        assert_eq!(row["views"].as_array().unwrap().len(), 3);
    }

    let markdown = compare(dir.path(), &["a", "b", "--format", "markdown"]).stdout;
    assert!(markdown.starts_with("### pdl compare: REGRESSION: 3 regression, 13 equivalent of 16"));
    let folded = markdown.find("<details>").unwrap();
    assert_eq!(markdown[..folded].matches("| graph-pdl").count(), 3, "what matters comes first");
    assert_eq!(markdown[folded..].matches("| graph").count(), 3 + 3 + 2, "and all rows");

    let junit = compare(dir.path(), &["a", "b", "--format", "junit"]).stdout;
    let document = roxmltree::Document::parse(&junit).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("testcase"), count("failure"), count("skipped")), (16, 3, 0));

    let back = compare(dir.path(), &["b", "a"]);
    assert_eq!(back.code, Some(0), "faster is no failure: {back:?}");
    assert!(back.stdout.contains("verdict: improvement"), "{back:?}");
}

#[test]
fn fail_on_decides_and_the_gravest_comes_first() {
    let dir = copies();
    perturb(&dir.path().join("b"), "graph-pdl", longer);
    // Another amount of work in one row of each: no verdict.
    let point = fs::read_to_string(dir.path().join("b/points.jsonl")).unwrap();
    let (mut wrong, mut other) = (String::new(), String::new());
    for line in point.lines() {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["arm"] == "stream-pdl" && record["trigger"] == "4/8" {
            record["chain"]["body"]["units"] = 1.into();
        }
        other += &(record.to_string() + "\n");
        if record["arm"] == "graph-full" && record["trigger"] == "4/8" {
            record["verification"]["mismatches"] = 1.into();
        }
        wrong += &(record.to_string() + "\n");
    }
    let cases: [(&str, &[&str], i32); 8] = [
        (&other, &[], 5),
        (&other, &["--fail-on", "nothing"], 0),
        (&other, &["--fail-on", "inconclusive"], 6),
        (&other, &["--fail-on", "wrong"], 0),
        (&other, &["--fail-on", "inconclusive,regression"], 5),
        (&wrong, &[], 4),
        (&wrong, &["--fail-on", "regression"], 5),
        (&wrong, &["--fail-on", "regression,wrong,inconclusive"], 4),
    ];
    for (points, flags, code) in cases {
        fs::write(dir.path().join("b/points.jsonl"), points).unwrap();
        let said = compare(dir.path(), &[&["a", "b"], flags].concat());
        assert_eq!(said.code, Some(code), "{flags:?}: {said:?}");
        assert!(said.stdout.contains("work-differs"), "{said:?}");
    }
    let mut by_variable = pdl(dir.path(), ["compare", "a", "b"]);
    assert_eq!(run(by_variable.env("PDL_FAIL_ON", "nothing")).code, Some(0));
}

#[test]
fn another_driver_is_refused_and_every_output_prints_why_it_was_accepted() {
    let dir = copies();
    edit(dir.path().join("b"), "\"driver\": \"\"", "\"driver\": \"580|<b>\"");
    let said = compare(dir.path(), &["a", "b"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(6), ""), "{said:?}");
    let expected =
        "pdl: cannot compare a with b: their fingerprints differ: driver (unknown and 580|<b>)\n";
    assert!(said.stderr.starts_with(expected), "{said:?}");
    let reason = "new | driver, *on purpose*";
    for format in ["table", "markdown", "json", "junit"] {
        let said =
            compare(dir.path(), &["a", "b", "--accept-mismatch", reason, "--format", format]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let printed =
            if format == "markdown" { "new \\| driver, \\*on purpose\\*" } else { reason };
        assert!(said.stdout.contains(printed), "{format}: {}", said.stdout);
        assert!(!said.stdout.contains("<b>") || format != "markdown", "{said:?}");
        if format == "junit" {
            roxmltree::Document::parse(&said.stdout).unwrap();
        }
    }
    let said = compare(dir.path(), &["a", "b", "--accept-mismatch", " "]);
    assert_eq!(said.code, Some(2), "a reason has words: {said:?}");
}

#[test]
fn simulated_with_measured_is_refused() {
    let dir = copies();
    edit(dir.path().join("b"), "\"backend\": \"sim\"", "\"backend\": \"gpu\"");
    let said = compare(dir.path(), &["a", "b"]);
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.stderr.contains("differ: backend (sim and gpu)"), "{said:?}");
    assert!(said.stderr.contains("--accept-mismatch \"reason\""), "the flag is named: {said:?}");
    let reason = ["a", "b", "--accept-mismatch", "a simulated baseline is all there is"];
    let said = compare(dir.path(), &reason);
    assert_eq!(said.code, Some(0), "{said:?}");
    for text in ["SIMULATED", "a simulated baseline is all there is"] {
        assert!(said.stdout.contains(text), "{text}: {}", said.stdout);
    }
}

#[test]
fn two_arms_of_one_run_are_compared_without_a_second() {
    let said = compare(runs(), &["a", "--arm", "graph-full,graph-pdl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("verdict: improvement: 3 improvement of 3 rows"), "{said:?}");
    let said = compare(runs(), &["a", "--arm", "graph-pdl,graph"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    for arms in ["graph", "graph,graph", "graph,graph-pdl,graph-full"] {
        let said = compare(runs(), &["a", "--arm", arms]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains("--arm names two of them"), "{said:?}");
    }
    let said = compare(runs(), &["a"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let only = compare(runs(), &["a", "b", "--arm", "graph-pdl"]);
    assert!(only.stdout.contains("3 equivalent of 3 rows"), "{only:?}");
}

#[test]
fn what_carries_over_between_devices_is_told_without_microseconds() {
    let dir = copies();
    edit(dir.path().join("b"), "\"name\": \"NVIDIA H200\"", "\"name\": \"another\"");
    let said = compare(dir.path(), &["a", "b", "--across-devices"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("carries over: signs, triggers and plateaus hold"), "{said:?}");
    let table = said.stdout.lines().filter(|line| line.contains("holds"));
    assert!(table.clone().count() == 2 && table.clone().all(|line| !line.contains("µs")));
    for format in ["markdown", "json", "junit"] {
        let said = compare(dir.path(), &["a", "b", "--across-devices", "--format", format]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("another SIMULATED") || format == "junit", "{said:?}");
    }
    for other in ["--accept-mismatch=x", "--arm=graph-pdl,graph"] {
        let said = compare(dir.path(), &["a", "--across-devices", other]);
        assert_eq!(said.code, Some(2), "{said:?}");
    }
}

#[test]
fn no_common_point_is_a_clear_error_and_others_are_listed() {
    let dir = copies();
    let sweep = ["sweep", "--backend=sim", "--quick", "--trigger=0/8", "--arm=graph-pdl"];
    let other = ["--body-kind=fma", "--nodes=9", "--grid=4", "--rounds-max=8", "--out=c"];
    succeed(pdl(dir.path(), sweep).args(other));
    let said = compare(dir.path(), &["a", "c"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr.contains("they have no point in common: the first has stream of fma"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("\n     measure the same points: pdl sweep --repeat RUN"),
        "{said:?}"
    );
    let points = fs::read_to_string(dir.path().join("b/points.jsonl")).unwrap();
    let first: String = points.lines().take(6).map(|line| format!("{line}\n")).collect();
    fs::write(dir.path().join("b/points.jsonl"), first).unwrap();
    fs::remove_file(dir.path().join("b/summary.csv")).unwrap();
    let said = compare(dir.path(), &["a", "b"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("only in A, not compared ("), "{said:?}");
    assert!(said.stdout.contains("- graph-pdl implicit of fma 4.000 µs behind alu"), "{said:?}");
}

#[test]
fn a_resumed_run_is_said_to_be_one() {
    let dir = copies();
    let path = dir.path().join("b/samples.csv");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end().to_owned() + "resumed\n").unwrap();
    let said = compare(dir.path(), &["a", "b"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(", RESUMED\n"), "{said:?}");
    assert!(
        said.stdout.contains("note: resumed: B: the run was taken up again in another process"),
        "{said:?}"
    );
}
