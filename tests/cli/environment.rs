//! `PDL_*` variables say what flags say; a flag is stronger.

use crate::program::{pdl, run, succeed};

const DRY: [&str; 4] = ["sweep", "--backend", "sim", "--dry-run"];

#[test]
fn a_variable_does_what_its_flag_does() {
    let dir = tempfile::tempdir().unwrap();
    let plain = succeed(&mut pdl(dir.path(), DRY)).stdout;
    let table = [
        ("trigger", "at-entry,2/4"),
        ("arm", "graph-pdl,flags"),
        ("nodes", "7,9"),
        ("grid", "5"),
        ("waves", "2"),
        ("block", "32..64:32"),
        ("preamble-kind", "none"),
        ("preamble-us", "1"),
        ("body-kind", "spin"),
        ("body-us", "0.5"),
        ("mode", "pipelined"),
        ("shared-kib", "0,200"),
        ("cluster", "1,8"),
        ("trigger-by", "thread,block"),
        ("l2", "hot,rotated"),
    ];
    for (flag, value) in table {
        let by_flag = succeed(pdl(dir.path(), DRY).arg(format!("--{flag}={value}"))).stdout;
        let variable = format!("PDL_{}", flag.to_uppercase().replace('-', "_"));
        let by_variable = succeed(pdl(dir.path(), DRY).env(variable, value)).stdout;
        assert_eq!(by_variable, by_flag, "{flag}");
        assert_ne!(by_flag, plain, "{flag} changes nothing");
    }
}

#[test]
fn switches_are_read_as_switches() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = ["sweep", "--backend", "sim", "--dry-run"];
    let seconds = |value: &str| {
        let text = succeed(pdl(dir.path(), sweep).env("PDL_QUICK", value)).stdout;
        text.rsplit("expected: ").next().unwrap().to_owned()
    };
    let (quick, whole) = (seconds("1"), seconds("0"));
    assert_ne!(quick, whole);
    for (value, expected) in
        [("true", &quick), ("yes", &quick), ("ON", &quick), ("", &whole), ("no", &whole)]
    {
        assert_eq!(seconds(value), *expected, "{value}");
    }
    for variable in ["PDL_QUICK", "PDL_DRY_RUN", "PDL_NO_GATE"] {
        let mut command = pdl(dir.path(), ["sweep", "--backend", "sim"]);
        let said = run(command.env(variable, "maybe"));
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains("neither"), "{said:?}");
    }
}

#[test]
fn a_variable_that_nothing_reads_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let said = succeed(
        pdl(dir.path(), DRY).env("PDL_NODE", "7").env("PDL_NODES", "9").env("PDL_REQUIRE", "gpu"),
    );
    assert_eq!(said.stderr, "pdl: note: PDL_NODE is no variable of pdl and changes nothing\n");
    assert!(said.stdout.contains("9 nodes"), "{said:?}");
}

#[test]
fn a_flag_is_stronger_than_its_variable() {
    let dir = tempfile::tempdir().unwrap();
    let said = succeed(pdl(dir.path(), DRY).arg("--nodes=7").env("PDL_NODES", "9"));
    assert!(said.stdout.contains("7 nodes") && !said.stdout.contains("9 nodes"), "{said:?}");
}

#[test]
fn a_variable_with_garbage_is_refused_as_its_flag_is() {
    let dir = tempfile::tempdir().unwrap();
    let table = [
        ("PDL_NODES", "x", "--nodes"),
        ("PDL_NODES", "", "--nodes"),
        ("PDL_NODES", "1", "--nodes"),
        ("PDL_TRIGGER", "nowhere", "--trigger"),
        ("PDL_ARM", "hammer", "--arm"),
        ("PDL_BACKEND", "cpu", "--backend"),
        ("PDL_FORMAT", "xml", "--format"),
        ("PDL_SEED", "-1", "--seed"),
        ("PDL_OUT", "", "--out"),
    ];
    for (variable, value, flag) in table {
        let mut command = pdl(dir.path(), ["sweep", "--dry-run"]);
        let said = run(command.env("PDL_BACKEND", "sim").env(variable, value));
        assert_eq!(said.code, Some(2), "{variable}={value}: {said:?}");
        assert!(said.stderr.contains(flag), "{variable}={value}: {said:?}");
        assert_eq!(said.stdout, "");
    }
}
