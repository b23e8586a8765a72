//! A model's prediction over measured arms: dashed and without marks, named as what it is.

use crate::chain::{Arm, Trigger};
use crate::record::SummaryRow;

use super::figure::{Figure, Key};
use super::scale;
use super::series::{Field, Series};
use super::style::{self, Stroke};

const DASHES: &[f64] = &[4.0, 3.0];
/// Half the width of the bar that stands for a value without a line, CSS pixels.
const HALF_BAR: f64 = 13.0;

/// Gain that the model says, µs a hop.
pub(super) fn saved(row: &SummaryRow) -> Option<f64> {
    scale::us(row.predicted_saved_ns)
}

/// Period that the model says, µs.
pub(super) fn period(row: &SummaryRow) -> Option<f64> {
    scale::us(row.predicted_ns)
}

/// Only what a chart is about is overlaid: two lines an arm would hide what was measured.
fn shown(series: &Series) -> bool {
    matches!(series.arm, Arm::StreamPdl | Arm::GraphPdl)
}

/// Every value that an axis has to hold.
pub(super) fn values<'s>(
    all: &'s [Series],
    value: fn(&SummaryRow) -> Option<f64>,
) -> impl Iterator<Item = f64> + 's {
    let rows = all.iter().filter(|series| shown(series)).flat_map(|series| &series.rows);
    rows.filter_map(move |row| value(row))
}

/// Entries of the legend; none where nothing is predicted.
pub(super) fn legend(
    all: &[Series],
    value: fn(&SummaryRow) -> Option<f64>,
    label: Option<&str>,
) -> Vec<(Key, String)> {
    let Some(label) = label else { return Vec::new() };
    all.iter()
        .filter(|series| shown(series) && series.rows.iter().any(|row| value(row).is_some()))
        .map(|series| (Key::Line(stroke(series.arm)), format!("{}, {label}", series.arm)))
        .collect()
}

fn stroke(arm: Arm) -> Stroke {
    Stroke { dash: DASHES, width: 2.2, ..style::of(arm).stroke }
}

/// Draws what the model says of each subject.
pub(super) fn draw(
    figure: &mut Figure,
    field: &Field,
    all: &[Series],
    value: fn(&SummaryRow) -> Option<f64>,
) {
    let least = field.y.range().0;
    for series in all.iter().filter(|series| shown(series)) {
        let rows = series.rows.iter().filter_map(|row| Some((row.trigger, value(row)?)));
        let rows: Vec<(Option<Trigger>, f64)> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        figure.canvas.open("model", &series.arm.to_string());
        let joined = |at: &Option<Trigger>| {
            matches!(at, Some(Trigger::Segment { .. } | Trigger::Site(_) | Trigger::After))
        };
        let (line, lone): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(at, _)| joined(at));
        let line: Vec<_> = line.into_iter().map(|(at, v)| (field.axis.px(at), v)).collect();
        for piece in scale::above(&line, least) {
            let piece: Vec<_> = piece.into_iter().map(|(x, v)| (x, field.y.px(v))).collect();
            figure.canvas.line(&piece, &stroke(series.arm));
        }
        for (at, v) in lone.into_iter().filter(|(_, v)| *v >= least) {
            let (x, y) = (field.axis.px(at), field.y.px(v));
            figure.canvas.line(&[(x - HALF_BAR, y), (x + HALF_BAR, y)], &stroke(series.arm));
        }
        figure.canvas.close();
    }
}
