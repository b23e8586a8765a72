//! What is to be measured, in which order, and when to stop.

use std::time::Duration;

use super::stopping::Stopping;
use crate::chain::{Arm, Body, BodyKind, Chain, Mode, Submission, Target};
use crate::error::{Error, Result};
use crate::record::{PlanPoint, PlanRecord, PointRecord};

/// The marginal period is a slope between N and this many times N nodes.
pub const LONG_FACTOR: u32 = 4;

/// Points in order, the seed of every shuffle, and when to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Points, group after group.
    pub points: Vec<PlanPoint>,
    /// Seed of the order of arms.
    pub seed: u64,
    /// When a group is done.
    pub stopping: Stopping,
}

impl Plan {
    /// The plan as the manifest keeps it.
    pub fn record(&self) -> PlanRecord {
        PlanRecord {
            points: self.points.clone(),
            rounds_min: self.stopping.rounds_min,
            rounds_max: self.stopping.rounds_max,
            group_budget_s: self.stopping.group_budget.as_secs_f64(),
            margin_us: self.stopping.margin_us,
            margin_ratio: self.stopping.margin_ratio,
            long_rounds: self.stopping.long_rounds,
            warm_up_s: self.stopping.warm_up.as_secs_f64(),
            stamp_repetitions: self.stopping.stamp_repetitions,
            effective_rounds: self.stopping.effective_rounds,
        }
    }

    /// The plan of a run that is taken up again.
    ///
    /// # Errors
    /// Times that are none.
    pub fn from_record(record: &PlanRecord, seed: u64) -> Result<Plan> {
        let time = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| Error::failed("read the plan of the run", error))
        };
        let stopping = Stopping {
            rounds_min: record.rounds_min,
            rounds_max: record.rounds_max,
            long_rounds: record.long_rounds,
            group_budget: time(record.group_budget_s)?,
            warm_up: time(record.warm_up_s)?,
            margin_us: record.margin_us,
            margin_ratio: record.margin_ratio,
            stamp_repetitions: record.stamp_repetitions,
            effective_rounds: record.effective_rounds,
        };
        Ok(Plan { points: record.points.clone(), seed, stopping })
    }

    /// The plan with the amounts of work that `records` of the same points were measured with; a
    /// group that none of them ran is left to calibrate.
    pub fn with_work(mut self, records: &[PointRecord]) -> Plan {
        for point in &mut self.points {
            let ran =
                |record: &&PointRecord| record.group == point.group && record.skipped.is_none();
            if let Some(record) = records.iter().find(ran) {
                point.chain.preamble.units = record.chain.preamble.units;
                point.chain.body.units = record.chain.body.units;
            }
        }
        self
    }

    /// Groups of points, in order.
    pub fn groups(&self) -> Vec<&[PlanPoint]> {
        self.points.chunk_by(|a, b| a.group == b.group).collect()
    }

    /// Time the whole plan is expected to take. From the work asked for and constants of an H200:
    /// 1.4 µs a hop, 4.5 µs to queue a stream launch, 60 µs a sample, 15 ms to prepare an arm.
    pub fn expected(&self) -> Duration {
        let groups = self.groups();
        let total: Duration = groups.iter().map(|group| self.expected_group(group)).sum();
        total + self.stopping.warm_up
    }

    fn expected_group(&self, group: &[PlanPoint]) -> Duration {
        let arms = || group.iter().flat_map(|p| p.arms.iter().map(|arm| (p.chain, *arm)));
        let stopping = &self.stopping;
        let preparing = 0.015 + 1e-9 * 5.0 * sample_ns(&group[0].chain, Arm::Graph, 1);
        let preparing = preparing * arms().count() as f64;
        let round = |factor| 1e-9 * arms().map(|(c, arm)| sample_ns(&c, arm, factor)).sum::<f64>();
        // Nearly every group stops by precision soon after the fewest rounds.
        let rounds = f64::from(stopping.rounds_min) * 1.5;
        let rounds = rounds.min(f64::from(stopping.rounds_max)) * round(1);
        let long = match group[0].chain.mode {
            Mode::Isolated => f64::from(stopping.long_rounds) * round(LONG_FACTOR),
            Mode::Pipelined => 0.0,
        };
        let measured = (rounds + long).min(stopping.group_budget.as_secs_f64());
        Duration::from_secs_f64(preparing + measured + stopping.warm_up.as_secs_f64() / 10.0)
    }
}

fn sample_ns(chain: &Chain, arm: Arm, factor: u32) -> f64 {
    const HOP_NS: f64 = 1400.0;
    const QUEUE_NS: f64 = 4500.0;
    const SAMPLE_NS: f64 = 60_000.0;
    let chains = if chain.mode == Mode::Pipelined { 8.0 } else { 1.0 };
    let nodes = f64::from(chain.nodes) * f64::from(factor) * chains;
    let queue = if arm.submission() == Submission::Stream { QUEUE_NS } else { 0.0 };
    SAMPLE_NS + nodes * (chain.preamble.target_ns + body_ns(&chain.body) + HOP_NS + queue)
}

/// The body as asked for; bytes at the bandwidth of an H200.
fn body_ns(body: &Body) -> f64 {
    const BYTES_A_NS: f64 = 4000.0;
    match (body.target, body.kind) {
        (_, BodyKind::None) => 0.0,
        (Target::Ns(ns), _) => ns,
        (Target::Bytes(bytes), BodyKind::L2) => bytes as f64 / BYTES_A_NS / 1.5,
        (Target::Bytes(bytes), _) => bytes as f64 / BYTES_A_NS,
    }
}
