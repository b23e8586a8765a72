//! Chains of one's own kernels on a GPU. Without one the tests skip with a reason;
//! `PDL_REQUIRE=gpu` makes that a failure.
#![cfg(feature = "cuda")]

mod delays;
mod examples;
mod inputs;
mod runs;
mod timelines;
mod tuning;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pdl_lab::chain::{Arm, L2, Trigger};
use pdl_lab::chain_file::{Loaded, read, sites};
use pdl_lab::compile::{Cache, Nvcc};
use pdl_lab::device::{Device, Flag};
use pdl_lab::gpu::{Gpu, UserChains, open};
use pdl_lab::kernel::{Build, Code, Target, plan};
use pdl_lab::measure::Stopping;

static TURN: Mutex<()> = Mutex::new(());

fn gpu() -> Option<(Gpu, Nvcc, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let reason = match (open(), Nvcc::find()) {
        (Ok(Ok(gpu)), Ok(nvcc)) => return Some((gpu, nvcc, turn)),
        (Ok(Err(absence)), _) => format!("{absence:?}"),
        (Err(error), _) | (_, Err(error)) => error.to_string(),
    };
    let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.split(',').any(|r| r == "gpu"));
    assert!(!required, "PDL_REQUIRE=gpu: {reason}");
    eprintln!("skipped: {reason}");
    None
}

const SOURCE: &str = r#"
#include "pdl_site.cuh"
// Adds one to every value of its input, slowly: late stores catch who reads early.
__global__ void step(const unsigned* in, unsigned* out, int n, unsigned spin) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
#ifndef NO_SYNC
  PDL_SYNC_SITE(1);
#endif
  PDL_TRIGGER_SITE(2);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned value = i < n ? *(volatile const unsigned*)(in + i) : 0;
  const unsigned long long until = pdl_site::now_ns() + spin;
  while (pdl_site::now_ns() < until) __nanosleep(32);
  if (i < n) out[i] = value + 1;
  PDL_TRIGGER_SITE(3);
  PDL_STAMP(end);
}
__global__ void unlike(unsigned* out, unsigned* ticket) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(ticket, 1u);
}
__global__ void forever(volatile unsigned* word) {
  while (*word != 1) __nanosleep(1000);
}
"#;

const CHAIN: &str = r#"
sources = ["kernels.cu"]
flags = ["-O3"]
repeat = 4
[axes]
N = 4096
SPIN = 20000
[buffers.a]
type = "u32"
length = "N"
fill = "iota"
[buffers.b]
type = "u32"
length = "N"
[buffers.c]
type = "u32"
length = "N"
[[nodes]]
kernel = "step"
grid = "N / 128"
block = 128
args = ["a", "b", { i32 = "N" }, { u32 = "SPIN" }]
[[nodes]]
kernel = "step"
grid = "N / 128"
block = 128
args = ["b", "c", { i32 = "N" }, { u32 = "SPIN" }]
"#;

struct Place {
    _folder: tempfile::TempDir,
    loaded: Loaded,
    build: Build,
    triggers: Vec<Trigger>,
}

fn place(gpu: &Gpu, nvcc: &Nvcc, chain: &str) -> Place {
    place_of(gpu, nvcc, SOURCE, chain)
}

fn place_of(gpu: &Gpu, nvcc: &Nvcc, source: &str, chain: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), source).unwrap();
    std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
    let loaded = read(&folder.path().join("chain.toml")).unwrap();
    let triggers = loaded.triggers(sites(&loaded.marks().unwrap())).unwrap();
    let mut codes = vec![Code::Off];
    codes.extend(triggers.iter().flat_map(|&t| [Code::at(t), Code::Stamped(t.sites())]));
    codes.extend(triggers.iter().filter_map(|&t| Code::delayed(t)));
    codes.push(Code::without_sync(triggers[0]));
    let capability = gpu.facts().capability;
    let arch = format!("sm_{}{}", capability.0, capability.1);
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    let build =
        Build::new(&loaded, &codes, &Target { arch, capability }, Some(nvcc), &cache).unwrap();
    Place { _folder: folder, loaded, build, triggers }
}

#[test]
fn every_arm_of_a_chain_file_computes_what_the_stream_arm_does() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let place = place(&gpu, &nvcc, CHAIN);
    place.build.demand_syncs(&place.triggers).unwrap();
    let device = UserChains::new(&gpu, &place.loaded, &place.build);
    let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
    let (mut programmatic, mut completion) = (0, 0);
    for point in &plan.points {
        for &arm in point.arms.iter().filter(|&&arm| arm != Arm::Sentinel) {
            let mut prepared = device.prepare(&point.chain, arm).unwrap();
            let verification = prepared.verify().unwrap();
            // Copies of b and c of four repeats; a is only read.
            assert_eq!(verification.checked, 2 * 4 * 4096 * 4, "{arm}");
            assert_eq!(verification.mismatches, 0, "{arm}: {:?}", verification.place);
            let sample = prepared.sample().unwrap();
            assert_eq!((sample.mismatches, sample.flags), (0, Vec::<Flag>::new()), "{arm}");
            // Eight nodes, each of 20 µs.
            assert!((150e3..400e3).contains(&sample.duration_ns), "{arm} {}", sample.duration_ns);
            let edges = &prepared.proof().edges;
            assert_eq!(edges.iter().map(|edge| edge.count).sum::<u32>(), 7);
            if arm == Arm::GraphCompletion {
                let ports: Vec<&str> = edges.iter().map(|edge| edge.from_port.as_str()).collect();
                assert_eq!(ports, ["launch-completion"]);
                completion += 1;
            }
            if matches!(arm, Arm::GraphPdl | Arm::StreamPdl) {
                assert!(prepared.proof().armed(), "{arm} {edges:?}");
                programmatic += 1;
            }
        }
    }
    assert_eq!((programmatic, completion), (2 * 4, 1));
}

#[test]
fn stamps_show_that_a_secondary_begins_before_its_primary_ends() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let place = place(&gpu, &nvcc, CHAIN);
    let device = UserChains::new(&gpu, &place.loaded, &place.build);
    let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
    let point = |name: &str| {
        let trigger: Trigger = name.parse().unwrap();
        plan.points.iter().find(|point| point.trigger == Some(trigger)).unwrap().chain
    };
    let gap = |name: &str, arm: Arm| {
        let mut prepared = device.prepare(&point(name), arm).unwrap();
        let reduced = prepared.stamps(3).unwrap().expect("the kernel has stamps").reduce();
        (reduced.launch_gap_ns.unwrap(), reduced.parked_ns.unwrap())
    };
    for (full, pdl) in [(Arm::GraphFull, Arm::GraphPdl), (Arm::StreamFull, Arm::StreamPdl)] {
        let (over_full, _) = gap("site-2", full);
        let (over_programmatic, parked) = gap("site-2", pdl);
        assert!(over_full > 0.0, "{over_full}");
        // The trigger comes right after the sync, 20 µs before the end.
        assert!(over_programmatic < -10e3 && parked > 10e3, "{over_programmatic} {parked}");
    }
}

#[test]
fn a_consumer_without_a_sync_is_refused_and_caught() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let chain = CHAIN.replace("\"-O3\"", "\"-O3\", \"-DNO_SYNC\"");
    let place = place(&gpu, &nvcc, &chain);
    assert_eq!(place.build.demand_syncs(&place.triggers).unwrap_err().code(), 4);
    let device = UserChains::new(&gpu, &place.loaded, &place.build);
    let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
    let early = plan.points.iter().find(|p| p.trigger.is_some_and(|t| t.sites().triggers == 2));
    let chain = early.unwrap().chain;
    for (arm, wrong) in [(Arm::GraphFull, false), (Arm::GraphPdl, true), (Arm::StreamPdl, true)] {
        let mut prepared = device.prepare(&chain, arm).unwrap();
        let verification = prepared.verify().unwrap();
        assert_eq!(verification.mismatches > 0, wrong, "{arm} {verification:?}");
        let sample = prepared.sample().unwrap();
        assert_eq!(sample.flags.contains(&Flag::Wrong), wrong, "{arm}");
    }
}

#[test]
fn the_check_alone_names_the_edge_in_both_forms_and_ends_with_4() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    // An edge, whether it is caught without its sync, and the exit code.
    for (flags, code, expected) in [
        ("", 0, ["graph clean caught", "stream clean caught"]),
        (", \"-DNO_SYNC\"", 4, ["graph reads-early –", "stream reads-early –"]),
    ] {
        let chain = CHAIN.replace("\"-O3\"", &format!("\"-O3\"{flags}"));
        std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
        let done = pdl(folder.path())
            .args(["kernel", "chain.toml", "--check", "--unsafe-no-sync"])
            .assert()
            .code(code);
        let text = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        for line in expected {
            let words: Vec<&str> = line.split_whitespace().collect();
            let told = text.lines().any(|told| {
                let told: Vec<&str> = told.split_whitespace().collect();
                told.starts_with(&["step", "→", "step"]) && told.ends_with(&words)
            });
            assert!(told, "{words:?} in {text}");
        }
    }
}

#[test]
fn results_that_differ_from_run_to_run_are_refused() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let chain = r#"
sources = ["kernels.cu"]
repeat = 2
[buffers.out]
type = "u32"
length = 131072
[buffers.ticket]
type = "u32"
length = 1
fill = "zeros"
[[nodes]]
kernel = "unlike"
grid = 1024
block = 128
args = ["out", "ticket"]
edge = "full"
[verify]
outputs = ["out"]
"#;
    let place = place(&gpu, &nvcc, chain);
    let device = UserChains::new(&gpu, &place.loaded, &place.build);
    let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
    let error = device.prepare(&plan.points[0].chain, Arm::Stream).err().unwrap();
    assert!(error.to_string().contains("two runs over full edges differ"), "{error}");
}

#[test]
fn a_file_with_tolerances_says_whether_the_kernels_are_right() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let values =
        |add: u32| -> Vec<u8> { (0..4096_u32).flat_map(|i| (i + add).to_le_bytes()).collect() };
    for (add, right) in [(2, true), (3, false)] {
        let bytes =
            pdl_lab::chain_file::Array::write(pdl_lab::chain_file::Element::U32, &values(add));
        let chain = format!("{CHAIN}[verify]\nnpy = [{{ buffer = \"c\", file = \"c.npy\" }}]\n");
        let place = place(&gpu, &nvcc, &chain);
        std::fs::write(place.loaded.folder.join("c.npy"), bytes).unwrap();
        let device = UserChains::new(&gpu, &place.loaded, &place.build);
        let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
        let prepared = device.prepare(&plan.points[0].chain, Arm::Graph);
        match right {
            true => drop(prepared.unwrap()),
            false => {
                let error = prepared.err().unwrap();
                assert!(error.code() == 4 && error.to_string().contains("c[0] is 2"), "{error}");
            }
        }
    }
    drop(folder);
}

/// A process of its own: the device is given up with it.
#[test]
fn a_kernel_that_never_ends_is_given_up() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let chain = r#"
sources = ["kernels.cu"]
repeat = 2
[buffers.word]
type = "u32"
length = 1
fill = "zeros"
[[nodes]]
kernel = "forever"
grid = 1
block = 1
args = ["word"]
edge = "full"
"#;
    let file = folder.path().join("chain.toml");
    std::fs::write(&file, chain).unwrap();
    let began = std::time::Instant::now();
    let failed = pdl(folder.path())
        .args(["kernel", &file.display().to_string(), "--deadline-s", "2"])
        .assert()
        .failure()
        .code(1);
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(said.contains("the device hangs for 2 s"), "{said}");
    assert!(began.elapsed().as_secs() < 60);
}

/// The program that was built with these tests, or that lies beside them in a pack.
fn pdl(folder: &Path) -> assert_cmd::Command {
    let exe = std::env::current_exe().unwrap();
    let packed = exe.parent().and_then(Path::parent).map(|root| root.join("pdl"));
    let mut command = match packed.filter(|path| path.is_file()) {
        Some(path) => assert_cmd::Command::new(path),
        None => assert_cmd::Command::cargo_bin("pdl").unwrap(),
    };
    command.current_dir(folder);
    command
}
