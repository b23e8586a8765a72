//! Time saved a hop against the length of the body, and where the sign changes.

use plotters::style::RGBColor;

use crate::chain::{Arm, Target, Trigger};
use crate::record::{SummaryRow, Verdict};

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, Panel, SMALL};
use super::finding;
use super::group::{Group, Shown, saved};
use super::scale::{self, Scale, figure as number, us};
use super::style::{self, ArmStyle, FAINT, FLOOR, HARM, HARM_INK, INK, Marker, Stroke};
use super::{Context, Named, layout};

const LEFT: f64 = 76.0;
const RIGHT: f64 = 766.0;

/// A point of a line: body in µs, saved in µs a hop, interval, and whether an effect is settled.
struct Point {
    body: f64,
    value: f64,
    interval: Option<(f64, f64)>,
    settled: bool,
}

/// One line of the chart.
struct Line {
    name: String,
    style: ArmStyle,
    points: Vec<Point>,
}

/// The chart of one arm over groups that differ in body length alone; `None` below two lengths.
pub(super) fn chart(family: &[&Group], arm: Arm, ctx: &Context) -> Option<Named> {
    let groups: Vec<_> =
        family.iter().copied().filter(|g| matches!(g.chain.body.target, Target::Ns(_))).collect();
    let lines = lines(&groups, arm, ctx);
    let best = lines.first().filter(|line| line.points.len() > 1)?;
    let all = || lines.iter().flat_map(|line| &line.points);
    let (x_lo, x_hi) = scale::span(all().map(|p| p.body), 0.0)?;
    let extent = all().flat_map(|p| {
        let (lo, hi) = p.interval.unwrap_or((p.value, p.value));
        [lo, p.value, hi]
    });
    let (lo, hi) = scale::without_chasm(scale::span(extent.chain([0.0]), 0.0)?);
    let pad = 0.08 * (hi - lo);
    let (lo, hi) = (lo - pad, hi + pad);
    let lo = lo.min(-0.14 * (hi - lo));

    let name = format!("body-length-g{}-{arm}.svg", groups[0].id);
    let crossings: Vec<_> = lines.iter().flat_map(crossings).collect();
    let finding = title(best, arm, &crossings);
    let subtitle = format!("over body length · {}", groups[0].label(Some("body length")));
    let mut figure = Figure::new(&finding, &subtitle, ctx);
    let mut legend: Vec<_> =
        lines.iter().map(|line| (Key::Arm(line.style), line.name.clone())).collect();
    legend.push((Key::Area(style::of(arm).stroke.color, 0.3), "95 % interval".to_owned()));
    if !crossings.is_empty() {
        let ring = Key::Mark(Marker::Circle, HARM_INK, false);
        legend.push((ring, "crossover, µs of body (~ not established)".to_owned()));
    }
    figure.legend(&legend);

    let panel = figure.panel(LEFT, RIGHT, 340.0);
    let y = Scale::linear((lo, hi), panel.bottom, panel.top);
    let x = Scale::log((x_lo * 0.9, x_hi * 1.1), LEFT + 10.0, RIGHT - 10.0);
    let zero = y.px(0.0);
    figure.canvas.rect((panel.left, zero), (panel.right, panel.bottom), HARM, 1.0);
    figure.y_axis(panel, &y, "µs saved a hop (baseline − arm)");
    let mut labels = vec![
        (zero, "zero: as baseline".to_owned(), INK),
        ((zero + panel.bottom) / 2.0, "harm: slower".to_owned(), HARM_INK),
    ];
    let floor = groups.iter().filter_map(|g| ctx.floors_us.get(&(g.id, arm.submission()))).copied();
    if let Some(floor) = scale::drawable(floor.map(f64::abs).reduce(f64::max)) {
        let (top, bottom) = (y.px(floor), y.px(-floor));
        figure.canvas.rect((panel.left, top), (panel.right, bottom), FLOOR, 0.6);
        labels.push((top, format!("A/A floor ±{}", number(floor)), FAINT));
    }
    figure.canvas.line(&[(panel.left, zero), (panel.right, zero)], &Stroke::solid(INK, 1.4));
    for line in lines.iter().rev() {
        draw(&mut figure, line, &x, &y);
    }
    mark_crossings(&mut figure, panel, &crossings, &x, zero);
    figure.frame(panel);
    figure.margin_labels(panel, &labels);
    for (value, text) in x.ticks(12) {
        let at = x.px(value);
        let tick = [(at, panel.bottom), (at, panel.bottom + 4.0)];
        figure.canvas.line(&tick, &Stroke::solid(INK, 1.0));
        let label = (at, panel.bottom + 13.0);
        figure.canvas.text(&text, label, Font::new(SMALL, INK), Anchor::Middle);
    }
    figure.y += 22.0;
    figure.x_label(panel, "body, measured: µs (logarithmic)");
    for note in lines.iter().filter_map(|line| below(line, y.range().0)) {
        figure.note(&note);
    }
    let desc = format!(
        "{finding}. Microseconds saved a hop by {arm} against the length of the body in \
         microseconds. {}",
        lines.iter().map(spoken).collect::<Vec<_>>().join(" ")
    );
    Some((name.clone(), figure.finish(&name, &desc)))
}

/// The best trigger of each length, then a few fixed triggers over all lengths.
fn lines(groups: &[&Group], arm: Arm, ctx: &Context) -> Vec<Line> {
    let best = groups.iter().filter_map(|g| point(g, finding::best(g, arm, ctx)?)).collect();
    let mut looks = style::of(arm);
    looks.stroke.width = 2.8;
    let mut lines =
        vec![Line { name: format!("{arm}, best trigger"), style: looks, points: sorted(best) }];
    let mut all: Vec<_> =
        groups.iter().flat_map(|g| g.arm(arm)).filter_map(|row| row.trigger).collect();
    all.sort_by(|a, b| a.order().total_cmp(&b.order()));
    all.dedup();
    let segments: Vec<_> =
        all.iter().copied().filter(|t| matches!(t, Trigger::Segment { .. })).collect();
    let middle = segments.get(segments.len() / 2).copied();
    let picked = [
        all.contains(&Trigger::AtEntry).then_some(Trigger::AtEntry),
        segments.first().copied(),
        middle.filter(|_| segments.len() > 2),
        segments.last().copied().filter(|_| segments.len() > 1),
        all.contains(&Trigger::Implicit).then_some(Trigger::Implicit),
    ];
    for (trigger, look) in picked.into_iter().zip(LOOKS) {
        let Some(trigger) = trigger else { continue };
        let points: Vec<_> = groups
            .iter()
            .filter_map(|g| {
                let row = g.arm(arm).into_iter().find(|row| row.trigger == Some(trigger))?;
                point(g, row)
            })
            .collect();
        if !points.is_empty() && all.len() > 1 {
            let name = format!("trigger {trigger}");
            lines.push(Line { name, style: look, points: sorted(points) });
        }
    }
    lines
}

/// Looks of the fixed triggers, early to late: from dark to light, no colour of an arm.
const LOOKS: [ArmStyle; 5] = [
    look(RGBColor(0x44, 0x01, 0x54), &[7.0, 4.0], Marker::Up),
    look(RGBColor(0x6A, 0x3D, 0x9A), &[2.0, 3.0], Marker::Square),
    look(RGBColor(0x8F, 0x5C, 0x7A), &[8.0, 3.0, 2.0, 3.0], Marker::Pentagon),
    look(RGBColor(0x8A, 0x7A, 0x30), &[14.0, 5.0], Marker::Down),
    look(RGBColor(0x77, 0x77, 0x77), &[4.0, 2.0], Marker::Times),
];

const fn look(color: RGBColor, dash: &'static [f64], marker: Marker) -> ArmStyle {
    ArmStyle { stroke: Stroke { color, width: 1.5, dash }, marker }
}

fn point(group: &Group, row: &SummaryRow) -> Option<Point> {
    let Target::Ns(asked) = group.chain.body.target else { return None };
    let body = us(row.body_ns).or(us(Some(asked))).filter(|&b| b > 0.0)?;
    let Shown::Value { at, interval } = saved(row) else { return None };
    let settled = matches!(row.verdict, Some(Verdict::Helps | Verdict::Hurts));
    Some(Point { body, value: at, interval, settled })
}

fn sorted(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.body.total_cmp(&b.body));
    points
}

/// Where a line changes sign, in µs of body, and whether both sides are settled.
fn crossings(line: &Line) -> Vec<(String, f64, bool)> {
    let zero_between = |pair: &[Point]| {
        let (a, b) = (&pair[0], &pair[1]);
        (a.value * b.value < 0.0).then(|| {
            let part = a.value / (a.value - b.value);
            let body = a.body * (b.body / a.body).powf(part);
            (line.name.clone(), body, a.settled && b.settled)
        })
    };
    line.points.windows(2).filter_map(zero_between).collect()
}

fn draw(figure: &mut Figure, line: &Line, x: &Scale, y: &Scale) {
    let Line { name, style, points } = line;
    let color = style.stroke.color;
    figure.canvas.open("series", name);
    let least = y.range().0;
    let shown = |p: &Point| p.interval.filter(|interval| interval.0 >= least);
    for run in points.split(|p| shown(p).is_none()).filter(|run| run.len() > 1) {
        let edge = |pick: fn((f64, f64)) -> f64| {
            run.iter().filter_map(move |p| p.interval.map(|i| (x.px(p.body), y.px(pick(i)))))
        };
        let under: Vec<_> = edge(|i| i.0).collect();
        let outline: Vec<_> = edge(|i| i.1).chain(under.into_iter().rev()).collect();
        figure.canvas.polygon(&outline, color, 0.18);
    }
    let path: Vec<_> = points.iter().map(|p| (x.px(p.body), p.value)).collect();
    for piece in scale::above(&path, least) {
        let piece: Vec<_> = piece.into_iter().map(|(px, value)| (px, y.px(value))).collect();
        figure.canvas.line(&piece, &style.stroke);
    }
    for point in points.iter().filter(|p| p.value >= least) {
        let at = (x.px(point.body), y.px(point.value));
        figure.canvas.marker(style.marker, at, 4.5, color, point.settled);
    }
    figure.canvas.close();
}

/// The points of a line that lie below `least`, in words.
fn below(line: &Line, least: f64) -> Option<String> {
    let words: Vec<_> = line
        .points
        .iter()
        .filter(|p| p.value < least)
        .map(|p| format!("{} at {} µs", number(p.value), number(p.body)))
        .collect();
    (!words.is_empty()).then(|| format!("Below the axis, {}: {}.", line.name, words.join(", ")))
}

fn mark_crossings(
    figure: &mut Figure,
    panel: Panel,
    crossings: &[(String, f64, bool)],
    x: &Scale,
    zero: f64,
) {
    let texts: Vec<_> = crossings
        .iter()
        .map(|(_, body, settled)| format!("{}{}", if *settled { "" } else { "~" }, number(*body)))
        .collect();
    let wanted: Vec<f64> = crossings.iter().map(|(_, body, _)| x.px(*body)).collect();
    let gap = texts.iter().map(|t| layout::width(t, SMALL, true)).fold(0.0, f64::max) + 6.0;
    let placed = layout::spread(&wanted, gap, panel.left + gap, panel.right - gap);
    for ((text, at), label) in texts.iter().zip(wanted).zip(placed) {
        figure.canvas.marker(Marker::Circle, (at, zero), 5.0, HARM_INK, false);
        let font = Font::new(SMALL, HARM_INK).bold();
        figure.canvas.text_over(text, (label, zero + 17.0), font, Anchor::Middle);
    }
}

fn title(best: &Line, arm: Arm, crossings: &[(String, f64, bool)]) -> String {
    let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
    let most = best.points.iter().max_by(by_value);
    let settled: Vec<_> = crossings.iter().filter(|c| c.2).collect();
    let turn = match settled[..] {
        [] => "; no crossover is established".to_owned(),
        [(name, body, _)] => {
            format!("; {name} crosses zero at a body of {} µs", number(*body))
        }
        [(name, body, _), ..] => {
            format!("; the first of {} crossovers: {name} at {} µs", settled.len(), number(*body))
        }
    };
    match most {
        Some(p) if p.value > 0.0 && !best.points.iter().any(|p| p.settled) => format!(
            "Whether {arm} helps stays open at this precision (largest median: {} µs a hop, with \
             a body of {} µs){turn}",
            number(p.value),
            number(p.body)
        ),
        Some(p) if p.value > 0.0 => format!(
            "{arm} saves most with a body of {} µs: {} µs a hop{turn}",
            number(p.body),
            number(p.value)
        ),
        _ => format!("{arm} saves nothing at any body length{turn}"),
    }
}

fn spoken(line: &Line) -> String {
    let points: Vec<_> =
        line.points.iter().map(|p| format!("{}: {}", number(p.body), number(p.value))).collect();
    format!("{}: {}.", line.name, points.join(", "))
}
