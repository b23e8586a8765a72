//! Both models held against a recorded run of a GPU: the error at every point.

use super::predict;
use crate::analysis::{Answer, Summary};
use crate::chain::{Arm, Chain, Trigger};
use crate::profile::{Model, Profile};
use crate::record::{PointRecord, SummaryRow, Verdict};
use crate::stats::quantile;

/// A row of a run beside what the models say of it. Periods in ns.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Point of the run.
    pub point: String,
    /// Group of the run.
    pub group: u32,
    /// Arm.
    pub arm: Arm,
    /// Trigger.
    pub trigger: Option<Trigger>,
    /// The chain as it was measured.
    pub chain: Chain,
    /// Measured period.
    pub measured_ns: f64,
    /// What the measurement says of it against its baseline.
    pub verdict: Option<Verdict>,
    /// Whether its trigger is in the measured plateau; `None` where there is no plateau.
    pub in_plateau: Option<bool>,
    /// Period by the closed form; `None` where it says nothing.
    pub closed_ns: Option<f64>,
    /// Period by the event-driven model.
    pub events_ns: Option<f64>,
}

impl Compared {
    /// What `model` says.
    pub fn by(&self, model: Model) -> Option<f64> {
        match model {
            Model::Closed => self.closed_ns,
            Model::Events => self.events_ns,
        }
    }
}

/// Compares every row that has a period with both models over `profile`. A model gets what stands
/// in the plan once the amounts of work are set: the shape, the trigger, multiply-adds a thread,
/// bytes a block, deadlines. It gets no time that was measured in the run.
pub fn compare(profile: &Profile, points: &[PointRecord], summary: &Summary) -> Vec<Compared> {
    let mut compared = Vec::new();
    for record in points.iter().filter(|record| record.arm != Arm::Sentinel) {
        let same = |row: &&SummaryRow| row.point == record.point && row.arm == record.arm;
        let Some(row) = summary.rows.iter().find(same) else { continue };
        let Some(measured_ns) = row.period_ns else { continue };
        let own = |answer: &&Answer| (answer.group, answer.arm) == (record.group, record.arm);
        let answer = summary.answers.iter().find(own);
        let plateau = answer.and_then(|answer| answer.plateau.as_ref());
        let trigger = record.trigger.unwrap_or(record.chain.trigger);
        let chain = record.chain.with_trigger(trigger);
        let of = |model| predict(profile, model, &chain, record.arm).ok();
        compared.push(Compared {
            point: record.point.clone(),
            group: record.group,
            arm: record.arm,
            trigger: record.trigger,
            chain: record.chain,
            measured_ns,
            verdict: row.verdict,
            in_plateau: plateau.map(|plateau| plateau.triggers.contains(&trigger)),
            closed_ns: of(Model::Closed),
            events_ns: of(Model::Events),
        });
    }
    compared
}

/// How far a model is off over some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Rows that the model says something of.
    pub rows: usize,
    /// Median of the relative errors' sizes.
    pub median: f64,
    /// Their 95th percentile.
    pub p95: f64,
    /// The largest.
    pub most: f64,
}

/// The errors of `model` over `rows`; `None` where it says nothing of any.
pub fn errors<'a>(rows: impl Iterator<Item = &'a Compared>, model: Model) -> Option<Errors> {
    let error = |row: &Compared| Some((row.by(model)? / row.measured_ns - 1.0).abs());
    let sizes: Vec<f64> = rows.filter_map(error).collect();
    let at = |level| quantile(&sizes, level);
    Some(Errors { rows: sizes.len(), median: at(0.5)?, p95: at(0.95)?, most: at(1.0)? })
}

/// Effects against their baselines: how many the measurement decides (it helps or hurts) and the
/// model covers, and how many of these have the right sign by `model`.
pub fn signs(rows: &[Compared], model: Model) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for row in rows {
        let helps = match row.verdict {
            Some(Verdict::Helps) => true,
            Some(Verdict::Hurts) => false,
            _ => continue,
        };
        let baseline = row.arm.baseline();
        let same = |other: &&Compared| other.group == row.group && Some(other.arm) == baseline;
        let base = rows.iter().find(same).and_then(|base| base.by(model));
        let (Some(base_ns), Some(row_ns)) = (base, row.by(model)) else { continue };
        all += 1;
        right += usize::from((row_ns < base_ns) == helps);
    }
    (all, right)
}

/// Groups and arms with a measured plateau that the model covers: how many there are, and in how
/// many the model's best trigger is in it.
pub fn best_triggers(rows: &[Compared], model: Model) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    let subjects = [Arm::StreamPdl, Arm::GraphPdl];
    let mut lanes: Vec<(u32, Arm)> = rows.iter().map(|row| (row.group, row.arm)).collect();
    lanes.sort();
    lanes.dedup();
    for (group, arm) in lanes.into_iter().filter(|lane| subjects.contains(&lane.1)) {
        let lane = rows.iter().filter(|row| (row.group, row.arm) == (group, arm));
        let chosen = lane.filter_map(|row| Some((row.by(model)?, row.in_plateau?)));
        let Some((_, inside)) = chosen.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        all += 1;
        right += usize::from(inside);
    }
    (all, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{
        Body, BodyKind, L2, Mode, Preamble, PreambleKind, Shape, Target, TriggerBy,
    };

    fn row(
        arm: Arm,
        trigger: Option<Trigger>,
        (measured_ns, events_ns): (f64, f64),
        (verdict, in_plateau): (Option<Verdict>, Option<bool>),
    ) -> Compared {
        let chain = Chain {
            nodes: 50,
            shape: Shape::default(),
            preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
            body: Body { kind: BodyKind::Spin, target: Target::Ns(0.0), units: 0 },
            trigger: trigger.unwrap_or(Trigger::Implicit),
            trigger_by: TriggerBy::Thread,
            l2: L2::Hot,
            mode: Mode::Isolated,
        };
        let (closed_ns, events_ns) = (None, Some(events_ns));
        let point = "p000".to_owned();
        Compared {
            point,
            group: 0,
            arm,
            trigger,
            chain,
            measured_ns,
            verdict,
            in_plateau,
            closed_ns,
            events_ns,
        }
    }

    #[test]
    fn errors_decided_signs_and_plateaus_are_counted() {
        let at = |k| Some(Trigger::Segment { at: k, of: 8 });
        let (helps, unsure) = (Some(Verdict::Helps), Some(Verdict::Inconclusive));
        let mut rows = [
            row(Arm::Graph, None, (1000.0, 1100.0), (None, None)),
            // Helps, and the model says so.
            row(Arm::GraphPdl, at(0), (800.0, 840.0), (helps, Some(false))),
            // Helps, and the model says it hurts.
            row(Arm::GraphPdl, at(4), (790.0, 1200.0), (helps, Some(true))),
            // Nobody knows.
            row(Arm::GraphPdl, at(8), (999.0, 1300.0), (unsure, Some(false))),
        ];
        let found = errors(rows.iter(), Model::Events).unwrap();
        assert_eq!((found.rows, errors(rows.iter(), Model::Closed)), (4, None));
        assert!((found.most - (1200.0 / 790.0 - 1.0)).abs() < 1e-12);
        assert_eq!(signs(&rows, Model::Events), (2, 1));
        assert_eq!(best_triggers(&rows, Model::Events), (1, 0));
        // What the model does not cover is in no count.
        rows[1].events_ns = None;
        assert_eq!(signs(&rows, Model::Events), (1, 0));
        assert_eq!(best_triggers(&rows, Model::Events), (1, 1));
    }
}
