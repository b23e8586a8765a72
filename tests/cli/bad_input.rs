//! Bad input: one cause, a remedy, exit code 2, and nothing written.

use crate::program::{names, pdl, run, succeed};

/// Runs a sweep that must be refused; what it said.
fn refused(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut command = pdl(dir.path(), ["sweep", "--out", "run"]);
    let said = run(command.env("PDL_BACKEND", "sim").env("PDL_QUICK", "1").args(arguments));
    assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
    assert_eq!(said.stdout, "", "{arguments:?}");
    assert_eq!(names(dir.path()), [""; 0], "{arguments:?} left something behind");
    let first = said.stderr.lines().next().unwrap_or_default();
    let (who, what) = first.split_once(": ").unwrap();
    match who {
        "pdl" => {
            let cause = what.strip_prefix("cannot ").and_then(|what| what.split_once(": "));
            assert!(cause.is_some_and(|(_, cause)| !cause.is_empty()), "{arguments:?}: {first}");
            assert!(said.stderr.lines().count() <= 2, "{arguments:?}: {said:?}");
        }
        "error" => assert!(said.stderr.contains("--help"), "{arguments:?}: {said:?}"),
        _ => panic!("{arguments:?}: {first}"),
    }
    said.stderr
}

const AXES: [&str; 9] = [
    "nodes",
    "grid",
    "waves",
    "block",
    "shared-kib",
    "cluster",
    "preamble-us",
    "body-us",
    "body-bytes",
];

#[test]
fn values_that_are_no_numbers_of_an_axis_are_refused_on_every_axis() {
    let bad = [
        "-1",
        "NaN",
        "inf",
        "-inf",
        "1e999",
        "99999999999999999999999",
        "x",
        "1,x",
        "0x10",
        "1_000",
        "1.2.3",
        "",
        ",",
        "1,,2",
        "1,",
        "..",
        "1..",
        "3..1",
        "1..2:0",
        "1..2:-1",
        "1..2:NaN",
        "1..9:1:1",
        "1..1000000",
        "0..1:1e-300",
    ];
    for flag in AXES {
        for value in bad {
            let said = refused(&["--body-kind=hbm", &format!("--{flag}={value}")]);
            assert!(said.contains(&format!("--{flag}")), "{said}");
        }
    }
}

#[test]
fn numbers_that_are_no_axis_are_refused_as_well() {
    for flag in ["seed", "rounds-min", "rounds-max", "budget-s"] {
        for value in
            ["-1", "NaN", "inf", "1e999", "99999999999999999999999", "x", "", "1,2", "1..2"]
        {
            let said = refused(&[&format!("--{flag}={value}")]);
            assert!(said.contains(&format!("--{flag}")), "{said}");
        }
    }
}

#[test]
fn what_no_gpu_could_run_is_refused_with_the_bound() {
    let table: [(&[&str], &str); 26] = [
        (&["--nodes=0"], "at least 2 nodes"),
        (&["--nodes=1"], "at least 2 nodes"),
        (&["--nodes=2,1,4"], "--nodes 1: a chain has at least 2 nodes"),
        (&["--nodes=100001"], "at most 100000"),
        (&["--grid=0"], "it must be at least 1"),
        (&["--grid=2147483648"], "more than 2147483647"),
        (&["--block=0"], "it must be at least 1"),
        (&["--block=1025"], "more than 1024"),
        (&["--block=32..1056:512"], "--block 1056: no GPU allows more than 1024"),
        (&["--cluster=0"], "it must be at least 1"),
        (&["--cluster=17"], "more than 16"),
        (&["--cluster=3", "--grid=10"], "not a whole number of clusters"),
        (&["--waves=0"], "above 0"),
        (&["--waves=1e30"], "--waves 1e30: no GPU allows more than 2147483647 blocks"),
        (&["--shared-kib=228"], "--shared-kib 228: no GPU allows more than 227 KiB"),
        (&["--shared-kib=4294967295"], "--shared-kib 4294967295: no GPU"),
        (&["--preamble-us=1000001"], "from 0 to 1000000 microseconds"),
        (&["--body-us=1e300"], "from 0 to 1000000 microseconds"),
        (&["--body-kind=hbm", "--body-bytes=0"], "each block reads at least 16 bytes"),
        (&["--body-kind=l2", "--body-bytes=2111"], "each block reads at least 16 bytes"),
        (&["--rounds-min=0"], "at least one round"),
        (&["--rounds-max=0"], "at least one round"),
        (&["--budget-s=0"], "above 0"),
        (&["--budget-s=86401"], "up to 86400"),
        (&["--nodes=2..4000", "--block=1..1024"], "groups of points, more than 10000"),
        (&["--trigger=65/65"], "n from 1 to 64"),
    ];
    for (arguments, expected) in table {
        let said = refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn the_bounds_themselves_are_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let table: [&[&str]; 12] = [
        &["--nodes=2"],
        &["--nodes=100000"],
        &["--grid=2147483647"],
        &["--block=1024"],
        &["--cluster=16"],
        &["--shared-kib=227"],
        &["--shared-kib=0"],
        &["--preamble-us=0", "--body-us=0"],
        &["--preamble-us=1000000", "--body-us=1000000"],
        &["--body-kind=l2", "--body-bytes=2112"],
        &["--waves=1e-300"],
        &["--seed=18446744073709551615", "--rounds-min=1", "--rounds-max=1", "--budget-s=1e-9"],
    ];
    for arguments in table {
        let fixed = ["sweep", "--backend", "sim", "--dry-run", "--trigger", "0/1,64/64"];
        succeed(pdl(dir.path(), fixed).args(arguments));
    }
}

#[test]
fn unknown_names_are_answered_with_those_that_exist() {
    let table: [(&str, &[&str]); 14] = [
        ("--arm=grph-pdl", &["graph-pdl", "persistent", "sentinel", "a similar value exists"]),
        ("--arm=", &["stream-full"]),
        ("--trigger=implict", &["did you mean implicit", "at-entry", "k/n"]),
        ("--trigger=at_entry", &["did you mean at-entry"]),
        ("--trigger=9/8", &["implicit", "at-entry", "after", "k/n with k from 0 to n"]),
        ("--trigger=", &["k/n"]),
        ("--body-kind=fmaa", &["fma", "hbm", "l2", "spin", "a similar value exists"]),
        ("--preamble-kind=prefetch", &["none", "alu", "prefetch-l2", "prefetch-smem"]),
        ("--trigger-by=warp", &["thread", "block"]),
        ("--l2=cold", &["hot", "rotated"]),
        ("--mode=piped", &["isolated", "pipelined"]),
        ("--backend=cpu", &["auto", "gpu", "sim"]),
        ("--format=xml", &["table", "json", "csv", "markdown", "junit"]),
        ("--bloc=128", &["--block"]),
    ];
    for (argument, expected) in table {
        let said = refused(&[argument]);
        for text in expected {
            assert!(said.contains(text), "{argument}: no '{text}' in {said}");
        }
    }
}

#[test]
fn flags_that_contradict_one_another_are_refused() {
    let table: [(&[&str], &str); 7] = [
        (&["--grid=66", "--waves=1"], "--waves"),
        (&["--body-us=4", "--body-bytes=65536"], "--body-bytes"),
        (&["--rounds-min=9", "--rounds-max=4"], "the fewest are not above the most"),
        (&["--body-kind=fma", "--body-bytes=65536"], "only hbm and l2 bodies move bytes"),
        (&["--body-kind=fma", "--preamble-kind=prefetch-l2"], "use --body-kind hbm or l2"),
        (&["--nodes=2", "--nodes=4"], "cannot be used multiple times"),
        (&["--quick=maybe"], "--quick"),
    ];
    for (arguments, expected) in table {
        let said = refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

/// A device that cannot run a point says so in its row; only if it can run none, that is an error.
#[test]
fn a_point_that_the_device_cannot_run_is_a_skipped_row() {
    let dir = tempfile::tempdir().unwrap();
    let fixed = ["sweep", "--backend", "sim", "--quick", "--arm=graph-pdl", "--trigger=0/8"];
    let sweep = |out: &str, grid: &str| {
        let small =
            ["--body-kind=fma", "--nodes=4", "--rounds-max=8", "--out", out, "--grid", grid];
        run(pdl(dir.path(), fixed).args(small))
    };
    let said = sweep("some", "4,2147483647");
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = sweep("none", "2147483647");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("pdl: cannot measure anything"), "{said:?}");
    for (out, skipped, measured) in [("some", true, true), ("none", true, false)] {
        let path = dir.path().join(out).join("summary.csv");
        let rows = pdl_lab::record::read_summary(&path).unwrap();
        let verdict = Some(pdl_lab::record::Verdict::Skipped);
        assert_eq!(rows.iter().any(|row| row.verdict == verdict), skipped, "{out}");
        assert_eq!(rows.iter().any(|row| row.verdict != verdict), measured, "{out}");
        let reasons = rows.iter().filter(|row| row.verdict == verdict).map(|row| &row.reason);
        assert!(reasons.clone().all(|reason| !reason.is_empty()), "{out}");
    }
}
