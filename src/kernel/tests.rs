//! From a chain file to code, plan, policy and what is emitted. Needs nvcc for the code.

use super::*;
use crate::chain::{Arm, Chain, L2, Mode, Sites, Submission, Trigger};
use crate::chain_file::{Loaded, read, sites};
use crate::compile::{Cache, Nvcc};
use crate::error::Result;
use crate::measure::Stopping;
use crate::record::Verdict;

const SOURCE: &str = "#include \"pdl_site.cuh\"
__global__ void first(float* x) {
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(1);
  x[threadIdx.x] += 1.0f;
  PDL_TRIGGER_SITE(2);
}
template <int N> __global__ void second(const float* x, float* y, int n) {
#ifndef BARE
  PDL_SYNC_SITE(1);
#endif
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * N;
}
";

const CHAIN: &str = "sources = [\"a.cu\"]
flags = [\"-O3\"]
[axes]
M = [1, 4]
[buffers.x]
type = \"f32\"
length = 64
fill = \"iota\"
[buffers.y]
type = \"f32\"
length = 64
[[nodes]]
kernel = \"first\"
grid = \"M\"
block = 64
args = [\"x\"]
[[nodes]]
kernel = \"second<3>\"
grid = \"M\"
block = 64
args = [\"x\", \"y\", { i32 = 64 }]
";

struct Place {
    _folder: tempfile::TempDir,
    loaded: Loaded,
    cache: Cache,
}

fn place(source: &str, chain: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.cu"), source).unwrap();
    std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
    let loaded = read(&folder.path().join("chain.toml")).unwrap();
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    Place { _folder: folder, loaded, cache }
}

fn build(place: &Place) -> Option<Result<(Build, Vec<Trigger>)>> {
    build_with(place, &[])
}

fn build_with(place: &Place, extra: &[Code]) -> Option<Result<(Build, Vec<Trigger>)>> {
    let nvcc = match Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(error) => {
            let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
            assert!(!required, "PDL_REQUIRE=codegen: {error}");
            eprintln!("skipped: {error}");
            return None;
        }
    };
    let triggers = place.loaded.triggers(sites(&place.loaded.marks().unwrap())).unwrap();
    let mut codes = vec![Code::Off];
    codes.extend(triggers.iter().map(|&trigger| Code::at(trigger)));
    codes.extend(extra);
    let target = Target { arch: "sm_90".into(), capability: (9, 0) };
    let built = Build::new(&place.loaded, &codes, &target, Some(&nvcc), &place.cache);
    Some(built.map(|build| (build, triggers)).map_err(|failure| failure.error))
}

#[test]
fn every_site_has_its_code_and_every_kernel_is_found() {
    let place = place(SOURCE, CHAIN);
    let Some(built) = build(&place) else { return };
    let (build, triggers) = built.unwrap();
    let names: Vec<String> = triggers.iter().map(Trigger::to_string).collect();
    assert_eq!(names, ["site-1", "site-2", "implicit"]);
    for variant in 0..2 {
        let counts = |code: Code| -> Vec<(usize, usize)> {
            let nodes = build.nodes(variant, code).unwrap();
            let kernels = nodes.iter().map(|&node| build.kernel(node));
            kernels.map(|kernel| (kernel.syncs.len(), kernel.triggers.len())).collect()
        };
        assert_eq!(counts(Code::Off), [(0, 0), (0, 0)]);
        assert_eq!(counts(Code::at(triggers[0])), [(1, 1), (1, 0)]);
        assert_eq!(counts(Code::at(Trigger::Implicit)), [(1, 0), (1, 0)]);
    }
    // M changes no machine code: one job a code.
    assert_eq!(build.cubins.len(), 4);
    assert!(build.cubins.iter().all(|cubin| !cubin.variables));
    assert!(build.demand_syncs(&triggers).is_ok());
    let plan = plan(&build, &triggers, L2::Hot, 7, Stopping::quick());
    assert_eq!(plan.groups().len(), 2);
    assert_eq!(plan.points.len(), 2 * 4);
    assert_eq!(plan.points[4].chain.nodes, 20);
    assert_eq!(plan.points[4].chain.body.units, 1);
    assert!(plan.points[5].arms.contains(&Arm::GraphPdl));
    assert!(plan.points[0].arms.contains(&Arm::GraphCompletion));
    // Pipelined groups are of the same chains, behind the isolated ones.
    let both = with_pipelined(plan.clone());
    assert_eq!(both.points[..8], plan.points[..]);
    assert_eq!((both.groups().len(), both.points[8].point.as_str()), (4, "p008"));
    assert_eq!(both.points[12].chain, Chain { mode: Mode::Pipelined, ..plan.points[4].chain });
    // What is timed has a fingerprint of its own.
    let print = build.fingerprint(&triggers);
    assert_eq!((print.len(), &print), (64, &build.fingerprint(&triggers)));
    assert_ne!(print, build.fingerprint(&triggers[..1]));
}

#[test]
fn stamped_delayed_and_bare_code_compiles_beside_the_timed() {
    let source = SOURCE
        .replace(
            "__global__ void first(float* x) {",
            "__global__ void first(float* x) {\n  PDL_STAMP(begin);",
        )
        .replace("+= 1.0f;", "+= 1.0f;\n  PDL_STAMP(added);\n  PDL_STAMP(end);");
    let place = place(&source, CHAIN);
    assert_eq!((place.loaded.stamped(), place.loaded.stamp_names()), (true, vec!["added".into()]));
    let site: Trigger = "site-1".parse().unwrap();
    let (stamped, delayed) = (Code::Stamped(site.sites()), Code::delayed(site).unwrap());
    let bare = Code::without_sync(site);
    let Some(built) = build_with(&place, &[stamped, delayed, bare]) else { return };
    let (build, _) = built.unwrap();
    let first = |code: Code| build.nodes(0, code).unwrap()[0];
    assert!(build.cubins[first(stamped).cubin].variables);
    assert_eq!(build.kernel(first(delayed)).triggers.len(), 1);
    assert!(build.kernel(first(bare)).syncs.is_empty());
    assert_eq!(Code::delayed(Trigger::Implicit), None);
}

#[test]
fn variables_of_a_module_are_seen() {
    for (from, to) in [
        ("__global__ void first", "__device__ float kept[64];\n__global__ void first"),
        ("__global__ void first", "__device__ float kept[2] = {1, 2};\n__global__ void first"),
    ] {
        let source = SOURCE.replacen(from, to, 1).replace("+= 1.0f", "+= kept[0]++");
        let Some(built) = build(&place(&source, CHAIN)) else { return };
        assert!(built.unwrap().0.cubins.iter().all(|cubin| cubin.variables));
    }
}

#[test]
fn what_does_not_fit_is_said_with_its_place() {
    let table = [
        (
            "kernel = \"first\"",
            "kernel = \"frist\"",
            ":13:10: no source has a kernel frist, did you mean first; kernels: first, second<3>, second<…>",
        ),
        ("args = [\"x\"]", "args = []", ":16:8: first(float*) takes 1 argument, and 0 are given"),
        (
            "{ i32 = 64 }",
            "{ i64 = 64 }",
            ":21:8: argument 3 of void second<3>(float const*, float*, int) is an i64 of 8 bytes, and parameter 3 (int) has 4",
        ),
    ];
    for (from, to, expected) in table {
        let Some(built) = build(&place(SOURCE, &CHAIN.replacen(from, to, 1))) else { return };
        let error = built.err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_consumer_without_a_sync_is_refused_behind_programmatic_edges_alone() {
    let bare = CHAIN.replace("\"-O3\"", "\"-O3\", \"-DBARE\"");
    let Some(built) = build(&place(SOURCE, &bare)) else { return };
    let (build_bare, triggers) = built.unwrap();
    let error = build_bare.demand_syncs(&triggers).unwrap_err();
    assert_eq!(error.code(), 4);
    assert!(error.to_string().contains("second<3> has no sync"), "{error}");
    let full = format!("{bare}edge = \"full\"\n");
    let (build_full, triggers) = build(&place(SOURCE, &full)).unwrap().unwrap();
    assert!(build_full.demand_syncs(&triggers).is_ok());
}

fn policy(decisions: &[(i64, Decision)]) -> Policy {
    let row = |&(m, decision): &(i64, Decision)| PolicyRow {
        axes: [("M".to_owned(), m)].into(),
        submission: Submission::Graph,
        decision,
        verdict: Verdict::Helps,
        saved_ns: None,
        saved_lo_ns: None,
        saved_hi_ns: None,
        speedup: None,
    };
    Policy {
        name: "my-chain".into(),
        axis: Some("M".into()),
        device: "a GPU".into(),
        unsafe_no_sync: false,
        rows: decisions.iter().map(row).collect(),
    }
}

#[test]
fn the_header_decides_by_the_nearest_lower_value() {
    let site =
        |bits: u32| Decision::On(Trigger::of_sites(Sites { triggers: bits, syncs: Sites::EVERY }));
    let text = header(&policy(&[(8, site(2)), (1, site(4)), (16, site(2)), (64, Decision::Off)]));
    let body = text.split_once("pdl_policy_my_chain_graph(long M) {\n").unwrap().1;
    let body = body.split_once("}\n").unwrap().0;
    assert_eq!(body, "  if (M >= 64) return -1;\n  if (M >= 8) return 2;\n  return 4;\n");
    assert!(header(&Policy { unsafe_no_sync: true, ..policy(&[]) }).contains("#error"));
}

#[test]
fn the_patch_changes_the_chosen_site_alone() {
    let place = place(SOURCE, CHAIN);
    let marks = place.loaded.marks().unwrap();
    let trigger = Trigger::of_sites(Sites { triggers: 0b100, syncs: Sites::EVERY });
    let text = patch(&marks, trigger, &place.loaded.folder);
    let expected = "--- a/a.cu\n+++ b/a.cu\n@@ -5,3 +5,3 @@\n   x[threadIdx.x] += 1.0f;\n\
                    -  PDL_TRIGGER_SITE(2);\n+  cudaTriggerProgrammaticLaunchCompletion();\n }\n";
    assert_eq!(text, expected);
    assert_eq!(patch(&marks, Trigger::Implicit, &place.loaded.folder), "");
}
