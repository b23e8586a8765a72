//! Many tests at once.

/// p-values adjusted for being a family, by the step-down method of Holm, Scand. J. Statistics 6
/// (1979) 65: the chance that *any* true null hypothesis falls below a level is at most that
/// level, whatever the dependence. The order is that of the input; NaN counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| known(p_values[a]).total_cmp(&known(p_values[b])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut so_far: f64 = 0.0;
    for (step, &index) in order.iter().enumerate() {
        let left = (p_values.len() - step) as f64;
        so_far = so_far.max(left * known(p_values[index])).min(1.0);
        adjusted[index] = so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_are_those_of_r() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02, which is also
        // the worked example of the method: 4 × 0.005, 3 × 0.01, 2 × 0.03, then never less.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn adjustment_never_lowers_and_never_exceeds_one() {
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[0.9, 0.8, f64::NAN]), [1.0, 1.0, 1.0]);
    }
}
