//! The sign test: the p-value that goes with the interval of a median.

use super::interval::binomial_half_cdf;

/// Two-sided p-value of the sign test that the median of `differences` is zero.
///
/// Zeros are left out (Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.4). A
/// dependent series counts as its number divided by `inflation` (1 for independent values, else the
/// [evidence inflation](super::Serial::evidence_inflation)), through the continuous extension of the binomial. 1 when nothing but zeros is left or an argument is
/// not a number.
pub fn sign_p_value(differences: &[f64], inflation: f64) -> f64 {
    let positive = differences.iter().filter(|&&d| d > 0.0).count();
    let negative = differences.iter().filter(|&&d| d < 0.0).count();
    if positive + negative == 0 || inflation.is_nan() {
        return 1.0;
    }
    let inflation = inflation.max(1.0);
    let count = (positive + negative) as f64 / inflation;
    let fewer = positive.min(negative) as f64 / inflation;
    (2.0 * binomial_half_cdf(count, fewer)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(positive: usize, negative: usize, zero: usize) -> Vec<f64> {
        [vec![1.5; positive], vec![-0.5; negative], vec![0.0; zero]].concat()
    }

    #[test]
    fn p_values_are_the_published_ones() {
        // Binomial table, p = 0.5 (Conover, table A3): P(X ≤ 1 | 10) = 0.0107, P(X ≤ 3 | 15) =
        // 0.0176, P(X ≤ 5 | 20) = 0.0207, P(X = 0 | 6) = 0.0156; two-sided is twice.
        for ((positive, negative, zero), half) in
            [((9, 1, 0), 0.0107), ((3, 12, 4), 0.0176), ((15, 5, 0), 0.0207), ((6, 0, 1), 0.0156)]
        {
            let found = sign_p_value(&signs(positive, negative, zero), 1.0);
            assert!((found - 2.0 * half).abs() < 1e-4, "{positive} {negative}: {found}");
        }
    }

    #[test]
    fn nothing_to_test_is_no_evidence() {
        assert_eq!(sign_p_value(&[], 1.0), 1.0);
        assert_eq!(sign_p_value(&[0.0; 9], 1.0), 1.0);
        assert_eq!(sign_p_value(&signs(5, 5, 0), 1.0), 1.0);
    }

    #[test]
    fn dependence_weakens_the_evidence() {
        let differences = signs(18, 2, 0);
        let independent = sign_p_value(&differences, 1.0);
        let dependent = sign_p_value(&differences, 2.0);
        assert!(independent < 1e-3 && dependent > 10.0 * independent && dependent < 0.05);
        // Twice the variance of 20 rounds is the evidence of 10.
        assert!((dependent - sign_p_value(&signs(9, 1, 0), 1.0)).abs() < 1e-12);
    }
}
