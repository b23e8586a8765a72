//! Recorded runs, rendered again from their raw files, give the bytes that are kept beside them.
//! `BLESS=1` keeps the new bytes in place of comparing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pdl_lab::cli::Format;
use pdl_lab::cmd::{rebuild, render};

/// What a recorded run may consist of: raw files, whatever else is there is derived.
const RAW: [&str; 7] = [
    "manifest.json",
    "points.jsonl",
    "samples.csv",
    "end.json",
    "calibration.toml",
    "profile.toml",
    "prediction.json",
];
/// The page: a run may keep it or not, as its charts make it large; that of a fixture is kept.
const PAGE: &str = "report.html";
/// Lines around a table of the README that is the summary of a recorded run.
const TABLE: (&str, &str) = ("<!-- table: ", "<!-- end -->");

/// Not the compile-time path: a test that travels would carry it along.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Recorded runs: every directory with a manifest under these.
fn recorded() -> Vec<PathBuf> {
    let mut runs = Vec::new();
    for place in ["plots", "tests/fixtures"] {
        let Ok(entries) = fs::read_dir(root().join(place)) else { continue };
        let paths = entries.map(|entry| entry.unwrap().path());
        runs.extend(paths.filter(|path| path.join(RAW[0]).exists()));
    }
    runs.sort();
    runs
}

/// The raw files of a run alone, in a directory of their own.
fn raw_copy(run: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in RAW {
        if run.join(name).exists() {
            fs::copy(run.join(name), copy.path().join(name)).unwrap();
        }
    }
    copy
}

/// Files below `dir` that are not raw, by their path in it.
fn derived(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for place in ["", "charts"] {
        let Ok(entries) = fs::read_dir(dir.join(place)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            if !RAW.contains(&name.as_str()) {
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

/// Where two files first differ, for a person to look at.
fn difference(kept: &[u8], rendered: &[u8]) -> String {
    let (kept, rendered) = (String::from_utf8_lossy(kept), String::from_utf8_lossy(rendered));
    let lines = kept.lines().zip(rendered.lines()).enumerate();
    match lines.into_iter().find(|(_, (a, b))| a != b) {
        Some((line, (a, b))) => format!("line {}:\n  kept:     {a}\n  rendered: {b}", line + 1),
        None => format!("{} bytes kept, {} rendered", kept.len(), rendered.len()),
    }
}

#[test]
fn every_recorded_run_renders_to_the_bytes_kept_beside_it() {
    let runs = recorded();
    assert!(!runs.is_empty(), "no recorded run under {}", root().display());
    let mut wrong = Vec::new();
    for run in runs {
        let copy = raw_copy(&run);
        rebuild(copy.path()).unwrap_or_else(|error| panic!("{}: {error}", run.display()));
        let (kept, rendered) = (derived(&run), derived(copy.path()));
        for name in kept.keys().filter(|name| !rendered.contains_key(*name)) {
            // A page or a note that is not rendered is somebody's; a chart is not.
            if name.starts_with("charts/") {
                wrong.push(format!("{}/{name} is no longer rendered", run.display()));
            }
        }
        for (name, bytes) in &rendered {
            let path = run.join(name);
            if name == PAGE && !path.exists() && !run.starts_with(root().join("tests")) {
                continue;
            }
            if bless() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
                continue;
            }
            match kept.get(name) {
                None => wrong.push(format!("{} is not kept", path.display())),
                Some(kept) if kept == bytes => {}
                Some(kept) => {
                    wrong.push(format!("{}: {}", path.display(), difference(kept, bytes)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 accepts:\n{}", wrong.join("\n"));
}

/// The README with each marked table replaced by the summary of its run.
fn with_tables(readme: &str) -> String {
    let mut text = String::new();
    let mut rest = readme;
    while let Some(begin) = rest.find(TABLE.0) {
        let marked = &rest[begin..];
        let head = marked.find("-->").expect("the marker of a table ends with -->") + 3;
        let run = marked[TABLE.0.len()..head - 3].trim();
        let end = marked.find(TABLE.1).unwrap_or_else(|| panic!("no {} after {run}", TABLE.1));
        let copy = raw_copy(&root().join(run));
        let (summary, run) = rebuild(copy.path()).unwrap_or_else(|error| panic!("{run}: {error}"));
        let table = render(&summary, &run, Format::Markdown).unwrap();
        text += &rest[..begin + head];
        text += &format!("\n\n{}\n\n", table.trim_end());
        rest = &marked[end..];
    }
    text + rest
}

#[test]
fn tables_of_the_readme_are_the_summaries_of_recorded_runs() {
    let path = root().join("README.md");
    // A pack has no README.
    let Ok(readme) = fs::read_to_string(&path) else { return };
    let expected = with_tables(&readme);
    if bless() {
        fs::write(&path, expected).unwrap();
    } else {
        let difference = difference(readme.as_bytes(), expected.as_bytes());
        assert!(readme == expected, "BLESS=1 accepts: README.md {difference}");
    }
}

#[test]
fn a_marked_table_is_replaced_and_all_else_stays() {
    let before = "# Title\n\n<!-- table: tests/fixtures/sim-run -->\nold\n<!-- end -->\nafter\n";
    let text = with_tables(before);
    assert!(text.starts_with("# Title\n\n<!-- table: tests/fixtures/sim-run -->\n\n### "));
    assert!(text.ends_with("\n\n<!-- end -->\nafter\n"));
    assert!(text.contains("| graph trigger |") && !text.contains("old"));
    assert_eq!(with_tables(&text), text);
}
