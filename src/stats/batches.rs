//! The t test of batch medians: evidence that holds whatever the dependence.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::order::median;
use super::serial::BATCHES;

/// Two-sided p-value that the median of `series`, in order of time, is zero: Student's test of the
/// medians of `BATCHES` parts of equal length, one after another (Ibragimov and Müller, J.
/// Business and Economic Statistics 28 (2010) 453). It takes no part of a series for more than one
/// observation, so dependence that is shorter than a part costs nothing, and parts may scatter
/// unequally. 1 when there is less than one value a part, or one is not finite.
pub fn batch_p_value(series: &[f64]) -> f64 {
    let edge = |batch: usize| batch * series.len() / BATCHES;
    let parts: Option<Vec<f64>> =
        (0..BATCHES).map(|batch| median(&series[edge(batch)..edge(batch + 1)])).collect();
    let Some(parts) = parts else { return 1.0 };
    let count = BATCHES as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    if mean == 0.0 {
        return 1.0;
    }
    let Ok(student) = StudentsT::new(0.0, 1.0, count - 1.0) else { return 1.0 };
    (2.0 * student.cdf(-(mean.abs() / error))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_that_of_student_s_table() {
        // Eight parts of three values: the middle ones are the medians. Mean 2.3646 standard errors
        // off zero is the 97.5 % quantile of t with 7 degrees of freedom.
        let medians = [-1.5, 1.5, -1.5, 1.5, -1.5, 1.5, -1.5, 1.5_f64];
        let error = (8.0 * 2.25 / 7.0 / 8.0_f64).sqrt();
        for (quantile, p) in [(2.3646, 0.05), (3.4995, 0.01), (5.4079, 0.001)] {
            let series: Vec<f64> = medians
                .iter()
                .map(|value| value + quantile * error)
                .flat_map(|value| [value - 100.0, value + 7.0, value])
                .collect();
            let found = batch_p_value(&series);
            assert!((found / p - 1.0).abs() < 1e-3, "{quantile}: {found}");
        }
    }

    #[test]
    fn too_few_equal_and_endless_values_are_no_evidence_or_certain() {
        assert_eq!(batch_p_value(&[1.0; 7]), 1.0);
        assert_eq!(batch_p_value(&[0.0; 40]), 1.0);
        assert_eq!(batch_p_value(&[3.0; 40]), 0.0);
        assert_eq!(batch_p_value(&[f64::NAN; 40]), 1.0);
    }
}
