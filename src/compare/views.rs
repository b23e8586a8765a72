//! How much longer an arm takes in the second run, seen against what both runs have in common.
//!
//! Two runs share no rounds, so their difference cannot be paired. Whatever is the same in both
//! serves as a reference, paired with the arm in its own run, and each reference can be fooled:
//!
//! - **own**: the arm's time itself. Another clock, or what an event costs in a process, moves it.
//! - **sentinel**: the arm − the fixed kernel of the same round. Moves when the state of the launch
//!   path does, which full-dependency hops feel (the sentinel's) and overlapping ones do not.
//! - **baseline**: the arm − `graph` of the same round: what the saved time is made of. Moves when
//!   the baseline itself does.
//!
//! None is fooled by what fools the others. A change is claimed only where **all** of them show it,
//! in the same direction, and a point is called equivalent only where all of them say so.

use serde::Serialize;

use crate::analysis::{Entry, Indexed};
use crate::chain::Arm;
use crate::stats::{
    CONFIDENCE, Interval, MedianDifference, Ranked, beyond_p_value, median_difference,
};

/// One reference's answer, ns a hop: positive where the second run is slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct View {
    /// `own`, `sentinel`, `baseline`; `paired` between the arms of one run.
    pub reference: &'static str,
    /// Second run − first, of medians over rounds.
    pub change_ns: f64,
    /// 95 % interval of the same; `None` for too few rounds.
    pub interval_ns: Option<Interval>,
}

impl View {
    pub(super) fn new(reference: &'static str, difference: MedianDifference) -> View {
        View { reference, change_ns: difference.median, interval_ns: difference.interval }
    }
}

/// The rounds of one arm in one run, ns a hop: by itself, and against each reference.
pub(super) struct Rounds {
    pub(super) own: Ranked,
    pub(super) sentinel: Option<Ranked>,
    pub(super) baseline: Option<Ranked>,
}

impl Rounds {
    /// `None` for an entry without samples.
    pub(super) fn of(run: &Indexed, entry: &Entry) -> Option<Rounds> {
        let series = run.series(entry)?;
        let hops = hops(entry);
        let own: Vec<f64> = series.durations_ns().iter().map(|ns| ns / hops).collect();
        let against = |arm: Arm| -> Option<Ranked> {
            let other = run.find(entry.record.group, arm, None)?;
            if other.place == entry.place && other.record.arm == entry.record.arm {
                return None;
            }
            let pairs = series.paired_ns(run.series(other)?);
            let other_hops = self::hops(other);
            let differences: Vec<f64> =
                pairs.iter().map(|(ns, other_ns)| ns / hops - other_ns / other_hops).collect();
            Ranked::of(&differences)
        };
        Some(Rounds {
            own: Ranked::of(&own)?,
            sentinel: against(Arm::Sentinel),
            baseline: against(Arm::Graph),
        })
    }
}

fn hops(entry: &Entry) -> f64 {
    f64::from(entry.nodes.saturating_sub(1).max(1))
}

/// Both runs' rounds of one arm.
pub(super) struct Pair {
    pub(super) a: Rounds,
    pub(super) b: Rounds,
}

impl Pair {
    fn references(&self) -> impl Iterator<Item = (&'static str, &Ranked, &Ranked)> {
        fn both<'r>(
            name: &'static str,
            a: &'r Option<Ranked>,
            b: &'r Option<Ranked>,
        ) -> Option<(&'static str, &'r Ranked, &'r Ranked)> {
            Some((name, a.as_ref()?, b.as_ref()?))
        }
        let own = Some(("own", &self.a.own, &self.b.own));
        let sentinel = both("sentinel", &self.a.sentinel, &self.b.sentinel);
        let baseline = both("baseline", &self.a.baseline, &self.b.baseline);
        [own, sentinel, baseline].into_iter().flatten()
    }

    /// Every reference's answer.
    pub(super) fn views(&self) -> Vec<View> {
        let view = |(name, a, b)| View::new(name, median_difference(a, b, CONFIDENCE));
        self.references().map(view).collect()
    }

    /// p-value that the change is within ±`allowance_ns`: the largest of those of the references
    /// that count, for all must show it (Berger, "Multiparameter hypothesis testing and acceptance sampling",
    /// Technometrics 24 (1982) 295: the intersection-union test).
    pub(super) fn p_value(&self, allowance_ns: f64, counts: impl Fn(&str) -> bool) -> f64 {
        let counted = self.references().filter(|(name, _, _)| counts(name));
        counted.map(|(_, a, b)| beyond_p_value(a, b, allowance_ns)).fold(0.0, f64::max)
    }

    /// The larger of both runs' distances between quartiles, ns a hop.
    pub(super) fn spread_ns(&self) -> f64 {
        self.a.own.spread().max(self.b.own.spread())
    }
}
