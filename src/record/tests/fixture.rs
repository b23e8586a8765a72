//! A small run: two points, three arms, a handful of rounds.

use std::path::Path;

use jiff::Timestamp;

use crate::chain::{
    Arm, Body, BodyKind, Chain, Dependency, L2, Mode, Preamble, PreambleKind, Shape, Submission,
    Target, Trigger, TriggerBy,
};
use crate::device::{Backend, EdgeCount, Facts, Flag, Health, Proof, Verification};
use crate::error::Result;
use crate::record::{
    End, ExposedBy, LimitBy, Manifest, PlanPoint, PlanRecord, PointRecord, ProofVerdict, RunDir,
    SampleRow, SummaryRow, Verdict, schema_version,
};
use crate::stamps::Reduced;

pub(crate) const ARMS: [Arm; 3] = [Arm::Graph, Arm::GraphFull, Arm::GraphPdl];

pub(crate) fn now() -> Timestamp {
    "2026-11-29T21:05:00Z".parse().unwrap()
}

pub(crate) fn chain() -> Chain {
    Chain {
        nodes: 50,
        shape: Shape::default(),
        preamble: Preamble { kind: PreambleKind::Alu, target_ns: 2000.0, units: 481 },
        body: Body { kind: BodyKind::Fma, target: Target::Ns(4000.0), units: 963 },
        trigger: Trigger::Segment { at: 4, of: 8 },
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

fn facts() -> Facts {
    Facts {
        backend: Backend::Sim,
        name: "H200".into(),
        uuid: String::new(),
        sm_count: 132,
        capability: (9, 0),
        l2_bytes: 50 << 20,
        memory_bytes: 141 << 30,
        sm_threads: 2048,
        sm_blocks: 32,
        sm_registers: 65536,
        sm_shared_bytes: 228 << 10,
        block_shared_bytes: 227 << 10,
        driver: String::new(),
        driver_cuda: 0,
        runtime_cuda: 0,
        ecc: Some(true),
        mig: Some(false),
        mps: None,
        sm_mhz_max: Some(1980),
        clocks_locked: None,
        timer_step_ns: 32,
        timer_skew_ns: Some(3),
        queue_depth: 1022,
        no_gate: None,
        simulation: None,
    }
}

pub(crate) fn manifest() -> Manifest {
    let point = |point: &str, at| PlanPoint {
        point: point.into(),
        group: 0,
        trigger: Some(Trigger::Segment { at, of: 8 }),
        arms: ARMS.to_vec(),
        chain: chain(),
    };
    Manifest {
        schema: schema_version(),
        what: "sweep".into(),
        version: "0.1.0".into(),
        revision: "031fd3e-dirty".into(),
        started: now().to_string(),
        argv: vec!["pdl".into(), "sweep".into(), "--quick".into()],
        environment: vec![("PDL_SEED".into(), "7".into())],
        seed: u64::MAX,
        facts: facts(),
        health: Health { sm_mhz: Some(1980), power_w: Some(118.3), ..Health::default() },
        plan: PlanRecord {
            points: vec![point("p000", 0), point("p001", 4)],
            rounds_min: 5,
            rounds_max: 100,
            group_budget_s: 2.5,
            margin_us: 0.02,
            margin_ratio: 0.005,
            long_rounds: 8,
            warm_up_s: 1.0,
            stamp_repetitions: 5,
            effective_rounds: 12.0,
        },
        kernel: None,
        attached: None,
    }
}

pub(crate) fn point(name: &str, arm: Arm) -> PointRecord {
    let edge =
        EdgeCount { edge_type: "programmatic".into(), from_port: "programmatic".into(), count: 49 };
    PointRecord {
        point: name.into(),
        group: 0,
        arm,
        trigger: Some(Trigger::Segment { at: 4, of: 8 }),
        chain: chain(),
        body_ns: Some(4012.3),
        preamble_ns: Some(1998.7),
        proof: Proof { kernel: "pdl::body".into(), edges: vec![edge], ..Proof::default() },
        verification: Verification { checked: 6600, ..Verification::default() },
        stamps: Some(Reduced { launch_gap_ns: Some(-1873.1), ..Reduced::default() }),
        skipped: None,
    }
}

/// Row `n` of a run: rounds of three arms.
pub(crate) fn sample(n: u32) -> SampleRow {
    let order = n % 3;
    SampleRow {
        point: if n.is_multiple_of(2) { "p000".into() } else { "p001".into() },
        arm: ARMS[order as usize],
        nodes: 50,
        round: n / 3,
        order,
        duration_ns: 211_000.5 + f64::from(n),
        sm_mhz: (n % 5 != 4).then_some(1980),
        flags: if n % 4 == 3 { vec![Flag::NoGate, Flag::CoTenant] } else { Vec::new() },
    }
}

pub(crate) fn end(reason: &str) -> End {
    End {
        ended: now().to_string(),
        wall_s: 12.25,
        reason: reason.into(),
        groups: vec!["precision".into()],
        sm_mhz_min: Some(1965),
        sm_mhz_max: Some(1980),
        throttle: Vec::new(),
        health: Health::default(),
    }
}

/// Writes two points and `samples` rows into a new run at `dir`; no end.
pub(crate) fn record(dir: &Path, samples: u32) -> Result<RunDir> {
    let mut run = RunDir::create(Some(dir), "sweep", now())?;
    run.write_manifest(&manifest())?;
    run.append_point(&point("p000", Arm::Graph))?;
    run.append_point(&point("p001", Arm::GraphPdl))?;
    for n in 0..samples {
        run.append_sample(&sample(n))?;
    }
    Ok(run)
}

/// A row with every cell filled.
pub(crate) fn summary_row() -> SummaryRow {
    let ns = Some(4210.5);
    SummaryRow {
        point: "p001".into(),
        arm: Arm::GraphPdl,
        submission: Submission::Graph,
        dependency: Dependency::Programmatic,
        trigger: Some(Trigger::Segment { at: 4, of: 8 }),
        nodes: 50,
        grid_blocks: 132,
        block_threads: 128,
        shared_bytes: 0,
        cluster_blocks: 1,
        trigger_by: TriggerBy::Thread,
        preamble_kind: PreambleKind::Alu,
        preamble_ns: Some(1998.7),
        body_kind: BodyKind::Fma,
        body_ns: Some(4012.3),
        l2: L2::Hot,
        mode: Mode::Isolated,
        samples: 40,
        period_ns: ns,
        period_lo_ns: ns,
        period_hi_ns: ns,
        marginal_ns: ns,
        baseline: Some(Arm::Graph),
        saved_ns: Some(-0.3),
        saved_lo_ns: Some(-1.2),
        saved_hi_ns: Some(0.6),
        speedup: Some(1.2345),
        speedup_lo: Some(1.2),
        speedup_hi: Some(1.3),
        code_cost_ns: Some(0.0),
        primary_slowed_ns: Some(12.5),
        verdict: Some(Verdict::Helps),
        proof: Some(ProofVerdict::Active),
        correct: Some(true),
        launch_gap_ns: Some(-1873.1),
        hop_latency_ns: Some(412.0),
        useful_ns: Some(1500.0),
        parked_ns: Some(373.1),
        limit_ns: Some(4012.3),
        contamination: Some(0.9712),
        contamination_lo: Some(0.96),
        contamination_hi: Some(0.98),
        limit_by: Some(LimitBy::Release),
        constants: "h200 (measured)".into(),
        exposed_ns: Some(12.3),
        exposed_by: Some(ExposedBy::Stamps),
        exposed_launch_ns: Some(12.3),
        exposed_placement_ns: Some(12.3),
        exposed_preamble_ns: Some(12.3),
        exposed_flush_ns: Some(12.3),
        exposed_release_ns: Some(12.3),
        exposed_drain_ns: Some(12.3),
        exposed_contention_ns: Some(12.3),
        exposed_ends_ns: Some(12.3),
        exposed_unexplained_ns: Some(12.3),
        predicted_ns: Some(12.3),
        predicted_saved_ns: Some(12.3),
        error_pct: Some(12.3),
        not_predicted: "no SM".into(),
        backend: Backend::Sim,
        device: "H200, \"SXM\" SIMULATED".into(),
        reason: "a|b".into(),
    }
}
