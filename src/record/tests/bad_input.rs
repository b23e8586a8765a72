//! Files of a run that a person, a program or a broken copy has changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::fixture::{end, record, sample, summary_row};
use crate::record::{read_run, read_summary, samples, write_summary};

const HEADER: &str = "point,arm,nodes,round,order,duration_ns,sm_mhz,sample_flags\n";
const ROW: &str = "p000,graph,50,0,0,211000.5,1980,\n";

/// Writes a run whose file `name` holds `bytes`, and reads it.
fn read_with(name: &str, bytes: &[u8]) -> Result<crate::record::Run, String> {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    drop(record(&dir, 0).unwrap());
    fs::write(dir.join(name), bytes).unwrap();
    read_run(&dir).map_err(|error| {
        let text = error.to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
        text.replace(&dir.display().to_string(), "RUN")
    })
}

#[test]
fn samples_that_cannot_be_trusted_are_refused_with_their_place() {
    let row = |text: &str| format!("{HEADER}{ROW}{text}\n").into_bytes();
    let head = |text: &str| format!("{text}\n{ROW}").into_bytes();
    let table: Vec<(Vec<u8>, &str)> = vec![
        (row("p000,graph,50,0,0,NaN,,"), ":3: column duration_ns: 'NaN' is not a finite number"),
        (row("p000,graph,50,0,0,inf,,"), ":3: column duration_ns: 'inf' is not a finite number"),
        (row("p000,graph,50,0,0,1e999,,"), ":3: column duration_ns: '1e999' is not a finite"),
        (row("p000,graph,50,0,0,-1.5,,"), ":3: column duration_ns: '-1.5' is negative"),
        (row("p000,graph,50,0,0,,,"), ":3: column duration_ns: '' is not a finite number"),
        (row("p000,graph,50,0,0,\"1,5\",,"), ":3: the row has 9 fields, the header has 8"),
        (row("p000,graph,50,-1,0,1.5,,"), ":3: column round: '-1': invalid digit"),
        (row("p000,graph,5e9,0,0,1.5,,"), ":3: column nodes: '5e9': invalid digit"),
        (row("p000,graph,5000000000,0,0,1.5,,"), ":3: column nodes: '5000000000': number too"),
        (row("p000,graph,50,0,0,1.5,fast,"), ":3: column sm_mhz: 'fast': invalid digit"),
        (row("p000,warp,50,0,0,1.5,,"), ":3: column arm: unknown variant `warp`, expected one of"),
        (row("p000,graph,50,0,0,1.5,,split|odd"), ":3: column sample_flags: unknown variant `odd`"),
        (row("p000,graph,50,0,0,1.5,,split|"), ":3: column sample_flags: unknown variant ``"),
        (row("p999,graph,50,0,0,1.5,,"), ":3: column point: 'p999' is no point of the plan"),
        (row("p000,graph,50,0"), ":3: the row has 4 fields, the header has 8"),
        (row(""), ":3: the row has 1 fields, the header has 8"),
        (row("\u{1b}[2J,graph,50,0,0,1.5,,"), ":3: column point: '\\u{1b}[2J' is no point"),
        (
            row(&ROW.trim_end().replace(",0,0,", ",0,7,")),
            ":3: column round: p000 graph of 50 nodes has a sample of round 0 before this one",
        ),
        (row(&"x".repeat(70_000)), ":3: the line is longer than 65536 bytes"),
        (
            [HEADER.as_bytes(), b"p000,graph\xff,50,0,0,1.5,,\n"].concat(),
            ":2: column arm: 'graph\u{fffd}' is not UTF-8",
        ),
        (head("point,arm,nodes,round,order,sm_mhz"), ":1: the header lacks duration_ns, sample_f"),
        (
            head("point,point,arm,nodes,round,order,duration_ns,sm_mhz,sample_flags"),
            ":1: the heade",
        ),
        (head("\u{7f}ELF\u{2}\0\0"), ":1: '\\u{7f}ELF\\u{2}\\u{0}\\u{0}' is not its header"),
        (head(ROW.trim_end()), ":1: 'p000,graph,50,0,0,211000.5,1980,' is not its header"),
    ];
    for (bytes, expected) in table {
        let error = read_with("samples.csv", &bytes).unwrap_err();
        let expected = format!("cannot read RUN/samples.csv{expected}");
        assert!(error.starts_with(&expected), "\nexpected {expected}\n   found {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn samples_that_another_program_rewrote_are_read() {
    let other = "joules";
    let note = format!("samples.csv: unknown columns left out: {other}");
    let columns = HEADER.trim_end();
    let cells = ROW.trim_end();
    let reversed = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",");
    let table = [
        ("reordered", format!("{}\n{}\n", reversed(columns), reversed(cells)), vec![]),
        ("unknown column", format!("{columns},{other}\n{cells},7\n"), vec![note]),
        ("CRLF and byte order mark", format!("\u{feff}{columns}\r\n{cells}\r\n"), vec![]),
        ("quoted", format!("{columns}\n\"p000\",{}\"\"\n", &cells["p000,".len()..]), vec![]),
    ];
    for (what, text, notes) in table {
        let run = read_with("samples.csv", text.as_bytes()).unwrap();
        assert_eq!(run.samples, [sample(0)], "{what}");
        assert_eq!(run.notes, notes, "{what}");
    }
}

#[test]
fn points_and_ends_that_cannot_be_read_are_refused_with_their_place() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    drop(record(&dir, 0).unwrap());
    let points = fs::read_to_string(dir.join("points.jsonl")).unwrap();
    let first = points.lines().next().unwrap();
    let other = first.replace("\"p000\"", "\"p9\\u001b\"");
    let table = [
        ("points.jsonl", format!("{first}\n{{\"point\":\n{first}\n"), ":2:9: EOF while parsing"),
        ("points.jsonl", format!("{first}\n\n{first}\n"), ":2:0: EOF while parsing"),
        ("points.jsonl", format!("{first}\n{{}}\n"), ":2:2: missing field `point`"),
        ("points.jsonl", format!("{other}\n"), ":1: 'p9\\u{1b}' is no point of the plan"),
        ("points.jsonl", "x".repeat(70_000), ":1: the line is longer than 65536 bytes"),
        ("points.jsonl", format!("{}\n", "[".repeat(60_000)), ":1:1: invalid type: sequence"),
        ("end.json", String::new(), ":1:0: EOF while parsing"),
        ("end.json", "{\n \"ended\": 3}".into(), ":2:11: invalid type: integer `3`, expected a s"),
        ("manifest.json", "\0\0\0".into(), ":1:1: expected value"),
        (
            "manifest.json",
            "{\"schema\": \"2.0\"}".into(),
            ": its schema is 2.0, this pdl reads 1.x",
        ),
        ("manifest.json", "{\"schema\": \"one\"}".into(), ": schema 'one' is not a version"),
        ("manifest.json", "{\"schema\": \"1.0\"}".into(), ":1:17: missing field `what`"),
        (
            "manifest.json",
            "{\"schema\": \"1.9\"}".into(),
            ":1:17: missing field `what`\n     a newer",
        ),
    ];
    for (name, text, expected) in table {
        let error = read_with(name, text.as_bytes()).unwrap_err();
        let expected = format!("cannot read RUN/{name}{expected}");
        assert!(error.starts_with(&expected), "\nexpected {expected}\n   found {error}");
    }
}

#[test]
fn a_newer_minor_version_is_read_with_a_note() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    drop(record(&dir, 2).unwrap());
    let path = dir.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"schema\": \"1.1\"", "\"new\": 1, \"schema\": \"1.4\"", 1))
        .unwrap();
    let run = read_run(&dir).unwrap();
    assert_eq!(run.samples.len(), 2);
    let note = "manifest.json: schema 1.4 is newer than 1.1: what it adds is left out";
    assert_eq!(run.notes, [note]);
}

#[test]
fn what_is_no_run_directory_is_told_so() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    let table = [
        (root.path().join("none"), "no such directory"),
        (root.path().to_owned(), "not a run directory: it has no manifest.json"),
        (file, "not a run directory but a file"),
    ];
    for (path, expected) in table {
        let error = read_run(&path).unwrap_err().to_string();
        let (first, remedy) = error.split_once('\n').unwrap();
        assert_eq!(first, format!("cannot read {}: {expected}", path.display()));
        assert!(remedy.contains("name a directory that pdl wrote"), "{remedy}");
    }
}

#[test]
fn a_file_that_is_missing_empty_or_not_the_runs_own_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, format!("{HEADER}{ROW}")).unwrap();
    let with = |prepare: &dyn Fn(&Path)| {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        record(&dir, 1).unwrap().write_end(&end("done")).unwrap();
        prepare(&dir);
        read_run(&dir).map(|run| run.samples).map_err(|error| error.to_string())
    };
    let replace = |dir: &Path, name: &str, target: &Path| {
        fs::remove_file(dir.join(name)).unwrap();
        symlink(target, dir.join(name)).unwrap();
    };
    for name in ["samples.csv", "points.jsonl", "manifest.json", "end.json"] {
        let error = with(&|dir| replace(dir, name, &secret)).unwrap_err();
        assert!(error.contains(&format!("{name}: it is a link that leads out")), "{error}");
        let error = with(&|dir| replace(dir, name, Path::new("/nowhere"))).unwrap_err();
        assert!(error.contains(&format!("{name}: the file is missing")), "{error}");
        let error = with(&|dir| {
            fs::remove_file(dir.join(name)).unwrap();
            fs::create_dir(dir.join(name)).unwrap();
        });
        assert!(error.unwrap_err().contains(&format!("{name}: it is not a regular file")));
    }
    for name in ["samples.csv", "points.jsonl"] {
        let error = with(&|dir| fs::remove_file(dir.join(name)).unwrap()).unwrap_err();
        assert!(error.contains(&format!("{name}: the file is missing")), "{error}");
    }
    let error = with(&|dir| fs::write(dir.join("samples.csv"), "").unwrap()).unwrap_err();
    assert!(error.contains("samples.csv:1: the run ended by itself"), "{error}");
    let kept = with(&|dir| {
        fs::rename(dir.join("samples.csv"), dir.join("kept.csv")).unwrap();
        symlink("kept.csv", dir.join("samples.csv")).unwrap();
    });
    assert_eq!(kept.unwrap(), [sample(0)], "a link inside the directory is the run's own");
}

#[test]
fn summaries_that_cannot_be_trusted_are_refused_with_their_place() {
    let good = String::from_utf8(write_summary(&[summary_row(), summary_row()])).unwrap();
    let edit = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    let cut = |bytes: usize| good.as_bytes()[..good.len() - bytes].to_vec();
    let table: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), ":1: the file is empty"),
        (b"\x00\xff\xfe\n".to_vec(), ":1: '\\u{0}\u{fffd}\u{fffd}' is not its header"),
        (edit("speedup,", "speed,"), ":1: the header lacks speedup"),
        (edit("speedup_lo,", "speedup,"), ":1: the header has the column 'speedup' twice"),
        (edit(",1.2345,", ",NaN,"), ":2: column speedup: 'NaN' is not a finite number"),
        (edit(",helps,", ",great,"), ":2: column verdict: unknown variant `great`"),
        (edit(",4/8,", ",9/8,"), ":2: column trigger: '9/8' is not a trigger"),
        (edit(",true,", ",yes,"), ":2: column correct: 'yes': provided string was not"),
        (edit(",isolated,", ","), ":2: the row has 61 fields, the header has 62"),
        (cut(1), ":3: the file ends in the middle of a line"),
        (cut(60), ":3: the row has"),
    ];
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("summary.csv");
    for (bytes, expected) in table {
        fs::write(&path, bytes).unwrap();
        let error = read_summary(&path).unwrap_err().to_string();
        let expected = format!("cannot read {}{expected}", path.display());
        assert!(error.starts_with(&expected), "\nexpected {expected}\n   found {error}");
    }
    let mut columns: Vec<Vec<&str>> = Vec::new();
    let plain = good.replace("\"H200, \"\"SXM\"\" SIMULATED\"", "H200");
    for line in plain.lines() {
        columns.push(line.split(',').rev().collect());
    }
    let reversed: String = columns.iter().map(|line| line.join(",") + "\r\n").collect();
    fs::write(&path, reversed).unwrap();
    let row = crate::record::SummaryRow { device: "H200".into(), ..summary_row() };
    assert_eq!(read_summary(&path).unwrap(), [row.clone(), row], "order and CRLF are free");
    assert_eq!(HEADER, samples::header_line());
}
