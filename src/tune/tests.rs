use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const TOLERANCE: Tolerance = Tolerance { ns: 20.0, ratio: 0.005 };
const NODES: u32 = 50;

/// Runs a race between periods that are known, with the spread of an H200, and says who leads, how
/// many samples it took and who is still in.
fn race(periods_ns: &[f64], predicted: &[Option<f64>], seed: u64) -> (Standing, usize, Field) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut field = Field::new(NODES, TOLERANCE, predicted);
    for _ in 0..60 {
        let drift: f64 = random.random_range(-0.002..0.002);
        for candidate in field.running() {
            let noise: f64 = (0..4).map(|_| random.random_range(-0.001..0.001)).sum();
            let ns = periods_ns[candidate] * f64::from(NODES) * (1.0 + drift + noise);
            field.record(candidate, Some(ns));
        }
        let standing = field.judge().unwrap();
        if standing.settled {
            return (standing, field.samples(), field);
        }
    }
    panic!("not settled after 60 rounds");
}

/// 24 candidates as a sweep has them: a plateau, a slope, and the baselines.
fn field() -> Vec<f64> {
    let mut periods = vec![4660.0, 4662.0, 4655.0, 4670.0, 4720.0, 4870.0, 5300.0, 5870.0];
    periods.extend([6300.0, 6850.0, 6950.0, 6960.0]);
    periods.extend(periods.clone().into_iter().map(|ns| ns + 600.0));
    periods
}

#[test]
fn the_winner_is_within_half_a_percent_of_the_best_for_a_quarter_of_a_sweeps_samples() {
    let periods = field();
    let none = vec![None; periods.len()];
    for seed in 0..50 {
        let (standing, samples, _) = race(&periods, &none, seed);
        let best = periods.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(periods[standing.leader] < best * 1.005, "{seed}: {standing:?}");
        // The fewest rounds of a sweep are 20.
        assert!(samples * 4 < periods.len() * 20, "{seed}: {samples} samples");
    }
}

#[test]
fn equals_stay_and_what_is_slower_leaves() {
    let periods = field();
    let (standing, _, field) = race(&periods, &vec![None; periods.len()], 7);
    for equal in 0..4 {
        assert!(standing.equals.contains(&equal), "{standing:?}");
    }
    for (behind, (&period, &fate)) in periods.iter().zip(field.fates()).enumerate().skip(6) {
        let Fate::Left { rounds, behind_ns } = fate else {
            panic!("{behind} is still in: {standing:?}");
        };
        let truth = period - 4660.0;
        assert!((behind_ns - truth).abs() < 60.0 + truth * 0.05, "{behind_ns} for {truth}");
        assert!(rounds < 12, "{behind} took {rounds}");
    }
}

#[test]
fn a_wrong_prediction_costs_samples_and_not_the_winner() {
    let periods = field();
    // It takes the best for the worst.
    let wrong: Vec<_> = periods.iter().map(|ns| Some(4655.0 * 6960.0 / ns)).collect();
    for seed in 0..20 {
        let (standing, ..) = race(&periods, &wrong, seed);
        assert!(periods[standing.leader] < 4655.0 * 1.005, "{seed}: {standing:?}");
    }
    let right: Vec<_> = periods.iter().map(|ns| Some(*ns)).collect();
    let close = [4660.0, 4700.0, 4760.0, 4800.0];
    let told = [Some(4660.0), Some(6000.0), Some(6000.0), Some(6000.0)];
    let (_, with, _) = race(&close, &told, 3);
    let (_, without, _) = race(&close, &[None; 4], 3);
    assert!(with < without, "{with} samples with a right prediction, {without} without");
    let (standing, ..) = race(&periods, &right, 3);
    assert!(periods[standing.leader] < 4655.0 * 1.005);
}

#[test]
fn samples_that_a_flag_left_out_count_for_nobody() {
    let mut field = Field::new(NODES, TOLERANCE, &[None, None]);
    assert_eq!(field.judge(), None);
    for round in 0..40 {
        // The faster one's outliers are left out; its other samples are slower.
        field.record(0, (round % 2 == 0).then_some(260_000.0 + f64::from(round * 7 % 11)));
        field.record(1, Some(250_000.0 + f64::from(round * 3 % 7)));
    }
    let standing = field.judge().unwrap();
    assert_eq!(standing.leader, 1);
    let Fate::Left { rounds, .. } = field.fates()[0] else { panic!("{standing:?}") };
    assert_eq!(rounds, 20);
    assert!(standing.settled);
    assert_eq!(standing.equals, [1]);
}
