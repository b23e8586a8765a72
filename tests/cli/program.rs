//! Runs the program and keeps what it said.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The flags of a sweep that takes a tenth of a second.
pub const SMALL: [&str; 15] = [
    "sweep",
    "--backend",
    "sim",
    "--quick",
    "--trigger",
    "at-entry,4/8,implicit",
    "--arm",
    "graph-pdl,stream-pdl",
    "--body-kind",
    "fma",
    "--nodes",
    "10",
    "--grid",
    "4",
    "--rounds-max=12",
];

/// Where the program is: as cargo or a pack says, else beside this test. Not the compile-time
/// path: a test that travels would carry it along.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("CARGO_BIN_EXE_pdl") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("pdl")
}

/// The program with `arguments`, in `dir`, without any variable that would change what it does.
pub fn pdl<S: AsRef<std::ffi::OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(dir).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PDL_") {
            command.env_remove(name);
        }
    }
    command
}

/// What a finished process left.
#[derive(Debug)]
pub struct Said {
    /// Exit code; `None` for a process that a signal ended.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs to the end. No input may make the program panic.
pub fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is printed is UTF-8");
    let said = Said {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    assert!(!said.stderr.contains("panicked at"), "{command:?}: {said:?}");
    said
}

/// Runs to success; what it printed.
pub fn succeed(command: &mut Command) -> Said {
    let said = run(command);
    assert_eq!(said.code, Some(0), "{command:?}: {said:?}");
    said
}

/// One small run that many tests read and none changes (`report` does), and what was printed when
/// it was made.
pub fn small_run() -> &'static (TempDir, Said) {
    static RUN: OnceLock<(TempDir, Said)> = OnceLock::new();
    RUN.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let said = succeed(pdl(dir.path(), SMALL).args(["--out", "run"]));
        (dir, said)
    })
}

/// A copy of the small run that a test may change.
pub fn small_copy() -> TempDir {
    let to = tempfile::tempdir().unwrap();
    copied(&small_run().0.path().join("run"), &to.path().join("run"));
    to
}

/// Copies a directory and all below it.
pub fn copied(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Names of what is in a directory, sorted.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
