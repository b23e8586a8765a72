//! What `pdl kernel` says to bad chain files and flags: one line, a remedy, an exit code. Needs nvcc:
//! without one the test skips with a reason, and `PDL_REQUIRE=codegen` makes that a failure.

use std::path::Path;
use std::process::Output;

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
template <int Width>
__global__ void wide(const float* in, float* out, double scale) {
  __shared__ float kept[256];
  PDL_SYNC_SITE(1);
  kept[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = kept[255 - threadIdx.x] * Width * scale;
}
__global__ void hungry(const float* in, float* out, int n) {
  PDL_SYNC_SITE(1);
  float kept[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) kept[i] = in[(threadIdx.x + i) % n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 160; ++i) out[(threadIdx.x + i) % n] = kept[i];
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
    let output = output(folder, chain, arguments);
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn output(folder: &Path, chain: &str, arguments: &[&str]) -> Output {
    std::fs::write(folder.join("chain.toml"), chain).unwrap();
    let mut command = Command::cargo_bin("pdl").unwrap();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PDL_")) {
        command.env_remove(name);
    }
    let cache = folder.join("cache").display().to_string();
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.arg("kernel").arg(folder.join("chain.toml")).args(["--cache", &cache]).args(arguments);
    command.output().unwrap()
}

/// Whether there is a compiler to test with.
fn compiler() -> bool {
    let found = pdl_lab::compile::Nvcc::find();
    if let Err(error) = &found {
        let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
        assert!(!required, "PDL_REQUIRE=codegen: {error}");
        eprintln!("skipped: {error}");
    }
    found.is_ok()
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
        cause: &[":14:10: no source has a kernel stepp, did you mean step; kernels: hungry, step, wide<…>"],
        remedy: "write the name as the source does" },
    Case { what: "a template without an instance", edit: ("\"step\"", "\"wide\""), flags: &[], code: 1,
        cause: &[":14:10: no source has a kernel wide, did you mean wide<…>; kernels: hungry, step, wide<…>"],
        remedy: "name an instance of the template, such as wide<128>" },
    Case { what: "a misspelt template", edit: ("\"step\"", "\"wid<3>\""), flags: &[], code: 1,
        cause: &[":14:10: nvcc makes no kernel wid<3>: ", "did you mean wide<…>; kernel templates: wide<…>"],
        remedy: "write an instance as C++ does" },
    Case { what: "a template with another argument", edit: ("\"step\"", "\"wide<float>\""), flags: &[], code: 1,
        cause: &[":14:10: nvcc makes no kernel wide<float>: ", "; kernel templates: wide<…>"],
        remedy: "write an instance as C++ does" },
    Case { what: "an instance of what is no template", edit: ("\"step\"", "\"step<3>\""), flags: &[], code: 1,
        cause: &[":14:10: nvcc makes no kernel step<3>: "], remedy: "write an instance as C++ does" },
    Case { what: "too few arguments", edit: ("\"b\", { i32 = \"256 * M\" }]", "\"b\"]"), flags: &[], code: 1,
        cause: &[":17:8: step(float const*, float*, int) takes 3 arguments, and 2 are given"],
        remedy: "one value a parameter" },
    Case { what: "an argument of another size", edit: ("{ i32", "{ i64"), flags: &[], code: 1,
        cause: &[":17:8: argument 3 of step(float const*, float*, int) is an i64 of 8 bytes, and parameter 3 (int) has 4"],
        remedy: "one value a parameter" },
    Case { what: "a floating-point number for a whole one", edit: ("{ i32 = \"256 * M\" }", "{ f32 = 256 }"),
        flags: &[], code: 1,
        cause: &[":17:8: argument 3 of step(float const*, float*, int) is an f32, and parameter 3 is of type int"],
        remedy: "a typed number" },
    Case { what: "a number for a pointer", edit: ("[\"a\", ", "[{ u64 = 64 }, "), flags: &[], code: 1,
        cause: &[":17:8: argument 1 of step(float const*, float*, int) is a u64, and parameter 1 is of type float const*"],
        remedy: "a buffer's name for a pointer" },
    Case { what: "a buffer for a number", edit: ("\"step\"\ngrid = \"M\"\nblock = 256\nargs = [\"a\", \"b\", { i32 = \"256 * M\" }]",
        "\"wide<3>\"\ngrid = 1\nblock = 256\nargs = [\"a\", \"b\", \"a\"]"), flags: &[], code: 1,
        cause: &[":17:8: argument 3 of void wide<3>(float const*, float*, double) is buffer a, and parameter 3 is of type double"],
        remedy: "a typed number" },
    Case { what: "more registers than an SM has", edit: ("\"step\"\ngrid = \"M\"\nblock = 256", "\"hungry\"\ngrid = 1\nblock = 1024"),
        flags: &[], code: 1,
        cause: &[":16:9: a block of 1024 threads of hungry takes ", ", and an SM has 65536"],
        remedy: "--maxrregcount=64" },
    Case { what: "more shared memory than any GPU allows",
        edit: ("\"step\"\ngrid = \"M\"\nblock = 256\nargs = [\"a\", \"b\", { i32 = \"256 * M\" }]",
        "\"wide<3>\"\ngrid = 1\nblock = 256\nshared = 232448\nargs = [\"a\", \"b\", { f64 = 1 }]"), flags: &[], code: 1,
        cause: &[":17:10: a block of wide<3> takes 234496 bytes of shared memory, ", "and 232448 by its launch"],
        remedy: "make one of them smaller" },
    Case { what: "no args at all", edit: ("args = [\"a\", \"b\", { i32 = \"256 * M\" }]\n", ""), flags: &[], code: 1,
        cause: &[":14:10: step(float const*, float*, int) takes 3 arguments, and 0 are given"],
        remedy: "one value a parameter" },
    Case { what: "an offset behind a buffer", edit: ("[\"a\", ", "[{ buffer = \"a\", offset = \"256 * M\" }, "),
        flags: &[], code: 1, cause: &[":17:8:", "lies outside 'a'"], remedy: FILE },
    Case { what: "a source that does not compile", edit: ("\"-O3\"", "\"-O3\", \"-Din=+\""), flags: &[], code: 1,
        cause: &["kernels.cu", "nvcc ended with"], remedy: "what the compiler said stands above" },
    Case { what: "an architecture that nvcc does not know", edit: ("", ""), flags: &["--arch", "sm_999"], code: 1,
        cause: &["nvcc"], remedy: "" },
    Case { what: "an architecture that is none", edit: ("", ""), flags: &["--arch", "90"], code: 2,
        cause: &["cannot use --arch 90: '90' is no architecture such as sm_90"], remedy: "leave --arch out" },
    Case { what: "an architecture without programmatic launches", edit: ("", ""), flags: &["--arch", "sm_80"], code: 2,
        cause: &["cannot use --arch sm_80: programmatic launches need sm_90 or newer"], remedy: "leave --arch out" },
    Case { what: "the same in the file", edit: ("repeat = 2", "repeat = 2\narch = \"sm_80\""), flags: &[], code: 1,
        cause: &[":4:8: programmatic launches need sm_90 or newer"], remedy: "leave arch out" },
    Case { what: "a plan as a table of results", edit: ("", ""), flags: &["--format", "csv"], code: 2,
        cause: &["cannot print a dry run so"], remedy: "use --format table or json" },
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
        cause: &["the chain file has no axis 'N'", "axes: M"], remedy: "--set takes an axis" },
    Case { what: "a trigger that is not tried", edit: ("", ""), flags: &["--trigger", "site-2"], code: 2,
        cause: &["cannot use --trigger site-2: the chain file tries site-1, implicit"], remedy: "name some of these" },
];

#[test]
fn each_bad_input_gets_one_line_a_remedy_and_an_exit_code() {
    if !compiler() {
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

#[test]
fn a_dry_run_says_what_was_checked_and_what_was_not() {
    if !compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let done = output(folder.path(), CHAIN, &["--dry-run"]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    for expected in [
        // 512 elements of 4 bytes in one copy of a and two of b, at M = 2.
        "device memory: 6 KiB in buffers with their copies, the most of any set (at M = 2);",
        "checked: every kernel was found in machine code for sm_90, at every choice of sites",
        "checked: arguments of step: number, sizes, and whether each is a pointer, ",
        "checked: every kernel behind a programmatic edge has a sync in its machine code",
        "not checked: whether the memory is there",
        "not checked: results and races: pdl kernel FILE --check",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let done = output(folder.path(), CHAIN, &["--dry-run", "--format", "json"]);
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(found["buffer_bytes"], 6144);
    assert_eq!(found["points"].as_array().unwrap().len(), 2 * 3);
    assert_eq!(found["variants"].as_array().unwrap().len(), 2);
    // What C does not tell is said to be unchecked.
    let plain = SOURCE.replace("__global__ void step", "extern \"C\" __global__ void step");
    std::fs::write(folder.path().join("kernels.cu"), plain).unwrap();
    let float = CHAIN.replace("{ i32 = \"256 * M\" }", "{ f32 = 256 }");
    let done = output(folder.path(), &float, &["--dry-run"]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("not checked: types of the arguments of step: "), "{text}");
    // A null pointer is no mistake; another type of elements could be meant.
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let other = CHAIN.replace("[\"a\", \"b\"", "[{ u64 = 0 }, \"b\"").replace("f32", "f64");
    let (code, said) = run(folder.path(), &other, &["--dry-run"]);
    assert_eq!(code, 0, "{said}");
    let doubt =
        "warning: argument 2 of step(float const*, float*, int) is float*, and buffer b holds f64";
    assert!(said.contains(doubt), "{said}");
    // Emitting is for what was measured.
    for other in [&["--emit-patch"][..], &["--emit-header", "policy.h"]] {
        let (code, said) = run(folder.path(), CHAIN, &[&["--dry-run"], other].concat());
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("cannot be used with"), "{said}");
    }
}

#[test]
fn a_library_is_looked_at_without_a_driver() {
    let Ok(nvcc) = pdl_lab::compile::Nvcc::find() else { return assert!(!compiler()) };
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let build = |macros: &[&str], name: &str| {
        let built = std::process::Command::new(&nvcc.path)
            .args(["-shared", "-Xcompiler", "-fPIC", "-std=c++17", "--no-compress", "-arch=sm_90"])
            .args(macros)
            .arg("-I")
            .arg(root.join("include"))
            .arg("-I")
            .arg(root.join("cuda"))
            .arg("-o")
            .arg(folder.path().join(name))
            .arg(root.join("examples/hook/hook.cu"))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    };
    build(&[], "libhook.so");
    build(&["-Dpdl_memory=other_memory"], "libnone.so");
    std::fs::write(folder.path().join("text.so"), "no library").unwrap();
    let look = |name: &str, more: &[&str]| {
        let path = folder.path().join(name).display().to_string();
        let mut command = Command::cargo_bin("pdl").unwrap();
        // No device is seen, on whatever machine.
        command.env("CUDA_VISIBLE_DEVICES", "").args(["kernel", "--library", &path]).args(more);
        let done = command.output().unwrap();
        let text = [&done.stdout[..], &done.stderr[..]].concat();
        (done.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
    };
    let table: [(&str, &[&str], i32, &[&str]); 6] = [
        (
            "libhook.so",
            &["--dry-run"],
            0,
            &[
                "exports pdl_launch, pdl_memory, pdl_init",
                "norm, sm_90: syncs 1",
                "checked: it is a shared library, and exports the hook",
                "not checked: nodes and edges of what pdl_launch queues",
            ],
        ),
        ("libhook.so", &["--dry-run", "--format", "json"], 0, &["\"exports\": [", "not_checked"]),
        ("libhook.so", &["--dry-run", "--format", "csv"], 2, &["use --format table or json"]),
        ("libhook.so", &["--dry-run", "--emit-patch"], 2, &["cannot be used with"]),
        ("libnone.so", &["--dry-run"], 1, &["it exports no pdl_memory", "include/pdl_hook.h"]),
        ("text.so", &["--dry-run"], 1, &["it is no shared library"]),
    ];
    for (name, more, expected, parts) in table {
        let (code, text) = look(name, more);
        assert_eq!(code, expected, "{name} {more:?}: {text}");
        parts.iter().for_each(|part| assert!(text.contains(part), "{name}, {part}: {text}"));
    }
    let (code, text) = look("libhook.so", &[]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("--dry-run"), "{text}");
}
