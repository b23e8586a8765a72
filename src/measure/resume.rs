//! What an earlier, unfinished run has measured already.

use std::collections::HashMap;

use super::calibrate::Calibrated;
use crate::chain::Arm;
use crate::record::{PlanPoint, PointRecord, Run, SampleRow};

/// Samples of one point and arm by round; `None` where there is none, or a flag leaves it out.
pub(super) type Durations = Vec<Option<f64>>;

/// A group that was begun and not finished.
#[derive(Clone, Debug, Default)]
pub struct Begun {
    pub(super) calibrated: Option<Calibrated>,
    pub(super) first_round: u32,
    pub(super) first_long_round: u32,
    pub(super) durations: HashMap<(String, Arm), Durations>,
}

/// How far a run got with a group.
#[derive(Clone, Debug)]
pub enum Progress {
    /// Nothing of it was recorded.
    Untouched,
    /// It is taken up where it was left.
    Begun(Box<Begun>),
    /// All of it is there.
    Done,
}

/// How far `run` got with the group of `points`. Groups are measured one after another, so one is
/// done when a later one was begun, or when the run's end says so.
pub fn progress(run: &Run, points: &[PlanPoint]) -> Progress {
    let group = points[0].group;
    let ended = run.end.as_ref().map_or(0, |end| end.groups.len());
    let later = run.points.iter().any(|record| record.group > group);
    if later || (group as usize) < ended {
        return Progress::Done;
    }
    let records: Vec<&PointRecord> = run.points.iter().filter(|r| r.group == group).collect();
    if records.is_empty() {
        return Progress::Untouched;
    }
    // A round that the plan does not reach, or that more rounds than samples would lead to, was not
    // measured by this run: it must not decide where the run goes on.
    let most = run.manifest.plan.rounds_max.min(run.samples.len() as u32);
    let own = |sample: &&SampleRow| {
        sample.round < most && points.iter().any(|point| *point.point == *sample.point)
    };
    let samples: Vec<&SampleRow> = run.samples.iter().filter(own).collect();
    Progress::Begun(Box::new(begun(&records, &samples)))
}

fn begun(records: &[&PointRecord], samples: &[&SampleRow]) -> Begun {
    // Every record of a group carries the group's calibration; a skipped one has none.
    let calibrated = records.iter().find(|record| record.skipped.is_none()).map(|record| {
        Calibrated { chain: record.chain, body_ns: record.body_ns, preamble_ns: record.preamble_ns }
    });
    let nodes = records[0].chain.nodes;
    let next = |long: bool| {
        let rounds = samples.iter().filter(|s| (s.nodes != nodes) == long).map(|s| s.round + 1);
        rounds.max().unwrap_or(0)
    };
    let mut begun = Begun {
        calibrated,
        first_round: next(false),
        first_long_round: next(true),
        durations: HashMap::new(),
    };
    for sample in samples.iter().filter(|sample| sample.nodes == nodes) {
        let key = (sample.point.to_string(), sample.arm);
        let durations = begun.durations.entry(key).or_default();
        durations.resize(begun.first_round as usize, None);
        let excluded = sample.flags.iter().any(|flag| flag.excludes());
        durations[sample.round as usize] = (!excluded).then_some(sample.duration_ns);
    }
    begun
}
