//! How much pipelining flatters an arm: chain after chain, the first kernel of one is released
//! early by the last of the one before, and what that saves is no hop of the chain.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::run::{Entry, Run};
use crate::chain::{Arm, Mode, Trigger};
use crate::record::SummaryRow;
use crate::stats::{CONFIDENCE, Interval, MedianEstimate, estimate_median};
use crate::units::{fixed, signed_us};

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
    /// gains more from chains behind one another than the baseline does. Taken as (arm ÷ baseline)
    /// pipelined, divided by (arm ÷ baseline) isolated: each is a median of paired rounds.
    pub index: f64,
    /// Interval of the index, at least 95 %: each of the two medians has one of 97.5 %.
    pub interval: Option<Interval>,
    /// What the isolated chain saves, ns a hop.
    pub isolated_saved_ns: Option<f64>,
    /// What the pipelined one seems to save, ns a hop.
    pub pipelined_saved_ns: Option<f64>,
}

impl Contamination {
    /// What a reader of the pipelined number has to know.
    pub fn sentence(&self) -> String {
        let interval = self.interval.map_or_else(String::new, |interval| {
            format!(" (95 %: {} to {})", fixed(interval.lo, 4), fixed(interval.hi, 4))
        });
        let index = format!("contamination index {}{interval}", fixed(self.index, 4));
        let meaning = match self.interval {
            Some(interval) if interval.hi < 1.0 => {
                "pipelining flatters it: the chain before hides part of this one. Quote the \
                 isolated time"
            }
            Some(interval) if interval.lo > 1.0 => {
                "pipelining costs it more than it costs the baseline. Quote the isolated time"
            }
            _ => "no contamination can be told at this precision",
        };
        let saved = match self.isolated_saved_ns.zip(self.pipelined_saved_ns) {
            Some((isolated, pipelined)) => format!(
                "isolated it saves {} a hop, pipelined it seems to save {}; ",
                signed_us(isolated),
                signed_us(pipelined)
            ),
            None => String::new(),
        };
        format!("{saved}{index}: {meaning}.")
    }
}

/// An isolated row and the pipelined one of the same chain, arm and trigger.
type Twins<'r, 'a> = [Option<(&'r Entry<'a>, &'r SummaryRow)>; 2];

/// What twins have in common: the chain before calibration but for mode and trigger, the arm, and
/// the trigger.
type Key = (String, Arm, Option<Trigger>);

/// One for each row that was run both isolated and pipelined, and whose baseline was too.
pub(super) fn contamination(run: &Run, rows: &[SummaryRow]) -> Vec<Contamination> {
    let key = |place: u32, arm: Arm, trigger: Option<Trigger>| -> Key {
        let mut chain = run.manifest.plan.points[place as usize].chain;
        (chain.mode, chain.trigger) = (Mode::Isolated, Trigger::Implicit);
        (format!("{chain:?}"), arm, trigger)
    };
    let mut twins: HashMap<Key, Twins> = HashMap::new();
    for (entry, row) in run.entries.iter().zip(rows) {
        let slot = usize::from(row.mode == Mode::Pipelined);
        twins.entry(key(entry.place, row.arm, row.trigger)).or_default()[slot] = Some((entry, row));
    }
    let one = |place: u32, row: &SummaryRow| -> Option<Contamination> {
        let own = twins.get(&key(place, row.arm, row.trigger))?;
        let baseline = twins.get(&key(place, row.arm.baseline()?, None))?;
        let isolated = log_ratio(run, own[0]?.0, baseline[0]?.0)?;
        let pipelined = log_ratio(run, own[1]?.0, baseline[1]?.0)?;
        let pipelined_row = own[1]?.1;
        Some(Contamination {
            isolated: row.point.clone(),
            pipelined: pipelined_row.point.clone(),
            arm: row.arm,
            trigger: row.trigger,
            index: (pipelined.median - isolated.median).exp(),
            interval: difference(&pipelined, &isolated).map(|interval| interval.map(f64::exp)),
            isolated_saved_ns: row.saved_ns,
            pipelined_saved_ns: pipelined_row.saved_ns,
        })
    };
    let isolated = run.entries.iter().zip(rows).filter(|(_, row)| row.mode == Mode::Isolated);
    isolated.filter_map(|(entry, row)| one(entry.place, row)).collect()
}

/// The median of ln(arm ÷ baseline) over the rounds that both have: what all arms of a round share,
/// such as drift, is in neither. Both have the same hops, so that chains compare like periods.
fn log_ratio(run: &Run, arm: &Entry, baseline: &Entry) -> Option<MedianEstimate> {
    let (pairs, _) = run.pairs(arm, baseline)?;
    let ratios: Vec<f64> = pairs.iter().map(|(arm, baseline)| (arm / baseline).ln()).collect();
    // Bonferroni: two intervals that hold together with 95 %.
    estimate_median(&ratios, 1.0 - (1.0 - CONFIDENCE) / 2.0)
}

fn difference(of: &MedianEstimate, from: &MedianEstimate) -> Option<Interval> {
    let (of, from) = (of.interval?, from.interval?);
    Some(Interval { lo: of.lo - from.hi, hi: of.hi - from.lo })
}

/// Puts the index into the pipelined rows: they are the ones that a reader could be misled by.
pub(super) fn mark(rows: &mut [SummaryRow], found: &[Contamination]) {
    for one in found {
        let of = |row: &&mut SummaryRow| row.arm == one.arm && row.point == one.pipelined;
        if let Some(row) = rows.iter_mut().find(of) {
            row.contamination = Some(one.index);
            row.contamination_lo = one.interval.map(|interval| interval.lo);
            row.contamination_hi = one.interval.map(|interval| interval.hi);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_interval_and_not_the_index_alone() {
        let found = |lo: f64, hi: f64| {
            Contamination {
                isolated: String::new(),
                pipelined: String::new(),
                arm: Arm::GraphPdl,
                trigger: None,
                index: (lo + hi) / 2.0,
                interval: Some(Interval { lo, hi }),
                isolated_saved_ns: Some(1000.0),
                pipelined_saved_ns: Some(1300.0),
            }
            .sentence()
        };
        for (lo, hi, words) in [
            (0.95, 0.99, "index 0.9700 (95 %: 0.9500 to 0.9900): pipelining flatters it"),
            (0.98, 1.01, "no contamination can be told"),
            (1.01, 1.03, "pipelining costs it more"),
        ] {
            let text = found(lo, hi);
            assert!(text.contains(words), "{text}");
            assert!(text.starts_with("isolated it saves +1.000 µs a hop, pipelined it seems to"));
        }
    }
}
