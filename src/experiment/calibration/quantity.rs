//! A number with its interval, from one series of rounds.

use crate::profile::{Constant, Difference};
use crate::stats::{CONFIDENCE, Interval, estimate_median};

/// Fewest values of which a median says anything.
const FEWEST: usize = 3;

/// A median over rounds and its 95 % interval, in the unit of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Median.
    pub value: f64,
    /// Its 95 % interval; the range of all rounds where they say too little for one.
    pub interval: Interval,
}

impl Quantity {
    /// The median of `series`, in order of rounds; `None` with too few values.
    pub fn median(series: &[f64]) -> Option<Quantity> {
        if series.len() < FEWEST {
            return None;
        }
        let estimate = estimate_median(series, CONFIDENCE)?;
        let range = || Interval {
            lo: series.iter().copied().fold(f64::INFINITY, f64::min),
            hi: series.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        let interval = estimate.interval.unwrap_or_else(range);
        Some(Quantity { value: estimate.median, interval })
    }

    /// The same number in another unit; `factor` is positive.
    pub fn times(self, factor: f64) -> Quantity {
        let interval = self.interval.map(|end| end * factor);
        Quantity { value: self.value * factor, interval }
    }

    /// The same quantity, `by` more.
    pub fn plus(self, by: f64) -> Quantity {
        Quantity { value: self.value + by, interval: self.interval.map(|end| end + by) }
    }

    /// The same with an interval that is wider by `by` at both ends: what a resolution hides.
    pub fn widened(self, by: f64) -> Quantity {
        let interval = Interval { lo: self.interval.lo - by, hi: self.interval.hi + by };
        Quantity { interval, ..self }
    }

    /// Difference to another quantity; the intervals add up, as if nothing were known of how the
    /// two depend on each other.
    pub fn minus(self, other: Quantity) -> Quantity {
        let (a, b) = (self.interval, other.interval);
        let interval = Interval { lo: a.lo - b.hi, hi: a.hi - b.lo };
        Quantity { value: self.value - other.value, interval }
    }

    /// As a constant of a profile. No constant is below zero: what noise takes there is zero.
    pub fn constant(self, experiment: &str) -> Constant {
        let floor = |end: f64| rounded(end.max(0.0));
        Constant::measured(
            floor(self.value),
            (floor(self.interval.lo), floor(self.interval.hi)),
            experiment,
        )
    }
}

impl From<Quantity> for Difference {
    /// A quantity in ns that may be negative.
    fn from(quantity: Quantity) -> Difference {
        Difference {
            median_ns: rounded(quantity.value),
            lo_ns: rounded(quantity.interval.lo),
            hi_ns: rounded(quantity.interval.hi),
        }
    }
}

/// To six significant digits: more is nothing that was measured. Keeps the order of numbers.
pub fn rounded(value: f64) -> f64 {
    const DIGITS: i32 = 6;
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// What each round says, where every side of it was measured.
pub fn paired<T: Copy>(a: &[Option<T>], b: &[Option<T>], of: impl Fn(T, T) -> f64) -> Vec<f64> {
    a.iter().zip(b).filter_map(|(&a, &b)| Some(of(a?, b?))).filter(|x| x.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_has_an_interval_or_its_range() {
        let scramble: Vec<f64> = (0..41).map(|i| f64::from((i * 17) % 41)).collect();
        let whole = Quantity::median(&scramble).unwrap();
        assert_eq!(whole.value, 20.0);
        assert!(whole.interval.lo > 10.0 && whole.interval.hi < 30.0, "{whole:?}");
        // Four values are too few for 95 %: their range.
        let few = Quantity::median(&[3.0, 1.0, 2.0, 8.0]).unwrap();
        assert_eq!((few.value, few.interval), (2.5, Interval { lo: 1.0, hi: 8.0 }));
        assert_eq!(Quantity::median(&[1.0, 2.0]), None);
        assert_eq!(Quantity::median(&[1.0, 2.0, f64::NAN]), None);
    }

    #[test]
    fn differences_add_their_intervals_up_and_constants_stop_at_zero() {
        let of = |value, lo, hi| Quantity { value, interval: Interval { lo, hi } };
        let found = of(10.0, 8.0, 11.0).minus(of(9.0, 7.0, 10.0));
        assert_eq!(found, of(1.0, -2.0, 4.0));
        let constant = found.constant("k");
        assert_eq!((constant.value, constant.lo, constant.hi), (1.0, Some(0.0), Some(4.0)));
        let below = of(-3.0, -4.0, -2.0).constant("k");
        assert_eq!((below.value, below.lo, below.hi), (0.0, Some(0.0), Some(0.0)));
        assert_eq!(of(2.0, 1.0, 3.0).times(0.5), of(1.0, 0.5, 1.5));
        assert_eq!(of(2.0, 1.0, 3.0).widened(0.5), of(2.0, 0.5, 3.5));
    }

    #[test]
    fn rounds_pair_where_both_sides_were_measured() {
        let a = [Some(5.0), None, Some(7.0), Some(f64::NAN)];
        let b = [Some(1.0), Some(2.0), Some(3.0), Some(1.0)];
        assert_eq!(paired(&a, &b, |a, b| a - b), [4.0, 4.0]);
    }
}
