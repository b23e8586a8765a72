//! Every comparison of an attribution, so that all of them are one family.

use super::options::Options;
use super::report::Effect;
use super::trials::Rounds;
use crate::analysis;
use crate::record::Verdict;
use crate::stats::{CONFIDENCE, MedianEstimate, estimate_median, holm, sign_p_value};

/// One comparison.
#[derive(Clone, Debug)]
struct Entry {
    hops: u32,
    /// Paired, ns a hop, in order of time.
    saved_ns: Vec<f64>,
    /// ns a hop.
    floor_ns: Option<f64>,
    wrong: bool,
}

/// Place of a comparison in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

/// All comparisons so far.
#[derive(Clone, Debug)]
pub struct Ledger {
    entries: Vec<Entry>,
    margin_us: f64,
    margin_ratio: f64,
    /// Period of the original graph, ns a node; unknown before the first rounds.
    pub period_ns: Option<f64>,
    /// The largest floor of any batch, ns a graph launch.
    pub floor_ns: Option<f64>,
}

/// The A/A floor of one batch, ns a graph launch: a comparison of the original with itself could
/// not rule out an effect of this size.
pub fn floor(rounds: &Rounds, first: usize, again: usize) -> Option<f64> {
    let estimate = estimate_median(&rounds.differences(first, again), CONFIDENCE)?;
    estimate.interval.map(|interval| interval.reach())
}

impl Ledger {
    /// An empty one.
    pub fn new(options: &Options) -> Ledger {
        Ledger {
            entries: Vec::new(),
            margin_us: options.margin_us,
            margin_ratio: options.margin_ratio,
            period_ns: None,
            floor_ns: None,
        }
    }

    /// Notes that `variant` was compared with `baseline`: two variants that differ in `hops` edges.
    pub fn note(
        &mut self,
        rounds: &Rounds,
        (baseline, variant): (usize, usize),
        hops: u32,
        floor_ns: Option<f64>,
    ) -> Handle {
        let a_hop = f64::from(hops.max(1));
        let differences = rounds.differences(baseline, variant);
        self.entries.push(Entry {
            hops,
            saved_ns: differences.iter().map(|difference| difference / a_hop).collect(),
            floor_ns: floor_ns.map(|floor| floor / a_hop),
            wrong: rounds.wrong_bytes[baseline] > 0 || rounds.wrong_bytes[variant] > 0,
        });
        Handle(self.entries.len() - 1)
    }

    /// Effects of some comparisons, corrected as a family of their own: what the search decides by
    /// while it goes on.
    pub fn family(&self, handles: &[Handle]) -> Vec<Effect> {
        let estimates: Vec<_> =
            handles.iter().map(|handle| self.entries[handle.0].estimate()).collect();
        let p_values: Vec<f64> = handles
            .iter()
            .zip(&estimates)
            .map(|(handle, estimate)| self.entries[handle.0].p_value(estimate.as_ref()))
            .collect();
        let adjusted = holm(&p_values);
        let all = handles.iter().zip(estimates).zip(adjusted);
        all.map(|((handle, estimate), p)| self.effect(&self.entries[handle.0], estimate, p))
            .collect()
    }

    /// Effects of all comparisons, corrected over all of them.
    pub fn effects(&self) -> Vec<Effect> {
        self.family(&(0..self.entries.len()).map(Handle).collect::<Vec<_>>())
    }

    fn margin_ns(&self) -> f64 {
        let relative = self.margin_ratio * self.period_ns.unwrap_or(0.0);
        (self.margin_us * 1e3).max(relative)
    }

    fn effect(&self, entry: &Entry, estimate: Option<MedianEstimate>, p_adjusted: f64) -> Effect {
        let mut effect = Effect {
            hops: entry.hops,
            rounds: entry.saved_ns.len() as u32,
            saved_ns: None,
            saved_lo_ns: None,
            saved_hi_ns: None,
            p_adjusted,
            verdict: Verdict::Inconclusive,
            reasons: Vec::new(),
        };
        if entry.wrong {
            // A wrong result is never given a speed-up.
            effect.verdict = Verdict::Wrong;
            effect.reasons.push("wrong-bytes".into());
            return effect;
        }
        let Some(estimate) = estimate else {
            effect.reasons.push("few-rounds".into());
            return effect;
        };
        let margin_ns = self.margin_ns();
        let (verdict, reasons) = analysis::judge(&estimate, p_adjusted, margin_ns, entry.floor_ns);
        effect.saved_ns = Some(estimate.median);
        effect.saved_lo_ns = estimate.interval.map(|interval| interval.lo);
        effect.saved_hi_ns = estimate.interval.map(|interval| interval.hi);
        effect.verdict = verdict;
        effect.reasons = reasons.into_iter().map(str::to_owned).collect();
        effect
    }
}

impl Handle {
    /// Place among [`Ledger::effects`].
    pub fn place(self) -> usize {
        self.0
    }
}

impl Entry {
    fn estimate(&self) -> Option<MedianEstimate> {
        estimate_median(&self.saved_ns, CONFIDENCE)
    }

    fn p_value(&self, estimate: Option<&MedianEstimate>) -> f64 {
        estimate.map_or(1.0, |estimate| {
            sign_p_value(&self.saved_ns, estimate.serial.evidence_inflation)
        })
    }
}
