//! Ranges reach a tool that listens, as Nsight Systems does: a library named in the environment.
#![cfg(feature = "cuda")]

use std::path::Path;
use std::process::Command;

use pdl_lab::gpu::range;

/// Set in the process that pushes; the file that the listener writes.
const LISTENED: &str = "RANGE_TEST_FILE";

#[test]
fn a_listening_tool_sees_ranges_nested_and_by_name() {
    if let Some(file) = std::env::var_os(LISTENED) {
        return push(Path::new(&file));
    }
    if !range::available() {
        println!("skipped: this build was made without the NVTX headers");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("listener.so");
    let compiled = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvtx/listener.c"))
        .arg("-isystem")
        .arg(env!("PDL_NVTX_INCLUDE"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let file = folder.path().join("seen.txt");
    // NVTX looks for the tool once a process, so the ranges are pushed in one of their own.
    let pushed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_listening_tool_sees_ranges_nested_and_by_name"])
        .env("NVTX_INJECTION64_PATH", &library)
        .env(LISTENED, &file)
        .output()
        .unwrap();
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    let seen = std::fs::read_to_string(&file).unwrap();
    assert_eq!(seen, "push p000 graph\npush prepare\npop\npop\npush cut\npop\n");
}

fn push(_: &Path) {
    range::push("p000 graph");
    range::push("prepare");
    range::pop();
    range::pop();
    range::push("cut\0here");
    range::pop();
}
