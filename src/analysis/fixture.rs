//! A run that was never measured: the truth is set, and the analysis has to find it.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::chain::{Arm, Chain, Trigger};
use crate::device::{Backend, Facts, Flag, Health, Proof, Verification};
use crate::record::{Manifest, PlanPoint, PlanRecord, PointRecord, SampleRow};

/// Nodes of the short and the long chain.
pub(crate) const NODES: u32 = 51;
pub(crate) const LONG_NODES: u32 = 4 * NODES;
/// Period of the baseline, ns.
pub(crate) const BASELINE_NS: f64 = 6000.0;

pub(crate) fn chain() -> Chain {
    Chain { nodes: NODES, ..Chain::default() }
}

pub(crate) fn record(point: &str, arm: Arm, trigger: Option<Trigger>) -> PointRecord {
    PointRecord {
        point: point.into(),
        group: 0,
        arm,
        trigger: if arm.sweeps_trigger() { trigger } else { arm.fixed_trigger() },
        chain: chain(),
        body_ns: Some(4000.0),
        preamble_ns: Some(2000.0),
        proof: Proof::default(),
        verification: Verification { checked: 132 * u64::from(NODES), ..Verification::default() },
        stamps: None,
        skipped: None,
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        backend: Backend::Gpu,
        name: "NVIDIA H200".into(),
        uuid: "GPU-0".into(),
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
        driver_cuda: 12080,
        runtime_cuda: 12080,
        ecc: Some(true),
        mig: Some(false),
        mps: Some(false),
        sm_mhz_max: Some(1980),
        clocks_locked: None,
        timer_step_ns: 32,
        timer_skew_ns: Some(32),
        queue_depth: 1000,
        no_gate: None,
        simulation: None,
    }
}

/// A run of one group, its samples shuffled within each round.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub manifest: Manifest,
    pub points: Vec<PointRecord>,
    pub samples: Vec<SampleRow>,
}

/// What is true of an arm: time it saves a hop against the baseline, ns.
pub(crate) type Truth<'t> = &'t dyn Fn(Arm, Option<Trigger>) -> f64;

impl Fixture {
    /// Graph arms at `triggers`, `rounds` rounds, durations exact but for a gaussian-like noise of
    /// `noise_ns` a chain and a drift that all arms of a round share.
    pub fn new(triggers: &[Trigger], rounds: u32, noise_ns: f64, truth: Truth) -> Fixture {
        Fixture::seeded(triggers, rounds, noise_ns, truth, 42)
    }

    /// The same with noise of its own.
    pub fn seeded(
        triggers: &[Trigger],
        rounds: u32,
        noise_ns: f64,
        truth: Truth,
        seed: u64,
    ) -> Fixture {
        let own = vec![Arm::Graph, Arm::GraphAa, Arm::Sentinel];
        let point = |at: usize, trigger, arms| PlanPoint {
            point: format!("p{at:03}"),
            group: 0,
            trigger,
            arms,
            chain: chain(),
        };
        let mut plan = vec![point(0, None, own)];
        for (at, &trigger) in triggers.iter().enumerate() {
            plan.push(point(at + 1, Some(trigger), vec![Arm::GraphFull, Arm::GraphPdl]));
        }
        let mut cells = Vec::new();
        for point in &plan {
            cells.extend(point.arms.iter().map(|&arm| (point.point.clone(), arm, point.trigger)));
        }
        let points = cells.iter().map(|(point, arm, trigger)| record(point, *arm, *trigger));
        let points = points.collect();
        let samples = samples(&mut cells, rounds, noise_ns, truth, seed);
        let plan = PlanRecord {
            points: plan,
            rounds_min: rounds,
            rounds_max: rounds,
            group_budget_s: 1.0,
            margin_us: 0.02,
            margin_ratio: 0.005,
            long_rounds: 8,
            warm_up_s: 1.0,
            stamp_repetitions: 5,
            effective_rounds: 12.0,
        };
        let manifest = Manifest {
            schema: "1.0".into(),
            what: "sweep".into(),
            version: "0".into(),
            revision: String::new(),
            started: String::new(),
            argv: Vec::new(),
            environment: Vec::new(),
            seed: 1,
            facts: facts(),
            health: Health { sm_mhz: Some(1980), ..Health::default() },
            plan,
            kernel: None,
            attached: None,
        };
        Fixture { manifest, points, samples }
    }

    pub fn record_mut(&mut self, arm: Arm, trigger: Option<Trigger>) -> &mut PointRecord {
        let found = self.points.iter_mut().find(|one| one.arm == arm && one.trigger == trigger);
        found.expect("the fixture has the arm")
    }

    pub fn flag(&mut self, flag: Flag, of: impl Fn(&SampleRow) -> bool) {
        self.samples.iter_mut().filter(|s| of(s)).for_each(|sample| sample.flags.push(flag));
    }
}

fn samples(
    cells: &mut [(String, Arm, Option<Trigger>)],
    rounds: u32,
    noise_ns: f64,
    truth: Truth,
    seed: u64,
) -> Vec<SampleRow> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut samples = Vec::new();
    for (nodes, rounds) in [(NODES, rounds), (LONG_NODES, rounds.min(5))] {
        for round in 0..rounds {
            cells.shuffle(&mut rng);
            // Ten times the noise, the same for the whole round: pairing has to remove it.
            let shared = 10.0 * noise_ns * (f64::from(round) / 3.0).sin();
            for (order, (point, arm, trigger)) in (0..).zip(cells.iter()) {
                let exact =
                    f64::from(nodes) * BASELINE_NS - f64::from(nodes - 1) * truth(*arm, *trigger);
                let noise = noise_ns * (0..4).map(|_| rng.random::<f64>() - 0.5).sum::<f64>();
                samples.push(SampleRow {
                    point: point.as_str().into(),
                    arm: *arm,
                    nodes,
                    round,
                    order,
                    duration_ns: exact + shared + noise,
                    sm_mhz: Some(1980),
                    flags: Vec::new(),
                });
            }
        }
    }
    samples
}
