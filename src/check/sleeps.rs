//! The sleeps of the adversarial primary.

use crate::error::{Error, Result};

/// The longest sleep, µs.
pub const SLEEP_MAX_US: f64 = 200.0;
/// Entries of the table that the device draws from (`PDL_CHECK_SLEEPS`).
const ENTRIES: usize = 64;
/// What a repetition costs without any sleep, about: the weight of a sleep falls with its cost.
const REPETITION_US: f64 = 4.0;

/// A table of sleeps to draw from, each sleep at least once, short ones more often.
#[derive(Clone, Debug, PartialEq)]
pub struct Sleeps {
    /// ns, exactly as many as the device's table has entries.
    pub table_ns: Vec<u32>,
}

impl Sleeps {
    /// From the sleeps asked for, µs. A sleep of s gets a share in proportion to 1 ÷ (4 µs + s),
    /// so that each takes about the same time in all.
    ///
    /// # Errors
    /// A usage error for no sleep, more than the table holds, or one outside 0 to 200 µs.
    pub fn new(asked_us: &[f64]) -> Result<Sleeps> {
        let refuse = |cause: String| Err(Error::usage("use this --sleep-us", cause));
        if asked_us.is_empty() || asked_us.len() > ENTRIES {
            return refuse(format!("there are 1 to {ENTRIES} sleeps, not {}", asked_us.len()));
        }
        if let Some(bad) = asked_us.iter().find(|us| !(0.0..=SLEEP_MAX_US).contains(*us)) {
            return refuse(format!("{bad} is not between 0 and {SLEEP_MAX_US}"));
        }
        let weight = |us: f64| 1.0 / (REPETITION_US + us);
        let total: f64 = asked_us.iter().copied().map(weight).sum();
        let share = |us: f64| ((weight(us) / total * ENTRIES as f64).floor() as usize).max(1);
        let mut shares: Vec<usize> = asked_us.iter().copied().map(share).collect();
        // Rounding leaves some entries over, or, with many rare sleeps, too many.
        while shares.iter().sum::<usize>() > ENTRIES {
            let most = (0..shares.len()).max_by_key(|&i| shares[i]).expect("there is a sleep");
            shares[most] -= 1;
        }
        let left = ENTRIES - shares.iter().sum::<usize>();
        for i in 0..left {
            let count = shares.len();
            shares[i % count] += 1;
        }
        let entries = asked_us.iter().zip(shares);
        let table_ns =
            entries.flat_map(|(&us, n)| std::iter::repeat_n((us * 1e3) as u32, n)).collect();
        Ok(Sleeps { table_ns })
    }
}
