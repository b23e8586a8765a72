//! Medians of two independent series: what pairing cannot reach, because the two were not taken in
//! the same rounds.
//!
//! The interval of the difference is recovered from the intervals of the two medians, by the
//! method of variance estimates recovery (Zou and Donner, "Construction of confidence limits about
//! effect measures: a general approach", Statistics in Medicine 27 (2008) 1693): each end lies as
//! far from the difference as the two distances that make it, added in quadrature. At 95 % it covers
//! 96 to 98 % of simulated differences (see `coverage`), for it errs on the wide side. It needs
//! neither equal shapes nor symmetric ones, keeps what each interval took into account (skewness,
//! autocorrelation), and needs no order between the series. The alternative, Hodges and Lehmann's
//! shift with Mann and Whitney's test, takes the two for one shape that moved; chains that take
//! one course in some rounds and another in the rest are not.

use super::interval::{CONFIDENCE, Interval, MedianEstimate, Ranked};

/// The weakest evidence that is told apart from none, and the strongest from certainty: p-values
/// are searched between them.
const STRONGEST: f64 = 1e-12;

/// How much larger the median of one series is than that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianDifference {
    /// Second median − first, in the unit of the values.
    pub median: f64,
    /// Interval of the same; `None` when one of the series is too short for an interval.
    pub interval: Option<Interval>,
}

/// Median of `second` − median of `first`, with its interval at `confidence`.
pub fn median_difference(first: &Ranked, second: &Ranked, confidence: f64) -> MedianDifference {
    difference(first.estimate(confidence), second.estimate(confidence))
}

fn difference(a: MedianEstimate, b: MedianEstimate) -> MedianDifference {
    let median = b.median - a.median;
    let interval = a.interval.zip(b.interval).map(|(of_a, of_b)| Interval {
        lo: median - (b.median - of_b.lo).hypot(of_a.hi - a.median),
        hi: median + (of_b.hi - b.median).hypot(a.median - of_a.lo),
    });
    MedianDifference { median, interval }
}

/// Two-sided p-value that the medians differ by no more than `allowance` (at least 0): the level at
/// which the interval of the difference begins to lie beyond it, as far as
/// evidence goes. 1 where the interval at `CONFIDENCE` does not.
pub fn beyond_p_value(first: &Ranked, second: &Ranked, allowance: f64) -> f64 {
    let outside = |difference: MedianDifference| {
        difference.interval.is_some_and(|i| i.lo > allowance || i.hi < -allowance)
    };
    let beyond =
        |level: f64| outside(difference(first.evidence(1.0 - level), second.evidence(1.0 - level)));
    let weakest = 1.0 - CONFIDENCE;
    if !outside(median_difference(first, second, CONFIDENCE)) || !beyond(weakest) {
        return 1.0;
    }
    if beyond(STRONGEST) {
        return STRONGEST;
    }
    // Halvings of the exponent: 0.2 % of the p-value, and each costs two intervals.
    let (mut not, mut is) = (STRONGEST.ln(), weakest.ln());
    for _ in 0..14 {
        let middle = (not + is) / 2.0;
        if beyond(middle.exp()) { is = middle } else { not = middle }
    }
    is.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to `count`, shifted, high and low in turn so that neighbours are not alike.
    fn series(count: usize, shift: f64) -> Ranked {
        let at =
            |i: usize| if i.is_multiple_of(2) { i / 2 + 1 } else { count - i / 2 } as f64 + shift;
        Ranked::of(&(0..count).map(at).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn ends_are_distances_in_quadrature() {
        let (a, b) = (series(25, 0.0), series(40, 100.0));
        let (of_a, of_b) = (a.estimate(0.95), b.estimate(0.95));
        let (in_a, in_b) = (of_a.interval.unwrap(), of_b.interval.unwrap());
        let found = median_difference(&a, &b, 0.95);
        assert_eq!(found.median, of_b.median - of_a.median);
        let interval = found.interval.unwrap();
        let down = ((of_b.median - in_b.lo).powi(2) + (in_a.hi - of_a.median).powi(2)).sqrt();
        assert!((found.median - interval.lo - down).abs() < 1e-12);
        // Never wider than adding the two intervals, never narrower than either.
        let (wide, narrow) = (in_a.hi - in_a.lo + in_b.hi - in_b.lo, in_b.hi - in_b.lo);
        let width = interval.hi - interval.lo;
        assert!(width < wide && width > narrow, "{narrow} {width} {wide}");
        // The other way round it is the same, mirrored.
        let back = median_difference(&b, &a, 0.95).interval.unwrap();
        assert!((back.lo + interval.hi).abs() < 1e-12 && (back.hi + interval.lo).abs() < 1e-12);
    }

    #[test]
    fn the_p_value_is_the_level_at_which_the_interval_leaves_the_allowance() {
        let (a, b) = (series(60, 0.0), series(60, 25.0));
        for allowance in [0.0, 2.0, 5.0] {
            let p = beyond_p_value(&a, &b, allowance);
            assert!(p > STRONGEST && p < 0.05, "{allowance}: {p}");
            let lo = |level: f64| median_difference(&a, &b, 1.0 - level).interval.unwrap().lo;
            assert!(lo(p * 1.01) > allowance && lo(p * 0.99) <= allowance, "{allowance}: {p}");
        }
        assert_eq!(beyond_p_value(&a, &b, 20.0), 1.0, "the interval spans the allowance");
        assert_eq!(beyond_p_value(&a, &a, 0.0), 1.0);
        assert_eq!(beyond_p_value(&series(5, 0.0), &series(5, 900.0), 0.0), 1.0, "too few");
        // However far apart, a few rounds are a few rounds.
        let few = beyond_p_value(&series(8, 0.0), &series(8, 900.0), 0.0);
        assert!((0.004..0.02).contains(&few), "{few}");
    }
}
