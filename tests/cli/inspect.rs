//! `pdl inspect` at the command line: what it refuses, and how it says so. What it finds is tested
//! with the library, on this crate's own archive.

use std::fs;

use crate::program::{pdl, run};

#[test]
fn what_holds_no_device_code_is_one_line_and_exit_1() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("text"), "hello\n").unwrap();
    fs::write(dir.path().join("empty"), "").unwrap();
    fs::write(dir.path().join("cut.a"), "!<arch>\nmember.o/").unwrap();
    for (file, cause) in [
        ("text", "it is text, not machine code"),
        ("empty", "it is empty"),
        ("cut.a", "it is truncated"),
        (".", "it is a directory"),
        ("absent", "No such file"),
    ] {
        let said = run(&mut pdl(dir.path(), ["inspect", file]));
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{file}: {said:?}");
        let first = said.stderr.lines().next().unwrap();
        assert!(first.starts_with(&format!("pdl: cannot inspect {file}: {cause}")), "{first}");
    }
}

#[test]
fn a_missing_disassembler_is_named_with_how_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    // The head of a fatbin: it is looked at no further before the tools are.
    fs::write(dir.path().join("fatbin"), [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]).unwrap();
    let mut command = pdl(dir.path(), ["inspect", "fatbin"]);
    let said = run(command.env("CUOBJDUMP", "/nowhere/cuobjdump"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("CUOBJDUMP is /nowhere/cuobjdump, which is no file"), "{said:?}");
    assert!(said.stderr.contains("install the CUDA toolkit"), "{said:?}");
}

#[test]
fn what_cannot_be_denied_is_answered_with_what_can() {
    let dir = tempfile::tempdir().unwrap();
    let said = run(&mut pdl(dir.path(), ["inspect", "file", "--deny", "unsafe,nothing"]));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("'nothing' is none of info, warning, unsafe, no-sync"),
        "{said:?}"
    );
}
