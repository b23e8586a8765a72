//! Which arm is the best, over submissions: what to run, all told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::effect::saved;
use super::run::{Entry, Run};
use super::verdict::margin_ns;
use crate::chain::{Arm, Mode, Trigger};
use crate::device::Backend;
use crate::record::{SummaryRow, Verdict};
use crate::stats::Interval;
use crate::units::{format_interval, signed_us, us};

/// The best arm of a group, and the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Group of the plan.
    pub group: u32,
    /// The arm with the shortest median period, among the baselines, the subjects at their
    /// recommended trigger and `graph-completion` where it helps. Where nothing can be said of a
    /// subject, its fastest trigger stands for it; one that makes no difference is none to prefer.
    pub arm: Arm,
    /// Its trigger.
    pub trigger: Option<Trigger>,
    /// Its period, median, ns.
    pub period_ns: f64,
    /// 95 % interval of the same.
    pub period_interval_ns: Option<Interval>,
    /// What is said of it against its own baseline; `None` for a baseline.
    pub verdict: Option<Verdict>,
    /// The next; `None` where there is no other.
    pub next: Option<Next>,
    /// The same in words.
    pub sentence: String,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Next {
    /// Arm.
    pub arm: Arm,
    /// Its trigger.
    pub trigger: Option<Trigger>,
    /// (next chain − best chain) ÷ hops, median over the rounds that both have, ns.
    pub behind_ns: f64,
    /// 95 % interval of the same.
    pub behind_interval_ns: Option<Interval>,
    /// What that means.
    pub standing: Standing,
}

/// How the next arm stands to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Slower: the interval lies beyond zero and is not inside the margin.
    Behind,
    /// As fast: the interval lies inside the margin.
    Level,
    /// Nothing can be said at this precision.
    Open,
}

/// One for each isolated group with a subject, in order of groups.
pub(super) fn bests(run: &Run, rows: &[SummaryRow], answers: &[Answer]) -> Vec<Best> {
    let best = |group| best(run, group, rows, answers);
    let answered = |group: &u32| answers.iter().any(|answer| answer.group == *group);
    run.groups().into_iter().filter(answered).filter_map(best).collect()
}

/// An entry, its row, and its median period, ns.
type Candidate<'r, 'a> = (&'r Entry<'a>, &'r SummaryRow, f64);

/// The candidates of a group.
fn candidates<'r, 'a>(
    run: &'r Run<'a>,
    group: u32,
    rows: &'r [SummaryRow],
    answers: &[Answer],
) -> Vec<Candidate<'r, 'a>> {
    let recommended = |row: &SummaryRow| {
        let own = answers.iter().filter(|answer| answer.group == group && answer.arm == row.arm);
        own.filter_map(|answer| answer.plateau.as_ref())
            .any(|plateau| plateau.recommended.point == row.point)
    };
    // Nothing helps, and for some triggers nothing can be said.
    let open = |row: &SummaryRow| {
        row.verdict == Some(Verdict::Inconclusive)
            && answers.iter().any(|answer| {
                answer.group == group && answer.arm == row.arm && answer.plateau.is_none()
            })
    };
    let stands = |row: &SummaryRow| match row.arm {
        Arm::Stream | Arm::Graph => true,
        Arm::StreamPdl | Arm::GraphPdl => recommended(row) || open(row),
        // The sync covers it. `flags` and `persistent` are bounds, no recommendations.
        Arm::GraphCompletion => {
            matches!(row.verdict, Some(Verdict::Helps | Verdict::Inconclusive))
        }
        _ => false,
    };
    let mut fastest: BTreeMap<Arm, Candidate> = BTreeMap::new();
    for (entry, row) in run.entries.iter().zip(rows) {
        if entry.record.group != group || row.mode != Mode::Isolated || !stands(row) {
            continue;
        }
        let Some(period_ns) = row.period_ns else { continue };
        let kept = fastest.entry(row.arm).or_insert((entry, row, period_ns));
        if period_ns < kept.2 {
            *kept = (entry, row, period_ns);
        }
    }
    fastest.into_values().collect()
}

fn best(run: &Run, group: u32, rows: &[SummaryRow], answers: &[Answer]) -> Option<Best> {
    let mut candidates = candidates(run, group, rows, answers);
    candidates.sort_by(|a, b| a.2.total_cmp(&b.2));
    let &(entry, row, period_ns) = candidates.first()?;
    let next = candidates.get(1).and_then(|other| next(run, entry, (other.0, other.2)));
    let interval = row.period_lo_ns.zip(row.period_hi_ns);
    let mut best = Best {
        group,
        arm: row.arm,
        trigger: row.trigger,
        period_ns,
        period_interval_ns: interval.map(|(lo, hi)| Interval { lo, hi }),
        verdict: row.verdict,
        next,
        sentence: String::new(),
    };
    best.sentence = sentence(&best, run.manifest.facts.backend);
    Some(best)
}

fn next(run: &Run, best: &Entry, (other, period_ns): (&Entry, f64)) -> Option<Next> {
    let (slow, fast, hops) = run.both(other, best)?;
    let estimate = saved(slow, fast, hops)?;
    let margin = margin_ns(&run.manifest.plan, Some(period_ns));
    Some(Next {
        arm: other.record.arm,
        trigger: other.record.trigger,
        behind_ns: estimate.median,
        behind_interval_ns: estimate.interval,
        standing: match estimate.interval {
            Some(interval) if interval.inside(margin) => Standing::Level,
            Some(interval) if interval.lo > 0.0 => Standing::Behind,
            _ => Standing::Open,
        },
    })
}

/// `graph-pdl at 0/8`; the arm alone where it has no trigger of its own.
pub(super) fn name(arm: Arm, trigger: Option<Trigger>) -> String {
    match trigger.filter(|_| arm.sweeps_trigger()) {
        None => arm.to_string(),
        Some(Trigger::AtEntry) => format!("{arm} at entry"),
        Some(Trigger::Implicit) => format!("{arm} implicit"),
        Some(Trigger::After) => format!("{arm} after the last store"),
        Some(trigger) => format!("{arm} at {trigger}"),
    }
}

fn sentence(best: &Best, backend: Backend) -> String {
    let simulated = if backend == Backend::Sim { "SIMULATED: " } else { "" };
    let mut text = format!(
        "{simulated}Best arm: {}, {} a node",
        name(best.arm, best.trigger),
        us(best.period_ns)
    );
    if let Some(next) = &best.next {
        let interval = next
            .behind_interval_ns
            .map_or_else(String::new, |i| format!(" (95 %: {} µs)", format_interval(i.lo, i.hi)));
        let other = name(next.arm, next.trigger);
        let behind = format!("{} a hop{interval}", signed_us(next.behind_ns));
        text += &match next.standing {
            Standing::Behind => format!("; next is {other}, {behind}"),
            Standing::Level => format!("; {other} is as fast: {behind} is no difference"),
            Standing::Open => format!("; {other} cannot be told from it: {behind}"),
        };
    }
    if best.verdict == Some(Verdict::Inconclusive) {
        text += "; against its own baseline it has no verdict yet, which takes more rounds";
    }
    text + "."
}
