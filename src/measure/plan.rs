//! What is to be measured, in which order, and when to stop.

use std::time::Duration;

use super::stopping::Stopping;
use crate::device::{Facts, Health};
use crate::error::{Error, Result};
use crate::record::{Manifest, PlanPoint, PlanRecord, PointRecord, schema_version};

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

    /// The manifest of a run of this plan, called `what`, with nothing in it of the process that
    /// measures: no version, revision, time, command line or environment.
    pub fn manifest(&self, what: &str, facts: &Facts, health: &Health) -> Manifest {
        Manifest {
            schema: schema_version(),
            what: what.into(),
            version: String::new(),
            revision: String::new(),
            started: String::new(),
            argv: Vec::new(),
            environment: Vec::new(),
            seed: self.seed,
            facts: facts.clone(),
            health: health.clone(),
            plan: self.record(),
            kernel: None,
            attached: None,
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
}
