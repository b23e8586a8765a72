//! Order statistics of one sample.

/// The median of finite values, in the unit of the values; `None` when there are none, or when
/// one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `level` (0 to 1), linear between order statistics: type 7 of Hyndman and Fan,
/// "Sample quantiles in statistical packages", The American Statistician 50 (1996) 361.
///
/// `None` when there are no values, when one is not finite, or when `level` is outside 0 to 1.
pub fn quantile(values: &[f64], level: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&level) {
        return None;
    }
    let sorted = sorted(values)?;
    at_rank(&sorted, 1.0 + level * (sorted.len() - 1) as f64)
}

/// The value at a fractional `rank` (1 is the smallest) of `sorted` values, linear between
/// neighbours; `None` when the rank is outside 1 to the number of values.
pub fn at_rank(sorted: &[f64], rank: f64) -> Option<f64> {
    if !(1.0..=sorted.len() as f64).contains(&rank) {
        return None;
    }
    let below = rank.floor();
    let low = sorted[below as usize - 1];
    let high = sorted[(rank.ceil() as usize).min(sorted.len()) - 1];
    Some(low + (high - low) * (rank - below))
}

/// A sorted copy; `None` when it is empty or a value is not finite.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_linear_between_order_statistics() {
        // R: quantile(c(15, 20, 35, 40, 50), type = 7).
        let values = [50.0, 15.0, 40.0, 20.0, 35.0];
        for (level, expected) in
            [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)]
        {
            let found = quantile(&values, level).unwrap();
            assert!((found - expected).abs() < 1e-12, "{level}: {found}");
        }
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
    }

    #[test]
    fn what_has_no_quantile_has_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[1.0, f64::INFINITY]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(at_rank(&[1.0, 2.0], 0.5), None);
        assert_eq!(at_rank(&[1.0, 2.0], 2.5), None);
    }
}
