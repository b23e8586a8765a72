//! What may be said of a saved time.
//!
//! The margin is the smallest effect worth caring about; the floor is the smallest that this run
//! could have told from none. In this order:
//!
//! 1. the 95 % interval lies inside ±margin: `equivalent`, even where it excludes zero. It is the
//!    interval that is shown, so that a reader can check the verdict from the row; as a pair of
//!    one-sided tests its level is 2.5 % each, stricter than the customary 5 %. Where the floor is
//!    above the margin it is `inconclusive`: the baseline differs from itself by more;
//! 2. it excludes zero, the median is larger than the floor, and the sign test survives Holm's
//!    correction over every effect of the run: `helps` or `hurts`;
//! 3. else `inconclusive`, with every condition that failed.

use crate::record::{PlanRecord, Verdict};
use crate::stats::MedianEstimate;

/// Level of the family of all effects of a run.
pub const LEVEL: f64 = 0.05;

/// The margin of an effect, ns a hop: the larger of the plan's absolute one and its part of the
/// baseline's period.
pub fn margin_ns(plan: &PlanRecord, baseline_period_ns: Option<f64>) -> f64 {
    let relative = plan.margin_ratio * baseline_period_ns.unwrap_or(0.0);
    (plan.margin_us * 1e3).max(relative)
}

/// The verdict on a saved time (ns a hop), and its reason codes.
pub fn judge(
    saved: &MedianEstimate,
    adjusted_p: f64,
    margin_ns: f64,
    floor_ns: Option<f64>,
) -> (Verdict, Vec<&'static str>) {
    let mut reasons = Vec::new();
    if saved.serial.significant {
        reasons.push("autocorrelated");
    }
    let Some(interval) = saved.interval else {
        reasons.push("few-rounds");
        return (Verdict::Inconclusive, reasons);
    };
    if interval.inside(margin_ns) {
        if floor_ns.is_some_and(|floor| floor > margin_ns) {
            reasons.push("floor-above-margin");
            return (Verdict::Inconclusive, reasons);
        }
        reasons.push("inside-margin");
        return (Verdict::Equivalent, reasons);
    }
    let blocked = reasons.len();
    if !interval.excludes_zero() {
        reasons.push("spans-zero");
    }
    if floor_ns.is_some_and(|floor| saved.median.abs() <= floor) {
        reasons.push("below-floor");
    }
    if interval.excludes_zero() && adjusted_p >= LEVEL {
        reasons.push("holm");
    }
    if reasons.len() > blocked {
        return (Verdict::Inconclusive, reasons);
    }
    if floor_ns.is_none() {
        reasons.push("no-floor");
    }
    (if saved.median > 0.0 { Verdict::Helps } else { Verdict::Hurts }, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Interval, serial};

    fn saved(lo: f64, median: f64, hi: f64) -> MedianEstimate {
        let interval = Some(Interval { lo, hi });
        MedianEstimate { median, interval, count: 30, serial: serial(&[]) }
    }

    #[test]
    fn the_margin_is_the_larger_of_the_two() {
        let plan = |margin_us, margin_ratio| PlanRecord {
            points: Vec::new(),
            rounds_min: 0,
            rounds_max: 0,
            group_budget_s: 0.0,
            margin_us,
            margin_ratio,
            long_rounds: 0,
            warm_up_s: 0.0,
            stamp_repetitions: 1,
            effective_rounds: 6.0,
        };
        // (absolute µs, ratio, period ns, margin ns)
        for (us, ratio, period, expected) in [
            (0.02, 0.005, Some(6000.0), 30.0),
            (0.02, 0.005, Some(2000.0), 20.0),
            (0.02, 0.005, None, 20.0),
            (0.0, 0.01, Some(6000.0), 60.0),
        ] {
            assert!((margin_ns(&plan(us, ratio), period) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn verdicts_follow_interval_floor_and_family_in_that_order() {
        use Verdict::{Equivalent, Helps, Hurts, Inconclusive};
        // (interval and median, adjusted p, floor, verdict, reasons), with a margin of 20 ns.
        let cases: [(_, _, _, _, &[&str]); 12] = [
            (saved(80.0, 100.0, 120.0), 0.001, Some(10.0), Helps, &[]),
            (saved(-120.0, -100.0, -80.0), 0.001, Some(10.0), Hurts, &[]),
            (saved(80.0, 100.0, 120.0), 0.001, None, Helps, &["no-floor"]),
            (saved(-5.0, 1.0, 6.0), 0.9, Some(10.0), Equivalent, &["inside-margin"]),
            // Both could be said: equivalent wins.
            (saved(5.0, 8.0, 12.0), 0.001, Some(1.0), Equivalent, &["inside-margin"]),
            // The baseline differs from itself by more than the margin: nothing is equivalent.
            (saved(-5.0, 1.0, 6.0), 0.9, Some(21.0), Inconclusive, &["floor-above-margin"]),
            (saved(5.0, 8.0, 12.0), 0.001, Some(21.0), Inconclusive, &["floor-above-margin"]),
            (saved(-5.0, 30.0, 90.0), 0.2, Some(10.0), Inconclusive, &["spans-zero"]),
            (saved(10.0, 30.0, 90.0), 0.001, Some(40.0), Inconclusive, &["below-floor"]),
            (saved(10.0, 30.0, 90.0), 0.06, Some(10.0), Inconclusive, &["holm"]),
            (saved(10.0, 30.0, 90.0), 0.06, Some(40.0), Inconclusive, &["below-floor", "holm"]),
            (
                MedianEstimate { interval: None, ..saved(0.0, 90.0, 0.0) },
                0.001,
                Some(10.0),
                Inconclusive,
                &["few-rounds"],
            ),
        ];
        for (estimate, p, floor, verdict, reasons) in cases {
            let found = judge(&estimate, p, 20.0, floor);
            assert_eq!(found, (verdict, reasons.to_vec()), "{estimate:?} {p} {floor:?}");
        }
    }
}
