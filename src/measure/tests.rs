//! Groups on a device that misbehaves on command.

use std::cell::Cell;
use std::time::Duration;

use super::{Ending, Kept, Plan, Stopping, measure_group};
use crate::chain::{Arm, Body, BodyKind, Chain, Preamble, PreambleKind, Shape, Target, Trigger};
use crate::device::{Device, Facts, Flag, Health, Prepared, Proof, Sample, Verification};
use crate::error::Result;
use crate::record::{PlanPoint, SampleRow};
use crate::sim::SimDevice;
use crate::stamps::Stamps;

/// The simulated device, in whose rounds something is wrong. Health is asked for once a round.
struct Moody {
    sim: SimDevice,
    rounds: Cell<u32>,
    wrong: fn(u32) -> Wrong,
}

#[derive(Clone, Copy, Default)]
struct Wrong {
    throttled: bool,
    others: u32,
    /// SM clock at the round's beginning and after samples, MHz.
    clocks: Option<(u32, u32)>,
    sentinel_slower: f64,
    /// Put on the graph's sample.
    flag: Option<Flag>,
}

impl Moody {
    fn new(wrong: fn(u32) -> Wrong) -> Moody {
        Moody { sim: SimDevice::h200(7), rounds: Cell::new(0), wrong }
    }

    /// What is wrong in the round that began last.
    fn now(&self) -> Wrong {
        self.rounds.get().checked_sub(1).map_or(Wrong::default(), self.wrong)
    }
}

impl Device for Moody {
    fn facts(&self) -> &Facts {
        self.sim.facts()
    }

    fn now(&self) -> Duration {
        self.sim.now()
    }

    fn health(&self) -> Health {
        self.rounds.set(self.rounds.get() + 1);
        let wrong = Moody::now(self);
        Health {
            sm_mhz: Some(wrong.clocks.map_or(1980, |clocks| clocks.0)),
            throttle: if wrong.throttled { vec!["sw-thermal-slowdown".into()] } else { vec![] },
            other_processes: Some(wrong.others),
            ..Health::default()
        }
    }

    fn sm_mhz(&self) -> Option<u32> {
        Some(Moody::now(self).clocks.map_or(1980, |clocks| clocks.1))
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        Ok(Box::new(MoodyChain { device: self, arm, chain: self.sim.prepare(chain, arm)? }))
    }
}

struct MoodyChain<'a> {
    device: &'a Moody,
    arm: Arm,
    chain: Box<dyn Prepared + 'a>,
}

impl Prepared for MoodyChain<'_> {
    fn proof(&self) -> &Proof {
        self.chain.proof()
    }

    fn verify(&mut self) -> Result<Verification> {
        self.chain.verify()
    }

    fn sample(&mut self) -> Result<Sample> {
        let mut sample = self.chain.sample()?;
        let wrong = Moody::now(self.device);
        if self.arm == Arm::Sentinel {
            sample.duration_ns *= 1.0 + wrong.sentinel_slower;
        }
        if self.arm == Arm::Graph {
            sample.flags.extend(wrong.flag);
        }
        Ok(sample)
    }

    fn stamps(&mut self, repetitions: u32) -> Result<Option<Stamps>> {
        self.chain.stamps(repetitions)
    }
}

fn plan(stopping: Stopping) -> Plan {
    let chain = Chain {
        nodes: 8,
        shape: Shape { grid_blocks: 4, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body: Body { kind: BodyKind::Fma, target: Target::Ns(4000.0), units: 0 },
        ..Chain::default()
    };
    let fixed = vec![Arm::Stream, Arm::StreamAa, Arm::Graph, Arm::GraphAa, Arm::Sentinel];
    let swept = vec![Arm::GraphFull, Arm::GraphPdl];
    let point = |point: &str, trigger, arms| PlanPoint {
        point: point.to_owned(),
        group: 0,
        trigger,
        arms,
        chain,
    };
    let points = vec![point("p000", None, fixed), point("p001", Some(Trigger::Implicit), swept)];
    Plan { points, seed: 3, stopping }
}

/// Twelve rounds without long chains.
fn rounds(wrong: fn(u32) -> Wrong) -> (Moody, Vec<SampleRow>) {
    let stopping =
        Stopping { rounds_min: 12, rounds_max: 12, long_rounds: 0, ..Stopping::default() };
    let (device, mut kept) = (Moody::new(wrong), Kept::default());
    let plan = plan(stopping);
    let ending = measure_group(&device, &plan, &plan.points, None, &mut kept).unwrap();
    assert!(matches!(ending, Ending::Rounds | Ending::Precision));
    assert_eq!(kept.samples.len(), 12 * 7);
    (device, kept.samples)
}

#[test]
fn each_circumstance_is_flagged_on_the_samples_it_touched() {
    type Touch = fn(u32) -> Wrong;
    let cases: [(Flag, Touch); 5] = [
        (Flag::Throttled, |round| Wrong { throttled: round == 5, ..Wrong::default() }),
        (Flag::CoTenant, |round| Wrong { others: u32::from(round == 5), ..Wrong::default() }),
        (Flag::Clock, |round| Wrong {
            clocks: (round == 5).then_some((1755, 1755)),
            ..Wrong::default()
        }),
        // The clock fell after the round had begun.
        (Flag::Clock, |round| Wrong {
            clocks: (round == 5).then_some((1980, 1935)),
            ..Wrong::default()
        }),
        (Flag::Drift, |round| Wrong {
            sentinel_slower: if round == 5 { 0.05 } else { 0.0 },
            ..Wrong::default()
        }),
    ];
    for (flag, wrong) in cases {
        let (_, samples) = rounds(wrong);
        for sample in samples {
            let expected: &[Flag] = if sample.round == 5 { &[flag] } else { &[] };
            assert_eq!(sample.flags, expected, "{flag:?}: {} {}", sample.round, sample.arm);
        }
    }
}

#[test]
fn flags_of_the_sample_itself_are_kept_beside() {
    let (_, samples) = rounds(|round| Wrong {
        throttled: round == 5,
        flag: (round == 5).then_some(Flag::GateTimeout),
        ..Wrong::default()
    });
    for sample in samples.iter().filter(|sample| sample.round == 5) {
        let expected: &[Flag] = match sample.arm {
            Arm::Graph => &[Flag::GateTimeout, Flag::Throttled],
            _ => &[Flag::Throttled],
        };
        assert_eq!(sample.flags, expected, "{}", sample.arm);
    }
}

#[test]
fn every_arm_runs_once_a_round_the_sentinel_first_and_the_rest_shuffled() {
    let (_, samples) = rounds(|_| Wrong::default());
    let mut orders = std::collections::BTreeSet::new();
    for round in samples.chunk_by(|a, b| a.round == b.round) {
        assert_eq!(round[0].arm, Arm::Sentinel);
        let places: Vec<u32> = round.iter().map(|sample| sample.order).collect();
        assert_eq!(places, (0..7).collect::<Vec<_>>());
        let mut arms: Vec<Arm> = round.iter().map(|sample| sample.arm).collect();
        orders.insert(arms.clone());
        arms.sort();
        arms.dedup();
        assert_eq!(arms.len(), 7);
    }
    assert!(orders.len() > 9, "twelve rounds have {} orders", orders.len());
}

#[test]
fn a_budget_ends_a_group_on_the_device_s_clock() {
    for (budget, ending, least, most) in [
        (Duration::from_nanos(1), Ending::Budget, 1, 1),
        (Duration::from_secs(3600), Ending::Rounds, 500, 500),
    ] {
        let stopping = Stopping {
            rounds_min: 30,
            rounds_max: 500,
            long_rounds: 0,
            group_budget: budget,
            margin_us: 0.0,
            margin_ratio: 0.0,
            ..Stopping::default()
        };
        let (device, mut kept) = (SimDevice::h200(7), Kept::default());
        let plan = plan(stopping);
        let found = measure_group(&device, &plan, &plan.points, None, &mut kept).unwrap();
        let rounds = kept.samples.iter().map(|sample| sample.round + 1).max().unwrap();
        assert_eq!(found, ending);
        assert!((least..=most).contains(&rounds), "{rounds}");
    }
}
