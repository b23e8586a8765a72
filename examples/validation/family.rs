//! One family: a sweep measured and judged by the product, its verdicts held against the truth.

use pdl_lab::analysis::{self, Summary};
use pdl_lab::chain::{
    Arm, BodyKind, Chain, L2, Mode, PreambleKind, Submission, Target, Trigger, TriggerBy,
};
use pdl_lab::device::Device;
use pdl_lab::experiment::{self, Axes, Grid, default_arms};
use pdl_lab::measure::{Ending, Kept, Plan, Stopping, measure_group};
use pdl_lab::record::{PointRecord, Verdict};

use crate::device::{TruthDevice, World};

/// What a family is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The default sweep: two bodies, twelve triggers, six arms.
    Sweep,
    /// One body, one trigger, the graph's arms: two effects.
    Pair,
    /// The same with --quick.
    Quick,
}

pub fn plan(size: Size, seed: u64, device: &dyn Device) -> Plan {
    let mut stopping = if size == Size::Quick { Stopping::quick() } else { Stopping::default() };
    stopping.warm_up = std::time::Duration::ZERO;
    stopping.long_rounds = 0;
    let (triggers, arms, bodies) = match size {
        Size::Sweep => (Trigger::defaults(), default_arms(), vec![BodyKind::Fma, BodyKind::Hbm]),
        _ => {
            let trigger = Trigger::defaults()[4];
            (vec![trigger], vec![Arm::Graph, Arm::GraphPdl], vec![BodyKind::Fma])
        }
    };
    let axes = Axes {
        triggers,
        arms,
        nodes: vec![50],
        grids: vec![Grid::PerSm],
        block_threads: vec![128],
        shared_kib: vec![0],
        cluster_blocks: vec![1],
        preamble_kinds: vec![PreambleKind::None],
        preamble_us: vec![2.0],
        body_kinds: bodies,
        bodies: vec![Target::Ns(4000.0)],
        trigger_by: vec![TriggerBy::Thread],
        l2: vec![L2::Hot],
        modes: vec![Mode::Isolated],
    };
    experiment::plan(&axes, seed, stopping, device).expect("the axes are those of the product")
}

pub struct Measured {
    pub summary: Summary,
    pub points: Vec<PointRecord>,
    pub endings: Vec<Ending>,
    pub rounds: Vec<u32>,
    pub seconds: f64,
}

/// Measures `plan` on a device of `world`, and judges it.
pub fn measure(world: &dyn World, size: Size, seed: u64) -> Measured {
    let device = TruthDevice::new(world);
    let plan = plan(size, seed, &device);
    let mut kept = Kept::default();
    let mut endings = Vec::new();
    let mut rounds = Vec::new();
    for points in plan.groups() {
        let before = kept.samples.len();
        let ending = measure_group(&device, &plan, points, None, &mut kept);
        endings.push(ending.expect("nothing fails on a device of known truth"));
        rounds.push(kept.samples[before..].iter().map(|s| s.round + 1).max().unwrap_or(0));
    }
    let manifest = plan.manifest("validation", device.facts(), &device.health());
    let summary = analysis::summarise(&manifest, &kept.points, &kept.samples);
    let seconds = device.now().as_secs_f64();
    Measured { summary, points: kept.points, endings, rounds, seconds }
}

/// Counts over many families.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub families: u64,
    /// Families with a HELPS or HURTS that is not true.
    pub false_families: u64,
    /// Rows judged equivalent whose truth is not inside the margin.
    pub false_equivalent: u64,
    /// Rows whose truth lies outside the margin, and those found.
    pub real: u64,
    pub found: u64,
    pub none: u64,
    pub none_equivalent: u64,
    pub none_inconclusive: u64,
    /// Intervals of saved: [graph, stream], total and covering.
    pub intervals: [u64; 2],
    pub covering: [u64; 2],
    pub low: [u64; 2],
    pub missing: u64,
    /// The same of periods.
    pub periods: u64,
    pub periods_covering: u64,
    pub rounds: u64,
    pub groups: u64,
    pub precision: u64,
    pub seconds: f64,
    pub arms: std::collections::BTreeMap<(String, Arm, String), (u64, u64)>,
    pub reasons: std::collections::BTreeMap<String, u64>,
}

impl Score {
    pub fn add(&mut self, measured: &Measured, truth: &dyn Fn(&Chain, Arm) -> (f64, f64)) {
        self.families += 1;
        self.groups += measured.rounds.len() as u64;
        self.rounds += measured.rounds.iter().map(|&r| u64::from(r)).sum::<u64>();
        self.precision +=
            measured.endings.iter().filter(|e| **e == Ending::Precision).count() as u64;
        self.seconds += measured.seconds;
        let mut any = false;
        for row in &measured.summary.rows {
            let record =
                measured.points.iter().find(|p| p.point == row.point && p.arm == row.arm).unwrap();
            let (saved, period) = truth(&record.chain, row.arm);
            if row.arm == Arm::Sentinel {
                continue;
            }
            if let (Some(lo), Some(hi)) = (row.period_lo_ns, row.period_hi_ns) {
                self.periods += 1;
                let period = period - saved * 49.0 / 50.0;
                self.periods_covering += u64::from(lo <= period && period <= hi);
            }
            if row.baseline.is_none() {
                continue;
            }
            let kind = usize::from(row.submission == Submission::Stream);
            match (row.saved_lo_ns, row.saved_hi_ns) {
                (Some(lo), Some(hi)) => {
                    self.intervals[kind] += 1;
                    self.covering[kind] += u64::from(lo <= saved && saved <= hi);
                    self.low[kind] += u64::from(hi < saved);
                }
                _ => self.missing += 1,
            }
            if row.arm.is_native() {
                continue;
            }
            let verdict = row.verdict;
            let wrong = match verdict {
                Some(Verdict::Helps) => saved <= 0.0,
                Some(Verdict::Hurts) => saved >= 0.0,
                _ => false,
            };
            any |= wrong;
            if wrong && std::env::var("WRONG").is_ok() {
                println!(
                    "wrong {} {:?} {:.0} [{:.0} {:.0}] '{}'",
                    row.arm.name(),
                    row.trigger.map(|t| t.to_string()),
                    row.saved_ns.unwrap(),
                    row.saved_lo_ns.unwrap(),
                    row.saved_hi_ns.unwrap(),
                    row.reason
                );
            }
            if saved == 0.0 {
                self.none += 1;
                self.none_equivalent += u64::from(verdict == Some(Verdict::Equivalent));
                self.none_inconclusive += u64::from(verdict == Some(Verdict::Inconclusive));
            } else {
                self.real += 1;
                let claimed = matches!(verdict, Some(Verdict::Helps | Verdict::Hurts));
                self.found += u64::from(claimed && !wrong);
                let arm =
                    self.arms.entry(crate::recorded::slot(&record.chain, row.arm)).or_default();
                arm.0 += u64::from(claimed && !wrong);
                arm.1 += 1;
                self.false_equivalent += u64::from(verdict == Some(Verdict::Equivalent));
                if !claimed {
                    *self
                        .reasons
                        .entry(format!("{} {}", row.arm.name(), row.reason))
                        .or_default() += 1;
                }
            }
        }
        self.false_families += u64::from(any);
    }

    pub fn merge(&mut self, o: &Score) {
        self.families += o.families;
        self.false_families += o.false_families;
        self.false_equivalent += o.false_equivalent;
        self.real += o.real;
        self.found += o.found;
        self.none += o.none;
        self.none_equivalent += o.none_equivalent;
        self.none_inconclusive += o.none_inconclusive;
        for k in 0..2 {
            self.intervals[k] += o.intervals[k];
            self.covering[k] += o.covering[k];
            self.low[k] += o.low[k];
        }
        self.missing += o.missing;
        self.periods += o.periods;
        self.periods_covering += o.periods_covering;
        self.rounds += o.rounds;
        self.groups += o.groups;
        self.precision += o.precision;
        self.seconds += o.seconds;
        for (k, v) in &o.arms {
            let a = self.arms.entry(k.clone()).or_default();
            a.0 += v.0;
            a.1 += v.1;
        }
        for (k, v) in &o.reasons {
            *self.reasons.entry(k.clone()).or_default() += v;
        }
    }
}
