//! Seeded simulations: how often do the intervals cover the truth?

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Ranked, beyond_p_value, estimate_median, median_difference, sign_p_value};

/// A stream with median zero.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Gaussian,
    /// Student's t with two degrees of freedom: no variance.
    Heavy,
    /// Slower only: a tenth of the values has an exponential tail added; shifted to median zero.
    Skewed,
    /// AR(1) with gaussian steps.
    Correlated(f64),
    /// Two states, six standard deviations apart; one of so many rounds changes the state.
    Modes(u32),
}

fn gaussian(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn draw(stream: Stream, count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    match stream {
        Stream::Gaussian => (0..count).map(|_| gaussian(rng)).collect(),
        Stream::Heavy => (0..count)
            .map(|_| {
                // t with 2 degrees of freedom has the quantile (2u − 1) / sqrt(2u(1 − u)).
                let u: f64 = rng.random_range(1e-12..1.0);
                (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt()
            })
            .collect(),
        // An exponential has its median at ln 2.
        Stream::Skewed => {
            (0..count).map(|_| -(1.0 - rng.random::<f64>()).ln() - std::f64::consts::LN_2).collect()
        }
        Stream::Correlated(rho) => {
            let mut value = gaussian(rng);
            let mut series = Vec::with_capacity(count);
            for _ in 0..count {
                series.push(value);
                value = rho * value + (1.0 - rho * rho).sqrt() * gaussian(rng);
            }
            series
        }
        Stream::Modes(stay) => {
            let mut up = rng.random::<bool>();
            (0..count)
                .map(|_| {
                    up ^= rng.random_range(0..stay) == 0;
                    gaussian(rng) + if up { 3.0 } else { -3.0 }
                })
                .collect()
        }
    }
}

struct Rates {
    /// Part of the intervals that hold zero; a run without an interval does not count.
    coverage: f64,
    /// Part of the runs whose sign test rejects zero at 5 %.
    rejected: f64,
    /// Part of the runs without an interval.
    missing: f64,
}

fn simulate(stream: Stream, count: usize, runs: u32, seed: u64) -> Rates {
    let mut rng = ChaCha8Rng::seed_from_u64(seed + count as u64);
    let (mut covered, mut rejected, mut missing) = (0, 0, 0);
    for _ in 0..runs {
        let series = draw(stream, count, &mut rng);
        let estimate = estimate_median(&series, 0.95).unwrap();
        covered += u32::from(estimate.interval.is_some_and(|i| !i.excludes_zero()));
        rejected += u32::from(sign_p_value(&series, estimate.serial.evidence_inflation) < 0.05);
        missing += u32::from(estimate.interval.is_none());
    }
    let part = |of: u32, all: u32| f64::from(of) / f64::from(all);
    Rates {
        coverage: part(covered, runs - missing),
        rejected: part(rejected, runs),
        missing: part(missing, runs),
    }
}

fn check(counts: &[usize], runs: u32) {
    let streams = [
        Stream::Gaussian,
        Stream::Heavy,
        Stream::Skewed,
        Stream::Correlated(0.3),
        Stream::Modes(2),
    ];
    let mut bad = Vec::new();
    for (stream, seed) in streams.into_iter().zip(1..) {
        for &count in counts {
            let Rates { coverage, rejected, missing } = simulate(stream, count, runs, 1000 * seed);
            let line = format!(
                "{stream:?} n={count}: covers {coverage:.4}, rejects {rejected:.4}, none {missing:.4}"
            );
            println!("{line}");
            if !(0.93..=0.97).contains(&coverage) || rejected > 0.065 || missing > 0.005 {
                bad.push(line);
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn nominal_95_covers_93_to_97() {
    check(&[30, 60, 200], 2000);
}

#[test]
#[ignore = "the whole table takes minutes"]
fn nominal_95_covers_93_to_97_at_every_size() {
    check(&[24, 30, 36, 40, 50, 60, 64, 80, 100, 150, 200], 20_000);
}

/// Two independent series whose medians are equal, of unequal size and shape.
fn simulate_two(streams: (Stream, Stream), counts: (usize, usize), runs: u32, seed: u64) -> Rates {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut covered, mut rejected, mut missing) = (0, 0, 0);
    for _ in 0..runs {
        let first = Ranked::of(&draw(streams.0, counts.0, &mut rng)).unwrap();
        let second = Ranked::of(&draw(streams.1, counts.1, &mut rng)).unwrap();
        let difference = median_difference(&first, &second, 0.95);
        covered += u32::from(difference.interval.is_some_and(|i| !i.excludes_zero()));
        rejected += u32::from(beyond_p_value(&first, &second, 0.0) < 0.01);
        missing += u32::from(difference.interval.is_none());
    }
    let part = |of: u32, all: u32| f64::from(of) / f64::from(all);
    Rates {
        coverage: part(covered, runs - missing),
        rejected: part(rejected, runs),
        missing: part(missing, runs),
    }
}

#[test]
fn the_difference_of_two_medians_is_covered_and_its_p_value_keeps_its_level() {
    use Stream::{Correlated, Gaussian, Heavy, Skewed};
    let pairs = [
        (Gaussian, Gaussian),
        (Gaussian, Heavy),
        (Skewed, Skewed),
        (Skewed, Gaussian),
        (Correlated(0.3), Gaussian),
    ];
    let mut bad = Vec::new();
    for ((streams, counts), seed) in
        pairs.iter().flat_map(|&pair| [(pair, (24, 60)), (pair, (60, 60))]).zip(1..)
    {
        let Rates { coverage, rejected, missing } = simulate_two(streams, counts, 2000, seed);
        let line = format!(
            "{streams:?} {counts:?}: covers {coverage:.4}, p < 0.01 in {rejected:.4}, none {missing:.4}"
        );
        println!("{line}");
        // Wider than nominal, for both series are now and then taken to depend on themselves: an
        // error on the side of no verdict. Level 1 %, with three standard errors of 2000 runs.
        if !(0.94..=0.985).contains(&coverage) || rejected > 0.017 || missing > 0.02 {
            bad.push(line);
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_width_of_a_difference_is_that_of_gaussian_medians() {
    // The variance of a gaussian median is π/2 σ²/n (Kendall and Stuart, vol. 1, section 14.12).
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut width, runs) = (0.0, 400);
    for _ in 0..runs {
        let first = Ranked::of(&draw(Stream::Gaussian, 100, &mut rng)).unwrap();
        let second = Ranked::of(&draw(Stream::Gaussian, 200, &mut rng)).unwrap();
        let interval = median_difference(&first, &second, 0.95).interval.unwrap();
        width += (interval.hi - interval.lo) / f64::from(runs);
    }
    let variance = std::f64::consts::FRAC_PI_2 * (1.0 / 100.0 + 1.0 / 200.0);
    let wanted = 2.0 * 1.96 * variance.sqrt();
    // A fifth wider: what dependence costs is not known but estimated, from eight batches each.
    assert!(width > 1.1 * wanted && width < 1.25 * wanted, "{width} {wanted}");
}
