//! What stamps say of an arm over triggers: the price of an early trigger and what it buys.

use plotters::style::RGBColor;

use crate::chain::Arm;
use crate::record::SummaryRow;

use super::canvas::{Anchor, Font};
use super::figure::{Figure, SMALL};
use super::group::shown;
use super::layout;
use super::scale::{self, Scale};
use super::style::{INK, Marker, Stroke};
use super::triggers::TriggerAxis;

/// Before a value that lies beyond the panel: no marker of a quantity looks like it.
const BEYOND: char = '↑';

/// One quantity by stamps and its look: greys, since hues belong to arms.
struct Quantity {
    name: &'static str,
    of: fn(&SummaryRow) -> Option<f64>,
    marker: Marker,
    stroke: Stroke,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        name: "primary slowed by",
        of: |row| row.primary_slowed_ns,
        marker: Marker::Times,
        stroke: grey(0x11, &[]),
    },
    Quantity {
        name: "useful (work while the primary ran)",
        of: |row| row.useful_ns,
        marker: Marker::Up,
        stroke: grey(0x55, &[7.0, 4.0]),
    },
    Quantity {
        name: "parked (waiting in the sync)",
        of: |row| row.parked_ns,
        marker: Marker::Square,
        stroke: grey(0x8A, &[2.0, 3.0]),
    },
];

const fn grey(level: u8, dash: &'static [f64]) -> Stroke {
    Stroke { color: RGBColor(level, level, level), width: 1.8, dash }
}

impl Quantity {
    /// Its value in µs, where the row has one to show.
    fn us(&self, row: &SummaryRow) -> Option<f64> {
        shown(row, [(self.of)(row), None, None]).value()
    }
}

/// Whether any row has been stamped.
pub(super) fn any(rows: &[&SummaryRow]) -> bool {
    rows.iter().any(|row| QUANTITIES.iter().any(|q| q.us(row).is_some()))
}

/// A panel on a trigger axis that is already in use, between two pixels.
pub(super) fn panel(
    figure: &mut Figure,
    axis: &TriggerAxis,
    arm: Arm,
    rows: &[&SummaryRow],
    (left, right): (f64, f64),
) {
    figure.y += 12.0;
    let cut = cut(rows);
    legend(figure, arm, left, cut.is_some());
    let panel = figure.panel(left, right, 130.0);
    let values = rows.iter().flat_map(|row| QUANTITIES.iter().filter_map(|q| q.us(row)));
    let values = values.map(|us| us.min(cut.unwrap_or(us)));
    let (lo, hi) = scale::span(values.chain([0.0]), 0.06).unwrap_or((0.0, 1.0));
    // The padding below zero is for negative values only.
    let lo = if lo > -0.07 * (hi - lo) { 0.0 } else { lo };
    let y = Scale::linear((lo, hi), panel.bottom, panel.top);
    figure.y_axis(panel, &y, "µs a hop");
    axis.walls(figure, panel);
    let zero = [(left, y.px(0.0)), (right, y.px(0.0))];
    figure.canvas.line(&zero, &Stroke::solid(INK, 1.0));
    for quantity in &QUANTITIES {
        figure.canvas.open("stamps", quantity.name);
        draw(figure, axis, &y, quantity, rows, cut);
        figure.canvas.close();
    }
    figure.frame(panel);
    axis.draw(figure, panel, true);
}

fn legend(figure: &mut Figure, arm: Arm, left: f64, beyond: bool) {
    let y = figure.y + 8.0;
    let head = format!("{arm}, by stamps:");
    figure.canvas.text(&head, (left, y), Font::new(SMALL, INK).bold(), Anchor::Start);
    let mut x = left + layout::width(&head, SMALL, true) + 14.0;
    for Quantity { name, marker, stroke, .. } in &QUANTITIES {
        figure.canvas.line(&[(x, y), (x + 30.0, y)], stroke);
        figure.canvas.marker(*marker, (x + 15.0, y), 4.5, stroke.color, true);
        figure.canvas.text(name, (x + 35.0, y), Font::new(SMALL, INK), Anchor::Start);
        x += 35.0 + layout::width(name, SMALL, false) + 12.0;
    }
    figure.y += 14.0;
    if beyond {
        let text = format!("{BEYOND}: beyond the panel, with its value");
        let at = (left + layout::width(&head, SMALL, true) + 14.0, figure.y + 11.0);
        figure.canvas.text(&text, at, Font::new(SMALL, INK), Anchor::Start);
        figure.y += 17.0;
    }
}

/// Beyond this a value is cut off, µs; `None` where nothing need be. A trigger at entry lets kernels
/// run far ahead, and what they park would leave the rest of the panel flat.
fn cut(rows: &[&SummaryRow]) -> Option<f64> {
    const FAR: f64 = 4.0;
    let most = |along: bool| {
        let rows = rows.iter().filter(move |row| along == joins(row));
        let values = rows.flat_map(|row| QUANTITIES.iter().filter_map(|q| q.us(row)));
        values.reduce(f64::max)
    };
    let along = most(true).filter(|&us| us > 0.0)?;
    most(false).filter(|&us| us > along * FAR).map(|_| along * 1.4)
}

/// Whether a line along the body joins the row.
fn joins(row: &SummaryRow) -> bool {
    row.trigger.is_some_and(|trigger| trigger.position().is_some())
}

/// A line along the body that breaks where nothing was stamped, and a mark a value.
fn draw(
    figure: &mut Figure,
    axis: &TriggerAxis,
    y: &Scale,
    quantity: &Quantity,
    rows: &[&SummaryRow],
    cut: Option<f64>,
) {
    let Quantity { marker, stroke, .. } = quantity;
    let radius = (axis.least_gap() * 0.3).clamp(2.0, 4.5);
    let mut run: Vec<(f64, f64)> = Vec::new();
    let mut marks = Vec::new();
    for row in rows {
        let us = quantity.us(row);
        let beyond = |us: &f64| cut.is_some_and(|cut| *us > cut);
        // What is cut off of one row stands below each other.
        let before = QUANTITIES.iter().take_while(|other| other.name != quantity.name);
        let before = before.filter(|other| other.us(row).is_some_and(|us| beyond(&us))).count();
        let at = us.map(|us| match beyond(&us) {
            true => (axis.px(row.trigger), y.px(cut.unwrap_or(us)) + 15.0 * before as f64),
            false => (axis.px(row.trigger), y.px(us)),
        });
        if let (Some(at), Some(us)) = (at, us.filter(beyond)) {
            let text = format!("{BEYOND} {} µs", scale::figure(us));
            let beside = (at.0 + radius + 3.0, at.1);
            figure.canvas.text(&text, beside, Font::new(SMALL, INK), Anchor::Start);
        }
        marks.extend(at);
        match at.filter(|_| joins(row)) {
            Some(at) => run.push(at),
            None => figure.canvas.line(&std::mem::take(&mut run), stroke),
        }
    }
    figure.canvas.line(&run, stroke);
    for at in marks {
        figure.canvas.marker(*marker, at, radius, stroke.color, true);
    }
}
