//! When a group of points has been measured enough. Pure: simulations stop as runs do.

use std::time::Duration;

use crate::stats::{self, Interval};

/// Independent rounds that an effect needs whose rounds are alike beyond chance: how alike they are
/// is not known from fewer.
const LEAST_EFFECTIVE: f64 = 20.0;

/// Looks at precision while the fewest rounds are doubled.
const LOOKS: u32 = 4;

/// When a group of points has been measured enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// Rounds below which no interval is looked at.
    pub rounds_min: u32,
    /// Most rounds.
    pub rounds_max: u32,
    /// Rounds of the long chains, spread over the others.
    pub long_rounds: u32,
    /// Device time a group may take, calibration included.
    pub group_budget: Duration,
    /// Device time of warm-up before the first group; later groups take a tenth.
    pub warm_up: Duration,
    /// Margin in µs a hop.
    pub margin_us: f64,
    /// Margin as a part of the baseline's period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Stamped runs per point × arm.
    pub stamp_repetitions: u32,
    /// Independent rounds' worth of evidence that an effect above the margin needs.
    pub effective_rounds: f64,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping {
            rounds_min: 30,
            rounds_max: 120,
            long_rounds: 8,
            group_budget: Duration::from_secs(20),
            warm_up: Duration::from_millis(1000),
            margin_us: 0.02,
            margin_ratio: 0.005,
            stamp_repetitions: 5,
            effective_rounds: 6.0,
        }
    }
}

/// How the measurement of a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every effect's interval is narrower than the margin.
    Precision,
    /// The most rounds were taken.
    Rounds,
    /// The budget was used up.
    Budget,
    /// Nothing in it could be run.
    Skipped,
}

impl Ending {
    /// The name used in end.json.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Precision => "precision",
            Ending::Rounds => "rounds",
            Ending::Budget => "budget",
            Ending::Skipped => "skipped",
        }
    }
}

impl Stopping {
    /// For a first look: seconds, wider intervals.
    pub fn quick() -> Self {
        Stopping {
            rounds_min: 24,
            rounds_max: 40,
            long_rounds: 3,
            group_budget: Duration::from_secs(3),
            stamp_repetitions: 1,
            ..Self::default()
        }
    }

    /// For a race: candidates leave it by themselves, and what explains is not measured. A quick one
    /// takes half the rounds, and no longer than a group of a quick sweep.
    pub fn race(quick: bool) -> Self {
        let usual = if quick { Stopping::quick() } else { Stopping::default() };
        Stopping {
            // Six rounds are the fewest with an interval of 95 %.
            rounds_min: 6,
            rounds_max: if quick { 30 } else { 60 },
            long_rounds: 0,
            warm_up: Duration::from_millis(300),
            stamp_repetitions: 1,
            ..usual
        }
    }

    /// With as many rounds as Holm's correction over `effects` effects needs. The sign test's
    /// smallest p-value is 2^(1 − rounds), and the smallest of the family must stay below 0.05
    /// after it is multiplied by their number; what is allowed for autocorrelation takes a part of
    /// the rounds away. Never more than the most rounds: who limits them gets verdicts that stay
    /// open.
    pub fn for_effects(mut self, effects: usize) -> Self {
        const LEVEL: f64 = 0.05;
        const USUALLY_LOST: f64 = 4.0 / 3.0;
        self.effective_rounds = (2.0 * effects.max(1) as f64 / LEVEL).log2().ceil() + 1.0;
        let rounds = (self.effective_rounds * USUALLY_LOST).ceil() as u32;
        self.rounds_min = self.rounds_min.max(rounds).min(self.rounds_max);
        self
    }

    /// The margin of effects against a baseline of this period: ns a hop, both.
    pub fn margin_ns(&self, baseline_period_ns: f64) -> f64 {
        (self.margin_us * 1e3).max(self.margin_ratio * baseline_period_ns)
    }

    /// Whether a group ends after `rounds` rounds and `spent` device time. `precise` says whether
    /// every effect [is](Stopping::is_precise), and is asked only where that decides.
    pub fn ending(
        &self,
        rounds: u32,
        spent: Duration,
        precise: impl FnOnce() -> bool,
    ) -> Option<Ending> {
        if rounds < self.rounds_min {
            // A budget that ends before the fewest rounds still gives what it can.
            return (spent > self.group_budget.saturating_mul(2)).then_some(Ending::Budget);
        }
        let look = (rounds - self.rounds_min).is_multiple_of(self.rounds_min.div_ceil(LOOKS));
        match () {
            () if look && precise() => Some(Ending::Precision),
            () if rounds >= self.rounds_max => Some(Ending::Rounds),
            () if spent > self.group_budget => Some(Ending::Budget),
            () => None,
        }
    }

    /// Whether an effect, given in rounds (ns a hop, in order of time), is known well enough: its
    /// interval is as wide as half of the whole margin ±`margin_ns`, or less, and where it lies
    /// outside the margin there is evidence enough to survive the correction for many comparisons.
    pub fn is_precise(&self, effect_ns: &[f64], margin_ns: f64) -> bool {
        let Some(estimate) = stats::estimate_median(effect_ns, stats::CONFIDENCE) else {
            return false;
        };
        let narrow = estimate.interval.is_some_and(|Interval { lo, hi }| hi - lo <= margin_ns);
        let small = estimate.median.abs() <= margin_ns;
        let known = !estimate.serial.significant || estimate.effective_count() >= LEAST_EFFECTIVE;
        narrow && known && (small || estimate.evidence_count() >= self.effective_rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds that a group takes when every round lasts `round_s` and effects are precise from
    /// `precise_from` rounds on, and how it ends.
    fn run(stopping: &Stopping, round_s: f64, precise_from: u32) -> (u32, Ending) {
        for rounds in 1..=stopping.rounds_max {
            let spent = Duration::from_secs_f64(round_s * f64::from(rounds));
            if let Some(ending) = stopping.ending(rounds, spent, || rounds >= precise_from) {
                return (rounds, ending);
            }
        }
        panic!("a group does not end by itself at its most rounds");
    }

    #[test]
    fn rounds_budget_and_precision_end_a_group_at_their_extremes() {
        use Ending::{Budget, Precision, Rounds};
        let never = u32::MAX;
        // (fewest, most, budget s, seconds a round, precise from, rounds taken, ending)
        let cases = [
            (30, 120, 20.0, 0.01, 1, 30, Precision),
            (30, 120, 20.0, 0.01, 31, 38, Precision),
            (30, 120, 20.0, 0.01, never, 120, Rounds),
            (30, 120, 20.0, 1.0, never, 30, Budget),
            (30, 120, 20.0, 0.5, never, 41, Budget),
            // A budget that ends before the fewest rounds is stretched to twice, no further.
            (30, 120, 20.0, 10.0, 1, 5, Budget),
            (30, 120, 0.001, 1.0, 1, 1, Budget),
            (1, 1, 20.0, 0.01, never, 1, Rounds),
            (1, 1, 20.0, 0.01, 1, 1, Precision),
            (1, 1, 0.001, 60.0, never, 1, Rounds),
            (1, 1_000_000, 86_400.0, 0.01, 7, 7, Precision),
            (120, 120, 20.0, 0.01, 1, 120, Precision),
        ];
        for (least, most, budget_s, round_s, precise_from, rounds, ending) in cases {
            let stopping = Stopping {
                rounds_min: least,
                rounds_max: most,
                group_budget: Duration::from_secs_f64(budget_s),
                ..Stopping::default()
            };
            let found = run(&stopping, round_s, precise_from);
            assert_eq!(found, (rounds, ending), "{least} {most} {budget_s} {round_s}");
        }
    }

    #[test]
    fn precision_is_width_and_evidence() {
        // 40 rounds about `middle`, ±5 ns: the interval is a few ns wide.
        let at = |middle: f64| -> Vec<f64> {
            (0..40).map(|i| middle + f64::from(i * 17 % 41) / 4.0 - 5.0).collect()
        };
        let stopping = Stopping { effective_rounds: 13.0, ..Stopping::default() };
        assert!(stopping.is_precise(&at(0.0), 20.0));
        assert!(!stopping.is_precise(&at(0.0), 0.5), "wider than the margin");
        assert!(stopping.is_precise(&at(500.0), 20.0));
        // Outside the margin it takes the evidence that a family needs, inside it does not.
        let strict = Stopping { effective_rounds: 50.0, ..stopping };
        assert!(!strict.is_precise(&at(500.0), 20.0) && strict.is_precise(&at(0.0), 20.0));
        // A slow wave is worth few rounds, however narrow.
        let wave: Vec<f64> = (0..40).map(|i| (f64::from(i) / 6.0).sin()).collect();
        assert!(!stopping.is_precise(&wave, 20.0));
        assert!(!stopping.is_precise(&[], 20.0) && !stopping.is_precise(&[f64::NAN; 40], 20.0));
    }

    #[test]
    fn a_larger_family_needs_more_rounds_up_to_the_most() {
        // 2^(1 − rounds) × effects must fall below 5 %: 96 effects take 12 rounds and one more.
        assert_eq!(Stopping::default().for_effects(96).effective_rounds, 13.0);
        assert_eq!(Stopping::default().for_effects(1).effective_rounds, 7.0);
        assert_eq!(Stopping::default().for_effects(96).rounds_min, 30);
        assert_eq!(Stopping::default().for_effects(10_000_000).rounds_min, 40);
        let few = Stopping { rounds_min: 1, rounds_max: 10, ..Stopping::default() };
        assert_eq!(few.for_effects(96).rounds_min, 10);
    }
}
