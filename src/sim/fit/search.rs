//! The fit of one stage: a search along curves, and intervals by resampling.

use std::collections::BTreeMap;

use super::constants::Constants;
use super::curves::Curves;
use super::data::{Data, Draw, loss, size};
use super::minimise::minimise;
use super::plan::Range;
use crate::stats::quantile;

/// The most searches of a stage one after another, each about what the last found.
const PASSES: usize = 5;
/// A pass that makes the loss less by no more than this part of it is the last.
const WORTH: f64 = 5e-3;
/// Parts of the way to what the curves promise that are tried: constants whose effects do not add
/// up get less than promised.
const WAYS: [f64; 4] = [1.0, 0.5, 0.25, 0.1];
/// A constant that changes no row's period by more than this part of it is one that none depends on.
const FELT: f64 = 1e-4;
/// An interval of at least this part of the bounds says nothing.
const SPANS: f64 = 0.8;

/// What a calibrated value may make the mean error worse and still be taken.
const NO_WORSE: f64 = 2e-4;

/// A value with its 95 % interval, or why there is none.
pub(super) type Fitted = Result<(f64, (f64, f64)), String>;

/// What a search came to.
pub(super) struct Found {
    /// Every constant that was looked for, by its path.
    pub(super) fitted: BTreeMap<String, Fitted>,
    /// Loss before and after.
    pub(super) loss: (f64, f64),
    /// Residuals after.
    residuals: Vec<f64>,
}

/// Fits the constants in `ranges`, from the values that `constants` has. Those that the rows do not
/// determine keep theirs, and the others are fitted anew without them.
pub(super) fn search(
    constants: &Constants,
    ranges: &[&Range],
    data: &Data,
    draws: &[Draw],
) -> Found {
    let mut fitted = BTreeMap::new();
    let mut open = ranges.to_vec();
    let mut first = None;
    loop {
        let start: Vec<f64> = open.iter().map(|range| value(constants, range)).collect();
        let (values, curves, before) = descend(constants, &open, start, data);
        // Whichever constants are open, all begin where they were.
        let loss = (*first.get_or_insert(before), loss(&curves.middle));
        let all = intervals(&curves, &values, draws);
        // Of those that are not determined the widest goes: without it the others may be.
        let worst = (0..open.len())
            .filter(|at| all[*at].1.is_some())
            .max_by(|a, b| width(open[*a], all[*a].0).total_cmp(&width(open[*b], all[*b].0)));
        if let Some(worst) = worst {
            let why = all[worst].1.clone().unwrap_or_default();
            fitted.insert(open.remove(worst).path.clone(), Err(why));
            continue;
        }
        for (at, range) in open.iter().enumerate() {
            fitted.insert(range.path.clone(), Ok((values[at], all[at].0)));
        }
        return Found { fitted, loss, residuals: curves.middle };
    }
}

/// Whether `one` is credibly worse than `other`: by more than what does not count, in all but the
/// luckiest of the resamples.
pub(super) fn worse(one: &Found, other: &Found, draws: &[Draw]) -> bool {
    let losses = |draw: &Draw, residuals: &[f64]| -> f64 {
        let rows = residuals.iter().zip(&draw.moved).map(|(row, moved)| size(row - moved));
        rows.zip(&draw.weights).map(|(size, weight)| size * weight).sum()
    };
    let worse = |draw: &Draw| {
        let weight: f64 = draw.weights.iter().sum();
        (losses(draw, &one.residuals) - losses(draw, &other.residuals)) / weight.max(1.0)
    };
    let all: Vec<f64> = draws.iter().map(worse).collect();
    quantile(&all, 0.025).is_some_and(|least| least > NO_WORSE)
}

/// Searches from `values`; returns the values, the curves about them, and the loss at the start.
fn descend<'a>(
    constants: &Constants,
    ranges: &'a [&'a Range],
    mut values: Vec<f64>,
    data: &Data,
) -> (Vec<f64>, Curves<'a>, f64) {
    let paths: Vec<&str> = ranges.iter().map(|range| range.path.as_str()).collect();
    let plain = Draw { weights: vec![1.0; data.count], moved: vec![0.0; data.count] };
    let mut curves = Curves::about(constants, ranges, &values, data);
    let before = loss(&curves.middle);
    for _ in 0..PASSES {
        let now = loss(&curves.middle);
        let promised = least(&curves, &values, &plain);
        let way = |part: &f64| -> Vec<f64> {
            values.iter().zip(&promised).map(|(from, to)| from + part * (to - from)).collect()
        };
        let tried: Vec<Vec<f64>> = WAYS.iter().map(way).collect();
        let profiles: Vec<_> = tried.iter().map(|values| constants.with(&paths, values)).collect();
        let losses: Vec<f64> = data.residuals(&profiles).iter().map(|rows| loss(rows)).collect();
        let best = (0..tried.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b]));
        let Some(best) = best.filter(|best| losses[*best] < now * (1.0 - WORTH)) else { break };
        values.clone_from(&tried[best]);
        curves = Curves::about(constants, ranges, &values, data);
    }
    (values, curves, before)
}

/// The values at which the curves promise a resample the least loss.
fn least(curves: &Curves, from: &[f64], draw: &Draw) -> Vec<f64> {
    let start: Vec<f64> = from.iter().enumerate().map(|(at, v)| curves.place(at, *v)).collect();
    let found = minimise(&start, |place| curves.loss(place, draw));
    found.iter().enumerate().map(|(at, place)| curves.value(at, *place)).collect()
}

/// The 95 % interval of every constant over the resamples, no narrower than what the curves tell
/// apart, and why it says nothing where it does not.
fn intervals(curves: &Curves, values: &[f64], draws: &[Draw]) -> Vec<((f64, f64), Option<String>)> {
    let fits: Vec<Vec<f64>> = draws.iter().map(|draw| least(curves, values, draw)).collect();
    let of = |at: usize| {
        let range = curves.range(at);
        let own: Vec<f64> = fits.iter().map(|fit| fit[at]).collect();
        let end = |level| quantile(&own, level).unwrap_or(values[at]);
        let step = curves.step(at);
        let lo = end(0.025).min(values[at] - step).max(range.lo);
        let hi = end(0.975).max(values[at] + step).min(range.hi);
        let whole = (range.lo, range.hi);
        if curves.reach(at) < FELT {
            return (whole, Some("no row depends on it".to_owned()));
        }
        let wide = width(range, (lo, hi)) >= SPANS;
        let spans = || format!("its interval spans the bounds {} to {}", range.lo, range.hi);
        ((lo, hi), wide.then(spans))
    };
    (0..values.len()).map(of).collect()
}

/// The width of an interval, a part of the bounds'.
fn width(range: &Range, (lo, hi): (f64, f64)) -> f64 {
    (hi - lo) / (range.hi - range.lo)
}

fn value(constants: &Constants, range: &Range) -> f64 {
    let there = constants.get(&range.path);
    there.map_or(range.lo, |constant| constant.value).clamp(range.lo, range.hi)
}
