//! A profile that nobody measured: every output says so. And profiles that are wrong: the field is
//! named.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{pdl, run, succeed};

/// What stands wherever the device is named, beside SIMULATED.
const SAID: &str = "NVIDIA H100 80GB HBM3 (from a data sheet)";

fn devices(name: &str) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| ".".into(), PathBuf::from);
    // The program runs elsewhere.
    root.join("devices").join(name).canonicalize().unwrap()
}

/// The arguments of a small measurement on the device of the data sheet.
fn with<'a>(arguments: &[&'a str], profile: &'a str) -> Vec<&'a str> {
    let chain = ["--backend=sim", "--profile", profile, "--body-kind=fma", "--nodes=10"];
    arguments.iter().copied().chain(chain).collect()
}

fn says(what: &str, text: &str) {
    assert!(text.contains(SAID), "{what} does not say it: {text}");
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_output_of_a_profile_from_a_data_sheet_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let profile = devices("h100-sxm.toml").display().to_string();
    let small = ["--quick", "--rounds-max=8", "--trigger=4/8,implicit", "--arm=graph-pdl"];
    let sweep: Vec<&str> = ["sweep", "--out=run"].into_iter().chain(small).collect();
    says("table", &succeed(&mut pdl(dir.path(), with(&sweep, &profile))).stdout);
    let dry: Vec<&str> = ["sweep", "--dry-run"].into_iter().chain(small).collect();
    says("dry run", &succeed(&mut pdl(dir.path(), with(&dry, &profile))).stdout);
    let files = dir.path().join("run");
    for name in ["manifest.json", "summary.csv", "report.html"] {
        says(name, &text(&files.join(name)));
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&text(&files.join("manifest.json"))).unwrap();
    assert_eq!(manifest["facts"]["simulation"]["origin"], "datasheet");
    for chart in fs::read_dir(files.join("charts")).unwrap() {
        let path = chart.unwrap().path();
        let svg = text(&path);
        says(&path.display().to_string(), &svg);
        assert!(svg.contains("SIMULATED"), "{}", path.display());
    }
    // Limit and parts are by the same constants, and say it too.
    let rows = pdl_lab::record::read_summary(&files.join("summary.csv")).unwrap();
    assert!(rows.iter().any(|row| row.exposed_ns.is_some()));
    for row in rows.iter().filter(|row| row.exposed_ns.is_some()) {
        assert_eq!(row.constants, "h100-sxm (from a data sheet)");
    }
    for format in ["table", "markdown", "csv", "json", "junit"] {
        let said = succeed(&mut pdl(dir.path(), ["report", "run", "--format", format]));
        says(format, &said.stdout);
    }
    for format in ["table", "markdown", "json", "junit"] {
        let said = succeed(&mut pdl(dir.path(), ["compare", "run", "run", "--format", format]));
        says(&format!("compare as {format}"), &said.stdout);
    }
    let tune = ["tune", "--out=race", "--trigger=4/8", "--arm=graph-pdl", "--rounds-max=6"];
    says("tune", &succeed(&mut pdl(dir.path(), with(&tune, &profile))).stdout);
    says("tune's page", &text(&dir.path().join("race/report.html")));
    let timeline = ["timeline", "--out=time", "--trigger=4/8"];
    says("timeline", &succeed(&mut pdl(dir.path(), with(&timeline, &profile))).stdout);
    for name in ["timeline.svg", "trace.json"] {
        says(name, &text(&dir.path().join("time").join(name)));
    }
}

#[test]
fn a_run_of_another_profile_is_not_compared_without_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = text(&devices("h100-sxm.toml"));
    other = other.replace("name = \"h100-sxm\"", "name = \"mine\"");
    let mine = dir.path().join("mine.toml");
    fs::write(&mine, other).unwrap();
    let paths = [devices("h100-sxm.toml"), mine].map(|path| path.display().to_string());
    for (path, out) in paths.iter().zip(["--out=a", "--out=b"]) {
        let sweep = ["sweep", out, "--quick", "--rounds-max=8", "--trigger=4/8", "--arm=graph-pdl"];
        succeed(&mut pdl(dir.path(), with(&sweep, path)));
    }
    let said = run(&mut pdl(dir.path(), ["compare", "a", "b"]));
    assert_eq!(said.code, Some(6), "{said:?}");
    let differ = "simulation (h100-sxm events datasheet and mine events datasheet)";
    assert!(said.stderr.contains(differ), "{}", said.stderr);
    assert!(said.stderr.contains("--accept-mismatch"), "{}", said.stderr);
}

#[test]
fn a_profile_that_is_wrong_is_refused_with_its_field() {
    let good = text(&devices("h100-sxm.toml"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.toml");
    let table = [
        ("sm_count = 132\n", "", "missing field `sm_count`"),
        ("sm_count = 132", "sm_count = -132", "invalid value: integer `-132`"),
        ("sm_count = 132", "sm_count = 131", "device.cluster_sms add up to 132"),
        ("sm_count = 132", "sm_count = 0", "device.sm_count is 0"),
        ("sm_count = 132", "sm_count = 132\nsm_colour = 1", "unknown field `sm_colour`"),
        ("schema_version = \"1.0\"", "schema_version = \"1.9\"", "schema_version \"1.9\" is later"),
        ("origin = \"datasheet\"", "origin = \"rumour\"", "unknown variant `rumour`"),
        ("block_shared_bytes = 232448", "block_shared_bytes = 999999", "device.block_shared_bytes"),
        ("thread_registers = 20", "thread_registers = 4000", "block.thread_registers 4000"),
    ];
    for (from, to, field) in table {
        assert!(good.contains(from), "{from}");
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let sweep = ["sweep", "--backend=sim", "--profile", "bad.toml", "--out=x"];
        let said = run(&mut pdl(dir.path(), sweep));
        assert_eq!(said.code, Some(1), "{to}: {said:?}");
        assert!(said.stderr.contains(field), "{to}: {}", said.stderr);
        assert!(said.stderr.contains("bad.toml"), "{to}: {}", said.stderr);
        assert!(!dir.path().join("x").exists(), "{to}");
    }
    // A number below zero, wherever it is.
    let line = good.lines().find(|line| line.starts_with("hbm_latency_ns")).unwrap();
    let (before, after) = line.split_once("value = ").unwrap();
    fs::write(&path, good.replace(line, &format!("{before}value = -{after}"))).unwrap();
    let said = run(&mut pdl(dir.path(), ["sweep", "--backend=sim", "--profile", "bad.toml"]));
    assert!(said.stderr.contains("memory.hbm_latency_ns.value -"), "{said:?}");
}

#[test]
fn a_kernel_that_fits_no_sm_of_the_profile_is_a_skipped_row_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let text = text(&devices("h100-sxm.toml"));
    let small = text.replacen("block_shared_bytes = 232448", "block_shared_bytes = 65536", 1);
    fs::write(dir.path().join("small.toml"), small).unwrap();
    let shapes = ["sweep", "--out=run", "--quick", "--rounds-max=8", "--trigger=4/8"];
    let shapes: Vec<&str> = shapes.into_iter().chain(["--shared-kib=0,100"]).collect();
    let said = succeed(&mut pdl(dir.path(), with(&shapes, "small.toml")));
    let reason = "a block needs 102400 bytes of shared memory and may have 65536";
    assert!(said.stdout.contains(reason), "{}", said.stdout);
    let rows = pdl_lab::record::read_summary(&dir.path().join("run/summary.csv")).unwrap();
    let skipped = rows.iter().filter(|row| row.reason.contains("65536"));
    assert!(skipped.clone().count() > 0);
    assert!(skipped.clone().all(|row| row.period_ns.is_none() && row.limit_ns.is_none()));
}
