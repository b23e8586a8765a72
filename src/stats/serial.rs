//! Dependence between rounds that follow one another, and what it costs.
//!
//! Neighbouring rounds share a clock state, a neighbour's load or a mode of the launch path, so
//! their differences are often alike: twenty rounds then say less than twenty independent ones.
//! What counts for a median is how the number of values below it scatters. That is measured with
//! *batches*: the series is cut into [`BATCHES`] parts of equal length, one after another, each
//! part counts its values above minus its values below the median, and the variance of these
//! counts, over the one that independent values would have, is the factor by which dependence
//! inflates it (non-overlapping batch means; Schmeiser, "Batch size effects in the analysis of
//! simulation output", Operations Research 30 (1982) 556). Nothing is assumed about the shape of
//! the dependence: slow decay, two states and periodic disturbances are seen alike, as long as they
//! are shorter than a batch. The effective number of rounds is the number divided by the factor.
//!
//! The factor is itself an estimate from few batches. Its error is allowed for as in Student's t
//! test, which stands on the same estimate: quantiles of t with one degree of freedom fewer than
//! batches in place of the normal ones, that is (2.365 / 1.960)² = 1.455 on the variance (that few
//! batches with t quantiles are robust: Ibragimov and Müller, "t-statistic based correlation and
//! heterogeneity robust inference", J. Business and Economic Statistics 28 (2010) 453). This is
//! always on: a test for correlation first has no power at twenty rounds, where a first-lag
//! correlation of 0.3 would cut the coverage of a 95 % interval to 89 %.
//!
//! **Evidence is another matter.** In the far tail that a correction for many comparisons looks at,
//! seven degrees of freedom leave a test no power: 5 · 10⁻⁴ takes 6.1 standard errors of t where it
//! takes 3.5 of the normal distribution. p-values therefore use the first-lag correlation of ranks,
//! an estimate that scatters little, and what it means for an AR(1) series: the correlation of two
//! signs at lag k is (2/π) asin ρᵏ (Sheppard, Phil. Trans. A 192 (1899) 101), so
//!
//! > evidence inflation = 1 + 2 Σₖ (1 − k/n) (2/π) asin ρᵏ
//!
//! No claim rests on a p-value alone: the interval has to exclude zero too, and the median to
//! exceed the noise floor.
//!
//! docs/validation.md has the coverage under correlation, modes, drift and heavy tails.

use std::f64::consts::PI;

use statrs::distribution::{ContinuousCDF, Normal};

/// Fewest values from which dependence is estimated. Below, values count as independent: batches
/// of one value say nothing.
pub const MIN_ROUNDS: usize = 10;

/// Parts that a series is cut into.
pub const BATCHES: usize = 8;

/// (2.3646 / 1.9600)²: squared quantiles at 97.5 % of Student's t with 7 degrees of freedom and of
/// the normal distribution.
const STUDENT: f64 = 1.4555;

/// Alternating series and lucky batches narrow an interval to that of twice the values, no more.
const LEAST: f64 = 0.5;

/// The strongest correlation that is told apart; above, a series is a trend.
const MAX_RHO: f64 = 0.999;

/// How a series depends on itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serial {
    /// Correlation of neighbours, estimated from ranks, corrected for bias; −1 to 1.
    pub lag1: f64,
    /// Factor of the variance of a count below the median, its own error allowed for at 95 %: the
    /// number divided by it is the effective number. 1 for too few values.
    pub inflation: f64,
    /// The same for the evidence of a sign test: at least 1, from the first-lag correlation alone.
    pub evidence_inflation: f64,
    /// Whether the correlation is positive beyond chance (one-sided, 1 %).
    pub significant: bool,
}

impl Serial {
    const NONE: Serial =
        Serial { lag1: 0.0, inflation: 1.0, evidence_inflation: 1.0, significant: false };
}

/// Estimates how `series`, in order of time, depends on itself.
pub fn serial(series: &[f64]) -> Serial {
    let n = series.len() as f64;
    if series.len() < MIN_ROUNDS {
        return Serial::NONE;
    }
    let ranks = midranks(series);
    let mean = (n + 1.0) / 2.0;
    let total: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    if total <= 0.0 {
        return Serial::NONE;
    }
    let products: f64 = ranks.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let observed = products / total;
    // Expected value of a serial correlation about an estimated mean: ρ − (1 + 4ρ)/n (Marriott and
    // Pope, Biometrika 41 (1954) 390), solved for ρ.
    let unbiased = ((n * observed + 1.0) / (n - 4.0)).clamp(-1.0, 1.0);
    // From ranks to the gaussian copula: ρ = 2 sin(π ρ_s / 6) (Pearson 1907).
    let lag1 = 2.0 * (PI * unbiased / 6.0).sin();
    let z = Normal::standard().inverse_cdf(0.99);
    let significant = (observed + 1.0 / n) * n.sqrt() > z;
    let inflation = (STUDENT * batch_variance(&ranks, mean)).max(LEAST);
    let evidence_inflation = first_order_inflation(lag1, series.len());
    Serial { lag1, inflation, evidence_inflation, significant }
}

/// Growth of the variance of the number below the median of an AR(1) series of `count` values.
fn first_order_inflation(rho: f64, count: usize) -> f64 {
    let rho = rho.min(MAX_RHO);
    let mut power = rho;
    let mut sum = 0.0;
    for lag in 1..count {
        if power < 1e-4 {
            break;
        }
        sum += (1.0 - lag as f64 / count as f64) * power.asin();
        power *= rho;
    }
    1.0 + 4.0 / PI * sum
}

/// Variance of the batches' counts above minus below `middle`, over that of independent values; 1
/// when no value is off the middle.
fn batch_variance(ranks: &[f64], middle: f64) -> f64 {
    let sign = |rank: &f64| f64::from(*rank > middle) - f64::from(*rank < middle);
    let off: f64 = ranks.iter().map(|rank| sign(rank).abs()).sum();
    if off <= 0.0 {
        return 1.0;
    }
    let edge = |batch: usize| batch * ranks.len() / BATCHES;
    let counts: Vec<f64> = (0..BATCHES)
        .map(|batch| ranks[edge(batch)..edge(batch + 1)].iter().map(sign).sum())
        .collect();
    let mean = counts.iter().sum::<f64>() / BATCHES as f64;
    let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
    squares / (BATCHES as f64 - 1.0) * BATCHES as f64 / off
}

/// Ranks from 1; equal values share the mean of theirs.
fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = below as f64 + (tied.len() + 1) as f64 / 2.0;
        for &index in tied {
            ranks[index] = shared;
        }
        below += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(midranks(&[2.0, 1.0, 2.0, 5.0, 2.0]), [3.0, 1.0, 3.0, 5.0, 3.0]);
        assert_eq!(midranks(&[0.0, -0.0]), [1.5, 1.5]);
    }

    #[test]
    fn the_factor_is_that_of_the_batches() {
        // Eight batches of four. By hand: counts above − below of 4, −4, 4, −4, 4, −4, 4, −4 have
        // the variance 8 · 16 / 7, where 32 independent signs would have 4 a batch.
        let blocks: Vec<f64> = (0..32).map(|i| f64::from(i / 4 % 2)).collect();
        assert!((batch_variance(&midranks(&blocks), 16.5) - 32.0 / 7.0).abs() < 1e-12);
        assert!((serial(&blocks).inflation - STUDENT * 32.0 / 7.0).abs() < 1e-9);
        // Signs that alternate cancel in every batch: the factor is the least there is.
        let even: Vec<f64> = (0..32).map(|i| f64::from(i % 2)).collect();
        assert_eq!(serial(&even).inflation, LEAST);
        // Values at the median count neither above nor below: 3 of 4 are zero here.
        let ties: Vec<f64> =
            (0..64).map(|i| if i % 4 == 0 { f64::from(i / 8 % 2) - 0.5 } else { 0.0 }).collect();
        assert!((batch_variance(&midranks(&ties), 32.5) - 16.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn evidence_follows_the_formula() {
        assert_eq!(first_order_inflation(0.0, 100), 1.0);
        assert_eq!(first_order_inflation(-0.5, 100), 1.0);
        // By hand for a long series of rho = 0.3: asin of 0.3, 0.09, 0.027, 0.0081, 0.00243, …
        // = 0.304693 + 0.090122 + 0.027003 + 0.0081 + 0.00243 + 0.00104 = 0.433388; × 4/π + 1.
        assert!((first_order_inflation(0.3, 1_000_000) - 1.5518).abs() < 1e-3);
    }

    #[test]
    fn student_s_quantile_is_that_of_the_table() {
        use statrs::distribution::StudentsT;
        let t = StudentsT::new(0.0, 1.0, BATCHES as f64 - 1.0).unwrap().inverse_cdf(0.975);
        let z = Normal::standard().inverse_cdf(0.975);
        assert!((t - 2.3646).abs() < 1e-4 && ((t / z).powi(2) - STUDENT).abs() < 1e-3, "{t} {z}");
    }

    #[test]
    fn a_slow_wave_is_significant_and_a_scramble_is_not() {
        let wave: Vec<f64> =
            (0..100).map(|i| f64::from(i / 10 % 2) + f64::from(i) * 1e-6).collect();
        let scramble: Vec<f64> = (0..101).map(|i| f64::from((i * 37) % 101)).collect();
        assert!(serial(&wave).significant && serial(&wave).inflation > 3.0);
        assert!(!serial(&scramble).significant && serial(&scramble).inflation < 1.5);
    }

    #[test]
    fn too_few_or_equal_values_count_as_independent() {
        assert_eq!(serial(&[1.0, 2.0, 3.0, 4.0]), Serial::NONE);
        assert_eq!(serial(&[7.0; 50]), Serial::NONE);
    }
}
