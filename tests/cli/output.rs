//! Streams that fail, environments that are odd, and machines without a GPU.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::program::{SMALL, pdl, run, small_copy, succeed};

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let copy = small_copy();
    let dir = copy.path();
    for arguments in [&["report", "run"][..], &["doctor", "--backend", "sim"]] {
        let mut child =
            pdl(dir, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_result_that_could_not_be_written_is_an_error() {
    let copy = small_copy();
    let dir = copy.path();
    for arguments in [&["report", "run"][..], &["doctor", "--backend", "sim"]] {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let output = pdl(dir, arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("pdl: cannot write to the standard output: "), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let status = pdl(dir, ["report", "missing"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1), "the code of the error itself");
}

#[test]
fn an_environment_that_is_not_utf_8_is_recorded_as_far_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = OsStr::from_bytes(b"a\xffb");
    succeed(pdl(dir.path(), SMALL).args(["--out", "run"]).env("PDL_NOTE", bytes).env("ODD", bytes));
    let manifest = fs::read_to_string(dir.path().join("run/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["environment"], serde_json::json!([["PDL_NOTE", "a\u{fffd}b"]]));
}

/// An empty list of visible devices is how any machine looks like one without a GPU.
#[test]
fn without_a_gpu_asking_for_one_is_exit_code_3_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let gpu = ["--backend", "gpu"];
    for arguments in [&["sweep", "--quick", "--out", "run"][..], &["doctor"]] {
        let said = run(pdl(dir.path(), arguments).args(gpu).env("CUDA_VISIBLE_DEVICES", ""));
        assert_eq!(said.code, Some(3), "{said:?}");
        let lines: Vec<&str> = said.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{said:?}");
        assert!(lines[0].starts_with("pdl: cannot use the GPU: "), "{said:?}");
        assert!(lines[1].contains("--backend sim"), "{said:?}");
    }
    assert!(!dir.path().join("run").exists());
}

#[test]
fn without_a_gpu_the_default_is_simulated_and_says_so_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let small = SMALL.iter().filter(|flag| !["--backend", "sim"].contains(flag));
    let said =
        succeed(pdl(dir.path(), small).args(["--out", "run"]).env("CUDA_VISIBLE_DEVICES", ""));
    assert!(said.stderr.contains("SIMULATED"), "{said:?}");
    assert!(said.stdout.contains("SIMULATED"), "{said:?}");
    let run_dir = dir.path().join("run");
    let rows = pdl_lab::record::read_summary(&run_dir.join("summary.csv")).unwrap();
    assert!(rows.iter().all(|row| row.backend == pdl_lab::device::Backend::Sim));
    for chart in fs::read_dir(run_dir.join("charts")).unwrap().map(Result::unwrap) {
        let svg = fs::read_to_string(chart.path()).unwrap();
        assert!(svg.contains("SIMULATED"), "{:?}", chart.path());
    }
    let page = fs::read_to_string(run_dir.join("report.html")).unwrap();
    assert!(page.contains("<title>SIMULATED: ") && page.contains("class=\"banner\""));
    let said = succeed(pdl(dir.path(), ["doctor"]).env("CUDA_VISIBLE_DEVICES", ""));
    assert!(said.stdout.contains("SIMULATED") && said.stdout.contains("hop"), "{said:?}");
}
