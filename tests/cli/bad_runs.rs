//! `report` and `compare` on runs that somebody or something has changed: a clear error that names
//! file, line and column, and nothing overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{copied, names, pdl, run, small_copy, succeed};

/// Every file of a run.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let charts = names(&dir.join("charts")).into_iter().map(|name| format!("charts/{name}"));
    let own = names(dir).into_iter().filter(|name| name != "charts");
    let all = own.chain(charts).collect::<Vec<_>>();
    let size = |name: &String| fs::metadata(dir.join(name)).map_or(0, |m| m.len());
    all.into_iter()
        .filter(|name| size(name) < 1 << 30)
        .map(|name| (name.clone(), fs::read(dir.join(name)).unwrap_or_default()))
        .collect()
}

/// Both commands must refuse the run with `expected` after the path of the run, and change nothing.
fn refused(dir: &Path, what: &str, expected: &str) {
    let before = files(&dir.join("run"));
    for arguments in [&["report", "run"][..], &["compare", "run", "run"]] {
        let said = run(&mut pdl(dir, arguments));
        assert_eq!(said.code, Some(1), "{what} {arguments:?}: {said:?}");
        assert_eq!(said.stdout, "", "{what} {arguments:?}");
        let expected = format!("pdl: cannot read run{expected}");
        assert!(said.stderr.starts_with(&expected), "{what} {arguments:?}: {}", said.stderr);
        assert!(said.stderr.lines().count() <= 2, "{what} {arguments:?}: {said:?}");
        assert!(files(&dir.join("run")) == before, "{what} {arguments:?}: a file was changed");
    }
}

/// Both commands must read the run, and say `expected` beside the result.
fn read(dir: &Path, what: &str, expected: &str) {
    let said = run(&mut pdl(dir, ["compare", "run", "run"]));
    assert_eq!(said.code, Some(0), "{what}: {said:?}");
    assert!(said.stdout.contains(expected), "{what}: {said:?}");
    let said = run(&mut pdl(dir, ["report", "run"]));
    assert_eq!(said.code, Some(0), "{what}: {said:?}");
    assert!(said.stderr.contains(expected), "{what}: {said:?}");
}

type Change = fn(&str) -> String;

#[test]
fn changed_files_are_refused_with_their_place() {
    let table: [(&str, &str, Change, &str); 20] = [
        ("empty", "samples.csv", |_| String::new(), "/samples.csv:1: the run ended by itself"),
        ("binary", "samples.csv", |_| "\u{7f}ELF\0\u{1}\n".into(), "/samples.csv:1: '\\u{7f}ELF"),
        (
            "not a number",
            "samples.csv",
            |t| cell(t, 5, "NaN"),
            "/samples.csv:3: column duration_ns: 'NaN' is",
        ),
        (
            "infinite",
            "samples.csv",
            |t| cell(t, 5, "inf"),
            "/samples.csv:3: column duration_ns: 'inf' is",
        ),
        (
            "negative",
            "samples.csv",
            |t| cell(t, 5, "-1.0"),
            "/samples.csv:3: column duration_ns: '-1.0' is negative",
        ),
        (
            "huge",
            "samples.csv",
            |t| cell(t, 3, "99999999999"),
            "/samples.csv:3: column round: '99999999999'",
        ),
        (
            "duplicated",
            "samples.csv",
            |t| t.replacen('\n', &format!("\n{}\n", line(t, 4)), 1),
            "/samples.csv:5: column round: p",
        ),
        (
            "joined to itself",
            "samples.csv",
            |t| format!("{t}{}", t.split_once('\n').unwrap().1),
            "/samples.csv:",
        ),
        (
            "a column twice",
            "samples.csv",
            |t| t.replacen("sm_mhz", "round", 1),
            "/samples.csv:1: the header has the column 'round' twice",
        ),
        (
            "a column less",
            "samples.csv",
            |t| t.replacen("order,", "", 1),
            "/samples.csv:1: the header lacks order",
        ),
        (
            "a foreign point",
            "samples.csv",
            |t| cell(t, 0, "p777"),
            "/samples.csv:3: column point: 'p777' is no point",
        ),
        ("empty", "manifest.json", |_| String::new(), "/manifest.json:1:0: EOF"),
        (
            "binary",
            "manifest.json",
            |_| "\0\0\0\u{1b}".into(),
            "/manifest.json:1:1: expected value",
        ),
        (
            "from the future",
            "manifest.json",
            |t| t.replacen("\"1.", "\"7.", 1),
            "/manifest.json: its schema is 7.",
        ),
        ("cut short", "manifest.json", |t| t[..t.len() / 2].into(), "/manifest.json:"),
        (
            "not a number",
            "points.jsonl",
            |t| t.replacen("\"nodes\":10", "\"nodes\":NaN", 1),
            "/points.jsonl:1:",
        ),
        ("binary", "points.jsonl", |_| "\u{1}\u{2}\n".into(), "/points.jsonl:1:1: expected value"),
        ("deep", "points.jsonl", |_| "[".repeat(50_000) + "\n", "/points.jsonl:1:1: invalid type"),
        ("empty", "end.json", |_| String::new(), "/end.json:1:0: EOF"),
        (
            "a long line",
            "points.jsonl",
            |_| "x".repeat(70_000),
            "/points.jsonl:1: the line is longer than",
        ),
    ];
    for (what, file, change, expected) in table {
        let dir = small_copy();
        let path = dir.path().join("run").join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(&text)).unwrap();
        refused(dir.path(), &format!("{file} {what}"), expected);
    }
}

fn line(text: &str, number: usize) -> &str {
    text.lines().nth(number - 1).unwrap()
}

/// Another text for one cell of the second row of samples.csv.
fn cell(text: &str, column: usize, value: &str) -> String {
    let mut cells: Vec<&str> = line(text, 3).split(',').collect();
    cells[column] = value;
    text.replacen(line(text, 3), &cells.join(","), 1)
}

#[test]
fn what_another_program_or_a_kill_does_to_a_file_is_read() {
    let quoted: Change = |t| {
        t.replace("\np", "\n\"p")
            .replace(",graph", "\",graph")
            .replace(",stream", "\",stream")
            .replace(",sentinel", "\",sentinel")
    };
    let table: [(&str, &str, Change, &str); 6] = [
        (
            "torn",
            "samples.csv",
            |t| t[..t.len() - 7].into(),
            "samples.csv: the last line was cut short after",
        ),
        (
            "torn",
            "points.jsonl",
            |t| format!("{t}{{\"point\":\"p0"),
            "points.jsonl: the last line was cut short after 12 bytes",
        ),
        ("CRLF", "samples.csv", |t| t.replace('\n', "\r\n"), ""),
        ("quoted", "samples.csv", quoted, ""),
        (
            "unknown column",
            "samples.csv",
            |t| t.replace('\n', ",7\n").replacen(",7\n", ",joules\n", 1),
            "samples.csv: unknown columns left out: joules",
        ),
        ("newer minor", "manifest.json", |t| t.replacen("\"1.", "\"1.9", 1), "is newer than 1."),
    ];
    for (what, file, change, expected) in table {
        let dir = small_copy();
        let path = dir.path().join("run").join(file);
        let text = change(&fs::read_to_string(&path).unwrap());
        fs::write(&path, &text).unwrap();
        if what == "torn" && file == "samples.csv" {
            // A kill comes before the summary.
            fs::remove_file(dir.path().join("run/summary.csv")).unwrap();
        }
        read(dir.path(), &format!("{file} {what}"), expected);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "raw files are never rewritten");
    }
}

/// Every published minor version keeps a run under `tests/old-runs`: raw files alone, as it wrote
/// them.
#[test]
fn runs_of_older_minor_versions_are_reported_and_compared() {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(Default::default, PathBuf::from);
    let mut versions = 0;
    for entry in fs::read_dir(root.join("tests/old-runs")).unwrap() {
        let old = entry.unwrap().path();
        let version = old.file_name().unwrap().to_str().unwrap().to_owned();
        let dir = tempfile::tempdir().unwrap();
        copied(&old, &dir.path().join("run"));
        let manifest = fs::read_to_string(old.join("manifest.json")).unwrap();
        assert!(manifest.contains(&format!("\"schema\": \"{version}\"")), "{version}");
        let said = succeed(&mut pdl(dir.path(), ["report", "run"]));
        assert_eq!(said.stderr, "", "{version}");
        let rows = pdl_lab::record::read_summary(&dir.path().join("run/summary.csv")).unwrap();
        assert!(rows.iter().any(|row| row.saved_ns.is_some()), "{version}");
        let said = succeed(&mut pdl(dir.path(), ["compare", "run", "run"]));
        assert!(!said.stdout.contains("note: files"), "{version}: {said:?}");
        versions += 1;
    }
    assert!(versions > 0);
}

#[test]
fn a_summary_that_contradicts_its_samples_is_neither_replaced_nor_used() {
    let dir = small_copy();
    let path = dir.path().join("run/summary.csv");
    let text = fs::read_to_string(&path).unwrap();
    let header: Vec<&str> = line(&text, 1).split(',').collect();
    let place = |name| header.iter().position(|column| *column == name).unwrap();
    let mut cells: Vec<&str> = line(&text, 8).split(',').collect();
    cells[place("saved_ns")] = "9999.9";
    fs::write(&path, text.replacen(line(&text, 8), &cells.join(","), 1)).unwrap();
    refused(
        dir.path(),
        "saved",
        "/summary.csv:8: it contradicts the raw files: column saved_ns: 9999.9 there, ",
    );
    for (what, bytes) in [("empty", &b""[..]), ("binary", b"\0\xff\xfe\n"), ("torn", b"point,arm")]
    {
        fs::write(&path, bytes).unwrap();
        refused(dir.path(), what, "/summary.csv:1: ");
    }
    fs::remove_file(&path).unwrap();
    succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "as the remedy says");
}

#[test]
fn columns_that_somebody_added_to_the_summary_are_kept() {
    let dir = small_copy();
    let path = dir.path().join("run/summary.csv");
    let text = fs::read_to_string(&path).unwrap();
    let marked: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => format!("{line},note\n"),
            _ => format!("{line},mine {at}\n"),
        })
        .collect();
    fs::write(&path, &marked).unwrap();
    read(dir.path(), "note", "summary.csv: unknown columns are kept: note");
    assert_eq!(fs::read_to_string(&path).unwrap(), marked);
    let verdict = marked.replacen(",helps,", ",hurts,", 1);
    fs::write(&path, verdict).unwrap();
    read(dir.path(), "verdict", "summary.csv: it was out of date: line ");
    assert_eq!(fs::read_to_string(&path).unwrap(), marked, "rebuilt, note and all");
}

#[test]
fn what_is_no_run_and_what_leads_out_of_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("run")).unwrap();
    let said = run(&mut pdl(dir.path(), ["compare", "run", "run"]));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("not a run directory: it has no manifest.json"), "{said:?}");
    for file in ["samples.csv", "points.jsonl", "manifest.json", "end.json", "summary.csv"] {
        let dir = small_copy();
        let (inside, outside) = (dir.path().join("run").join(file), dir.path().join("outside"));
        fs::rename(&inside, &outside).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        let before = fs::read(&outside).unwrap();
        for arguments in [&["report", "run"][..], &["compare", "run", "run"]] {
            let said = run(&mut pdl(dir.path(), arguments));
            assert_eq!(said.code, Some(1), "{file}: {said:?}");
            let expected = format!("run/{file}: it is a link that leads out of the run directory");
            assert!(said.stderr.contains(&expected), "{file}: {said:?}");
        }
        assert!(fs::read(&outside).unwrap() == before, "{file}");
    }
    let dir = small_copy();
    let (charts, outside) = (dir.path().join("run/charts"), dir.path().join("outside"));
    fs::remove_dir_all(&charts).unwrap();
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, &charts).unwrap();
    let said = run(&mut pdl(dir.path(), ["report", "run"]));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(names(&outside), [""; 0]);
}

/// Sparse files of 10 GB, read by a process that may use 512 MiB of address space.
#[test]
fn ten_gigabytes_are_refused_in_bounded_memory() {
    const BYTES: u64 = 10_000_000_000;
    for file in ["samples.csv", "points.jsonl", "manifest.json", "end.json", "summary.csv"] {
        let dir = small_copy();
        let path = dir.path().join("run").join(file);
        let mut sparse = fs::OpenOptions::new().append(true).open(&path).unwrap();
        sparse.write_all(b"\n").unwrap();
        sparse.set_len(BYTES).unwrap();
        let before = files(&dir.path().join("run"));
        for arguments in ["report run", "compare run run"] {
            let own = pdl(dir.path(), [""; 0]);
            let program = own.get_program().to_str().unwrap();
            let limited = format!("ulimit -v 524288; exec {program} {arguments}");
            let mut command = Command::new("sh");
            let said = run(command.args(["-c", &limited]).current_dir(dir.path()));
            assert_eq!(said.code, Some(1), "{file}: {said:?}");
            let expected = format!("pdl: cannot read run/{file}");
            assert!(said.stderr.starts_with(&expected), "{file}: {said:?}");
        }
        assert!(files(&dir.path().join("run")) == before, "{file}");
    }
}
