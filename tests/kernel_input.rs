//! What `pdl kernel` says to bad chain files and flags: one line, a remedy, an exit code. Needs nvcc:
//! without one the test skips with a reason, and `PDL_REQUIRE=codegen` makes that a failure.

use std::path::Path;

use assert_cmd::Command;

const SOURCE: &str = "#include \"pdl_site.cuh\"
__global__ void step(const float* in, float* out, int n) {
  PDL_TRIGGER_SITE(1);
#ifndef BARE
  PDL_SYNC_SITE(1);
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1;
}
";

const CHAIN: &str = "sources = [\"kernels.cu\"]
flags = [\"-O3\"]
repeat = 2
[axes]
M = [1, 2]
[buffers.a]
type = \"f32\"
length = \"256 * M\"
fill = \"iota\"
[buffers.b]
type = \"f32\"
length = \"256 * M\"
[[nodes]]
kernel = \"step\"
grid = \"M\"
block = 256
args = [\"a\", \"b\", { i32 = \"256 * M\" }]
";

/// Exit code and standard error of `pdl kernel chain.toml`.
fn run(folder: &Path, chain: &str, arguments: &[&str]) -> (i32, String) {
    std::fs::write(folder.join("chain.toml"), chain).unwrap();
    let mut command = Command::cargo_bin("pdl").unwrap();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PDL_")) {
        command.env_remove(name);
    }
    let cache = folder.join("cache").display().to_string();
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.arg("kernel").arg(folder.join("chain.toml")).args(["--cache", &cache]).args(arguments);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

struct Case {
    what: &'static str,
    edit: (&'static str, &'static str),
    flags: &'static [&'static str],
    code: i32,
    cause: &'static [&'static str],
    remedy: &'static str,
}

const FILE: &str = "docs/kernel.md says what a chain file holds";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { what: "an unknown kernel", edit: ("\"step\"", "\"stepp\""), flags: &[], code: 1,
        cause: &[":14:10: no source has a kernel stepp, did you mean step; kernels: step"],
        remedy: "write the name as the source does" },
    Case { what: "too few arguments", edit: ("\"b\", { i32 = \"256 * M\" }]", "\"b\"]"), flags: &[], code: 1,
        cause: &[":14:10:", "step(float const*, float*, int) takes 3 arguments, and 2 are given"],
        remedy: "one value a parameter" },
    Case { what: "an argument of another size", edit: ("{ i32", "{ i64"), flags: &[], code: 1,
        cause: &["parameter 2 of step(float const*, float*, int) has 4 bytes, and argument 2 has 8"],
        remedy: "one value a parameter" },
    Case { what: "an offset behind a buffer", edit: ("[\"a\", ", "[{ buffer = \"a\", offset = \"256 * M\" }, "),
        flags: &[], code: 1, cause: &[":17:8:", "lies outside 'a'"], remedy: FILE },
    Case { what: "a source that does not compile", edit: ("\"-O3\"", "\"-O3\", \"-Din=+\""), flags: &[], code: 1,
        cause: &["kernels.cu", "nvcc ended with"], remedy: "what the compiler said stands above" },
    Case { what: "an architecture that is none", edit: ("", ""), flags: &["--arch", "sm_12"], code: 1,
        cause: &["nvcc"], remedy: "" },
    Case { what: "no sync behind a programmatic edge", edit: ("\"-O3\"", "\"-O3\", \"-DBARE\""), flags: &[], code: 4,
        cause: &["cannot put it behind a programmatic edge: step has no sync in its machine code at site-1"],
        remedy: "--unsafe-no-sync measures it all the same" },
    Case { what: "a path outside the folder", edit: ("\"kernels.cu\"", "\"../kernels.cu\""), flags: &[], code: 1,
        cause: &[":1:12: '../kernels.cu' lies outside"], remedy: FILE },
    Case { what: "an absolute path", edit: ("\"kernels.cu\"", "\"/etc/passwd\""), flags: &[], code: 1,
        cause: &[":1:12: '/etc/passwd' lies outside"], remedy: FILE },
    Case { what: "a file outside, as a fill", edit: ("fill = \"iota\"", "fill = { npy = \"../a.npy\" }"), flags: &[],
        code: 1, cause: &["'../a.npy' lies outside"], remedy: FILE },
    Case { what: "an enormous buffer", edit: ("length = \"256 * M\"\nfill", "length = 4000000000000000000\nfill"),
        flags: &[], code: 1, cause: &[":8:10:", "from 1 to"], remedy: FILE },
    Case { what: "a product that overflows", edit: ("length = \"256 * M\"\nfill",
        "length = \"4000000000000000000 * 4 * M\"\nfill"), flags: &[], code: 1, cause: &[":8:10:", "overflow"], remedy: FILE },
    Case { what: "a flag that means something to a shell", edit: ("\"-O3\"", "\"-DX=$(id)\""), flags: &[], code: 1,
        cause: &[":2:10:", "which nvcc hands to a shell"], remedy: FILE },
    Case { what: "an unknown axis", edit: ("", ""), flags: &["--set", "N=3"], code: 2,
        cause: &["the chain file has no axis 'N'", "axes: M"], remedy: "" },
    Case { what: "a trigger that is not tried", edit: ("", ""), flags: &["--trigger", "site-2"], code: 2,
        cause: &["cannot use --trigger site-2: the chain file tries site-1, implicit"], remedy: "" },
];

#[test]
fn each_bad_input_gets_one_line_a_remedy_and_an_exit_code() {
    if let Err(error) = pdl_lab::compile::Nvcc::find() {
        let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
        assert!(!required, "PDL_REQUIRE=codegen: {error}");
        eprintln!("skipped: {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let (code, said) = run(folder.path(), CHAIN, &["--dry-run"]);
    assert_eq!(code, 0, "{said}");
    let mut wrong = Vec::new();
    for case in CASES {
        let (from, to) = case.edit;
        assert!(CHAIN.contains(from), "{}: {from}", case.what);
        let chain = CHAIN.replacen(from, to, 1);
        let (code, said) = run(folder.path(), &chain, &[&["--dry-run"], case.flags].concat());
        let lines: Vec<&str> = said.lines().collect();
        let at = lines.iter().position(|line| line.starts_with("pdl: cannot "));
        let after: &[&str] = at.map_or(&[], |at| &lines[at..]);
        // The line, and at most its remedy.
        let good = code == case.code
            && matches!(after.len(), 1..=2)
            && case.cause.iter().all(|part| after[0].contains(part))
            && match case.remedy {
                "" => true,
                remedy => {
                    after.get(1).is_some_and(|l| l.starts_with("     ") && l.contains(remedy))
                }
            };
        if !good {
            wrong.push(format!("{}: {code}\n{said}", case.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_timeline_needs_stamps() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let (code, said) = run(folder.path(), CHAIN, &["--timeline"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no source has both PDL_STAMP(begin) and PDL_STAMP(end)"), "{said}");
    for other in ["--check", "--dry-run", "--emit-patch"] {
        let (code, said) = run(folder.path(), CHAIN, &["--timeline", other]);
        assert_eq!(code, 2, "{said}");
    }
}
