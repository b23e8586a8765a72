//! On a GPU: every arm computes what the oracle says, edges are what their names say, stamps are in
//! order, and what cannot be run is refused. Skips with a reason where there is no GPU;
//! `PDL_REQUIRE=gpu` makes that a failure.
#![cfg(feature = "cuda")]

use std::sync::{Mutex, MutexGuard};

use clap::ValueEnum;
use pdl_lab::chain::*;
use pdl_lab::device::{Device, EdgeCount, Flag};
use pdl_lab::error::Kind;
use pdl_lab::gpu::{Gpu, open};
use pdl_lab::measure::calibrate;

/// One test at a time: they share the device and time things.
static DEVICE: Mutex<()> = Mutex::new(());

fn gpu() -> Option<(Gpu, MutexGuard<'static, ()>)> {
    let turn = DEVICE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let reason = match open() {
        Ok(Ok(gpu)) => return Some((gpu, turn)),
        Ok(Err(absence)) => format!("{absence:?}"),
        Err(error) => error.to_string(),
    };
    let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.split(',').any(|r| r == "gpu"));
    assert!(!required, "PDL_REQUIRE=gpu: {reason}");
    eprintln!("skipped: {reason}");
    None
}

/// Small, uncalibrated work: enough for every loop to turn.
fn chain(preamble: PreambleKind, body: BodyKind) -> Chain {
    let units = match body {
        BodyKind::Fma => 640,
        BodyKind::Spin => 1500,
        BodyKind::Hbm | BodyKind::L2 => 40_016,
        BodyKind::None | BodyKind::Kernel => 0,
    };
    let fetch = match preamble {
        PreambleKind::None => 0,
        PreambleKind::Alu => 320,
        PreambleKind::Spin => 700,
        PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem => 20_016,
    };
    Chain {
        nodes: 6,
        shape: Shape { grid_blocks: 33, ..Shape::default() },
        preamble: Preamble { kind: preamble, target_ns: 2000.0, units: fetch },
        body: Body { kind: body, target: Target::Ns(4000.0), units },
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

/// Verifies, then samples twice: nothing may be wrong.
fn right(gpu: &Gpu, chain: &Chain, arm: Arm) {
    let mut prepared = gpu.prepare(chain, arm).unwrap_or_else(|e| panic!("{arm} {chain:?}: {e}"));
    let verification = prepared.verify().unwrap();
    assert_eq!(verification.mismatches, 0, "{arm} {chain:?}: {verification:?}");
    assert!(verification.checked > 0);
    for _ in 0..2 {
        let sample = prepared.sample().unwrap();
        assert_eq!(sample.mismatches, 0, "{arm} {chain:?}");
        assert!(sample.duration_ns > 0.0 && !sample.flags.contains(&Flag::GateTimeout));
    }
}

#[test]
fn every_arm_and_trigger_computes_what_the_oracle_says() {
    let Some((gpu, _turn)) = gpu() else { return };
    for body in BodyKind::value_variants().iter().filter(|&&body| body != BodyKind::Kernel) {
        let chain = chain(PreambleKind::Alu, *body);
        for arm in Arm::value_variants() {
            for trigger in Trigger::defaults() {
                if arm.sweeps_trigger() || trigger == Trigger::Implicit {
                    right(&gpu, &chain.with_trigger(trigger), *arm);
                }
            }
        }
    }
}

#[test]
fn every_preamble_and_shape_computes_what_the_oracle_says() {
    let Some((gpu, _turn)) = gpu() else { return };
    let shape = Shape::default();
    let shapes = [
        Shape { grid_blocks: 1, block_threads: 1, ..shape },
        Shape { grid_blocks: 2, block_threads: 33, ..shape },
        Shape { grid_blocks: 700, block_threads: 96, ..shape },
        Shape { grid_blocks: 40, block_threads: 1024, ..shape },
        Shape { grid_blocks: 64, shared_bytes: 100 << 10, ..shape },
        Shape { grid_blocks: 64, cluster_blocks: 4, ..shape },
    ];
    let preambles = PreambleKind::value_variants();
    for (preamble, body) in preambles.iter().flat_map(|p| [(*p, BodyKind::Hbm), (*p, BodyKind::L2)])
    {
        for l2 in [L2::Hot, L2::Rotated] {
            let chain = Chain { l2, ..chain(preamble, body) };
            right(&gpu, &chain.with_trigger(Trigger::Segment { at: 3, of: 8 }), Arm::GraphPdl);
        }
    }
    for shape in shapes {
        for body in [BodyKind::Fma, BodyKind::Hbm] {
            let by = TriggerBy::Block;
            let chain = Chain { shape, trigger_by: by, ..chain(PreambleKind::Alu, body) };
            for arm in [Arm::Graph, Arm::GraphPdl, Arm::StreamPdl, Arm::Flags] {
                right(&gpu, &chain.with_trigger(Trigger::Segment { at: 3, of: 8 }), arm);
            }
        }
    }
}

#[test]
fn a_wrong_value_is_found_on_the_host_and_counted_on_the_device() {
    let Some((gpu, _turn)) = gpu() else { return };
    let chain = Chain { nodes: 5, ..chain(PreambleKind::None, BodyKind::Fma) };
    gpu.spoil_oracle(3, 17);
    let mut prepared = gpu.prepare(&chain, Arm::GraphPdl).unwrap();
    let verification = prepared.verify().unwrap();
    assert_eq!((verification.checked, verification.mismatches), (5 * 33, 1));
    let first = verification.first.unwrap();
    assert_eq!((first.node, first.block), (3, 17));
    assert_eq!(first.found ^ 1, first.expected);
    for _ in 0..2 {
        let sample = prepared.sample().unwrap();
        assert_eq!(sample.mismatches, 1);
        assert!(sample.flags.contains(&Flag::Wrong));
    }
}

#[test]
fn edges_are_what_the_arm_says() {
    let Some((gpu, _turn)) = gpu() else { return };
    let chain = chain(PreambleKind::Alu, BodyKind::Fma);
    for (arm, edge_type, from_port) in [
        (Arm::Stream, "default", "default"),
        (Arm::StreamFull, "default", "default"),
        (Arm::StreamPdl, "programmatic", "programmatic"),
        (Arm::Graph, "default", "default"),
        (Arm::GraphFull, "default", "default"),
        (Arm::GraphPdl, "programmatic", "programmatic"),
        (Arm::GraphCompletion, "programmatic", "launch-completion"),
        (Arm::Flags, "programmatic", "programmatic"),
    ] {
        let prepared = gpu.prepare(&chain, arm).unwrap();
        let (edge_type, from_port) = (edge_type.to_owned(), from_port.to_owned());
        let expected = EdgeCount { edge_type, from_port, count: chain.hops() };
        assert_eq!(prepared.proof().edges, [expected], "{arm}");
        assert!(prepared.proof().ptx_version >= Some(90), "{arm}");
    }
}

#[test]
fn stamps_are_in_order_and_full_dependencies_never_overlap() {
    let Some((gpu, _turn)) = gpu() else { return };
    let error_ns = (gpu.facts().timer_step_ns + gpu.facts().timer_skew_ns.unwrap()) as f64;
    let chain = Chain { nodes: 20, ..chain(PreambleKind::Alu, BodyKind::Fma) };
    for arm in
        [Arm::Stream, Arm::StreamFull, Arm::Graph, Arm::GraphFull, Arm::StreamPdl, Arm::GraphPdl]
    {
        for trigger in [Trigger::AtEntry, Trigger::Segment { at: 4, of: 8 }, Trigger::After] {
            let mut prepared = gpu.prepare(&chain.with_trigger(trigger), arm).unwrap();
            let stamps = prepared.stamps(3).unwrap().unwrap();
            assert_eq!((stamps.nodes(), stamps.grid_blocks), (20, 33));
            for b in &stamps.blocks {
                assert!(b.begin_ns <= b.arrive_ns && b.arrive_ns <= b.release_ns, "{arm} {b:?}");
                assert!(b.release_ns <= b.end_ns && b.sm < gpu.facts().sm_count, "{arm} {b:?}");
                let triggers = !matches!(arm, Arm::Stream | Arm::Graph);
                assert_eq!(b.trigger_ns.is_finite(), triggers, "{arm} {trigger} {b:?}");
            }
            if arm.dependency() == Dependency::Full {
                let gap = stamps.reduce().launch_gap_ns.unwrap();
                assert!(gap > -error_ns, "{arm}: overlap of {gap} ns over full dependencies");
            }
        }
    }
}

#[test]
fn a_stream_chain_longer_than_the_queue_is_measured_in_pieces() {
    let Some((gpu, _turn)) = gpu() else { return };
    let small = Chain { nodes: 5000, ..chain(PreambleKind::None, BodyKind::None) };
    for arm in [Arm::Stream, Arm::StreamPdl] {
        let mut prepared = gpu.prepare(&small, arm).unwrap();
        assert_eq!(prepared.verify().unwrap().mismatches, 0);
        let sample = prepared.sample().unwrap();
        assert_eq!(sample.mismatches, 0);
        assert!(sample.flags.contains(&Flag::Split) || gpu.facts().no_gate.is_some());
        assert!(!sample.flags.contains(&Flag::Watchdog), "{:?}", sample.flags);
    }
}

#[test]
fn what_the_device_cannot_run_is_refused_before_it_is_tried() {
    let Some((gpu, _turn)) = gpu() else { return };
    let chain = chain(PreambleKind::Alu, BodyKind::Fma);
    let shaped = |shape: Shape| Chain { shape, ..chain };
    let shape = Shape { grid_blocks: 64, ..Shape::default() };
    let many = gpu.facts().sm_count * 33;
    let too_much = [
        (shaped(Shape { shared_bytes: MAX_SHARED_BYTES + 1024, ..shape }), Arm::GraphPdl),
        (shaped(Shape { grid_blocks: many, block_threads: 1024, ..shape }), Arm::Persistent),
        (shaped(Shape { cluster_blocks: 4, ..shape }), Arm::Persistent),
        (Chain { nodes: 100_000, ..shaped(Shape { grid_blocks: 2_000_000, ..shape }) }, Arm::Graph),
    ];
    for (chain, arm) in too_much {
        let error = gpu.prepare(&chain, arm).err().unwrap_or_else(|| panic!("{arm} {chain:?}"));
        assert_eq!(error.kind(), Kind::Unsupported, "{arm} {chain:?}: {error}");
    }
    // The device is as it was.
    right(&gpu, &chain, Arm::GraphPdl);
}

#[test]
fn work_takes_the_time_that_was_asked_for() {
    let Some((gpu, _turn)) = gpu() else { return };
    let asked = Chain {
        shape: Shape { grid_blocks: 132, ..Shape::default() },
        ..chain(PreambleKind::Alu, BodyKind::Fma)
    };
    let calibrated = calibrate(&gpu, &asked).unwrap();
    let near = |ns: Option<f64>, asked: f64| (ns.unwrap() / asked - 1.0).abs() < 0.05;
    assert!(near(calibrated.body_ns, 4000.0), "{calibrated:?}");
    assert!(near(calibrated.preamble_ns, 2000.0), "{calibrated:?}");
}

/// A sample that does not end in time is given up: one line, the rows so far, and no hanging process.
#[test]
fn a_device_that_hangs_is_given_up() {
    let Some((gpu, turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let began = std::time::Instant::now();
    let mut command = assert_cmd::Command::cargo_bin("pdl").unwrap();
    // Four seconds of spinning against a deadline of one.
    command.args(["sweep", "--quick", "--body-kind", "spin", "--body-us", "500000"]);
    command.args(["--nodes", "8", "--arm", "graph-pdl", "--trigger", "0/8", "--deadline-s", "1"]);
    let output = command.arg("--out").arg(&run).output().unwrap();
    drop(turn);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("hangs for 1 s"), "{stderr}");
    assert!(stderr.contains("--deadline-s"), "{stderr}");
    assert!(run.join("manifest.json").exists());
    assert!(began.elapsed().as_secs() < 40, "{:?}", began.elapsed());
}
