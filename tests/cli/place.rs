//! Where a run goes, and runs that are none.

use std::fs;

use crate::program::{SMALL, names, pdl, run, small_copy, small_run, succeed};

#[test]
fn a_run_goes_where_it_is_told_or_under_results() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for out in ["empty", "new/and/deep"] {
        succeed(pdl(dir.path(), SMALL).args(["--out", out]));
        assert!(dir.path().join(out).join("summary.csv").exists(), "{out}");
    }
    let said = succeed(&mut pdl(dir.path(), SMALL));
    let names = names(&dir.path().join("results"));
    assert_eq!(names.len(), 1);
    let (time, what) = names[0].split_once('-').unwrap();
    assert_eq!((time.len(), what), ("20260101T000000Z".len(), "sweep"), "{names:?}");
    assert!(said.stderr.contains(&format!("results/{}", names[0])), "{said:?}");
}

#[test]
fn a_place_that_is_taken_keeps_what_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("taken")).unwrap();
    fs::write(dir.path().join("taken/notes"), "mine").unwrap();
    fs::write(dir.path().join("file"), "mine too").unwrap();
    let table = [
        ("taken", 2, "pdl: cannot use --out taken: it exists and is not empty"),
        ("file", 2, "pdl: cannot use --out file: it is a file"),
        ("file/below", 1, "pdl: cannot create the run directory file/below: Not a directory"),
        ("/proc/pdl-run", 1, "pdl: cannot create the run directory /proc/pdl-run: "),
    ];
    for (out, code, expected) in table {
        let said = run(pdl(dir.path(), SMALL).args(["--out", out]));
        assert_eq!(said.code, Some(code), "{out}: {said:?}");
        assert!(said.stderr.starts_with(expected), "{out}: {said:?}");
        assert!(said.stderr.lines().nth(1).is_some_and(|remedy| remedy.contains("choose")));
        assert_eq!(said.stdout, "");
    }
    assert_eq!(names(dir.path()), ["file", "taken"]);
    assert_eq!(names(&dir.path().join("taken")), ["notes"]);
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"mine too");
}

#[test]
fn a_second_run_never_goes_into_the_first() {
    let (dir, _) = small_run();
    let before = fs::read(dir.path().join("run/samples.csv")).unwrap();
    let said = run(pdl(dir.path(), SMALL).args(["--out", "run"]));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(fs::read(dir.path().join("run/samples.csv")).unwrap(), before);
}

#[test]
fn what_is_no_run_is_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("file"), "no run").unwrap();
    for (path, cause) in [
        ("missing", "no such directory"),
        ("empty", "not a run directory: it has no manifest.json"),
        ("file", "not a run directory but a file"),
    ] {
        let said = run(&mut pdl(dir.path(), ["report", path]));
        assert_eq!(said.code, Some(1), "{said:?}");
        let expected = format!("pdl: cannot read {path}: {cause}\n");
        assert!(said.stderr.starts_with(&expected), "{said:?}");
        assert_eq!(said.stderr.lines().count(), 2, "cause and remedy: {said:?}");
        assert_eq!(said.stdout, "");
    }
    assert_eq!(names(dir.path()), ["empty", "file"]);
    assert_eq!(names(&dir.path().join("empty")), [""; 0]);
}

#[test]
fn a_damaged_run_is_refused_with_the_line_and_nothing_is_rewritten() {
    let table = [
        ("manifest.json", "{", "manifest.json:1:"),
        ("points.jsonl", "{\"point\": 1}\n", "points.jsonl:1:"),
        ("samples.csv", "point,arm\n", "samples.csv:1: the header lacks"),
        ("end.json", "[]", "end.json:1:"),
    ];
    for (file, text, expected) in table {
        let dir = small_copy();
        let path = dir.path().join("run");
        fs::write(path.join(file), text).unwrap();
        let summary = fs::read(path.join("summary.csv")).unwrap();
        let said = run(&mut pdl(dir.path(), ["report", "run"]));
        assert_eq!(said.code, Some(1), "{file}: {said:?}");
        assert!(said.stderr.contains(expected), "{file}: {said:?}");
        assert!(said.stderr.starts_with("pdl: cannot read run/"), "{file}: {said:?}");
        assert_eq!(said.stdout, "", "{file}");
        assert_eq!(fs::read(path.join("summary.csv")).unwrap(), summary, "{file}");
        assert_eq!(fs::read_to_string(path.join(file)).unwrap(), text);
    }
}
