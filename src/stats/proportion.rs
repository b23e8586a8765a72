//! How often something happens, from k of n independent repetitions.

use statrs::function::beta::beta_reg;

use super::interval::{CONFIDENCE, Interval};

/// Interval of the probability behind `k` of `n` at [`CONFIDENCE`]: Clopper and Pearson,
/// Biometrika 26 (1934) 404. Exact, hence conservative. `None` for no repetitions or k above n.
pub fn proportion(k: u64, n: u64) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let lo = if k == 0 { 0.0 } else { quantile(k as f64, (n - k + 1) as f64, tail) };
    let hi = if k == n { 1.0 } else { quantile((k + 1) as f64, (n - k) as f64, 1.0 - tail) };
    Some(Interval { lo, hi })
}

/// One-sided upper bound of the probability of what was never seen in `n` repetitions, at
/// [`CONFIDENCE`]: 1 − (1 − confidence)^(1/n), about 3/n (the rule of three). 1 for none.
pub fn never_seen_bound(n: u64) -> f64 {
    if n == 0 {
        return 1.0;
    }
    -((1.0 - CONFIDENCE).ln() / n as f64).exp_m1()
}

/// Quantile of Beta(a, b) by bisection: its distribution function is monotone, and 100 halvings
/// reach every double.
fn quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if beta_reg(a, b, middle) < p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X ≥ k) of n tries at probability p, term by term.
    fn at_least(k: u64, n: u64, p: f64) -> f64 {
        let choose = |i: u64| (0..i).map(|j| (n - j) as f64 / (j + 1) as f64).product::<f64>();
        (k..=n).map(|i| choose(i) * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32)).sum()
    }

    #[test]
    fn an_interval_ends_where_the_data_become_unlikely() {
        for (k, n, lo, hi) in [
            (0, 10, 0.0, 0.3085),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (7, 300, 0.0094, 0.0475),
        ] {
            let found = proportion(k, n).unwrap();
            assert!((found.lo - lo).abs() < 6e-5, "{k} of {n}: {found:?}");
            assert!((found.hi - hi).abs() < 6e-5, "{k} of {n}: {found:?}");
            if k > 0 {
                assert!((at_least(k, n, found.lo) - 0.025).abs() < 1e-9, "{k} of {n}");
            }
            if k < n {
                assert!((1.0 - at_least(k + 1, n, found.hi) - 0.025).abs() < 1e-9, "{k} of {n}");
            }
        }
        let large = proportion(0, 100_000).unwrap();
        assert!((large.hi - 3.6888e-5).abs() < 1e-9, "{large:?}");
    }

    #[test]
    fn the_bound_of_what_was_never_seen_is_the_rule_of_three() {
        for (n, bound) in
            [(0, 1.0), (1, 0.95), (10, 0.2589), (1000, 2.9912e-3), (100_000, 2.9957e-5)]
        {
            let found = never_seen_bound(n);
            assert!((found - bound).abs() < 1e-3 * bound, "{n}: {found}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_cannot_be() {
        assert_eq!(proportion(0, 0), None);
        assert_eq!(proportion(3, 2), None);
    }
}
