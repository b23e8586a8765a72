//! What flipping each kind of edges of a user's graph saves, with intervals.

use super::Context;
use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, SMALL};
use super::scale::{Scale, drawable, figure as number, span};
use super::style::{FAINT, GRID, INK, Marker, Stroke};
use crate::attach::{Effect, KindRow, Report};

const LEFT: f64 = 330.0;
const RIGHT: f64 = 720.0;
const ROW: f64 = 26.0;
/// Most kinds that are drawn: those that matter most.
const MOST: usize = 30;
/// Longest name of a kernel: library kernels have names of hundreds of characters.
const NAME_CHARACTERS: usize = 22;

/// One kind.
struct Line {
    label: String,
    saved_us: f64,
    interval_us: Option<(f64, f64)>,
    chosen: bool,
}

/// The chart of an attribution; `None` where nothing was timed.
pub fn edges(report: &Report, ctx: &Context) -> Option<String> {
    let mut lines: Vec<Line> = report.kinds.iter().filter_map(|row| line(report, row)).collect();
    lines.sort_by(|a, b| b.saved_us.total_cmp(&a.saved_us));
    let left_out = lines.len().saturating_sub(MOST);
    if left_out > 0 {
        lines.sort_by(|a, b| b.saved_us.abs().total_cmp(&a.saved_us.abs()));
        lines.truncate(MOST);
        lines.sort_by(|a, b| b.saved_us.total_cmp(&a.saved_us));
    }
    let ends = lines.iter().flat_map(|line| {
        let (lo, hi) = line.interval_us.unwrap_or((line.saved_us, line.saved_us));
        [lo, hi, line.saved_us]
    });
    let range = span(ends.chain([0.0]), 0.08).filter(|_| !lines.is_empty())?;
    let finding = finding(report);
    let mut figure = Figure::new(&finding, "kinds of edges of the attached graph", ctx);
    figure.legend(&[
        (Key::Mark(Marker::Circle, INK, true), "in the chosen set".to_owned()),
        (Key::Mark(Marker::Circle, INK, false), "not chosen".to_owned()),
        (Key::Line(Stroke::solid(INK, 2.0)), "95 % interval".to_owned()),
    ]);
    let panel = figure.panel(LEFT, RIGHT, ROW * lines.len() as f64);
    let x = Scale::linear(range, LEFT + 8.0, RIGHT - 8.0);
    for (value, text) in x.ticks(7) {
        let at = x.px(value);
        let (color, width) = if value == 0.0 { (INK, 1.5) } else { (GRID, 1.0) };
        figure.canvas.line(&[(at, panel.top), (at, panel.bottom)], &Stroke::solid(color, width));
        let label = (at, panel.bottom + 13.0);
        figure.canvas.text(&text, label, Font::new(SMALL, INK), Anchor::Middle);
    }
    for (i, line) in lines.iter().enumerate() {
        let y = panel.top + ROW * (i as f64 + 0.5);
        if let Some((lo, hi)) = line.interval_us {
            figure.canvas.line(&[(x.px(lo), y), (x.px(hi), y)], &Stroke::solid(INK, 2.0));
        }
        figure.canvas.marker(Marker::Circle, (x.px(line.saved_us), y), 4.0, INK, line.chosen);
        let color = if line.chosen { INK } else { FAINT };
        figure.canvas.text(
            &line.label,
            (LEFT - 8.0, y + 4.0),
            Font::new(SMALL, color),
            Anchor::End,
        );
    }
    figure.frame(panel);
    figure.y += 22.0;
    figure.x_label(panel, "saved: µs a hop of the kind, beside the rest of the chosen set");
    if left_out > 0 {
        figure.note(&format!("{left_out} kinds that matter less are not drawn."));
    }
    let said = lines.iter().map(|l| format!("{}: {} µs a hop.", l.label, number(l.saved_us)));
    let desc = format!("{finding}. {}", said.collect::<Vec<_>>().join(" "));
    Some(figure.finish("edges.svg", &desc))
}

fn finding(report: &Report) -> String {
    let chosen = report.chosen.as_ref().filter(|_| !report.chosen_edges.is_empty());
    match chosen.and_then(|effect| Some((effect, drawable(effect.saved_ns)?))) {
        Some((effect, ns)) => format!(
            "{} programmatic edges save {} µs a graph launch",
            report.chosen_edges.len(),
            number(ns * f64::from(effect.hops) / 1e3)
        ),
        None => "No set of edges is faster than the original graph".to_owned(),
    }
}

fn line(report: &Report, row: &KindRow) -> Option<Line> {
    let kind = report.listing.kinds.get(row.kind as usize)?;
    let effect: &Effect = row.in_chosen.as_ref().or(row.alone.as_ref())?;
    let us = |ns: Option<f64>| drawable(ns).map(|ns| ns / 1e3);
    Some(Line {
        label: format!(
            "{} → {} ({})",
            short(&kind.primary),
            short(&kind.secondary),
            row.edges.len()
        ),
        saved_us: us(effect.saved_ns)?,
        interval_us: us(effect.saved_lo_ns).zip(us(effect.saved_hi_ns)),
        chosen: row.chosen,
    })
}

fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS) {
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    }
}
