//! A summary.csv that is there already, beside what the samples give.

use std::fs;
use std::os::unix::fs::symlink;

use super::fixture::summary_row;
use crate::chain::Arm;
use crate::record::{Standing, SummaryRow, Verdict, standing, write_summary};

fn rows() -> Vec<SummaryRow> {
    let graph = SummaryRow {
        point: "p000".into(),
        arm: Arm::Graph,
        trigger: None,
        saved_ns: None,
        ..summary_row()
    };
    vec![graph, summary_row()]
}

/// What is said of `bytes` in place of the summary of [`rows`], in a run that has `ended`.
fn found(bytes: &[u8], ended: bool) -> Result<Standing, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary.csv");
    fs::write(&path, bytes).unwrap();
    let found = standing(dir.path(), &rows(), ended).map_err(|error| {
        let text = error.to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
        text.replace(&dir.path().display().to_string(), "RUN")
    });
    assert_eq!(fs::read(path).unwrap(), bytes, "it is only read");
    found
}

fn good() -> String {
    String::from_utf8(write_summary(&rows())).unwrap()
}

#[test]
fn what_follows_from_the_samples_contradicts_them_when_it_differs() {
    let edit = |from: &str, to: &str| {
        let text = good();
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let second = good().lines().nth(2).unwrap().to_owned();
    let table = [
        (
            edit(",40,4210.5,", ",40,4110.5,"),
            ":2: it contradicts the raw files: column period_ns: 4110.5 there, 4210.5 by the raw files",
        ),
        (
            edit(",40,4210.5,", ",41,4210.5,"),
            ":2: it contradicts the raw files: column samples: 41 there, 40 by",
        ),
        (
            edit(",-0.3,-1.2,", ",200.0,-1.2,"),
            ":3: it contradicts the raw files: column saved_ns: 200.0 there, -0.3 by",
        ),
        (
            edit(",graph,,-1.2,", ",graph,7.5,-1.2,"),
            ":2: it contradicts the raw files: column saved_ns: 7.5 there, nothing by",
        ),
        (
            edit(",true,", ",false,"),
            ":2: it contradicts the raw files: column correct: false there, true by",
        ),
        (
            edit("p001,graph-pdl", "p009,graph-pdl"),
            ":1: it contradicts the raw files: it has no row of p001 graph-pdl, which",
        ),
        (
            format!("{}{}\n", good(), second.replace("p001", "p002")),
            ":4: it contradicts the raw files: it has a row of p002 graph-pdl, which the raw files lack",
        ),
        (format!("{}{second}\n", good()), ":4: the row of p001 graph-pdl is there twice"),
        (
            edit(",40,4210.5,", ",40,\u{1b}[31m,"),
            ":2: it contradicts the raw files: column period_ns: \\u{1b}[31m there",
        ),
    ];
    for (text, expected) in table {
        let error = found(text.as_bytes(), true).unwrap_err();
        let expected = format!("cannot read RUN/summary.csv{expected}");
        assert!(error.starts_with(&expected), "\nexpected {expected}\n   found {error}");
        assert!(error.contains("remove RUN/summary.csv"), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_not_replaced_either() {
    let text = good();
    let table: [(&[u8], &str); 7] = [
        (b"", ":1: the file is empty"),
        (b"\x7fELF\x02\x01\n", ":1: '\\u{7f}ELF\\u{2}\\u{1}' is not its header: it lacks point"),
        (b"\xff\xfe\n", ":1: field 1 is not UTF-8"),
        (b"point,arm,point\n", ":1: the header has the column 'point' twice"),
        (&text.as_bytes()[..text.len() - 1], ":3: the file ends in the middle of a line"),
        (&text.as_bytes()[..text.len() - 90], ":3: the row has"),
        (b"point,arm\np000,graph,x\n", ":2: the row has 3 fields, the header has 2"),
    ];
    for (bytes, expected) in table {
        for ended in [true, false] {
            let error = found(bytes, ended).unwrap_err();
            let expected = format!("cannot read RUN/summary.csv{expected}");
            assert!(error.starts_with(&expected), "\nexpected {expected}\n   found {error}");
        }
    }
}

#[test]
fn what_another_version_derives_is_out_of_date_and_nothing_else() {
    let same = found(good().as_bytes(), true).unwrap();
    assert_eq!(same, Standing::default());
    let rounded = good().replacen("1.2345", "1.2346", 1);
    assert_eq!(found(rounded.as_bytes(), true).unwrap(), same, "a last digit of another machine");
    let table = [
        (
            good().replacen(",helps,", ",hurts,", 1),
            "line 2, column verdict: hurts there, helps by the raw files",
        ),
        (
            good().replacen(",4210.5,4210.5,4210.5,4210.5,", ",4210.5,4200.5,4210.5,4210.5,", 1),
            "line 2, column period_lo_ns: 4200.5 there, 4210.5 by the raw files",
        ),
        (good().replace(",reason,", ",why,"), "it lacks reason"),
    ];
    for (text, expected) in table {
        assert_eq!(found(text.as_bytes(), true).unwrap().stale.as_deref(), Some(expected));
    }
}

#[test]
fn while_a_run_goes_on_its_summary_may_be_of_fewer_samples() {
    let fewer = good().replacen(",40,4210.5,", ",20,4110.5,", 1);
    let stale = found(fewer.as_bytes(), false).unwrap().stale.unwrap();
    assert_eq!(stale, "line 2, column samples: 20 there, 40 by the raw files");
    let first_only: String = good().lines().take(2).map(|line| format!("{line}\n")).collect();
    assert!(found(first_only.as_bytes(), false).unwrap().stale.unwrap().contains("no row of p001"));
    let other = good().replace("p001", "p007");
    assert!(found(other.as_bytes(), false).unwrap_err().contains("a row of p007 graph-pdl, which"));
}

#[test]
fn columns_of_somebody_else_stay_with_their_rows() {
    let lines: Vec<String> = good().lines().map(str::to_owned).collect();
    let text = format!(
        "note,{},joules\n\"second, mine\",{},2.5\nfirst,{},\n",
        lines[0], lines[2], lines[1]
    );
    let standing = found(text.as_bytes(), true).unwrap();
    assert_eq!(standing.notes(), ["summary.csv: unknown columns are kept: note, joules"]);
    let written = String::from_utf8(standing.write(&rows())).unwrap();
    let expected = format!(
        "{},note,joules\n{},first,\n{},\"second, mine\",2.5\n",
        lines[0], lines[1], lines[2]
    );
    assert_eq!(written, expected);
    assert_eq!(found(written.as_bytes(), true).unwrap(), standing, "and again");
    let verdict = SummaryRow { verdict: Some(Verdict::Hurts), ..rows()[0].clone() };
    let again = String::from_utf8(standing.write(&[verdict, rows()[1].clone()])).unwrap();
    assert!(again.contains(",hurts,") && again.contains(",first,"), "{again}");
}

#[test]
fn a_summary_that_is_a_link_out_of_the_run_is_refused() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret");
    fs::write(&secret, good()).unwrap();
    assert_eq!(standing(dir.path(), &rows(), true).unwrap(), Standing::default(), "none is there");
    symlink(&secret, dir.path().join("summary.csv")).unwrap();
    let error = standing(dir.path(), &rows(), true).unwrap_err().to_string();
    assert!(error.contains("summary.csv: it is a link that leads out"), "{error}");
    assert_eq!(fs::read_to_string(secret).unwrap(), good());
}
