//! What following a model costs: the measured period at its best trigger over the measured best.

use super::{Compared, lanes};
use crate::profile::Model;
use crate::stats::quantile;

/// Regrets over lanes: a group and a programmatic arm each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regret {
    /// Lanes that the model covers.
    pub lanes: usize,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// The largest.
    pub most: f64,
    /// Part of the lanes with at most 0.5 %, 2 % and 5 %.
    pub within: [f64; 3],
}

/// The regrets that [`Regret::within`] counts to.
pub const WITHIN: [f64; 3] = [0.005, 0.02, 0.05];

/// For each lane that `model` covers the measured period at the trigger that it calls best ÷ the
/// measured best − 1, ascending. A lane is a group and a programmatic arm; triggers that the model
/// does not cover are in neither.
pub fn regrets(rows: &[Compared], model: Model) -> Vec<f64> {
    let mut regrets: Vec<f64> = lanes(rows)
        .iter()
        .filter_map(|lane| {
            let covered: Vec<(f64, f64)> =
                lane.iter().filter_map(|row| Some((row.by(model)?, row.row.period_ns))).collect();
            let chosen = covered.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
            let best = covered.iter().map(|row| row.1).min_by(f64::total_cmp)?;
            Some(chosen.1 / best - 1.0)
        })
        .collect();
    regrets.sort_by(f64::total_cmp);
    regrets
}

/// What [`regrets`] come to; `None` without any.
pub fn regret(rows: &[Compared], model: Model) -> Option<Regret> {
    let all = regrets(rows, model);
    let at = |level| quantile(&all, level);
    let share = |most: f64| {
        all.iter().filter(|regret| **regret <= most).count() as f64 / all.len().max(1) as f64
    };
    Some(Regret {
        lanes: all.len(),
        median: at(0.5)?,
        p90: at(0.9)?,
        most: at(1.0)?,
        within: WITHIN.map(share),
    })
}
