//! Which triggers are as good as the best.

use serde::{Deserialize, Serialize};

use super::effect::saved;
use super::run::{Entry, Run};
use super::verdict::margin_ns;
use crate::chain::Trigger;
use crate::record::SummaryRow;
use crate::stats::{Interval, median};

/// One trigger and what it is worth, in ns a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Point of the plan.
    pub point: String,
    /// Where a block triggers.
    pub trigger: Trigger,
    /// (baseline chain − chain) ÷ hops, median.
    pub saved_ns: f64,
    /// 95 % interval of the same.
    pub saved_interval_ns: Option<Interval>,
    /// exp(median paired log ratio).
    pub speedup: Option<f64>,
    /// What the added instructions cost by themselves: (full control − baseline) ÷ hops, median.
    pub code_cost_ns: Option<f64>,
    /// What the programmatic dependency gives by itself: (full control − programmatic) ÷ hops,
    /// median. In every round saved = this − code cost; the three medians need not add up exactly.
    pub dependency_saved_ns: Option<f64>,
}

/// The best trigger of a group and submission, and its equals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// The largest saved time among the triggers that help.
    pub best: Choice,
    /// The latest trigger of the plateau: equal to the best, with the least parking.
    pub recommended: Choice,
    /// Triggers as good as the best, in order of time: paired in the same rounds, they are slower
    /// by at most the margin, or their median is and what is beyond may be chance. Noise alone
    /// makes no equal: a wide interval about a larger loss is one that was not measured well.
    pub triggers: Vec<Trigger>,
    /// Slower than the best by this, recommended against best in the same rounds, ns a hop; zero
    /// when they are the same.
    pub given_up_ns: f64,
    /// 95 % interval of the same.
    pub given_up_interval_ns: Option<Interval>,
}

/// An entry and its row.
pub(super) type Candidate<'r, 'a> = (&'r Entry<'a>, &'r SummaryRow);

/// The plateau of the candidates, which all help; `None` when there is none.
pub(super) fn plateau(run: &Run, helping: &[Candidate]) -> Option<Plateau> {
    // Saved times that are equal to the last digit: the later trigger is the better one.
    let best = helping.iter().copied().max_by(|a, b| {
        let order = |candidate: &Candidate| candidate.1.trigger.map_or(0.0, Trigger::order);
        let saved = |candidate: &Candidate| candidate.1.saved_ns.unwrap_or(f64::MIN);
        saved(a).total_cmp(&saved(b)).then(order(a).total_cmp(&order(b)))
    })?;
    let period = run.baseline(best.0).and_then(|baseline| {
        let durations = run.series(baseline)?.durations_ns();
        Some(median(&durations)? / f64::from(baseline.nodes.max(1)))
    });
    let margin = margin_ns(&run.manifest.plan, period);
    let mut equals: Vec<Candidate> =
        helping.iter().copied().filter(|one| equal(run, one.0, best.0, margin)).collect();
    equals.sort_by(|a, b| {
        let order = |candidate: &Candidate| candidate.1.trigger.map_or(0.0, Trigger::order);
        order(a).total_cmp(&order(b))
    });
    let recommended = *equals.last()?;
    let slower = slower(run, recommended.0, best.0);
    Some(Plateau {
        best: choice(run, best)?,
        recommended: choice(run, recommended)?,
        triggers: equals.iter().filter_map(|candidate| candidate.1.trigger).collect(),
        given_up_ns: slower.map_or(0.0, |(median, _)| median),
        given_up_interval_ns: slower.and_then(|(_, interval)| interval),
    })
}

/// How much slower `one` is than `best`, paired, ns a hop; `None` for the best itself.
fn slower(run: &Run, one: &Entry, best: &Entry) -> Option<(f64, Option<Interval>)> {
    if one.place == best.place {
        return None;
    }
    let (one, best, hops) = run.both(one, best)?;
    saved(one, best, hops).map(|estimate| (estimate.median, estimate.interval))
}

fn equal(run: &Run, one: &Entry, best: &Entry, margin_ns: f64) -> bool {
    one.place == best.place
        || slower(run, one, best).is_some_and(|(median, interval)| {
            interval.is_some_and(|interval| as_good(median, interval, margin_ns))
        })
}

/// Whether a loss against the best, ns a hop, is none that counts.
fn as_good(slower_ns: f64, interval: Interval, margin_ns: f64) -> bool {
    interval.hi <= margin_ns || (interval.lo <= 0.0 && slower_ns <= margin_ns)
}

fn choice(run: &Run, candidate: Candidate) -> Option<Choice> {
    let (entry, row) = candidate;
    let dependency_saved = run.full_control(entry).and_then(|control| {
        let (control, own, hops) = run.both(control, entry)?;
        saved(control, own, hops)
    });
    Some(Choice {
        point: row.point.clone(),
        trigger: row.trigger?,
        saved_ns: row.saved_ns?,
        saved_interval_ns: row.saved_lo_ns.zip(row.saved_hi_ns).map(|(lo, hi)| Interval { lo, hi }),
        speedup: row.speedup,
        code_cost_ns: row.code_cost_ns,
        dependency_saved_ns: dependency_saved.map(|estimate| estimate.median),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_alone_makes_no_equal() {
        // (slower, interval, as good), with a margin of 20 ns.
        for (slower, lo, hi, expected) in [
            (5.0, 2.0, 9.0, true),
            (5.0, -30.0, 60.0, true),
            (15.0, 1.0, 40.0, false),
            (300.0, -50.0, 800.0, false),
            (-10.0, -90.0, 70.0, true),
        ] {
            let found = as_good(slower, Interval { lo, hi }, 20.0);
            assert_eq!(found, expected, "{slower} {lo} {hi}");
        }
    }
}
