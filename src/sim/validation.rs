//! Both models held against a recorded run of a GPU: the error at every point.

use super::predict;
use crate::chain::{Arm, Chain, Trigger};
use crate::profile::{Model, Profile};
use crate::record::{PointRecord, SummaryRow};

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
pub fn compare(profile: &Profile, points: &[PointRecord], rows: &[SummaryRow]) -> Vec<Compared> {
    let mut compared = Vec::new();
    for record in points.iter().filter(|record| record.arm != Arm::Sentinel) {
        let row = rows.iter().find(|row| row.point == record.point && row.arm == record.arm);
        let Some(measured_ns) = row.and_then(|row| row.period_ns) else { continue };
        let chain = record.chain.with_trigger(record.trigger.unwrap_or(record.chain.trigger));
        let of = |model| predict(profile, model, &chain, record.arm).ok();
        compared.push(Compared {
            point: record.point.clone(),
            group: record.group,
            arm: record.arm,
            trigger: record.trigger,
            chain: record.chain,
            measured_ns,
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
    let mut sizes: Vec<f64> = rows.filter_map(error).collect();
    sizes.sort_by(f64::total_cmp);
    let most = *sizes.last()?;
    let at = |part: f64| sizes[((sizes.len() - 1) as f64 * part).round() as usize];
    Some(Errors { rows: sizes.len(), median: at(0.5), p95: at(0.95), most })
}

/// Effects against their baselines: how many are larger than `floor` (a part of the baseline's
/// period) by measurement, and how many of these have the right sign by `model`.
pub fn signs(rows: &[Compared], model: Model, floor: f64) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for row in rows {
        let baseline = row.arm.baseline();
        let same = |other: &&Compared| other.group == row.group && Some(other.arm) == baseline;
        let Some(base) = rows.iter().find(same) else { continue };
        let measured = base.measured_ns - row.measured_ns;
        let (Some(model_base), Some(model_row)) = (base.by(model), row.by(model)) else { continue };
        if measured.abs() > floor * base.measured_ns {
            all += 1;
            right += usize::from((model_base - model_row) * measured > 0.0);
        }
    }
    (all, right)
}

/// Groups and arms that sweep the trigger: how many there are, and in how many the model's best
/// trigger is measured within `tolerance` of the best measured one.
pub fn best_triggers(rows: &[Compared], model: Model, tolerance: f64) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    let subjects = [Arm::StreamPdl, Arm::GraphPdl];
    let mut lanes: Vec<(u32, Arm)> = rows.iter().map(|row| (row.group, row.arm)).collect();
    lanes.sort();
    lanes.dedup();
    for (group, arm) in lanes.into_iter().filter(|lane| subjects.contains(&lane.1)) {
        let lane = || rows.iter().filter(|row| (row.group, row.arm) == (group, arm));
        let by_model = lane().filter(|row| row.by(model).is_some());
        let chosen = by_model.min_by(|a, b| {
            let of = |row: &Compared| row.by(model).unwrap_or(f64::INFINITY);
            of(a).total_cmp(&of(b))
        });
        let best_ns = lane().map(|row| row.measured_ns).fold(f64::INFINITY, f64::min);
        let Some(chosen) = chosen else { continue };
        all += 1;
        right += usize::from(chosen.measured_ns <= best_ns * (1.0 + tolerance));
    }
    (all, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{
        Body, BodyKind, L2, Mode, Preamble, PreambleKind, Shape, Target, TriggerBy,
    };

    fn row(arm: Arm, trigger: Option<Trigger>, measured_ns: f64, events_ns: f64) -> Compared {
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
        Compared { point, group: 0, arm, trigger, chain, measured_ns, closed_ns, events_ns }
    }

    #[test]
    fn errors_signs_and_best_triggers_are_counted() {
        let at = |k| Some(Trigger::Segment { at: k, of: 8 });
        let rows = [
            row(Arm::Graph, None, 1000.0, 1100.0),
            // Helps, and the model says so.
            row(Arm::GraphPdl, at(0), 800.0, 840.0),
            // Helps, and the model says it hurts.
            row(Arm::GraphPdl, at(4), 790.0, 1200.0),
            // Below the floor.
            row(Arm::GraphPdl, at(8), 999.0, 1300.0),
        ];
        let found = errors(rows.iter(), Model::Events).unwrap();
        assert_eq!((found.rows, errors(rows.iter(), Model::Closed)), (4, None));
        assert!((found.most - (1200.0 / 790.0 - 1.0)).abs() < 1e-12);
        assert_eq!(signs(&rows, Model::Events, 0.01), (2, 1));
        assert_eq!(best_triggers(&rows, Model::Events, 0.02), (1, 1));
        assert_eq!(best_triggers(&rows, Model::Events, 0.01), (1, 0));
    }
}
