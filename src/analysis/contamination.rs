//! How much pipelining flatters an arm: chain after chain, the first kernel of one is released
//! early by the last of the one before.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::run::Run;
use crate::chain::{Arm, Mode, Trigger};
use crate::record::SummaryRow;

/// The contamination of one arm and trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contamination {
    /// Point of the isolated chain.
    pub isolated: String,
    /// Point of the pipelined chain.
    pub pipelined: String,
    /// Arm.
    pub arm: Arm,
    /// Trigger.
    pub trigger: Option<Trigger>,
    /// (pipelined ÷ isolated) of the arm, divided by the same of its baseline: below 1, the arm
    /// gains more from chains behind one another than the baseline does.
    pub index: f64,
}

/// (pipelined ÷ isolated) of an arm divided by the same of its baseline; all four are durations
/// of one chain (or periods of the same number of nodes) in one unit. `None` unless all are
/// positive and finite.
pub fn contamination_index(
    pipelined: f64,
    isolated: f64,
    baseline_pipelined: f64,
    baseline_isolated: f64,
) -> Option<f64> {
    let all = [pipelined, isolated, baseline_pipelined, baseline_isolated];
    let usable = all.iter().all(|duration| duration.is_finite() && *duration > 0.0);
    let index = (pipelined / isolated) / (baseline_pipelined / baseline_isolated);
    (usable && index.is_finite()).then_some(index)
}

/// One for each row that was run both isolated and pipelined, and whose baseline was too.
pub(super) fn contamination(run: &Run, rows: &[SummaryRow]) -> Vec<Contamination> {
    type Key = (String, Arm, Option<Trigger>);
    let key = |place: u32, arm: Arm, trigger: Option<Trigger>| -> Key {
        // The chain before calibration, but for mode and trigger.
        let mut chain = run.manifest.plan.points[place as usize].chain;
        (chain.mode, chain.trigger) = (Mode::Isolated, Trigger::Implicit);
        (format!("{chain:?}"), arm, trigger)
    };
    let mut both: HashMap<Key, [Option<&SummaryRow>; 2]> = HashMap::new();
    for (entry, row) in run.entries.iter().zip(rows) {
        let slot = usize::from(row.mode == Mode::Pipelined);
        both.entry(key(entry.place, row.arm, row.trigger)).or_default()[slot] = Some(row);
    }
    let periods = |key: &Key| -> Option<(f64, f64)> {
        let [isolated, pipelined] = *both.get(key)?;
        Some((isolated?.period_ns?, pipelined?.period_ns?))
    };
    let one = |place: u32, row: &SummaryRow| -> Option<Contamination> {
        let own = key(place, row.arm, row.trigger);
        let pipelined_row = both.get(&own)?[1]?;
        let (isolated, pipelined) = periods(&own)?;
        let (baseline_isolated, baseline_pipelined) =
            periods(&key(place, row.arm.baseline()?, None))?;
        let index =
            contamination_index(pipelined, isolated, baseline_pipelined, baseline_isolated)?;
        Some(Contamination {
            isolated: row.point.clone(),
            pipelined: pipelined_row.point.clone(),
            arm: row.arm,
            trigger: row.trigger,
            index,
        })
    };
    let isolated = run.entries.iter().zip(rows).filter(|(_, row)| row.mode == Mode::Isolated);
    isolated.filter_map(|(entry, row)| one(entry.place, row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_arm_s_ratio_over_the_baseline_s() {
        // The arm's chain looks 20 % shorter when pipelined, the baseline's 4 %.
        let index = contamination_index(80.0, 100.0, 192.0, 200.0).unwrap();
        assert!((index - 0.8 / 0.96).abs() < 1e-12);
        assert_eq!(contamination_index(80.0, 0.0, 192.0, 200.0), None);
        assert_eq!(contamination_index(f64::NAN, 1.0, 1.0, 1.0), None);
        assert_eq!(contamination_index(1.0, 1.0, -1.0, 1.0), None);
    }
}
