//! How the residuals of a stage's rows go with each of its constants, the others held: what a
//! search steps along, and what resamples are fitted on.

use super::constants::Constants;
use super::data::{Data, Draw, size};
use super::plan::Range;

/// Places of a curve on each side of its middle, parts of the way to the bound: fine where the
/// minimum is looked for, coarse where only a way out is.
const PLACES: [f64; 6] = [1.0 / 243.0, 1.0 / 81.0, 1.0 / 27.0, 1.0 / 9.0, 1.0 / 3.0, 1.0];

/// Residuals of every row over each constant alone.
pub(super) struct Curves<'a> {
    ranges: &'a [&'a Range],
    /// Residuals with every constant in the middle.
    pub(super) middle: Vec<f64>,
    /// For each constant its values in order, and the residuals of every row at each.
    each: Vec<Vec<(f64, Vec<f64>)>>,
}

impl<'a> Curves<'a> {
    /// The curves about `values`.
    pub(super) fn about(
        constants: &Constants,
        ranges: &'a [&'a Range],
        values: &[f64],
        data: &Data,
    ) -> Curves<'a> {
        let paths: Vec<&str> = ranges.iter().map(|range| range.path.as_str()).collect();
        let mut profiles = vec![constants.with(&paths, values)];
        let mut places = Vec::new();
        for (axis, range) in ranges.iter().enumerate() {
            let own = grid(range, values[axis]);
            for place in &own {
                let mut moved = values.to_vec();
                moved[axis] = *place;
                profiles.push(constants.with(&paths, &moved));
            }
            places.push(own);
        }
        let mut residuals = data.residuals(&profiles).into_iter();
        let middle = residuals.next().unwrap_or_default();
        let mut each = Vec::with_capacity(places.len());
        for (axis, own) in places.into_iter().enumerate() {
            let mut curve: Vec<(f64, Vec<f64>)> = own
                .into_iter()
                .map(|place| (place, residuals.next().unwrap_or_default()))
                .collect();
            curve.push((values[axis], middle.clone()));
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            each.push(curve);
        }
        Curves { ranges, middle, each }
    }

    /// The most that a row's residual changes over the bounds of constant `axis`.
    pub(super) fn reach(&self, axis: usize) -> f64 {
        let apart = |residuals: &[f64]| {
            let pairs = residuals.iter().zip(&self.middle).filter(|(a, b)| a != b);
            let apart = pairs.map(|(a, b)| (a - b).abs());
            // From something to nothing, which the model says, is far.
            apart.map(|apart| if apart.is_finite() { apart } else { 1.0 }).fold(0.0, f64::max)
        };
        self.each[axis].iter().map(|(_, residuals)| apart(residuals)).fold(0.0, f64::max)
    }

    /// Between which values constant `axis` is looked for.
    pub(super) fn range(&self, axis: usize) -> &Range {
        self.ranges[axis]
    }

    /// The smallest step of constant `axis` that the curves tell apart.
    pub(super) fn step(&self, axis: usize) -> f64 {
        let steps = self.each[axis].windows(2).map(|pair| pair[1].0 - pair[0].0);
        steps.filter(|step| *step > 0.0).fold(f64::INFINITY, f64::min)
    }

    /// Loss of a resample at `place` in the box of all bounds, whose sides are 0 to 1: what the
    /// constants change in a row is taken to add up.
    pub(super) fn loss(&self, place: &[f64], draw: &Draw) -> f64 {
        let between: Vec<(usize, f64)> = (0..place.len())
            .map(|axis| self.between(axis, self.value(axis, place[axis])))
            .collect();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (row, weight) in draw.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let mut residual = self.middle[row] - draw.moved[row];
            for (axis, (low, part)) in between.iter().enumerate() {
                let curve = &self.each[axis];
                let (a, b) = (curve[*low].1[row], curve[*low + 1].1[row]);
                residual += a + part * (b - a) - self.middle[row];
            }
            sum += weight * size(residual);
            weights += weight;
        }
        sum / f64::max(weights, 1.0)
    }

    /// The value of constant `axis` at a place of the box.
    pub(super) fn value(&self, axis: usize, place: f64) -> f64 {
        let range = self.ranges[axis];
        range.lo + place.clamp(0.0, 1.0) * (range.hi - range.lo)
    }

    /// The place in the box of a value of constant `axis`.
    pub(super) fn place(&self, axis: usize, value: f64) -> f64 {
        let range = self.ranges[axis];
        ((value - range.lo) / (range.hi - range.lo)).clamp(0.0, 1.0)
    }

    /// The place before a value on the curve of constant `axis`, and the part of the way to the next.
    fn between(&self, axis: usize, value: f64) -> (usize, f64) {
        let curve = &self.each[axis];
        let low = curve.partition_point(|(place, _)| *place <= value);
        let low = low.saturating_sub(1).min(curve.len().saturating_sub(2));
        let (from, to) = (curve[low].0, curve[low + 1].0);
        (low, ((value - from) / (to - from)).clamp(0.0, 1.0))
    }
}

/// Values of a constant about its middle, which is not among them, out to both bounds.
fn grid(range: &Range, middle: f64) -> Vec<f64> {
    let down = PLACES.map(|part| middle + part * (range.lo - middle));
    let up = PLACES.map(|part| middle + part * (range.hi - middle));
    let mut places: Vec<f64> = down.into_iter().chain(up).collect();
    places.retain(|place| (place - middle).abs() > 1e-9 * (range.hi - range.lo));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_reach_both_bounds_and_are_finest_about_their_middle() {
        let range = Range { path: "x".to_owned(), lo: 0.0, hi: 243.0 };
        let mut places = grid(&range, 81.0);
        places.sort_by(f64::total_cmp);
        assert_eq!((places.len(), places[0], places[11]), (12, 0.0, 243.0));
        assert!((places[6] - 81.0 - 162.0 / 243.0).abs() < 1e-9);
        // At a bound there is one side.
        assert_eq!(grid(&range, 0.0).len(), 6);
    }
}
