//! One arm over triggers: a line with its band along the body, lone marks elsewhere, and a mark
//! for every point that has no value to show.

use plotters::style::RGBColor;

use crate::chain::{Arm, Trigger};
use crate::record::{SummaryRow, Verdict};

use super::figure::{Figure, Key, Panel};
use super::finding::at;
use super::group::Shown;
use super::scale::{self, Scale, figure as number};
use super::style::{self, HARM_INK, INK, Marker, Stroke};
use super::triggers::{SLOT_PX, TriggerAxis};

/// One arm's rows and what is drawn of each.
pub(super) struct Series<'a> {
    /// The arm.
    pub(super) arm: Arm,
    /// Its rows, in order of trigger.
    pub(super) rows: Vec<&'a SummaryRow>,
    /// What is drawn of a row, µs.
    pub(super) value: fn(&SummaryRow) -> Shown,
    /// Whether values without an effect are drawn hollow.
    pub(super) hollow: bool,
}

/// Where series are drawn.
pub(super) struct Field<'a> {
    /// The panel.
    pub(super) panel: Panel,
    /// Its horizontal axis.
    pub(super) axis: &'a TriggerAxis,
    /// Its vertical axis.
    pub(super) y: &'a Scale,
}

/// The marks that some series needs explained.
pub(super) fn legend(all: &[Series<'_>]) -> Vec<(Key, String)> {
    let mut entries: Vec<_> = all
        .iter()
        .map(|series| (Key::Arm(style::of(series.arm)), series.arm.to_string()))
        .collect();
    let any = |wanted: Shown| all.iter().any(|s| s.rows.iter().any(|row| (s.value)(row) == wanted));
    let values = |s: &Series<'_>| {
        s.rows.iter().any(|row| s.hollow && no_effect(row) && (s.value)(row).value().is_some())
    };
    if all.iter().any(values) {
        let text = "hollow: no effect established".to_owned();
        entries.push((Key::Mark(Marker::Circle, INK, false), text));
    }
    if any(Shown::Wrong) {
        let text = "wrong result, no speed given".to_owned();
        entries.push((Key::Mark(Marker::Times, HARM_INK, true), text));
    }
    if any(Shown::Skipped) {
        entries.push((Key::Mark(Marker::Bar, INK, true), "skipped".to_owned()));
    }
    if any(Shown::Missing) {
        entries.push((Key::Mark(UNMEASURED, INK, false), "not measured".to_owned()));
    }
    entries
}

fn no_effect(row: &SummaryRow) -> bool {
    matches!(row.verdict, Some(Verdict::Equivalent | Verdict::Inconclusive))
}

/// Whether a line may pass through a trigger.
fn joined(row: &SummaryRow) -> bool {
    matches!(row.trigger, Some(Trigger::Segment { .. } | Trigger::After))
}

/// The mark, drawn hollow, of a point that was not measured.
const UNMEASURED: Marker = Marker::Square;

/// Where the mark of a row of the `i`-th series stands: marks without a line share their slot,
/// and so do marks at the edge that have no value.
pub(super) fn place(field: &Field, all: &[Series], i: usize, row: &SummaryRow) -> f64 {
    let x = field.axis.px(row.trigger);
    let valued = (all[i].value)(row).value().is_some();
    if joined(row) && valued {
        return x;
    }
    let shares = |series: &Series| {
        let same = |other: &&SummaryRow| {
            let other_valued = (series.value)(other).value().is_some();
            other.trigger == row.trigger && (!joined(row) || !other_valued)
        };
        series.rows.iter().copied().any(|other| same(&other))
    };
    let before = all[..i].iter().filter(|s| shares(s)).count() as f64;
    let count = all.iter().filter(|s| shares(s)).count() as f64;
    let room = if joined(row) { field.axis.least_gap() } else { SLOT_PX };
    let step = (0.8 * room / count.max(1.0)).min(14.0);
    x + step * (before - (count - 1.0) / 2.0)
}

/// Draws all series, bands first and marks last, each in a group that names its arm.
pub(super) fn draw(figure: &mut Figure, field: &Field, all: &[Series<'_>]) {
    for (i, series) in all.iter().enumerate() {
        figure.canvas.open("arm", &series.arm.to_string());
        // What is drawn first is a little larger, so that its rim shows where marks coincide.
        let size = 1.0 + 0.25 * (all.len() - 1 - i) as f64 / all.len() as f64;
        for run in runs(series) {
            draw_run(figure, field, series.arm, &run);
        }
        for row in &series.rows {
            let at = place(field, all, i, row);
            draw_mark(figure, field, series, row, (at, size));
        }
        figure.canvas.close();
    }
}

/// A value along the body: its pixel, and those of its interval.
type Point = (f64, Option<(f64, f64)>, Option<Trigger>);

/// Values that a line may join: it breaks where a point has none.
fn runs(series: &Series<'_>) -> Vec<Vec<Point>> {
    let mut runs = vec![Vec::new()];
    for row in series.rows.iter().filter(|row| joined(row)) {
        match (series.value)(row) {
            Shown::Value { at, interval } => {
                runs.last_mut().expect("there is always a run").push((at, interval, row.trigger));
            }
            _ => runs.push(Vec::new()),
        }
    }
    runs
}

fn draw_run(figure: &mut Figure, field: &Field, arm: Arm, run: &[Point]) {
    let stroke = style::of(arm).stroke;
    let x = |point: &Point| field.axis.px(point.2);
    let least = field.y.range().0;
    let shown = |p: &Point| p.1.filter(|interval| interval.0 >= least);
    for part in run.split(|p| shown(p).is_none()).filter(|part| part.len() > 1) {
        let edge = |pick: fn((f64, f64)) -> f64| {
            part.iter().filter_map(move |p| p.1.map(|i| (x(p), field.y.px(pick(i)))))
        };
        let under: Vec<_> = edge(|interval| interval.0).collect();
        let outline: Vec<_> = edge(|interval| interval.1).chain(under.into_iter().rev()).collect();
        figure.canvas.polygon(&outline, stroke.color, 0.22);
    }
    let line: Vec<_> = run.iter().map(|p| (x(p), p.0)).collect();
    for piece in scale::above(&line, least) {
        let piece: Vec<_> = piece.into_iter().map(|(px, v)| (px, field.y.px(v))).collect();
        figure.canvas.line(&piece, &stroke);
    }
}

/// The values of a series that lie below the axis, in words.
pub(super) fn below(series: &Series, least: f64) -> Option<String> {
    let words: Vec<_> = series
        .rows
        .iter()
        .filter_map(|row| Some((row, (series.value)(row).value().filter(|&v| v < least)?)))
        .map(|(row, value)| format!("{}{}", number(value), at(row.trigger)))
        .collect();
    (!words.is_empty())
        .then(|| format!("Below the axis (arrows), {}: {}.", series.arm, words.join(", ")))
}

/// An arrow at the lower edge: the value lies further down.
fn arrow(figure: &mut Figure, x: f64, bottom: f64, color: RGBColor) {
    let stroke = Stroke::solid(color, 2.0);
    figure.canvas.line(&[(x, bottom - 16.0), (x, bottom - 3.0)], &stroke);
    let head = [(x - 4.0, bottom - 8.0), (x, bottom - 3.0), (x + 4.0, bottom - 8.0)];
    figure.canvas.line(&head, &stroke);
}

fn draw_mark(
    figure: &mut Figure,
    field: &Field,
    series: &Series,
    row: &SummaryRow,
    (x, size): (f64, f64),
) {
    let looks = style::of(series.arm);
    let color = looks.stroke.color;
    let radius = (field.axis.least_gap() * 0.3).clamp(2.0, 5.0) * size;
    match (series.value)(row) {
        Shown::Value { at, .. } if at < field.y.range().0 => {
            arrow(figure, x, field.panel.bottom, color);
        }
        Shown::Value { at, interval } => {
            if let Some((lo, hi)) = interval {
                whisker(figure, x, (field.y.px(lo), field.y.px(hi)), radius, color);
            }
            let hollow = series.hollow && no_effect(row);
            figure.canvas.marker(looks.marker, (x, field.y.px(at)), radius, color, !hollow);
        }
        failed => {
            let at = (x, field.panel.bottom - 9.0);
            match failed {
                Shown::Wrong => figure.canvas.marker(Marker::Times, at, radius, color, true),
                Shown::Skipped => figure.canvas.marker(Marker::Bar, at, radius, color, true),
                _ => figure.canvas.marker(UNMEASURED, at, radius * 0.8, color, false),
            }
        }
    }
}

/// An interval: a bar with ends, where it is taller than the mark that sits on it.
fn whisker(figure: &mut Figure, x: f64, (lo, hi): (f64, f64), radius: f64, color: RGBColor) {
    if (lo - hi).abs() < 2.0 * radius {
        return;
    }
    let stroke = Stroke::solid(color, 1.2);
    figure.canvas.line(&[(x, lo), (x, hi)], &stroke);
    for y in [lo, hi] {
        figure.canvas.line(&[(x - radius * 0.8, y), (x + radius * 0.8, y)], &stroke);
    }
}
