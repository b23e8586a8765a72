//! Two runs that were never measured: what differs between them is set, and has to be found.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) use crate::analysis::fixture::{NODES, record};
use crate::analysis::fixture::{chain, facts};
use crate::chain::{Arm, BodyKind, Dependency, Submission, Trigger};
use crate::compare::{Comparison, MARGIN_RATIO, MARGIN_US, Options, Side, compare_runs};
use crate::device::Health;
use crate::error::Result;
use crate::record::{End, Manifest, PlanPoint, PlanRecord, PointRecord, Run, SampleRow};

/// Triggers of the made-up runs.
pub(crate) const TRIGGERS: [Trigger; 3] =
    [Trigger::AtEntry, Trigger::Segment { at: 4, of: 8 }, Trigger::Implicit];

/// What a process adds to the time of an arm at a trigger, ns a hop.
pub(crate) type Added<'t> = &'t dyn Fn(Arm, Option<Trigger>) -> f64;

/// A run to be made up.
pub(crate) struct Made<'t> {
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    /// Spread of a sample, ns a hop.
    pub(crate) noise_ns: f64,
    pub(crate) added: Added<'t>,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Made { seed: 1, rounds: 40, noise_ns: 6.0, added: &|_, _| 0.0 }
    }
}

impl Made<'_> {
    pub(crate) fn run(&self) -> Run {
        let plan = points();
        let of = |point: &PlanPoint| {
            let arms = point.arms.clone().into_iter();
            let (name, trigger) = (point.point.clone(), point.trigger);
            arms.map(move |arm| (name.clone(), arm, trigger)).collect::<Vec<_>>()
        };
        let cells: Vec<_> = plan.iter().flat_map(of).collect();
        let points: Vec<PointRecord> =
            cells.iter().map(|(point, arm, trigger)| record(point, *arm, *trigger)).collect();
        let samples = self.samples(&cells);
        let end = End {
            ended: String::new(),
            wall_s: 1.0,
            reason: End::DONE.into(),
            groups: vec!["rounds".into()],
            sm_mhz_min: Some(1980),
            sm_mhz_max: Some(1980),
            throttle: Vec::new(),
            health: Health::default(),
        };
        let manifest = manifest(self, plan);
        Run { manifest, points, samples, end: Some(end), notes: Vec::new() }
    }

    pub(crate) fn side(&self) -> Side {
        Side::of(self.run())
    }

    fn samples(&self, cells: &[(String, Arm, Option<Trigger>)]) -> Vec<SampleRow> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let hops = f64::from(NODES - 1);
        let mut samples = Vec::new();
        for round in 0..self.rounds {
            for (order, (point, arm, trigger)) in (0..).zip(cells) {
                let noise = self.noise_ns * (0..4).map(|_| rng.random::<f64>() - 0.5).sum::<f64>();
                let hop_ns = base_ns(*arm, *trigger) + (self.added)(*arm, *trigger) + noise;
                samples.push(SampleRow {
                    point: Arc::from(point.as_str()),
                    arm: *arm,
                    nodes: NODES,
                    round,
                    order,
                    duration_ns: hop_ns * hops + 6000.0,
                    sm_mhz: Some(1980),
                    flags: Vec::new(),
                });
            }
        }
        samples
    }
}

/// What every arm takes, ns a hop.
fn base_ns(arm: Arm, trigger: Option<Trigger>) -> f64 {
    let submission = if arm.submission() == Submission::Stream { 1000.0 } else { 0.0 };
    let saved = match (arm.dependency(), trigger) {
        (Dependency::Full, _) => 0.0,
        (_, Some(Trigger::AtEntry)) => -400.0,
        (_, Some(Trigger::Implicit)) => 230.0,
        _ => 820.0,
    };
    7000.0 + submission - saved
}

fn points() -> Vec<PlanPoint> {
    let own = vec![Arm::Stream, Arm::Graph, Arm::GraphAa, Arm::Sentinel];
    let swept = vec![Arm::StreamFull, Arm::StreamPdl, Arm::GraphFull, Arm::GraphPdl];
    let triggers = std::iter::once(None).chain(TRIGGERS.map(Some));
    let point = |(at, trigger): (usize, Option<Trigger>)| PlanPoint {
        point: format!("p{at:03}"),
        group: 0,
        trigger,
        arms: if trigger.is_none() { own.clone() } else { swept.clone() },
        chain: chain(),
    };
    triggers.enumerate().map(point).collect()
}

fn manifest(made: &Made, points: Vec<PlanPoint>) -> Manifest {
    Manifest {
        schema: crate::record::schema_version(),
        what: "sweep".into(),
        version: "0".into(),
        revision: String::new(),
        started: String::new(),
        argv: Vec::new(),
        environment: Vec::new(),
        seed: made.seed,
        facts: facts(),
        health: Health { sm_mhz: Some(1980), ..Health::default() },
        plan: PlanRecord {
            points,
            rounds_min: made.rounds,
            rounds_max: made.rounds,
            group_budget_s: 1.0,
            margin_us: 0.02,
            margin_ratio: 0.005,
            long_rounds: 0,
            warm_up_s: 1.0,
            stamp_repetitions: 1,
            effective_rounds: 12.0,
        },
        kernel: None,
        attached: None,
    }
}

pub(crate) fn options() -> Options {
    let (margin_us, margin_ratio) = (MARGIN_US, MARGIN_RATIO);
    Options { margin_us, margin_ratio, arms: Vec::new(), accept_mismatch: None }
}

pub(crate) fn compare(a: &Side, b: &Side) -> Result<Comparison> {
    compare_runs(("A", a), ("B", b), &options())
}

/// The same runs with another kind of body.
pub(crate) fn with_body(mut run: Run, kind: BodyKind) -> Run {
    run.manifest.plan.points.iter_mut().for_each(|point| point.chain.body.kind = kind);
    run.points.iter_mut().for_each(|record| record.chain.body.kind = kind);
    run
}
