//! `--help`: every command explains itself, and every flag names its variable.

use crate::program::{pdl, run, succeed};

const COMMANDS: [&str; 11] = [
    "doctor",
    "sweep",
    "tune",
    "calibrate",
    "timeline",
    "check",
    "conform",
    "inspect",
    "kernel",
    "compare",
    "report",
];

#[test]
fn the_program_names_every_command_and_every_command_has_help() {
    let dir = tempfile::tempdir().unwrap();
    let all = succeed(&mut pdl(dir.path(), ["--help"])).stdout;
    for command in COMMANDS {
        assert!(all.lines().any(|line| line.trim().starts_with(command)), "{command}: {all}");
        let help = succeed(&mut pdl(dir.path(), [command, "--help"])).stdout;
        assert!(help.contains(&format!("Usage: pdl {command}")), "{help}");
    }
    let version = succeed(&mut pdl(dir.path(), ["--version"])).stdout;
    assert_eq!(version, format!("pdl {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_flag_is_mirrored_as_a_variable() {
    let dir = tempfile::tempdir().unwrap();
    let mut flags = 0;
    for command in COMMANDS {
        let help = succeed(&mut pdl(dir.path(), [command, "--help"])).stdout;
        let sections = help.split("\n      --").skip(1);
        for section in sections {
            let flag = section.split([' ', '\n']).next().unwrap();
            let variable = format!("[env: PDL_{}=", flag.to_uppercase().replace('-', "_"));
            assert!(section.contains(&variable), "{command} --{flag} lacks {variable}");
            flags += 1;
        }
    }
    assert!(flags > 20, "{flags} flags were looked at");
}

#[test]
fn a_command_is_needed_and_must_exist() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&[], "Usage: pdl <COMMAND>"),
        (&["swep"], "'sweep'"),
        (&["report"], "<RUN>"),
        (&["sweep", "now"], "unexpected argument 'now'"),
    ];
    for (arguments, expected) in cases {
        let said = run(&mut pdl(dir.path(), arguments));
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert!(said.stderr.contains(expected), "{arguments:?}: {said:?}");
        assert_eq!(said.stdout, "");
    }
}
