//! Rows of a sweep from the closed form of one hop: a chain of equal kernels in which the
//! secondary's preamble hides behind what is left of the primary after its trigger.

use std::collections::BTreeMap;

use crate::chain::{
    Arm, Body, BodyKind, Chain, Dependency, L2, Mode, Preamble, PreambleKind, Shape, Submission,
    Target, Trigger, TriggerBy,
};
use crate::device::{Backend, Flag};
use crate::record::{ExposedBy, LimitBy, PlanPoint, ProofVerdict, SampleRow, SummaryRow, Verdict};

use super::Context;

/// Least differences that the fixture's verdicts call an effect, ns.
const MARGIN_NS: f64 = 20.0;

/// A sweep: its plan, summary rows and samples.
pub(super) struct Fixture {
    pub(super) ctx: Context,
    pub(super) rows: Vec<SummaryRow>,
    pub(super) samples: Vec<SampleRow>,
}

/// The arms of the default sweep and the noise floor.
pub(super) const ARMS: [Arm; 7] = [
    Arm::Stream,
    Arm::StreamFull,
    Arm::StreamPdl,
    Arm::Graph,
    Arm::GraphAa,
    Arm::GraphFull,
    Arm::GraphPdl,
];

/// A chain of 50 nodes over the default shape.
pub(super) fn chain(kind: BodyKind, body_us: f64) -> Chain {
    Chain {
        nodes: 50,
        shape: Shape::default(),
        preamble: Preamble { kind: PreambleKind::Alu, target_ns: 2000.0, units: 1 },
        body: Body { kind, target: Target::Ns(body_us * 1e3), units: 1 },
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

/// A steady stand-in for noise, −1..1.
fn wobble(seed: f64) -> f64 {
    (seed * 12.9898).sin() * (seed * 78.233 + 1.0).cos()
}

/// Period of an arm in ns: body and exposed hop.
fn period_ns(chain: &Chain, arm: Arm, trigger: Option<Trigger>) -> f64 {
    let Target::Ns(body) = chain.body.target else { unreachable!("fixtures ask for times") };
    let body = body * 1.0475;
    let preamble = chain.preamble.target_ns;
    let latency = if arm.submission() == Submission::Stream { 1950.0 } else { 1000.0 };
    let code = match trigger {
        Some(t) if t.order() < 2.0 => 30.0,
        _ => 12.0,
    };
    let launch = 620.0 + 0.15 * (latency - 1000.0);
    let full = body + preamble + latency;
    let left = match trigger {
        Some(Trigger::AtEntry) => body + preamble,
        Some(Trigger::Segment { at, of }) => body * (1.0 - f64::from(at) / f64::from(of)),
        _ => 0.0,
    };
    let programmatic = body + code + (preamble + launch - left).max(480.0);
    // Streaming bodies suffer from whatever reads beside them; most so late in the body.
    let contention = match (chain.body.kind, trigger) {
        (BodyKind::Hbm, Some(Trigger::AtEntry)) => 0.35 * body,
        (BodyKind::Hbm, Some(Trigger::Segment { at, of })) if at * 8 >= of * 6 && at < of => {
            0.62 * full
        }
        _ => 0.0,
    };
    match arm {
        Arm::StreamPdl | Arm::GraphPdl => programmatic + contention,
        Arm::StreamFull | Arm::GraphFull => full + code,
        Arm::GraphCompletion => body + code + 700.0,
        Arm::Flags => body + 760.0,
        Arm::Persistent => body + preamble + 1230.0,
        _ => full,
    }
}

fn row(point: &PlanPoint, arm: Arm, trigger: Option<Trigger>) -> SummaryRow {
    let chain = &point.chain;
    let seed = f64::from(point.group) * 31.0
        + arm as u8 as f64 * 7.0
        + trigger.map_or(0.0, |t| t.order() + 2.0);
    let noise = 6.0 * wobble(seed);
    let period = period_ns(chain, arm, trigger) + noise;
    let base = arm.baseline().map(|b| period_ns(chain, b, None));
    let scale = f64::from(chain.nodes) / f64::from(chain.nodes - 1);
    let saved = base.map(|b| (b - period) * scale);
    let half = 8.0 + 5.0 * wobble(seed + 3.0).abs();
    let verdict = saved.map(|s| match s {
        s if s - half > MARGIN_NS => Verdict::Helps,
        s if s + half < -MARGIN_NS => Verdict::Hurts,
        s if s.abs() + half < MARGIN_NS => Verdict::Equivalent,
        _ => Verdict::Inconclusive,
    });
    let body = body_ns(chain);
    let programmatic = arm.dependency() == Dependency::Programmatic;
    let parked = trigger.filter(|_| programmatic).map(|t| match t {
        Trigger::AtEntry => body - 1700.0,
        Trigger::Segment { at, of } => {
            (body * (1.0 - f64::from(at) / f64::from(of)) - 2100.0).max(40.0)
        }
        _ => 35.0,
    });
    SummaryRow {
        point: point.point.clone(),
        arm,
        submission: arm.submission(),
        dependency: arm.dependency(),
        trigger,
        nodes: chain.nodes,
        grid_blocks: chain.shape.grid_blocks,
        block_threads: chain.shape.block_threads,
        shared_bytes: chain.shape.shared_bytes,
        cluster_blocks: chain.shape.cluster_blocks,
        trigger_by: chain.trigger_by,
        preamble_kind: chain.preamble.kind,
        preamble_ns: Some(chain.preamble.target_ns),
        body_kind: chain.body.kind,
        body_ns: Some(body),
        l2: chain.l2,
        mode: chain.mode,
        samples: 60,
        period_ns: Some(period),
        period_lo_ns: Some(period - half),
        period_hi_ns: Some(period + half),
        marginal_ns: None,
        baseline: arm.baseline(),
        saved_ns: saved,
        saved_lo_ns: saved.map(|s| s - half),
        saved_hi_ns: saved.map(|s| s + half),
        speedup: base.map(|b| b / period),
        speedup_lo: base.map(|b| b / (period + half)),
        speedup_hi: base.map(|b| b / (period - half)),
        code_cost_ns: None,
        primary_slowed_ns: parked.map(|_| (period_ns(chain, arm, trigger) - body).max(0.0) * 0.1),
        verdict,
        proof: programmatic.then_some(ProofVerdict::Active),
        correct: Some(true),
        launch_gap_ns: None,
        hop_latency_ns: None,
        useful_ns: parked.map(|p| if p > 100.0 { 2000.0 } else { 900.0 }),
        parked_ns: parked,
        limit_ns: Some(body),
        contamination: None,
        contamination_lo: None,
        contamination_hi: None,
        limit_by: None,
        constants: String::new(),
        exposed_ns: None,
        exposed_by: None,
        exposed_launch_ns: None,
        exposed_placement_ns: None,
        exposed_preamble_ns: None,
        exposed_flush_ns: None,
        exposed_release_ns: None,
        exposed_drain_ns: None,
        exposed_contention_ns: None,
        exposed_ends_ns: None,
        exposed_unexplained_ns: None,
        predicted_ns: None,
        predicted_saved_ns: None,
        error_pct: None,
        not_predicted: String::new(),
        backend: Backend::Gpu,
        device: "NVIDIA H200".to_owned(),
        reason: String::new(),
    }
}

fn body_ns(chain: &Chain) -> f64 {
    match chain.body.target {
        Target::Ns(ns) => ns * 1.0475,
        Target::Bytes(bytes) => bytes as f64,
    }
}

/// A sweep over `chains` × `triggers` × `arms`, one group a chain.
pub(super) fn sweep(chains: &[Chain], triggers: &[Trigger], arms: &[Arm]) -> Fixture {
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for (group, chain) in chains.iter().enumerate() {
        let places = std::iter::once(None).chain(triggers.iter().copied().map(Some));
        for trigger in places {
            let point = PlanPoint {
                point: format!("p{:03}", points.len()),
                group: group as u32,
                trigger,
                arms: arms.to_vec(),
                chain: chain.with_trigger(trigger.unwrap_or(Trigger::Implicit)),
            };
            for &arm in arms {
                if arm.sweeps_trigger() == trigger.is_some() {
                    rows.push(row(&point, arm, trigger.or(arm.fixed_trigger())));
                }
            }
            points.push(point);
        }
    }
    let samples = rows.iter().flat_map(samples).collect();
    let both = [Submission::Graph, Submission::Stream];
    let floors_us: BTreeMap<_, f64> = (0..chains.len() as u32)
        .flat_map(|group| both.map(|submission| ((group, submission), 0.021)))
        .collect();
    let caption = "NVIDIA H200 · driver 580.159.04 · CUDA 13.0 · revision 0123abc".to_owned();
    let ctx = Context { caption, points, floors_us, ..Context::default() };
    Fixture { ctx, rows, samples }
}

/// Sixty rounds of a row; a few samples are special.
fn samples(row: &SummaryRow) -> Vec<SampleRow> {
    let period = row.period_ns.unwrap_or(0.0);
    (0..60u32)
        .map(|round| {
            let seed = f64::from(round) + period;
            let tail = if round % 29 == 28 { 180.0 } else { 0.0 };
            let noise = 22.0 * wobble(seed) + 9.0 * wobble(seed * 1.7) + tail;
            let flags = match round % 30 {
                7 => vec![Flag::Clock],
                19 => vec![Flag::GateTimeout],
                _ => vec![],
            };
            SampleRow {
                point: row.point.as_str().into(),
                arm: row.arm,
                nodes: row.nodes,
                round,
                order: 0,
                duration_ns: (period + noise) * f64::from(row.nodes),
                sm_mhz: Some(1980),
                flags,
            }
        })
        .collect()
}

/// The default sweep.
pub(super) fn default_sweep() -> Fixture {
    let chains = [chain(BodyKind::Fma, 4.0), chain(BodyKind::Hbm, 4.0)];
    sweep(&chains, &Trigger::defaults(), &ARMS)
}

/// The default sweep with constants, its exposed time in parts, and a prediction.
pub(super) fn divided() -> Fixture {
    divided_of(default_sweep())
}

/// The same of another sweep.
pub(super) fn divided_of(mut fixture: Fixture) -> Fixture {
    fixture.ctx.predicted = Some("model: events, SIMULATED".to_owned());
    for (at, row) in fixture.rows.iter_mut().enumerate() {
        let (Some(period), Some(body)) = (row.period_ns, row.body_ns) else { continue };
        let exposed = period - body;
        row.constants = "h200 (measured)".to_owned();
        row.limit_by = Some(LimitBy::Release);
        row.limit_ns = Some(body + 340.0);
        row.exposed_ns = Some(exposed);
        row.exposed_by = Some(ExposedBy::Stamps);
        let negative = if at % 3 == 0 { -40.0 } else { 0.0 };
        row.exposed_contention_ns = Some(negative);
        row.exposed_drain_ns = Some(90.0);
        row.exposed_flush_ns = Some(220.0);
        row.exposed_release_ns = Some(117.0);
        row.exposed_launch_ns = Some(0.4 * exposed);
        row.exposed_placement_ns = Some(25.0);
        row.exposed_preamble_ns = Some(0.3 * exposed);
        row.exposed_ends_ns = Some(64.0);
        let known = negative + 90.0 + 220.0 + 117.0 + 25.0 + 64.0 + 0.7 * exposed;
        row.exposed_unexplained_ns = Some(exposed - known);
        row.predicted_ns = Some(period * (1.0 + 0.05 * wobble(at as f64)));
        row.predicted_saved_ns = row.saved_ns.map(|saved| saved * 0.9);
        row.error_pct = Some(5.0 * wobble(at as f64));
    }
    fixture
}

/// The row of a group's arm at a trigger, to be spoiled.
pub(super) fn row_mut(
    fixture: &mut Fixture,
    group: u32,
    arm: Arm,
    trigger: Trigger,
) -> &mut SummaryRow {
    let points: Vec<_> =
        fixture.ctx.points.iter().filter(|p| p.group == group).map(|p| p.point.clone()).collect();
    fixture
        .rows
        .iter_mut()
        .find(|r| r.arm == arm && r.trigger == Some(trigger) && points.contains(&r.point))
        .expect("the fixture has the row")
}

/// A row without a value, of this verdict.
pub(super) fn spoil(row: &mut SummaryRow, verdict: Verdict, reason: &str) {
    row.verdict = Some(verdict);
    row.correct = (verdict == Verdict::Wrong).then_some(false);
    row.reason = reason.to_owned();
    if verdict == Verdict::Skipped {
        row.period_ns = None;
        row.saved_ns = None;
    }
}
