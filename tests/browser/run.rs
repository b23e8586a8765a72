//! Runs to look at: recorded ones, their pages rebuilt from the raw files.

use std::fs;
use std::path::{Path, PathBuf};

use pdl_lab::analysis::Summary;
use pdl_lab::cmd::rebuild;
use tempfile::TempDir;

/// What a run consists of before anything is derived.
const RAW: [&str; 4] = ["manifest.json", "points.jsonl", "samples.csv", "end.json"];

/// A page in a directory of its own.
pub struct Reported {
    /// What the run is called.
    pub name: String,
    /// Its report.html.
    pub page: PathBuf,
    /// What the page is made of.
    pub summary: Summary,
    _dir: TempDir,
}

/// Not the compile-time path: a test that travels would carry it along.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// The page of the recorded run at this path of the repository.
pub fn recorded(path: &str) -> Reported {
    changed(path, |_| {})
}

/// The same after `change` was made to the raw files.
pub fn changed(path: &str, change: impl FnOnce(&Path)) -> Reported {
    let from = root().join(path);
    let dir = tempfile::tempdir_in(super::place()).unwrap();
    for name in RAW {
        if from.join(name).exists() {
            fs::copy(from.join(name), dir.path().join(name)).unwrap();
        }
    }
    change(dir.path());
    let (summary, _) = rebuild(dir.path()).unwrap_or_else(|error| panic!("{path}: {error}"));
    let name = from.file_name().unwrap().to_string_lossy().into_owned();
    Reported { name, page: dir.path().join("report.html"), summary, _dir: dir }
}

/// Runs of every kind: measured and simulated, of one group and of several.
pub fn reports() -> Vec<Reported> {
    let paths = [
        "plots/late-trigger-h200",
        "plots/trigger-sweep-h200",
        "plots/body-length-h200",
        "tests/fixtures/sim-run",
    ];
    paths.into_iter().map(recorded).collect()
}
