//! The exposed time in parts: one bar a trigger, stacked by cause, with the limit beside them.

use plotters::style::RGBColor;

use crate::chain::{Arm, Submission, Trigger};
use crate::record::{Cause, ExposedBy, SummaryRow};

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, Panel, SMALL};
use super::group::{Group, baseline, period};
use super::layout;
use super::scale::{self, Scale, figure as number};
use super::style::{FAINT, INK, LIMIT, LIMIT_DASH, Stroke, ink_on};
use super::{Context, Named, finding};

const LEFT: f64 = 76.0;
const RIGHT: f64 = 766.0;
const HEIGHT: f64 = 340.0;
/// Part of a slot that its bar takes.
const BAR: f64 = 0.74;
/// Least height of a part that its number is written in, CSS pixels.
const WRITTEN: f64 = 14.0;

/// The colour of a cause; the order of the stack tells them apart too.
fn color(cause: Cause) -> RGBColor {
    let (r, g, b) = match cause {
        Cause::Contention => (0xD5, 0x5E, 0x00),
        Cause::Drain => (0xF0, 0xB4, 0x3C),
        Cause::Flush => (0xF0, 0xE4, 0x42),
        Cause::Release => (0x00, 0x9E, 0x73),
        Cause::Launch => (0x00, 0x72, 0xB2),
        Cause::Placement => (0x7A, 0xC5, 0xF0),
        Cause::Preamble => (0xCC, 0x79, 0xA7),
        Cause::Ends => (0x77, 0x77, 0x77),
        Cause::Unexplained => (0xD9, 0xD9, 0xD9),
    };
    RGBColor(r, g, b)
}

/// A bar: its row, the parts in µs, and their sum.
struct Bar<'a> {
    row: &'a SummaryRow,
    parts: Vec<(Cause, f64)>,
    exposed: f64,
}

impl Bar<'_> {
    /// Lowest and highest value of the stack.
    fn reach(&self) -> (f64, f64) {
        let sum = |sign: f64| -> f64 {
            self.parts.iter().map(|(_, us)| us * sign).filter(|us| *us > 0.0).sum()
        };
        (-sum(-1.0), sum(1.0))
    }

    fn label(&self) -> String {
        match self.row.trigger.filter(|_| self.row.arm.sweeps_trigger()) {
            Some(Trigger::AtEntry) => "entry".to_owned(),
            Some(trigger) => trigger.to_string(),
            None => self.row.arm.to_string(),
        }
    }
}

/// The chart of one submission of a group: its baseline and its subject by trigger; `None` where
/// nothing was divided.
pub(super) fn chart(group: &Group, submission: Submission, ctx: &Context) -> Option<Named> {
    let subject = match submission {
        Submission::Graph => Arm::GraphPdl,
        Submission::Stream => Arm::StreamPdl,
    };
    let rows = group.arm(baseline(submission)).into_iter().chain(group.arm(subject));
    let bars: Vec<Bar> = rows.filter_map(bar).collect();
    if !bars.iter().any(|bar| bar.row.arm == subject) {
        return None;
    }
    let limit = bars.iter().find(|bar| bar.row.arm == subject).and_then(|bar| limit(bar.row));
    let name = format!("exposed-{}-{}.svg", group.slug(), submission.name());
    let finding = title(&bars, subject, group, ctx);
    let mut figure = Figure::new(&finding, &group.label(None), ctx);
    figure.legend(&legend(&bars, limit.is_some()));
    let panel = figure.panel(LEFT, RIGHT, HEIGHT);
    let reaches = bars.iter().flat_map(|bar| [bar.reach().0, bar.reach().1]);
    let (lo, hi) = scale::span(reaches.chain(limit).chain([0.0]), 0.0)?;
    let y = Scale::linear((lo - 0.03 * (hi - lo), hi + 0.09 * (hi - lo)), panel.bottom, panel.top);
    figure.y_axis(panel, &y, "exposed: period − body alone, µs a node");
    draw(&mut figure, panel, &y, &bars);
    let zero = [(panel.left, y.px(0.0)), (panel.right, y.px(0.0))];
    figure.canvas.line(&zero, &Stroke::solid(INK, 1.2));
    let lines = [y.px(0.0), limit.map_or(f64::NAN, |limit| y.px(limit))];
    if let Some(limit) = limit {
        let stroke = Stroke { color: LIMIT, width: 2.0, dash: LIMIT_DASH };
        let at = y.px(limit);
        figure.canvas.line(&[(panel.left, at), (panel.right, at)], &stroke);
        figure.margin_labels(panel, &[(at, format!("limit {}", number(limit)), LIMIT)]);
    }
    write(&mut figure, panel, (&y, &lines), &bars);
    figure.frame(panel);
    axis(&mut figure, panel, &bars);
    let what = format!("baseline, and the trigger of {subject}");
    figure.x_label(panel, &what);
    for note in notes(&bars) {
        figure.note(&note);
    }
    let spoken: Vec<_> = bars.iter().map(spoken).collect();
    let desc = format!(
        "{finding}. Exposed time by cause, microseconds a node, stacked; a bar each. {}",
        spoken.join(" ")
    );
    Some((name.clone(), figure.finish(&name, &desc)))
}

fn bar(row: &SummaryRow) -> Option<Bar<'_>> {
    // A row whose period is not shown has no parts to show either.
    period(row).value()?;
    let exposed = scale::us(row.exposed_ns)?;
    let part = |cause: Cause| Some((cause, scale::us(row.exposed(cause))?));
    let parts: Option<Vec<_>> = Cause::ALL.into_iter().map(part).collect();
    Some(Bar { row, parts: parts?, exposed })
}

/// What the limit leaves exposed, µs.
fn limit(row: &SummaryRow) -> Option<f64> {
    scale::us(row.limit_ns.zip(row.body_ns).map(|(limit, body)| limit - body))
}

fn legend(bars: &[Bar], limit: bool) -> Vec<(Key, String)> {
    let seen = |cause: &Cause| {
        bars.iter().any(|bar| bar.parts.iter().any(|(c, us)| c == cause && us.abs() >= 5e-4))
    };
    let mut legend: Vec<_> = Cause::ALL
        .into_iter()
        .filter(seen)
        .map(|cause| (Key::Area(color(cause), 1.0), cause.name().to_owned()))
        .collect();
    if limit {
        let stroke = Stroke { color: LIMIT, width: 2.0, dash: LIMIT_DASH };
        legend.push((Key::Line(stroke), "limit − body".to_owned()));
    }
    legend
}

/// Left and right edge of the `i`-th bar of `count`.
fn edges(panel: Panel, i: usize, count: usize) -> (f64, f64) {
    let slot = (panel.right - panel.left) / count.max(1) as f64;
    let middle = panel.left + slot * (i as f64 + 0.5);
    let half = (slot * BAR / 2.0).min(34.0);
    (middle - half, middle + half)
}

fn draw(figure: &mut Figure, panel: Panel, y: &Scale, bars: &[Bar]) {
    for (i, bar) in bars.iter().enumerate() {
        let (left, right) = edges(panel, i, bars.len());
        figure.canvas.open("bar", &format!("{} {}", bar.row.arm, bar.label()));
        let (mut up, mut down) = (0.0, 0.0);
        for &(cause, us) in bar.parts.iter().filter(|(_, us)| *us != 0.0) {
            let from: &mut f64 = if us > 0.0 { &mut up } else { &mut down };
            let (a, b) = (y.px(*from), y.px(*from + us));
            *from += us;
            let tint = color(cause);
            figure.canvas.rect((left, a), (right, b), tint, 1.0);
            if cause == Cause::Unexplained {
                let outline = [(left, a), (right, a), (right, b), (left, b), (left, a)];
                let dashed = Stroke { color: FAINT, width: 1.0, dash: &[2.0, 2.0] };
                figure.canvas.line(&outline, &dashed);
            }
        }
        figure.canvas.close();
    }
}

/// Numbers in the parts that have room for them, beside the lines that cross them, and the sum above
/// each bar.
fn write(figure: &mut Figure, panel: Panel, (y, lines): (&Scale, &[f64]), bars: &[Bar]) {
    for (i, bar) in bars.iter().enumerate() {
        let (left, right) = edges(panel, i, bars.len());
        let (mut up, mut down) = (0.0, 0.0);
        for &(cause, us) in bar.parts.iter().filter(|(_, us)| *us != 0.0) {
            let from: &mut f64 = if us > 0.0 { &mut up } else { &mut down };
            let (a, b) = (y.px(*from), y.px(*from + us));
            *from += us;
            let text = number(us);
            let fits = layout::width(&text, 10.5, false) < right - left - 2.0;
            let (top, bottom) = (a.min(b), a.max(b));
            if let Some(middle) = clear(top, bottom, lines).filter(|_| fits) {
                let ink = ink_on(color(cause));
                let at = ((left + right) / 2.0, middle);
                figure.canvas.text(&text, at, Font::new(10.5, ink), Anchor::Middle);
            }
        }
        let text = number(bar.exposed);
        if layout::width(&text, SMALL, true) < (panel.right - panel.left) / bars.len() as f64 {
            let at = ((left + right) / 2.0, y.px(bar.reach().1) - 9.0);
            figure.canvas.text_over(&text, at, Font::new(SMALL, INK).bold(), Anchor::Middle);
        }
    }
}

/// The middle of the largest piece between two edges that no line crosses, where a number has room.
fn clear(top: f64, bottom: f64, lines: &[f64]) -> Option<f64> {
    let mut cuts = vec![top, bottom];
    cuts.extend(lines.iter().copied().filter(|line| (top..=bottom).contains(line)));
    cuts.sort_by(f64::total_cmp);
    let largest = cuts.windows(2).max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0])))?;
    (largest[1] - largest[0] >= WRITTEN).then_some((largest[0] + largest[1]) / 2.0)
}

/// What each bar is of; labels are left out where they would touch.
fn axis(figure: &mut Figure, panel: Panel, bars: &[Bar]) {
    let slot = (panel.right - panel.left) / bars.len().max(1) as f64;
    let widest = bars.iter().map(|bar| layout::width(&bar.label(), SMALL, false));
    let widest = widest.fold(0.0, f64::max) + 4.0;
    let stride = (widest / slot).ceil().max(1.0) as usize;
    for (i, bar) in bars.iter().enumerate().step_by(stride) {
        let (left, right) = edges(panel, i, bars.len());
        let at = ((left + right) / 2.0, panel.bottom + 13.0);
        figure.canvas.text(&bar.label(), at, Font::new(SMALL, INK), Anchor::Middle);
    }
    figure.y += 22.0;
}

/// The largest cause of the best trigger, against the baseline's.
fn title(bars: &[Bar], subject: Arm, group: &Group, ctx: &Context) -> String {
    let best = finding::best(group, subject, ctx);
    let of = |row: &SummaryRow| bars.iter().find(|bar| std::ptr::eq(bar.row, row));
    let least = || {
        let own = bars.iter().filter(|bar| bar.row.arm == subject);
        own.min_by(|a, b| a.exposed.total_cmp(&b.exposed))
    };
    let Some(bar) = best.and_then(of).or_else(least) else { return "No exposed time".to_owned() };
    let largest = bar.parts.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let cause = largest.map_or_else(String::new, |(cause, us)| {
        format!(", most of it {} ({}\u{A0}µs)", cause.name(), number(*us))
    });
    let base = bars.iter().find(|bar| bar.row.arm != subject);
    let against = base.map_or_else(String::new, |base| {
        format!("; {} exposes {}\u{A0}µs", base.row.arm, number(base.exposed))
    });
    let at = finding::at(bar.row.trigger);
    format!("{subject}{at} leaves {} µs a node exposed{cause}{against}", number(bar.exposed))
}

/// Where the parts come from.
fn notes(bars: &[Bar]) -> Vec<String> {
    let by = |by: ExposedBy| bars.iter().filter(|bar| bar.row.exposed_by == Some(by)).count();
    let constants = bars.iter().map(|bar| bar.row.constants.as_str()).find(|name| !name.is_empty());
    let constants = constants.unwrap_or("a profile");
    let mut notes = Vec::new();
    match (by(ExposedBy::Stamps), by(ExposedBy::Profile)) {
        (0, _) => notes.push(format!("Parts by the constants of {constants}: no stamps.")),
        (_, 0) => notes.push(format!(
            "Parts by stamps; flush and ends by {constants}. A part below zero takes from the others."
        )),
        (_, some) => notes.push(format!(
            "Parts by stamps, of {some} bars by constants alone; flush and ends by {constants}."
        )),
    }
    notes
}

/// A bar in words.
fn spoken(bar: &Bar) -> String {
    let parts: Vec<String> = bar
        .parts
        .iter()
        .filter(|(_, us)| us.abs() >= 5e-4)
        .map(|(cause, us)| format!("{} {}", cause.name(), number(*us)))
        .collect();
    format!("{} {}: {}: {}.", bar.row.arm, bar.label(), number(bar.exposed), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, divided};
    use super::*;

    fn charts(fixture: &Fixture) -> Vec<Named> {
        let groups = super::super::group::groups(&fixture.rows, &fixture.ctx);
        let both = [Submission::Graph, Submission::Stream];
        let of = |group| both.into_iter().filter_map(move |at| chart(group, at, &fixture.ctx));
        groups.iter().flat_map(of).collect()
    }

    #[test]
    fn a_bar_a_trigger_and_the_baseline_with_parts_that_fill_it() {
        let fixture = divided();
        let charts = charts(&fixture);
        assert_eq!(charts.len(), 4, "two groups, two submissions");
        let document = roxmltree::Document::parse(&charts[0].1).unwrap();
        let bars = document.descendants().filter(|n| n.attribute("class") == Some("bar"));
        let names: Vec<_> = bars.clone().filter_map(|n| n.attribute("data-name")).collect();
        assert_eq!(names.len(), Trigger::defaults().len() + 1, "{names:?}");
        assert_eq!((names[0], names[1]), ("graph graph", "graph-pdl entry"));
        // Pixels of a bar's parts are proportional to its time.
        let height = |bar: roxmltree::Node| -> f64 {
            let rects = bar.descendants().filter(|n| n.has_tag_name("rect"));
            rects.filter_map(|n| n.attribute("height")?.parse::<f64>().ok()).sum()
        };
        let heights: Vec<f64> = bars.map(height).collect();
        let row = |arm: Arm, trigger| {
            let found = fixture.rows.iter().find(|r| r.arm == arm && r.trigger == trigger);
            bar(found.unwrap()).unwrap().reach()
        };
        let size = |(lo, hi): (f64, f64)| hi - lo;
        let base = size(row(Arm::Graph, None));
        let entry = size(row(Arm::GraphPdl, Some(Trigger::AtEntry)));
        let (wanted, found) = (base / entry, heights[0] / heights[1]);
        assert!((found / wanted - 1.0).abs() < 0.01, "{found} {wanted}");
        for cause in ["contention", "flush", "unexplained", "limit − body"] {
            assert!(charts[0].1.contains(cause), "{cause}");
        }
    }

    #[test]
    fn what_was_not_divided_has_no_chart() {
        let mut fixture = divided();
        fixture.rows.iter_mut().for_each(|row| row.exposed_ns = None);
        assert!(charts(&fixture).is_empty());
    }

    #[test]
    fn numbers_keep_clear_of_lines() {
        assert_eq!(clear(0.0, 40.0, &[10.0]), Some(25.0));
        assert_eq!(clear(0.0, 20.0, &[10.0]), None);
        assert_eq!(clear(0.0, 20.0, &[f64::NAN]), Some(10.0));
    }
}
