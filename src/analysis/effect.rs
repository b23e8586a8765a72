//! Paired differences between two arms in the same rounds.

use super::index::Series;
use crate::stats::{
    CONFIDENCE, Interval, MedianEstimate, batch_p_value, estimate_median, sign_p_value,
};

/// What an arm changes against another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    /// (reference − arm) ÷ hops, ns: positive is faster than the reference.
    pub saved: MedianEstimate,
    /// exp(median of ln(reference ÷ arm)).
    pub speedup: f64,
    /// Interval of the same.
    pub speedup_interval: Option<Interval>,
    /// Of the sign test that nothing is saved.
    pub p_value: f64,
}

impl Effect {
    /// The effect of `arm` against `reference`; `None` when they share no round.
    pub fn between(reference: &Series, arm: &Series, hops: u32) -> Option<Effect> {
        let pairs = reference.paired_ns(arm);
        let differences = per_hop(&pairs, hops);
        let saved = estimate_median(&differences, CONFIDENCE)?;
        let ratios: Vec<f64> =
            pairs.iter().map(|(reference, arm)| (reference / arm).ln()).collect();
        let ratio = estimate_median(&ratios, CONFIDENCE)?;
        Some(Effect {
            saved,
            speedup: ratio.median.exp(),
            speedup_interval: ratio.interval.map(|interval| interval.map(f64::exp)),
            p_value: p_value(&differences, &saved),
        })
    }
}

/// Evidence that something is saved. Where neighbouring rounds are alike beyond chance, a sign test
/// would have to know how far the likeness reaches; then batches have to agree too.
fn p_value(differences: &[f64], saved: &MedianEstimate) -> f64 {
    let signs = sign_p_value(differences, saved.serial.evidence_inflation);
    if saved.serial.significant { signs.max(batch_p_value(differences)) } else { signs }
}

/// The median of (reference − arm) ÷ hops, ns, with its interval; `None` when they share no round.
pub(super) fn saved(reference: &Series, arm: &Series, hops: u32) -> Option<MedianEstimate> {
    estimate_median(&per_hop(&reference.paired_ns(arm), hops), CONFIDENCE)
}

/// (reference − arm) ÷ hops of each pair, ns.
pub(super) fn per_hop(pairs: &[(f64, f64)], hops: u32) -> Vec<f64> {
    let hops = f64::from(hops.max(1));
    pairs.iter().map(|(reference, arm)| (reference - arm) / hops).collect()
}
