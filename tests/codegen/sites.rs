//! The marks of cuda/pdl_site.cuh: nvcc compiles a marked kernel for every site, and the machine
//! code holds exactly what the flags chose, where it was marked.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::sass::{Code, parse};

/// The toolkit that the build found; `None` skips with the reason.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let found = Command::new("bash")
        .args(["script/toolkit", "--find"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("bash runs");
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.filter(|path| !path.is_empty()).map(PathBuf::from)
    };
    match of("CUDA_HOME").zip(of("CUOBJDUMP")) {
        Some((home, cuobjdump)) => Some((home.join("bin/nvcc"), cuobjdump)),
        None => {
            let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
            assert!(!required, "PDL_REQUIRE=codegen: script/toolkit finds no nvcc or cuobjdump");
            eprintln!("skipped: script/toolkit finds no nvcc or cuobjdump");
            None
        }
    }
}

/// What nvcc answers to a source compiled with `flags`.
fn nvcc(nvcc: &Path, source: &Path, cubin: &Path, arch: u32, flags: &[&str]) -> Output {
    Command::new(nvcc)
        .args(["-cubin", "-O3", "-Werror", "all-warnings", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda"))
        .arg(format!("-arch=sm_{arch}"))
        .args(flags)
        .arg("-o")
        .args([cubin, source])
        .output()
        .unwrap()
}

fn marked() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codegen/marked.cu")
}

/// The machine code of the marked kernel, compiled with `flags`.
fn compile((compiler, cuobjdump): &(PathBuf, PathBuf), arch: u32, flags: &[&str]) -> Code {
    let folder = tempfile::tempdir().unwrap();
    let cubin = folder.path().join("marked.cubin");
    let compiled = nvcc(compiler, &marked(), &cubin, arch, flags);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let listing = Command::new(cuobjdump).arg("-sass").arg(&cubin).output().unwrap();
    // Of a bare cubin the disassembler does not say the architecture.
    let listing = format!("arch = sm_{arch}\n{}", String::from_utf8_lossy(&listing.stdout));
    let mut kernels = parse(&listing);
    assert_eq!(kernels.len(), 1);
    kernels.remove(0).code
}

/// Sync, trigger, load, store and sleep in the order of their addresses: `S`, `T`, `l`, `s`, `z`.
fn order(code: &Code) -> String {
    let letters =
        [("ACQBULK", 'S'), ("PREEXIT", 'T'), ("LDG", 'l'), ("STG", 's'), ("NANOSLEEP", 'z')];
    let mut found: Vec<(usize, char)> = letters
        .iter()
        .flat_map(|(opcode, letter)| code.places(opcode).into_iter().map(|at| (at, *letter)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, letter)| letter).collect()
}

#[test]
fn a_site_compiles_to_what_the_flags_choose_and_stands_where_it_was_marked() {
    let Some(tools) = tools() else { return };
    let table: [(&[&str], &str); 11] = [
        // As it stands in production: every sync, no trigger.
        (&[], "SlSs"),
        (&["-DPDL_TRIGGER_AT=1"], "TSlSs"),
        (&["-DPDL_TRIGGER_AT=2"], "STlSs"),
        (&["-DPDL_TRIGGER_AT=3"], "SlSTs"),
        (&["-DPDL_TRIGGER_AT=4"], "SlSsT"),
        (&["-DPDL_TRIGGER_AT=2", "-DPDL_SYNC_AT=1"], "STls"),
        (&["-DPDL_TRIGGER_AT=2", "-DPDL_SYNC_AT=2"], "TlSs"),
        (&["-DPDL_TRIGGER_SITES=0x12", "-DPDL_SYNC_SITES=0x2"], "TSlsT"),
        // A site that is not there.
        (&["-DPDL_TRIGGER_AT=9", "-DPDL_SYNC_AT=9"], "ls"),
        (&["-DPDL_OFF", "-DPDL_TRIGGER_AT=2"], "ls"),
        // The sleep of the check stands between the trigger and the store.
        (&["-DPDL_CHECK_NS=100000", "-DPDL_TRIGGER_AT=2", "-DPDL_SYNC_AT=1"], "STzls"),
    ];
    for arch in [90, 100] {
        for (flags, expected) in table {
            let code = compile(&tools, arch, flags);
            assert_eq!(order(&code), expected, "sm_{arch} {flags:?}\n{}", code.0.join("\n"));
        }
    }
}

#[test]
fn below_sm_90_every_mark_is_nothing() {
    let Some(tools) = tools() else { return };
    let plain = compile(&tools, 80, &["-DPDL_OFF"]);
    assert_eq!(order(&plain), "ls");
    for flags in [
        &["-DPDL_TRIGGER_AT=2"][..],
        &["-DPDL_TRIGGER_SITES=0x1e", "-DPDL_SYNC_AT=1"],
        &["-DPDL_CHECK_NS=100000", "-DPDL_TRIGGER_AT=2"],
    ] {
        assert_eq!(compile(&tools, 80, flags).0, plain.0, "{flags:?}");
    }
}

#[test]
fn stamps_read_the_timer_at_every_mark_and_keep_the_order() {
    let Some(tools) = tools() else { return };
    let flags = ["-DPDL_STAMPS", "-DPDL_TRIGGER_AT=2", "-DPDL_SYNC_AT=1"];
    let code = compile(&tools, 90, &flags);
    // Begin, arrival at the sync, release, trigger, end.
    assert_eq!(code.timer_reads().len(), 5, "{}", code.0.join("\n"));
    let (sync, trigger) = (code.places("ACQBULK")[0], code.places("PREEXIT")[0]);
    let before = |place: usize| code.timer_reads().iter().filter(|&&read| read < place).count();
    assert_eq!((before(sync), before(trigger)), (2, 4), "{}", code.0.join("\n"));
}

#[test]
fn a_site_beyond_the_last_does_not_compile() {
    let Some((compiler, _)) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (cubin, source) = (folder.path().join("a.cubin"), folder.path().join("a.cu"));
    let text = std::fs::read_to_string(marked()).unwrap();
    let table: [(&str, &[&str], bool); 6] = [
        ("PDL_TRIGGER_SITE(31)", &[], true),
        ("PDL_TRIGGER_SITE(32)", &[], false),
        ("PDL_SYNC_SITE(16 * 2)", &[], false),
        ("PDL_TRIGGER_SITE(-1)", &[], false),
        ("PDL_TRIGGER_SITE(4)", &["-DPDL_TRIGGER_AT=32"], false),
        ("PDL_TRIGGER_SITE(4)", &["-DPDL_SYNC_AT=-1"], false),
    ];
    for (mark, flags, good) in table {
        std::fs::write(&source, text.replace("PDL_TRIGGER_SITE(4)", mark)).unwrap();
        let output = nvcc(&compiler, &source, &cubin, 90, flags);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), good, "{mark} {flags:?}: {said}");
        assert_eq!(said.contains("the number of a site is 0 to 31"), !good, "{said}");
    }
}
