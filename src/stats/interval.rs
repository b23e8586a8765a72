//! Distribution-free intervals of a median.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use super::order::{at_rank, sorted};
use super::serial::{Serial, serial};

/// Confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// Above this effective number the normal approximation of the binomial is used: its error in
/// rank is then under a tenth, and the continued fraction of the beta function stays short.
const NORMAL_FROM: f64 = 2000.0;

/// A closed interval, in the unit of the values it was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Whether the interval says that the quantity is not zero.
    pub fn excludes_zero(&self) -> bool {
        self.lo > 0.0 || self.hi < 0.0
    }

    /// Whether the whole interval lies strictly inside ±`margin`: equivalence. With an interval of
    /// confidence 1 − α this is the pair of one-sided tests of Schuirmann, J. Pharmacokinet.
    /// Biopharm. 15 (1987) 657, each at level α/2.
    pub fn inside(&self, margin: f64) -> bool {
        -margin < self.lo && self.hi < margin
    }

    /// The ends after an increasing function of the values.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Interval {
        Interval { lo: f(self.lo), hi: f(self.hi) }
    }

    /// Distance from zero of the end that is farther away.
    pub fn reach(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}

/// A median, its interval, and what the interval took into account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianEstimate {
    /// Median, in the unit of the values.
    pub median: f64,
    /// Interval of the median; `None` when the effective number is too small for the confidence
    /// (fewer than six independent values for 95 %).
    pub interval: Option<Interval>,
    /// Values.
    pub count: usize,
    /// How the values depend on one another in time.
    pub serial: Serial,
}

impl MedianEstimate {
    /// Independent values that would say as much about the median; never more than there are.
    pub fn effective_count(&self) -> f64 {
        self.count as f64 / self.serial.inflation.max(1.0)
    }

    /// Independent values that would be as much evidence about the median.
    pub fn evidence_count(&self) -> f64 {
        self.count as f64 / self.serial.evidence_inflation
    }
}

/// The median of `series`, in order of time, and its interval at `confidence` (0 to 1, exclusive).
///
/// The ends are *fractional order statistics*: the rank at which the probability that the true
/// median lies beyond is exactly (1 − confidence)/2, read linearly between the neighbouring values
/// (Hutson, "Calculating nonparametric confidence intervals for quantiles using fractional order
/// statistics", J. Applied Statistics 26 (1999) 343). The interval lies between two
/// [exact ones](exact_median_interval), one of which covers at least `confidence`; without the
/// interpolation coverage would jump with the number of values, from 95.0 to 98.3 % for 20 to 200.
/// A dependent series counts as its effective number of values (`serial`), whose
/// own error is allowed for at 95 %.
///
/// `None` when there are no values, or when one is not finite.
pub fn estimate_median(series: &[f64], confidence: f64) -> Option<MedianEstimate> {
    Some(Ranked::of(series)?.estimate(confidence))
}

/// A series whose values are sorted once and may then be estimated at any confidence.
#[derive(Clone, Debug)]
pub struct Ranked {
    sorted: Vec<f64>,
    median: f64,
    serial: Serial,
}

impl Ranked {
    /// Ranks `series`, in order of time. `None` when there are no values, or when one is not
    /// finite.
    pub fn of(series: &[f64]) -> Option<Ranked> {
        let sorted = sorted(series)?;
        let median = at_rank(&sorted, (sorted.len() + 1) as f64 / 2.0)?;
        Some(Ranked { sorted, median, serial: serial(series) })
    }

    /// Median and interval, as [`estimate_median`] gives them.
    pub fn estimate(&self, confidence: f64) -> MedianEstimate {
        // The factor's error is allowed for at 95 %; further out, luck must not narrow an interval.
        let least = if confidence > CONFIDENCE { 1.0 } else { 0.0 };
        self.deflated(self.serial.inflation.max(least), confidence)
    }

    /// The same for a test at the level 1 − `confidence`: see [`serial`](super::serial) for what
    /// evidence takes dependence to be. Only beside [`estimate`](Ranked::estimate).
    pub(super) fn evidence(&self, confidence: f64) -> MedianEstimate {
        self.deflated(self.serial.evidence_inflation, confidence)
    }

    fn deflated(&self, inflation: f64, confidence: f64) -> MedianEstimate {
        let count = self.sorted.len();
        let interval = fractional(&self.sorted, count as f64 / inflation, confidence);
        MedianEstimate { median: self.median, interval, count, serial: self.serial }
    }

    /// Distance between the quartiles, in the unit of the values.
    pub fn spread(&self) -> f64 {
        let last = (self.sorted.len() - 1) as f64;
        let at = |level: f64| at_rank(&self.sorted, 1.0 + level * last).unwrap_or(self.median);
        at(0.75) - at(0.25)
    }
}

/// The interval of the median of `sorted` values that say as much as `effective` independent ones.
fn fractional(sorted: &[f64], effective: f64, confidence: f64) -> Option<Interval> {
    let ranks = (sorted.len() + 1) as f64;
    let rank = lower_level(effective, confidence)? * ranks;
    Some(Interval { lo: at_rank(sorted, rank)?, hi: at_rank(sorted, ranks - rank)? })
}

/// The level u below one half at which a sample quantile of `effective` independent values
/// exceeds the true median with probability (1 − confidence)/2. The quantile at level u of a
/// uniform sample is Beta((n+1)u, (n+1)(1−u)), so the probability is 1 − I½ of it. `None` when
/// that is beyond the smallest value.
fn lower_level(effective: f64, confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0 && effective >= 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let scale = effective + 1.0;
    if effective > NORMAL_FROM {
        let z = Normal::standard().inverse_cdf(1.0 - tail);
        return Some(0.5 - z * effective.sqrt() / (2.0 * scale));
    }
    // P(Beta(a, b) > ½) = I½(b, a).
    let beyond = |level: f64| beta_reg((1.0 - level) * scale, level * scale, 0.5);
    let smallest = 1.0 / scale;
    if beyond(smallest) > tail {
        return None;
    }
    Some(rising_root(|level| beyond(level) - tail, smallest, 0.5))
}

/// Where `f`, which rises from not above zero at `low` to above it at `high`, is zero: regula falsi
/// with halving (Illinois; Dowell and Jarratt, BIT 11 (1971) 168), to the last digits.
fn rising_root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    let mut kept_low = None;
    for _ in 0..60 {
        let middle = (low * at_high - high * at_low) / (at_high - at_low);
        if !(middle > low && middle < high) || high - low < 1e-14 {
            break;
        }
        let found = f(middle);
        if found > 0.0 {
            (high, at_high) = (middle, found);
            if kept_low == Some(true) {
                at_low /= 2.0;
            }
            kept_low = Some(true);
        } else {
            (low, at_low) = (middle, found);
            if kept_low == Some(false) {
                at_high /= 2.0;
            }
            kept_low = Some(false);
        }
        if found.abs() < 1e-15 {
            return middle;
        }
    }
    low
}

/// An interval between two order statistics, with the coverage that it has for every continuous
/// distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactInterval {
    /// The interval.
    pub interval: Interval,
    /// Rank of the lower end, 1 the smallest; the upper end has the same rank from the top.
    pub rank: usize,
    /// Probability that such an interval covers the median: at least the confidence asked for.
    pub coverage: f64,
}

/// The shortest symmetric interval between order statistics that covers the median of independent
/// values with at least `confidence`, whatever their distribution: conservative, the coverage is
/// returned. Ranks from the binomial distribution (David and Nagaraja, "Order Statistics", 3rd
/// ed., section 7.1).
///
/// `None` when no pair of order statistics covers enough, or a value is not finite.
pub fn exact_median_interval(values: &[f64], confidence: f64) -> Option<ExactInterval> {
    let sorted = sorted(values)?;
    let count = sorted.len();
    let level = lower_level(count as f64, confidence)?;
    // The largest whole rank that is not inside; rounding must not cost a rank that fits exactly.
    let rank = (level * (count + 1) as f64 + 1e-9).floor() as usize;
    let interval = Interval { lo: *sorted.get(rank.checked_sub(1)?)?, hi: sorted[count - rank] };
    let coverage = 1.0 - 2.0 * binomial_half_cdf(count as f64, rank as f64 - 1.0);
    Some(ExactInterval { interval, rank, coverage })
}

/// P(X ≤ x) of a binomial of `count` trials of one half. Both may be fractional: the continuous
/// extension through the incomplete beta function, equal to the binomial at whole numbers.
pub(super) fn binomial_half_cdf(count: f64, x: f64) -> f64 {
    if x < 0.0 {
        return 0.0;
    }
    if x >= count {
        return 1.0;
    }
    if count > NORMAL_FROM {
        let z = (x + 0.5 - count / 2.0) / (count.sqrt() / 2.0);
        return Normal::standard().cdf(z);
    }
    beta_reg(count - x, x + 1.0, 0.5)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranks(count: usize) -> Vec<f64> {
        // High and low in turn.
        (0..count).map(|i| if i % 2 == 0 { i / 2 + 1 } else { count - i / 2 } as f64).collect()
    }

    #[test]
    fn exact_ranks_are_the_published_ones() {
        // Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.2 and table A3
        // (binomial, p = 0.5): for n = 16 ranks 4 and 13 cover 0.9787; for n = 10 ranks 2 and 9
        // cover 0.9785; for n = 6 the extremes cover 0.9688; for n = 20 ranks 6 and 15 cover
        // 0.9586.
        for (count, rank, coverage) in
            [(6, 1, 0.9688), (10, 2, 0.9785), (16, 4, 0.9787), (20, 6, 0.9586), (25, 8, 0.9567)]
        {
            let found = exact_median_interval(&ranks(count), 0.95).unwrap();
            assert_eq!(found.rank, rank, "n = {count}");
            assert!((found.coverage - coverage).abs() < 6e-5, "n = {count}: {}", found.coverage);
            assert_eq!(found.interval, Interval { lo: rank as f64, hi: (count + 1 - rank) as f64 });
        }
        assert_eq!(exact_median_interval(&ranks(5), 0.95), None);
    }

    #[test]
    fn the_fractional_interval_lies_between_two_exact_ones() {
        for count in [6_usize, 9, 22, 50, 199, 1500] {
            let values = sorted(&ranks(count)).unwrap();
            let interval = fractional(&values, count as f64, 0.95).unwrap();
            let outer = exact_median_interval(&values, 0.95).unwrap();
            assert!(outer.interval.lo <= interval.lo && interval.hi <= outer.interval.hi);
            let inner = (outer.rank + 1) as f64;
            assert!(interval.lo < inner, "n = {count}: {interval:?} {outer:?}");
            let too_short = 1.0 - 2.0 * binomial_half_cdf(count as f64, outer.rank as f64);
            assert!(too_short < 0.95 && outer.coverage >= 0.95);
        }
    }

    #[test]
    fn the_normal_branch_meets_the_beta_branch() {
        for count in [1990.0, 2000.0] {
            let exact = lower_level(count, 0.95).unwrap() * (count + 1.0);
            let z = 1.959_963_985;
            let normal = (count + 1.0) / 2.0 - z * f64::sqrt(count) / 2.0;
            assert!((exact - normal).abs() < 0.1, "{exact} {normal}");
        }
        let step = binomial_half_cdf(2000.0, 960.0) - binomial_half_cdf(2000.1, 960.0);
        assert!(step.abs() < 1e-3, "{step}");
    }

    #[test]
    fn the_continuous_binomial_equals_the_binomial_at_whole_numbers() {
        // Sums of binomial coefficients over 2^10.
        let sums = [1.0, 11.0, 56.0, 176.0, 386.0, 638.0];
        for (x, sum) in sums.iter().enumerate() {
            let found = binomial_half_cdf(10.0, x as f64);
            assert!((found - sum / 1024.0).abs() < 1e-12);
        }
    }

    #[test]
    fn dependence_widens_the_interval() {
        // The same values: in turn, in twos of neighbours, and as a trend.
        let alternating = ranks(60);
        let mut paired = alternating.clone();
        paired.sort_by_key(|&value| ((value as usize / 3 * 7) % 20, value as usize));
        let mut trend = alternating.clone();
        trend.sort_by(f64::total_cmp);
        let width =
            |series: &[f64]| estimate_median(series, 0.95).unwrap().interval.map(|i| i.hi - i.lo);
        assert!(width(&paired) > width(&alternating), "{:?}", width(&paired));
        assert_eq!(width(&trend), None, "a trend of 60 says less than six independent values");
    }

    #[test]
    fn equivalence_is_the_interval_inside_the_margin() {
        let cases = [
            ((-0.5, 0.5), 1.0, true),
            ((-1.0, 0.5), 1.0, false),
            ((0.2, 0.9), 1.0, true),
            ((0.2, 1.1), 1.0, false),
            ((-0.1, 0.1), 0.0, false),
        ];
        for ((lo, hi), margin, expected) in cases {
            assert_eq!(Interval { lo, hi }.inside(margin), expected, "{lo} {hi} {margin}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_median_and_is_finite(
            values in proptest::collection::vec(-1e12..1e12_f64, 1..200),
        ) {
            let estimate = estimate_median(&values, 0.95).unwrap();
            prop_assert!(estimate.median.is_finite());
            if let Some(Interval { lo, hi }) = estimate.interval {
                prop_assert!(lo <= estimate.median && estimate.median <= hi);
            }
            prop_assert!(estimate.serial.inflation >= 0.5);
            prop_assert!(estimate.serial.evidence_inflation >= 1.0);
        }
    }
}
