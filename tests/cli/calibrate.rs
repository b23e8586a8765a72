//! `pdl calibrate`, and a sweep that is given what it found.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program::{SMALL, Said, names, pdl, run, succeed};

const QUICK: [&str; 5] = ["calibrate", "--backend=sim", "--quick", "--out", "calibration.toml"];

/// One quick calibration that all tests here read.
fn calibrated() -> &'static (TempDir, Said) {
    static RUN: OnceLock<(TempDir, Said)> = OnceLock::new();
    RUN.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let said = succeed(&mut pdl(dir.path(), QUICK));
        (dir, said)
    })
}

fn profile() -> String {
    fs::read_to_string(calibrated().0.path().join("calibration.toml")).unwrap()
}

#[test]
fn a_calibration_prints_its_tables_and_leaves_a_profile_that_reads_back() {
    let (_, said) = calibrated();
    for text in ["SIMULATED", "graph-pdl at-entry", "event pair", "clocks: nodes", "ceiling"] {
        assert!(said.stdout.contains(text), "no '{text}' in {}", said.stdout);
    }
    assert!(
        said.stdout.contains("assumed, not measured: ") && said.stdout.contains("host."),
        "{}",
        said.stdout
    );
    assert!(said.stderr.contains("pdl: about "), "{said:?}");
    assert!(said.stderr.lines().any(|line| line == "pdl: calibration.toml"), "{said:?}");
    let text = profile();
    let read: pdl_lab::profile::Profile = text.parse().unwrap();
    assert_eq!(read.to_toml(), text);
    assert_eq!(read.origin, pdl_lab::profile::Origin::Simulated);
    assert!(read.provenance.starts_with("pdl calibrate --quick --seed 1 on one NVIDIA H200 SIM"));
}

#[test]
fn a_profile_that_is_there_is_replaced_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("calibration.toml");
    fs::write(&path, "mine").unwrap();
    let said = run(&mut pdl(dir.path(), QUICK));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("use --overwrite") && !said.stderr.contains("about"), "{said:?}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let said = succeed(pdl(dir.path(), QUICK).args(["--overwrite", "--format=json"]));
    let printed: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(printed["origin"], "simulated");
    assert!(fs::read_to_string(&path).unwrap().starts_with("name = "));
    assert_eq!(names(dir.path()), ["calibration.toml"]);
}

#[test]
fn what_could_not_be_written_is_refused_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    for (out, code) in [("file/c.toml", 1), ("/proc/c.toml", 1), (".", 2), ("/dev/null", 2)] {
        let began = Instant::now();
        let said = run(&mut pdl(dir.path(), ["calibrate", "--backend=sim", "--out", out]));
        assert_eq!(said.code, Some(code), "{out}: {said:?}");
        assert!(said.stderr.starts_with(&format!("pdl: cannot write {out}: ")), "{said:?}");
        assert!(!said.stderr.contains("about") && began.elapsed() < Duration::from_secs(2));
        assert_eq!(said.stdout, "");
    }
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn without_a_gpu_it_is_exit_3_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [&["--backend=gpu", "--out", "c.toml"][..], &[], &["--dry-run"]] {
        let mut command = pdl(dir.path(), ["calibrate"]);
        let said = run(command.args(flags).env("CUDA_VISIBLE_DEVICES", ""));
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(said.stderr.contains("--backend sim"), "{said:?}");
    }
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_dry_run_names_the_experiments_and_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let total = |flags: &[&str]| {
        let arguments = ["calibrate", "--backend=sim", "--dry-run", "--out", "c.toml"];
        let said = succeed(pdl(dir.path(), arguments).args(flags)).stdout;
        assert!(said.contains("empty hops"), "{said}");
        assert_eq!(said.contains("\n  host"), flags.contains(&"--host"), "{said}");
        let seconds = said.lines().last().unwrap().strip_prefix("expected: ").unwrap();
        seconds.strip_suffix(" s").unwrap().parse::<u32>().unwrap()
    };
    let all = [total(&["--quick"]), total(&["--quick", "--host"]), total(&["--host"])];
    assert!(all[0] < all[1] && all[1] <= 10 && all[1] < all[2] && all[2] < 60, "{all:?}");
    assert!(names(dir.path()).is_empty(), "a dry run writes nothing");
}

#[test]
fn an_interrupted_calibration_ends_with_130_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = pdl(dir.path(), ["calibrate", "--backend=sim", "--host"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Until its folder is there, it has not begun.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !dir.path().join("results").exists() {
        assert!(Instant::now() < deadline, "it never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(50));
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted") && output.stdout.is_empty(), "{said}");
    assert!(names(&dir.path().join("results")).is_empty());
}

/// A small sweep with a calibration beside it.
fn sweep(dir: &Path, calibration: &str) -> Said {
    fs::write(dir.join("given.toml"), calibration).unwrap();
    let flags = ["--out", "run", "--calibration", "given.toml"];
    // The small sweep's grid of 4 blocks lies between those that were calibrated.
    run(pdl(dir, SMALL).args(flags))
}

#[test]
fn a_sweep_keeps_the_calibration_and_prints_floor_and_ceiling() {
    let dir = tempfile::tempdir().unwrap();
    let said = sweep(dir.path(), &profile());
    assert_eq!(said.code, Some(0), "{said:?}");
    let kept = fs::read_to_string(dir.path().join("run/calibration.toml")).unwrap();
    assert_eq!(kept, profile());
    for submission in ["graph", "stream"] {
        let line = format!("calibration, {submission}: floor ");
        let line = said.stdout.lines().find(|l| l.starts_with(&line)).unwrap_or_else(|| {
            panic!("{}", said.stdout);
        });
        assert!(line.contains("ceiling ") && line.contains(" % of it"), "{line}");
    }
    let again = succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert_eq!(again.stdout, said.stdout);
    // A run whose calibration was spoiled is still worth its tables.
    fs::write(dir.path().join("run/calibration.toml"), "origin = 3").unwrap();
    let spoiled = succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(spoiled.stderr.starts_with("pdl: note: calibration.toml: "), "{spoiled:?}");
    assert!(!spoiled.stdout.contains("calibration, graph"), "{spoiled:?}");
}

#[test]
fn a_sweep_refuses_a_broken_calibration_and_warns_of_a_foreign_one() {
    let cases = [
        ("", "schema_version is missing"),
        ("schema_version = \"9.0\"", "later"),
        ("schema_version", "line 1"),
    ];
    for (text, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let said = sweep(dir.path(), text);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stderr.contains(expected) && said.stderr.contains("given.toml"), "{said:?}");
        assert!(!dir.path().join("run").exists(), "nothing was measured");
    }
    let dir = tempfile::tempdir().unwrap();
    let said = sweep(dir.path(), &profile().replace("NVIDIA H200", "NVIDIA B200"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("warning [calibration]"), "{}", said.stdout);
    assert!(!said.stdout.contains("calibration, graph"), "{}", said.stdout);
}
