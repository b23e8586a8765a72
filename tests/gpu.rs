//! On a GPU: every arm computes what the oracle says, edges are what their names say, and the
//! instruments work. Skips with a reason where there is no GPU; `PDL_REQUIRE=gpu` makes that a
//! failure.
#![cfg(feature = "cuda")]

use std::sync::{Mutex, MutexGuard};

use clap::ValueEnum;
use pdl_lab::chain::*;
use pdl_lab::device::{Device, Flag};
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

fn chain(body: BodyKind, preamble: PreambleKind) -> Chain {
    Chain {
        nodes: 50,
        shape: Shape::default(),
        preamble: Preamble { kind: preamble, target_ns: 2000.0, units: 0 },
        body: Body { kind: body, target: Target::Ns(4000.0), units: 0 },
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

#[test]
fn every_arm_computes_what_the_oracle_says() {
    let Some((gpu, _turn)) = gpu() else { return };
    println!("{:#?}", gpu.facts());
    for body in [BodyKind::Spin, BodyKind::Fma, BodyKind::Hbm, BodyKind::L2] {
        let preamble = if body == BodyKind::Spin { PreambleKind::Spin } else { PreambleKind::Alu };
        let calibrated = calibrate(&gpu, &chain(body, preamble)).unwrap();
        println!("{body} units {} body {:?} preamble {:?}", calibrated.chain.body.units, calibrated.body_ns, calibrated.preamble_ns);
        for arm in Arm::value_variants() {
            for trigger in [Trigger::AtEntry, Trigger::Segment { at: 0, of: 8 }, Trigger::Segment { at: 4, of: 8 }, Trigger::Segment { at: 8, of: 8 }, Trigger::After, Trigger::Implicit] {
                if !arm.sweeps_trigger() && trigger != Trigger::Implicit {
                    continue;
                }
                let chain = calibrated.chain.with_trigger(trigger);
                let mut prepared = gpu.prepare(&chain, *arm).unwrap();
                let verification = prepared.verify().unwrap();
                assert_eq!(verification.mismatches, 0, "{body} {arm} {trigger}: {verification:?}");
                let mut times: Vec<f64> = Vec::new();
                for _ in 0..11 {
                    let sample = prepared.sample().unwrap();
                    assert_eq!(sample.mismatches, 0, "{body} {arm} {trigger}");
                    assert!(!sample.flags.contains(&Flag::GateTimeout));
                    times.push(sample.duration_ns / 50.0);
                }
                times.sort_by(f64::total_cmp);
                let reduced = prepared.stamps(3).unwrap().map(|stamps| stamps.reduce());
                println!("{body} {arm:>16} {trigger:>8} {:.0} ns  {:?}", times[5], reduced.map(|r| (r.launch_gap_ns, r.hop_latency_ns, r.body_ns, r.useful_ns, r.parked_ns, r.sm_blocks_max)));
                if body == BodyKind::Fma {
                    println!("   {:?}", prepared.proof());
                }
            }
        }
    }
}
