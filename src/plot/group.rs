//! Rows by group: points that differ in trigger and arm alone and may stand in one chart.

use std::collections::BTreeMap;

use crate::chain::{Arm, Chain, Dependency, Submission, Trigger};
use crate::coordinates::{self, Coordinate, coordinates};
use crate::record::{LimitBy, SummaryRow, Verdict};

use super::Context;
use super::scale::{drawable, us};

/// The rows of one group of the plan.
pub(super) struct Group<'a> {
    /// Number in the plan.
    pub(super) id: u32,
    /// The chain as it was asked for; its trigger means nothing here.
    pub(super) chain: &'a Chain,
    /// What the user's own kernels are; `None` for this program's.
    pub(super) own: Option<&'a str>,
    /// Rows, in the order of the summary.
    pub(super) rows: Vec<&'a SummaryRow>,
}

/// What a row has to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shown {
    /// A value with its interval where there is one.
    Value {
        /// The value.
        at: f64,
        /// Its interval, low to high.
        interval: Option<(f64, f64)>,
    },
    /// The results were wrong: no speed is given.
    Wrong,
    /// The device could not run the point.
    Skipped,
    /// Not measured.
    Missing,
}

/// What is known of a row's value and interval, in µs; times of wrong results are never shown.
pub(super) fn shown(row: &SummaryRow, value: [Option<f64>; 3]) -> Shown {
    if row.verdict == Some(Verdict::Wrong) || row.correct == Some(false) {
        return Shown::Wrong;
    }
    if row.verdict == Some(Verdict::Skipped) {
        return Shown::Skipped;
    }
    match us(value[0]) {
        Some(at) => Shown::Value { at, interval: us(value[1]).zip(us(value[2])) },
        None => Shown::Missing,
    }
}

/// Saved time of a row, µs a hop.
pub(super) fn saved(row: &SummaryRow) -> Shown {
    shown(row, [row.saved_ns, row.saved_lo_ns, row.saved_hi_ns])
}

/// Period of a row, µs.
pub(super) fn period(row: &SummaryRow) -> Shown {
    shown(row, [row.period_ns, row.period_lo_ns, row.period_hi_ns])
}

impl Shown {
    /// The value alone.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Shown::Value { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Every number that an axis has to hold.
    pub(super) fn extent(self) -> Vec<f64> {
        match self {
            Shown::Value { at, interval } => {
                interval.map_or_else(|| vec![at], |(lo, hi)| vec![at, lo, hi])
            }
            _ => Vec::new(),
        }
    }
}

/// The groups of the plan that have rows, in the plan's order.
pub(super) fn groups<'a>(rows: &'a [SummaryRow], ctx: &'a Context) -> Vec<Group<'a>> {
    let plan: BTreeMap<&str, _> = ctx.points.iter().map(|p| (p.point.as_str(), p)).collect();
    let mut groups: BTreeMap<u32, Group<'a>> = BTreeMap::new();
    for row in rows {
        let Some(point) = plan.get(row.point.as_str()) else { continue };
        groups
            .entry(point.group)
            .or_insert_with(|| Group {
                id: point.group,
                chain: &point.chain,
                own: ctx.own.get(&point.group).map(String::as_str),
                rows: Vec::new(),
            })
            .rows
            .push(row);
    }
    groups.into_values().collect()
}

impl<'a> Group<'a> {
    /// Rows of an arm, in order of trigger.
    pub(super) fn arm(&self, arm: Arm) -> Vec<&'a SummaryRow> {
        let mut rows: Vec<_> = self.rows.iter().copied().filter(|row| row.arm == arm).collect();
        let order = |row: &SummaryRow| row.trigger.map_or(9.0, Trigger::order);
        rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
        rows
    }

    /// Arms that have rows, baselines first.
    pub(super) fn arms(&self) -> Vec<Arm> {
        let mut arms: Vec<_> = self.rows.iter().map(|row| row.arm).collect();
        arms.sort();
        arms.dedup();
        arms
    }

    /// Period of the baseline of a submission, µs.
    pub(super) fn baseline_us(&self, submission: Submission) -> Option<f64> {
        self.arm(baseline(submission)).into_iter().find_map(|row| period(row).value())
    }

    /// The row whose limit is drawn for a submission: of a programmatic dependence where there is
    /// one, since nothing else under the contract reaches as low.
    fn limiting(&self, submission: Submission) -> Option<&'a SummaryRow> {
        let of = |row: &&SummaryRow| row.submission == submission && row.limit_ns.is_some();
        let outside = |row: &&SummaryRow| matches!(row.arm, Arm::Flags | Arm::Persistent);
        let rows = || self.rows.iter().copied().filter(of).filter(|row| !outside(row));
        let programmatic = rows().find(|row| row.dependency == Dependency::Programmatic);
        programmatic.or_else(|| rows().next())
    }

    /// Shortest period that a submission's dependences and the device's constants allow, µs.
    pub(super) fn limit_us(&self, submission: Submission) -> Option<f64> {
        us(self.limiting(submission)?.limit_ns)
    }

    /// What sets it.
    pub(super) fn limit_by(&self, submission: Submission) -> Option<LimitBy> {
        self.limiting(submission)?.limit_by
    }

    /// The most that any arm of a submission could save, µs a hop: the baseline's chain less a
    /// chain of periods at the limit, divided by the hops.
    pub(super) fn limit_saved_us(&self, submission: Submission) -> Option<f64> {
        let (baseline, limit) = (self.baseline_us(submission)?, self.limit_us(submission)?);
        let hops = self.chain.nodes.checked_sub(1).filter(|&hops| hops > 0)?;
        drawable(Some((baseline - limit) * f64::from(self.chain.nodes) / f64::from(hops)))
    }

    /// What was run, for subtitles; without `varied`, the axis that a chart varies.
    pub(super) fn label(&self, varied: Option<&str>) -> String {
        let chain = self.chain;
        if let Some(own) = self.own {
            return format!("{own} · {} nodes · L2 {}", chain.nodes, chain.l2);
        }
        let measured = self.rows.iter().find_map(|row| us(row.body_ns));
        let measured = measured.map(|b| format!(" (measured {b:.2} µs)")).unwrap_or_default();
        let shown = |axis: &Coordinate| varied != Some(&*axis.axis) && axis.telling;
        let told = coordinates(chain).into_iter().filter(shown).map(|axis| match &*axis.axis {
            "body kind" => format!("body {}", axis.text),
            "body length" | "body bytes" => format!("body {}{measured}", axis.text),
            "preamble kind" => format!("preamble {}", axis.text),
            "preamble length" => format!("preamble {}", axis.text),
            "trigger by" | "L2" => format!("{} {}", axis.axis, axis.text),
            "mode" => format!("{} chains", axis.text),
            _ => format!("{} {}", axis.text, axis.axis),
        });
        // Kind and length of one thing read as one.
        let mut parts: Vec<String> = Vec::new();
        for part in told {
            let noun = part.split(' ').next().unwrap_or_default().to_owned();
            match parts.last_mut() {
                Some(last) if last.starts_with(&noun) && (noun == "body" || noun == "preamble") => {
                    last.push_str(&part[noun.len()..]);
                }
                _ => parts.push(part),
            }
        }
        // A line breaks between parts, not within one.
        parts.join("\u{A0}· ").replace(' ', "\u{A0}").replace("·\u{A0}", "· ")
    }

    /// A name for files: unique in the run.
    pub(super) fn slug(&self) -> String {
        format!("g{}-{}", self.id, self.chain.body.kind)
    }
}

/// The baseline arm of a submission.
pub(super) fn baseline(submission: Submission) -> Arm {
    match submission {
        Submission::Stream => Arm::Stream,
        Submission::Graph => Arm::Graph,
    }
}

/// Sets of groups that differ in one axis alone, of two groups or more: the axis and the groups
/// in order of its value.
pub(super) fn families<'g, 'a>(groups: &'g [Group<'a>]) -> Vec<(String, Vec<&'g Group<'a>>)> {
    let places: Vec<_> = groups.iter().map(|group| coordinates(group.chain)).collect();
    let families = coordinates::families(&places).into_iter();
    families.map(|(axis, at)| (axis, at.into_iter().map(|i| &groups[i]).collect())).collect()
}
