//! Chains with a sleep behind every trigger.

use std::rc::Rc;

use pdl_lab::attach::{Options, RaceVerdict};
use pdl_lab::chain::{Arm, L2, Submission};
use pdl_lab::device::Device;
use pdl_lab::gpu::{RaceSubject, UserChains};
use pdl_lab::kernel::{DelayedRun, plan};
use pdl_lab::measure::Stopping;

use super::{gpu, pdl, place_of};

/// `fill` hands values on in a buffer and in a variable of the module. With -DEARLY, `use` reads the
/// variable before its sync, though long after `fill` has written it, if nothing holds that up.
const SOURCE: &str = r#"
#include "pdl_site.cuh"
__device__ unsigned scratch[4096];
__device__ unsigned place() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void fill(const unsigned* in, unsigned* out) {
  PDL_SYNC_SITE(1);
  const unsigned value = in[place()];
  PDL_TRIGGER_SITE(1);
  *(volatile unsigned*)(scratch + place()) = value + 7;
  out[place()] = value;
}
__global__ void use(const unsigned* in, unsigned* out) {
#ifdef EARLY
  const unsigned long long until = pdl_site::now_ns() + 20000;
  while (pdl_site::now_ns() < until) __nanosleep(32);
  const unsigned kept = *(volatile unsigned*)(scratch + place());
#endif
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(1);
#ifndef EARLY
  const unsigned kept = *(volatile unsigned*)(scratch + place());
#endif
  out[place()] = kept + in[place()];
}
__global__ void clear(const unsigned* in, unsigned* out) {
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(1);
  *(volatile unsigned*)(scratch + place()) = 0;
  out[place()] = in[place()];
}
"#;

fn chain(flags: &str) -> String {
    let mut text = format!("sources = [\"kernels.cu\"]\nflags = [\"-O3\"{flags}]\nrepeat = 3\n");
    for (name, fill) in [("a", "fill = \"iota\"\n"), ("b", ""), ("c", ""), ("d", "")] {
        text += &format!("[buffers.{name}]\ntype = \"u32\"\nlength = 4096\n{fill}");
    }
    for (kernel, from, to) in [("fill", "a", "b"), ("use", "b", "c"), ("clear", "c", "d")] {
        text += &format!(
            "[[nodes]]\nkernel = \"{kernel}\"\ngrid = 32\nblock = 128\nargs = [\"{from}\", \"{to}\"]\n"
        );
    }
    text
}

#[test]
fn an_early_read_that_only_a_delay_catches() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let gpu = Rc::new(gpu);
    for (flags, early) in [("", false), (", \"-DEARLY\"", true)] {
        let place = place_of(&gpu, &nvcc, SOURCE, &chain(flags));
        place.build.demand_syncs(&place.triggers).unwrap();
        let device = UserChains::new(&gpu, &place.loaded, &place.build);
        let plan = plan(&place.build, &place.triggers, L2::Hot, 1, Stopping::quick());
        let trigger = place.triggers[0];
        let chain = plan.points.iter().find(|p| p.trigger == Some(trigger)).unwrap().chain;
        // Undelayed, both arms are right.
        for arm in [Arm::GraphPdl, Arm::StreamPdl] {
            let verification = device.prepare(&chain, arm).unwrap().verify().unwrap();
            assert_eq!(verification.mismatches, 0, "{flags} {arm}: {verification:?}");
        }
        // What lies in no buffer, the race check of an edge does not see.
        let subject = RaceSubject { variant: 0, trigger, without_sync: None };
        for edge in device.races(&gpu, &subject, &Options::default()).unwrap() {
            let quiet = match edge.submission {
                Submission::Graph => edge.race.verdict == RaceVerdict::Clean,
                Submission::Stream => {
                    matches!(edge.race.verdict, RaceVerdict::Clean | RaceVerdict::NotTested)
                }
            };
            assert!(quiet, "{flags}: {edge:?}");
        }
        // Its module has a variable, which a consumer out of another module would not share.
        assert!(!device.may_lose_sync(0, trigger, 1));
        let delayed: Vec<DelayedRun> = device.delayed(&chain).unwrap();
        let forms: Vec<&str> = delayed.iter().map(|run| run.submission.name()).collect();
        assert_eq!(forms, ["graph", "stream"]);
        for run in &delayed {
            assert_eq!(run.wrong_bytes > 0, early, "{flags}: {run:?}");
        }
        let implicit = plan.points.iter().rfind(|p| p.trigger.is_some()).unwrap();
        assert!(device.delayed(&implicit.chain).unwrap().is_empty(), "nothing to sleep behind");
    }
}

#[test]
fn the_program_ends_with_4_where_a_delay_shows_a_race() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    for (flags, code, said) in [
        ("", 0, "2 runs with a sleep behind every trigger, 0 wrong"),
        (", \"-DEARLY\"", 4, "bytes of 98304 are wrong at site-1 in a graph: c["),
    ] {
        std::fs::write(folder.path().join("chain.toml"), chain(flags)).unwrap();
        let done = pdl(folder.path()).args(["kernel", "chain.toml", "--check"]).assert().code(code);
        let output = done.get_output();
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(said), "{text}");
    }
}
