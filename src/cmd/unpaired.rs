//! Which points of a sweep `cargo bench` shows to criterion as well, and under which names.
//!
//! Criterion times one arm after another: drift between two of them reads as a difference. So its
//! numbers stand beside the sweep's, are called unpaired, and decide nothing.

use crate::analysis::Summary;
use crate::chain::*;
use crate::cli::SweepArgs;
use crate::device::{Backend, Device, Facts};
use crate::error::Result;
use crate::experiment;
use crate::record::{PointRecord, Run, SummaryRow, Verdict};

/// The most points that are measured after a sweep: each takes criterion seconds.
pub const MOST: usize = 6;

/// A point × arm that criterion may measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Group of the plan.
    pub group: u32,
    /// Arm.
    pub arm: Arm,
    /// The chain at the arm's trigger; calibrated when it comes from a run.
    pub chain: Chain,
    /// Trigger and body, and every axis that is not at its default: `trigger=4/8/body=fma`. One
    /// name means one thing from run to run, since criterion compares by name.
    pub parameter: String,
}

impl Candidate {
    fn new(group: u32, arm: Arm, trigger: Option<Trigger>, chain: &Chain, facts: &Facts) -> Self {
        let chain = trigger.map_or(*chain, |trigger| chain.with_trigger(trigger));
        Candidate { group, arm, chain, parameter: parameter(trigger, &chain, facts) }
    }

    /// Its name among criterion's, `title` being [`title`].
    pub fn id(&self, title: &str) -> String {
        format!("{title}/{}/{}", self.arm, self.parameter)
    }
}

/// What criterion's ids begin with.
pub fn title(backend: Backend) -> &'static str {
    match backend {
        Backend::Gpu => "unpaired",
        Backend::Sim => "unpaired SIMULATED",
    }
}

/// Everything that a sweep with `args` would measure, before it is calibrated.
///
/// # Errors
/// Those of planning the sweep.
pub fn planned(args: &SweepArgs, device: &dyn Device) -> Result<Vec<Candidate>> {
    let plan = experiment::plan(&args.axes().with_isolated(), args.seed, args.stopping()?, device)?;
    let candidates = plan.points.iter().flat_map(|point| {
        point.arms.iter().filter(|arm| has_a_name(**arm)).map(|&arm| {
            let trigger = point.trigger.or(arm.fixed_trigger());
            Candidate::new(point.group, arm, trigger, &point.chain, device.facts())
        })
    });
    Ok(distinct(candidates))
}

/// Everything that a run measured with right results, in the order of the plan.
pub fn measured(summary: &Summary, run: &Run) -> Vec<Candidate> {
    let facts = &run.manifest.facts;
    distinct(summary.rows.iter().filter(|row| has_a_name(row.arm) && timed(row)).filter_map(
        |row| {
            let record = record(run, &row.point, row.arm)?;
            Some(Candidate::new(record.group, row.arm, record.trigger, &record.chain, facts))
        },
    ))
}

/// At most `most` of [`measured`]: for each group and submission, graphs first, the baseline and
/// the recommended trigger (the best where none is), then while there is room the implicit one.
pub fn chosen(summary: &Summary, run: &Run, most: usize) -> Vec<Candidate> {
    let all = measured(summary, run);
    let mut answers: Vec<_> = summary.answers.iter().collect();
    answers.sort_by_key(|answer| (answer.submission == Submission::Stream, answer.group));
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut add = |group: u32, arm: Option<Arm>, trigger: Option<Trigger>| {
        let found = all.iter().find(|one| {
            one.group == group && Some(one.arm) == arm && {
                trigger.is_none_or(|trigger| one.chain.trigger == trigger)
            }
        });
        if let Some(found) = found.filter(|one| chosen.len() < most && !chosen.contains(one)) {
            chosen.push(found.clone());
        }
    };
    for answer in &answers {
        add(answer.group, answer.arm.baseline(), None);
        let recommended = answer.plateau.as_ref().map(|plateau| plateau.recommended.trigger);
        let best = || best(summary, run, answer.group, answer.arm);
        add(answer.group, Some(answer.arm), recommended.or_else(best));
    }
    for answer in &answers {
        add(answer.group, Some(answer.arm), Some(Trigger::Implicit));
    }
    if chosen.is_empty() {
        // No subject was measured: whatever was.
        chosen = all.into_iter().take(most).collect();
    }
    chosen
}

/// The trigger that saves most, established or not.
fn best(summary: &Summary, run: &Run, group: u32, arm: Arm) -> Option<Trigger> {
    let of_group = |row: &&SummaryRow| {
        row.arm == arm
            && timed(row)
            && record(run, &row.point, arm).is_some_and(|r| r.group == group)
    };
    let rows = summary.rows.iter().filter(of_group);
    let saved = rows.filter_map(|row| Some((row.saved_ns?, row.trigger?)));
    saved.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, trigger)| trigger)
}

/// The second baseline and the sentinel serve the sweep alone.
fn has_a_name(arm: Arm) -> bool {
    !arm.is_again() && arm != Arm::Sentinel
}

fn timed(row: &SummaryRow) -> bool {
    row.period_ns.is_some()
        && row.correct != Some(false)
        && !matches!(row.verdict, Some(Verdict::Wrong | Verdict::Skipped))
}

/// The record that holds: of two of one point and arm, the later.
fn record<'r>(run: &'r Run, point: &str, arm: Arm) -> Option<&'r PointRecord> {
    run.points.iter().rev().find(|record| record.arm == arm && record.point == point)
}

/// Groups that differ in nothing have the same names: the first holds.
fn distinct(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut seen = std::collections::HashSet::new();
    candidates.filter(|one| seen.insert((one.arm, one.parameter.clone()))).collect()
}

fn parameter(trigger: Option<Trigger>, chain: &Chain, facts: &Facts) -> String {
    let shape = chain.shape;
    let usual = Shape { grid_blocks: facts.sm_count, ..Shape::default() };
    let mut parts: Vec<String> =
        trigger.iter().map(|trigger| format!("trigger={trigger}")).collect();
    parts.push(format!("body={}", chain.body.kind));
    let mut unless = |usual: bool, axis: &str, value: String| {
        if !usual {
            parts.push(format!("{axis}={value}"));
        }
    };
    match chain.body.target {
        Target::Ns(ns) => unless(
            ns == 4000.0 || chain.body.kind == BodyKind::None,
            "body-us",
            (ns / 1e3).to_string(),
        ),
        Target::Bytes(bytes) => unless(false, "body-bytes", bytes.to_string()),
    }
    let preamble = chain.preamble;
    unless(preamble.kind == PreambleKind::Alu, "preamble", preamble.kind.to_string());
    let preamble_us = (preamble.target_ns / 1e3).to_string();
    let idle = preamble.kind == PreambleKind::None;
    unless(idle || preamble.target_ns == 2000.0, "preamble-us", preamble_us);
    unless(chain.nodes == 50, "nodes", chain.nodes.to_string());
    unless(shape.grid_blocks == usual.grid_blocks, "grid", shape.grid_blocks.to_string());
    unless(shape.block_threads == usual.block_threads, "block", shape.block_threads.to_string());
    let shared_kib = (shape.shared_bytes / 1024).to_string();
    unless(shape.shared_bytes == usual.shared_bytes, "shared-kib", shared_kib);
    let cluster = shape.cluster_blocks.to_string();
    unless(shape.cluster_blocks == usual.cluster_blocks, "cluster", cluster);
    let by = chain.trigger_by;
    unless(trigger.is_none() || by == TriggerBy::default(), "trigger-by", by.to_string());
    unless(chain.l2 == L2::default(), "l2", chain.l2.to_string());
    unless(chain.mode == Mode::default(), "mode", chain.mode.to_string());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::cmd::sweep;
    use crate::sim::SimDevice;

    fn args(flags: &[&str]) -> SweepArgs {
        let all = ["pdl", "sweep", "--backend", "sim", "--quick"].iter().chain(flags);
        match Cli::parse_from(all).command {
            Command::Sweep(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn ids(candidates: &[Candidate]) -> Vec<String> {
        candidates.iter().map(|one| one.id("t")).collect()
    }

    #[test]
    fn a_name_tells_what_is_not_at_its_default() {
        let cases: [(&[&str], &str); 5] = [
            (&[], "t/graph-pdl/trigger=4/8/body=fma"),
            (
                &["--nodes", "7", "--body-us", "2.5"],
                "t/graph-pdl/trigger=4/8/body=fma/body-us=2.5/nodes=7",
            ),
            (&["--grid", "132", "--cluster", "2"], "t/graph-pdl/trigger=4/8/body=fma/cluster=2"),
            (
                &["--preamble-kind", "none", "--preamble-us", "0", "--trigger-by", "block"],
                "t/graph-pdl/trigger=4/8/body=fma/preamble=none/trigger-by=block",
            ),
            (
                &["--mode", "pipelined", "--l2", "rotated", "--shared-kib", "8"],
                "t/graph-pdl/trigger=4/8/body=fma/shared-kib=8/l2=rotated/mode=pipelined",
            ),
        ];
        let device = SimDevice::quick(1);
        for (flags, expected) in cases {
            let mut all = vec!["--trigger", "4/8", "--arm", "graph-pdl", "--body-kind", "fma"];
            all.extend(flags);
            let planned = planned(&args(&all), &device).unwrap();
            assert!(ids(&planned).contains(&expected.to_owned()), "{:?}", ids(&planned));
        }
    }

    #[test]
    fn equal_groups_have_one_name() {
        let device = SimDevice::quick(1);
        let once = planned(&args(&["--nodes", "9"]), &device).unwrap();
        let twice = planned(&args(&["--nodes", "9,9"]), &device).unwrap();
        assert_eq!(ids(&once), ids(&twice));
    }

    #[test]
    fn a_sweep_offers_what_it_planned_and_chooses_the_answers() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("run");
        let args = args(&["--trigger", "0/8,8/8,implicit", "--out", out.to_str().unwrap()]);
        let (summary, run) = sweep(&args).unwrap().measured.unwrap();
        let planned = planned(&args, &SimDevice::quick(1)).unwrap();
        assert_eq!(ids(&measured(&summary, &run)), ids(&planned));
        let recommended = |arm: Arm, group: u32| {
            let answer = summary.answers.iter().find(|a| a.arm == arm && a.group == group).unwrap();
            answer.plateau.as_ref().unwrap().recommended.trigger
        };
        let expected = [
            "t/graph/body=fma".to_owned(),
            format!("t/graph-pdl/trigger={}/body=fma", recommended(Arm::GraphPdl, 0)),
            "t/graph/body=hbm".to_owned(),
            format!("t/graph-pdl/trigger={}/body=hbm", recommended(Arm::GraphPdl, 1)),
            "t/stream/body=fma".to_owned(),
            format!("t/stream-pdl/trigger={}/body=fma", recommended(Arm::StreamPdl, 0)),
        ];
        assert_eq!(ids(&chosen(&summary, &run, MOST)), expected);
        let more = ids(&chosen(&summary, &run, 99));
        assert!(more.contains(&"t/stream-pdl/trigger=implicit/body=hbm".to_owned()), "{more:?}");
        assert!(chosen(&summary, &run, 99).iter().all(|one| one.chain.body.units > 0));
    }
}
