//! How much is run, and what the caller hears of it.

use serde::{Deserialize, Serialize};

use crate::chain::Dependency;
use crate::error::{Error, Result};

/// How a graph is attributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Seed of the order of variants.
    pub seed: u64,
    /// Rounds of every comparison.
    pub rounds: u32,
    /// Device and host time for all of it, seconds: comparisons that no longer fit are left out,
    /// and the report says so.
    pub budget_s: f64,
    /// What edges are made: programmatic, or launch completion.
    pub dependency: Dependency,
    /// Run the race check on every edge before it is flipped in a timed run. Without it unknown
    /// edges stay refused.
    pub race_check: bool,
    /// Repetitions of the race check of one edge.
    pub race_repetitions: u32,
    /// How long the stand-in of the primary sleeps, µs.
    pub race_sleep_us: f64,
    /// Effects smaller than this are equivalent to none, µs a hop.
    pub margin_us: f64,
    /// The same, as a part of the baseline's period; the larger of the two holds.
    pub margin_ratio: f64,
    /// Flip edges whose secondary has no sync or is unknown. Every output is marked.
    pub unsafe_no_sync: bool,
    /// Attribute edge by edge after the kinds.
    pub refine: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            rounds: 30,
            budget_s: 50.0,
            dependency: Dependency::Programmatic,
            race_check: true,
            race_repetitions: 3,
            race_sleep_us: 100.0,
            margin_us: 0.02,
            margin_ratio: 0.005,
            unsafe_no_sync: false,
            refine: true,
        }
    }
}

/// Most rounds: a comparison of so many is decided, whatever it is.
const ROUNDS_MAX: u32 = 100_000;
/// Longest sleep of a stand-in, µs: far below the time-out of any watchdog.
const RACE_SLEEP_US_MAX: f64 = 100_000.0;

impl Options {
    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// A number outside its range; edges that would be made full.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: &str, range: String| {
            Err(Error::usage("use the options", format!("{what} must be {range}")))
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !(1..=ROUNDS_MAX).contains(&self.rounds) {
            return bad("rounds", format!("1 to {ROUNDS_MAX}"));
        }
        if !positive(self.budget_s) {
            return bad("budget_s", "above 0".into());
        }
        if !(positive(self.race_sleep_us) && self.race_sleep_us <= RACE_SLEEP_US_MAX) {
            return bad("race_sleep_us", format!("above 0 and at most {RACE_SLEEP_US_MAX}"));
        }
        for (what, value) in [("margin_us", self.margin_us), ("margin_ratio", self.margin_ratio)] {
            if !(value.is_finite() && value >= 0.0) {
                return bad(what, "0 or more".into());
            }
        }
        match self.dependency {
            Dependency::Full => bad("dependency", "programmatic or launch-completion".into()),
            _ => Ok(()),
        }
    }
}

/// How far an attribution is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// What is being done: a noun phrase.
    pub step: String,
    /// Items of it that are done.
    pub done: u32,
    /// Items in all.
    pub of: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_outside_their_range_are_refused() {
        Options::default().validate().unwrap();
        for (json, cause) in [
            (r#"{"rounds": 0}"#, "rounds must be 1"),
            (r#"{"budget_s": -1}"#, "budget_s must be above 0"),
            (r#"{"race_sleep_us": 1e9}"#, "race_sleep_us"),
            (r#"{"margin_us": -0.1}"#, "margin_us"),
            (r#"{"dependency": "full"}"#, "dependency must be programmatic"),
        ] {
            let options: Options = serde_json::from_str(json).unwrap();
            let error = options.validate().unwrap_err().to_string();
            assert!(error.contains(cause), "{json}: {error}");
        }
        let error = serde_json::from_str::<Options>(r#"{"round": 3}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `round`"), "{error}");
    }
}
