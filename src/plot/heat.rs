//! Time saved a hop over trigger and one other axis.

use plotters::style::RGBColor;

use crate::chain::{Arm, Trigger};
use crate::coordinates::coordinates;
use crate::record::Verdict;

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Panel, SMALL, WIDTH};
use super::group::{Group, Shown, saved};
use super::layout;
use super::scale::{figure as number, signed};
use super::style::{INK, Stroke, diverging, ink_on};
use super::{Context, Named, finding};

const RIGHT: f64 = WIDTH - 24.0;
const MISSING: RGBColor = RGBColor(0xEE, 0xEE, 0xEE);

/// What a page that turns colours around must leave alone: texts were chosen for these colours.
const CELLS: &str = "<g class=\"cells\">\n";

/// A cell: what is written in it and the value that colours it.
struct Cell {
    text: String,
    value: Option<f64>,
    settled: bool,
}

/// The map of one arm over a family of groups that differ in `axis`; `None` unless two triggers
/// and two values of the axis have something to show.
pub(super) fn chart(axis: &str, family: &[&Group], arm: Arm, ctx: &Context) -> Option<Named> {
    let triggers = triggers(family, arm);
    let rows: Vec<_> = family.iter().filter(|g| !g.arm(arm).is_empty()).copied().collect();
    let cells: Vec<Vec<Cell>> =
        rows.iter().map(|group| triggers.iter().map(|&t| cell(group, arm, t)).collect()).collect();
    let most = most(cells.iter().flatten().filter_map(|c| c.value));
    if triggers.len() < 2 || rows.len() < 2 || most.0 == 0.0 {
        return None;
    }
    let slug = axis.to_lowercase().replace(' ', "-");
    let name = format!("heat-{slug}-g{}-{arm}.svg", rows[0].id);
    let finding = title(axis, &rows, arm, ctx);
    let mut figure = Figure::new(&finding, &subtitle(axis, rows[0]), ctx);

    let names: Vec<_> = rows.iter().map(|g| value_text(axis, g)).collect();
    let widest = names.iter().map(|n| layout::width(n, SMALL, false)).fold(0.0, f64::max);
    let left = (42.0 + widest).min(240.0);
    let cell_width = (RIGHT - left) / triggers.len() as f64;
    let text_width =
        cells.iter().flatten().map(|c| layout::width(&c.text, SMALL, false)).fold(0.0, f64::max);
    let upwards = text_width + 4.0 > cell_width;
    let cell_height = if upwards { text_width + 10.0 } else { 34.0 };
    let panel = figure.panel(left, RIGHT, cell_height * rows.len() as f64);
    let size = SMALL.min(cell_width - 2.0).max(7.0);
    figure.canvas.raw(CELLS);
    for (row, line) in cells.iter().enumerate() {
        let top = panel.top + cell_height * row as f64;
        for (column, cell) in line.iter().enumerate() {
            let x = panel.left + cell_width * column as f64;
            let anchor = if upwards { Anchor::Upwards } else { Anchor::Middle };
            let bounds = Panel { left: x, right: x + cell_width, top, bottom: top + cell_height };
            draw_cell(&mut figure, bounds, cell, most.0, size, anchor);
        }
    }
    figure.canvas.close();
    for (row, name) in names.iter().enumerate() {
        let top = panel.top + cell_height * row as f64;
        let at = (panel.left - 7.0, top + cell_height / 2.0);
        let text = &layout::wrap(name, SMALL, false, left - 40.0, 1)[0];
        figure.canvas.text(text, at, Font::new(SMALL, INK), Anchor::End);
    }
    let middle = (16.0, (panel.top + panel.bottom) / 2.0);
    figure.canvas.text(axis, middle, Font::new(SMALL, INK), Anchor::Upwards);
    trigger_labels(&mut figure, panel, &triggers, cell_width);
    figure.x_label(panel, super::triggers::label(triggers.iter().copied()));
    key(&mut figure, most);
    let spoken: Vec<_> = rows
        .iter()
        .zip(&names)
        .map(|(g, n)| format!("{axis} {n}: {}", finding::spoken(arm, &g.arm(arm), saved)))
        .collect();
    let desc =
        format!("{finding}. Microseconds saved a hop by trigger and {axis}. {}", spoken.join(" "));
    Some((name.clone(), figure.finish(&name, &desc)))
}

/// Triggers of an arm in any group of a family, in order of time.
fn triggers(family: &[&Group], arm: Arm) -> Vec<Trigger> {
    let mut triggers: Vec<_> =
        family.iter().flat_map(|g| g.arm(arm)).filter_map(|row| row.trigger).collect();
    triggers.sort_by(|a, b| a.order().total_cmp(&b.order()));
    triggers.dedup();
    triggers
}

fn cell(group: &Group, arm: Arm, trigger: Trigger) -> Cell {
    let bare = |text: &str| Cell { text: text.to_owned(), value: None, settled: true };
    let Some(row) = group.arm(arm).into_iter().find(|row| row.trigger == Some(trigger)) else {
        return bare("–");
    };
    match saved(row) {
        Shown::Value { at, .. } => {
            let settled = matches!(row.verdict, Some(Verdict::Helps | Verdict::Hurts));
            let open = if settled { "" } else { "~" };
            Cell { text: format!("{open}{}", signed(at)), value: Some(at), settled }
        }
        Shown::Wrong => bare("wrong"),
        Shown::Skipped => bare("skip"),
        Shown::Missing => bare("–"),
    }
}

fn draw_cell(
    figure: &mut Figure,
    bounds: Panel,
    cell: &Cell,
    most: f64,
    size: f64,
    anchor: Anchor,
) {
    let color = cell.value.map_or(MISSING, |v| diverging(v / most));
    let (a, b) = ((bounds.left, bounds.top), (bounds.right - 1.0, bounds.bottom - 1.0));
    figure.canvas.rect(a, b, color, 1.0);
    let ink = ink_on(color);
    let font = Font::new(size, ink);
    let font = if cell.settled && cell.value.is_some() { font.bold() } else { font };
    let at = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    figure.canvas.text(&cell.text, at, font, anchor);
}

fn trigger_labels(figure: &mut Figure, panel: Panel, triggers: &[Trigger], cell_width: f64) {
    let texts: Vec<_> = triggers.iter().map(Trigger::to_string).collect();
    let widest = texts.iter().map(|t| layout::width(t, SMALL, false)).fold(0.0, f64::max);
    let upwards = widest + 4.0 > cell_width;
    let height = if upwards { widest + 8.0 } else { 18.0 };
    let anchor = if upwards { Anchor::Upwards } else { Anchor::Middle };
    let size = SMALL.min(cell_width - 1.0).max(7.0);
    for (i, text) in texts.iter().enumerate() {
        let x = panel.left + cell_width * (i as f64 + 0.5);
        let at = (x, panel.bottom + height / 2.0 + 2.0);
        figure.canvas.text(text, at, Font::new(size, INK), anchor);
    }
    figure.y += height + 4.0;
}

/// The magnitude that gets the full colour, and whether larger ones exist: a few very large
/// values must not wash out the rest.
fn most(values: impl Iterator<Item = f64>) -> (f64, bool) {
    let mut sorted: Vec<f64> = values.map(f64::abs).collect();
    sorted.sort_by(f64::total_cmp);
    let largest = sorted.last().copied().unwrap_or(0.0);
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    if middle > 0.0 && largest > 4.0 * middle { (3.0 * middle, true) } else { (largest, false) }
}

/// The colours and what they mean.
fn key(figure: &mut Figure, (most, clipped): (f64, bool)) {
    let (left, right, y) = (300.0, 600.0, figure.y + 6.0);
    let steps = 60;
    figure.canvas.raw(CELLS);
    let step = (right - left) / f64::from(steps);
    for i in 0..steps {
        let part = 2.0 * (f64::from(i) + 0.5) / f64::from(steps) - 1.0;
        let x = left + step * f64::from(i);
        // A little wider than its step, so that no seam shows.
        let end = (x + 1.5 * step).min(right);
        figure.canvas.rect((x, y), (end, y + 12.0), diverging(part), 1.0);
    }
    figure.canvas.close();
    let frame = [(left, y), (right, y), (right, y + 12.0), (left, y + 12.0), (left, y)];
    figure.canvas.line(&frame, &Stroke::solid(INK, 0.8));
    let font = Font::new(SMALL, INK);
    let (below, above) = if clipped { ("≤ ", "≥ ") } else { ("", "") };
    let slower = format!("slower {below}{}", signed(-most));
    figure.canvas.text(&slower, (left - 8.0, y + 6.0), font, Anchor::End);
    let saves = format!("{above}{} µs a hop saved", signed(most));
    figure.canvas.text(&saves, (right + 8.0, y + 6.0), font, Anchor::Start);
    figure.y += 26.0;
    figure.note("bold: established at 95 % · ~ equivalent or inconclusive · – not measured");
}

fn value_text(axis: &str, group: &Group) -> String {
    coordinates(group.chain)
        .into_iter()
        .find(|a| a.axis == axis)
        .map_or_else(String::new, |a| a.text)
}

fn subtitle(axis: &str, group: &Group) -> String {
    format!("over trigger and {axis} · {}", group.label(Some(axis)))
}

/// Where the arm saves most and least at its best trigger, and what a bad trigger costs.
fn title(axis: &str, rows: &[&Group], arm: Arm, ctx: &Context) -> String {
    let best: Vec<(&Group, f64)> = rows
        .iter()
        .filter_map(|g| Some((*g, saved(finding::best(g, arm, ctx)?).value()?)))
        .collect();
    let by_value = |a: &&(&Group, f64), b: &&(&Group, f64)| a.1.total_cmp(&b.1);
    let (Some(most), Some(least)) = (best.iter().max_by(by_value), best.iter().min_by(by_value))
    else {
        return format!("No speed can be given for {arm} at any {axis}");
    };
    let text = |entry: &(&Group, f64)| value_text(axis, entry.0);
    let helps =
        |group: &Group| group.arm(arm).iter().any(|row| row.verdict == Some(Verdict::Helps));
    let main = if !rows.iter().any(|group| helps(group)) && most.1 > 0.0 {
        match finding::best(most.0, arm, ctx) {
            Some(row) => finding::open(row, arm),
            None => String::new(),
        }
    } else if most.1 <= 0.0 {
        format!("{arm} saves nothing at any {axis}")
    } else if number(most.1) == number(least.1) {
        format!("{arm} at its best trigger saves {} µs a hop whatever the {axis}", number(most.1))
    } else {
        format!(
            "{arm} at its best trigger saves {} µs a hop with {axis} {} and {} with {}",
            number(most.1),
            text(most),
            number(least.1),
            text(least)
        )
    };
    let hurting = |g: &&Group| {
        let group = *g;
        let hurts = group.arm(arm).into_iter().filter(|r| r.verdict == Some(Verdict::Hurts));
        hurts
            .filter_map(|r| Some((value_text(axis, group), r.trigger, saved(r).value()?)))
            .min_by(|a, b| a.2.total_cmp(&b.2))
    };
    let worst = rows.iter().filter_map(hurting).min_by(|a, b| a.2.total_cmp(&b.2));
    let but = worst.map_or_else(String::new, |(value, trigger, us)| {
        format!("; it costs {} with {value}{}", number(-us), finding::at(trigger))
    });
    format!("{main}{but}")
}
