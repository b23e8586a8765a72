//! The models against measured periods: every row, the distribution of errors, and what following
//! a model's best trigger costs.

use plotters::style::RGBColor;

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, Panel, SMALL, WIDTH};
use super::scale::{self, Scale};
use super::style::{FAINT, GRID, INK, Marker, Stroke, WALL};
use super::{Context, layout};
use crate::chain::{BodyKind, Dependency};
use crate::profile::Model;
use crate::sim::validation::{Compared, errors, regret, regrets};
use crate::units::percent;

/// Edges of the panels, CSS pixels.
const LEFT: (f64, f64) = (66.0, 482.0);
const RIGHT: (f64, f64) = (560.0, WIDTH - 22.0);
/// Height of each of the two panels on the right.
const HALF: f64 = 168.0;
/// Between them: tick labels, what the upper axis measures, and the title of the lower.
const BETWEEN: f64 = 80.0;
/// Bands around equality, and the marks of the errors: outer first.
const BANDS: [(f64, f64); 2] = [(0.15, 0.30), (0.05, 0.55)];
/// What counts as no error at all on a logarithmic axis.
const LEAST: f64 = 1e-3;

const KINDS: [(BodyKind, RGBColor); 5] = [
    (BodyKind::Fma, RGBColor(0x00, 0x72, 0xB2)),
    (BodyKind::Hbm, RGBColor(0xD5, 0x5E, 0x00)),
    (BodyKind::L2, RGBColor(0x00, 0x9E, 0x73)),
    (BodyKind::Spin, RGBColor(0xCC, 0x79, 0xA7)),
    (BodyKind::None, RGBColor(0x7A, 0x7A, 0x7A)),
];

/// The look of each model's distributions.
const MODELS: [(Model, Stroke); 2] = [
    (Model::Closed, Stroke { color: RGBColor(0x8A, 0x63, 0x0A), width: 2.0, dash: &[7.0, 4.0] }),
    (Model::Events, Stroke { color: RGBColor(0x00, 0x72, 0xB2), width: 2.4, dash: &[] }),
];

/// The chart of rows that were compared with both models; `caption` says what was measured, and
/// with which profile.
pub fn validation(rows: &[Compared], caption: &str) -> String {
    let ctx = Context { caption: caption.to_owned(), ..Context::default() };
    let found = errors(rows.iter(), Model::Events);
    let finding = match found {
        Some(found) => format!(
            "Simulated periods are off by {} in the median and by {} at the 95th percentile",
            percent(found.median),
            percent(found.p95)
        ),
        None => "The event-driven model covers none of the rows".to_owned(),
    };
    let covered = found.map_or(0, |found| found.rows);
    let subtitle = format!(
        "{} measured rows, of which the event-driven model covers {covered} · it is given shape, \
         trigger and amounts of work",
        rows.len()
    );
    let mut figure = Figure::new(&finding, &subtitle, &ctx);
    figure.legend(&legend(rows));
    let top = figure.y + 24.0;
    let whole = Panel { left: LEFT.0, right: LEFT.1, top, bottom: top + 2.0 * HALF + BETWEEN };
    let upper = Panel { left: RIGHT.0, right: RIGHT.1, top, bottom: top + HALF };
    let lower = Panel { top: upper.bottom + BETWEEN, bottom: whole.bottom, ..upper };
    every_row(&mut figure, whole, rows);
    let sizes = |model| rows.iter().filter_map(|row| row.error(model)).map(f64::abs).collect();
    shares(&mut figure, upper, "part of the rows, %", &[0.05, 0.15], sizes);
    axis_label(&mut figure, upper, "|simulated ÷ measured − 1|, % (logarithmic)");
    shares(&mut figure, lower, "part of groups and arms, %", &[0.005, 0.02, 0.05], |model| {
        regrets(rows, model)
    });
    axis_label(&mut figure, lower, "regret of the model's best trigger, % (logarithmic)");
    figure.y = whole.bottom + 46.0;
    figure.note(
        "Regret: measured period at the trigger that the model calls best ÷ measured best − 1, for \
         each group and programmatic arm. What is below 0.1 % stands at the left edge.",
    );
    figure.finish("validation", &spoken(rows))
}

fn legend(rows: &[Compared]) -> Vec<(Key, String)> {
    let mut keys: Vec<(Key, String)> = kinds(rows)
        .map(|(kind, color)| (Key::Mark(Marker::Square, color, true), format!("{kind} body")))
        .collect();
    keys.push((Key::Mark(Marker::Circle, INK, true), "programmatic".to_owned()));
    keys.push((Key::Mark(Marker::Circle, INK, false), "other dependency".to_owned()));
    for (part, opacity) in BANDS.into_iter().rev() {
        keys.push((Key::Area(WALL, opacity), format!("±{:.0} %", 100.0 * part)));
    }
    keys.extend(
        MODELS.map(|(model, stroke)| (Key::Line(stroke), format!("model {}", model.name()))),
    );
    keys
}

/// The kinds of body that rows have.
fn kinds(rows: &[Compared]) -> impl Iterator<Item = (BodyKind, RGBColor)> {
    KINDS.into_iter().filter(|(kind, _)| rows.iter().any(|row| row.row.chain.body.kind == *kind))
}

/// Simulated against measured periods.
fn every_row(figure: &mut Figure, panel: Panel, rows: &[Compared]) {
    let us =
        |row: &Compared| Some((scale::us(Some(row.row.period_ns))?, scale::us(row.events_ns)?));
    let all = rows.iter().filter_map(us).flat_map(|(measured, simulated)| [measured, simulated]);
    let (lo, hi) = all.fold((f64::INFINITY, 0.0_f64), |(lo, hi), us| (lo.min(us), hi.max(us)));
    let (lo, hi) = if lo < hi { (lo / 1.1, hi * 1.1) } else { (1.0, 10.0) };
    let x = Scale::log((lo, hi), panel.left, panel.right);
    let y = Scale::log((lo, hi), panel.bottom, panel.top);
    figure.y_axis(panel, &y, "simulated period, model events: µs (logarithmic)");
    for (part, opacity) in BANDS {
        let by = 1.0 + part;
        let corners =
            [(lo, lo), (lo, lo * by), (hi / by, hi), (hi, hi), (hi, hi / by), (lo * by, lo)];
        let corners = corners.map(|(across, up)| (x.px(across), y.px(up)));
        figure.canvas.polygon(&corners, WALL, opacity);
    }
    x_ticks(figure, panel, &x, 10, 1.0);
    // Hollow marks, which hide less, come last.
    for programmatic in [true, false] {
        for (kind, color) in kinds(rows) {
            let own = rows.iter().filter(|row| {
                let is = row.row.arm.dependency() == Dependency::Programmatic;
                (row.row.chain.body.kind, is) == (kind, programmatic)
            });
            let at: Vec<(f64, f64)> =
                own.filter_map(us).map(|(across, up)| (x.px(across), y.px(up))).collect();
            let word = if programmatic { "programmatic" } else { "other dependency" };
            figure.canvas.open("rows", &format!("{kind} body, {word}"));
            let (radius, opacity) = if programmatic { (1.6, 0.55) } else { (2.2, 0.8) };
            figure.canvas.dots(&at, radius, color, programmatic, opacity);
            figure.canvas.close();
        }
    }
    let equal = [(x.px(lo), y.px(lo)), (x.px(hi), y.px(hi))];
    figure.canvas.line(&equal, &Stroke::solid(INK, 1.0));
    figure.frame(panel);
    axis_label(figure, panel, "measured period: µs (logarithmic)");
}

/// The distribution of `sizes` by each model: the part of them that is at most so large.
fn shares(
    figure: &mut Figure,
    panel: Panel,
    title: &str,
    marks: &[f64],
    sizes: impl Fn(Model) -> Vec<f64>,
) {
    let all = MODELS.map(|(model, stroke)| {
        let mut sizes = sizes(model);
        sizes.retain(|size| size.is_finite());
        sizes.sort_by(f64::total_cmp);
        (model, stroke, sizes)
    });
    let most = all.iter().filter_map(|(.., sizes)| sizes.last()).fold(0.5_f64, |a, b| a.max(*b));
    let x = Scale::log((LEAST, most), panel.left, panel.right);
    let y = Scale::linear((0.0, 100.0), panel.bottom, panel.top);
    let heading = (panel.left, panel.top - 11.0);
    figure.canvas.text(title, heading, Font::new(SMALL, INK), Anchor::Start);
    figure.y_ticks(panel, &y);
    x_ticks(figure, panel, &x, 8, 100.0);
    let dash = Stroke { color: FAINT, width: 1.0, dash: &[3.0, 3.0] };
    for mark in marks {
        let at = x.px(*mark);
        figure.canvas.line(&[(at, panel.top), (at, panel.bottom)], &dash);
        let text = format!("{} %", scale::plain(100.0 * mark));
        let below = (at + 3.0, panel.bottom - 8.0);
        figure.canvas.text_over(&text, below, Font::new(11.0, FAINT), Anchor::Start);
    }
    for (model, stroke, sizes) in &all {
        let mut steps = vec![(x.px(LEAST), y.px(0.0))];
        for (place, size) in sizes.iter().enumerate() {
            let part = 100.0 * (place + 1) as f64 / sizes.len() as f64;
            let (at, up) = (x.px(*size), y.px(part));
            let before = steps[steps.len() - 1].1;
            // Steps that no eye tells apart are one.
            if before - up >= 0.5 || place + 1 == sizes.len() {
                steps.extend([(at, before), (at, up)]);
            }
        }
        figure.canvas.open("distribution", &format!("model {}", model.name()));
        figure.canvas.line(&steps, stroke);
        figure.canvas.close();
    }
    figure.frame(panel);
}

/// Ticks under a panel, their values times `unit`.
fn x_ticks(figure: &mut Figure, panel: Panel, x: &Scale, most: usize, unit: f64) {
    let mut free = f64::MIN;
    for (value, _) in x.ticks(most) {
        let at = x.px(value);
        let line = [(at, panel.top), (at, panel.bottom)];
        figure.canvas.line(&line, &Stroke { color: GRID, width: 0.6, dash: &[] });
        figure
            .canvas
            .line(&[(at, panel.bottom), (at, panel.bottom + 4.0)], &Stroke::solid(INK, 1.0));
        let text = scale::plain((value * unit * 1e6).round() / 1e6);
        let half = layout::width(&text, SMALL, false) / 2.0;
        if at - half < free {
            continue;
        }
        let label = (at, panel.bottom + 13.0);
        figure.canvas.text(&text, label, Font::new(SMALL, INK), Anchor::Middle);
        free = at + half + 4.0;
    }
}

fn axis_label(figure: &mut Figure, panel: Panel, text: &str) {
    let at = ((panel.left + panel.right) / 2.0, panel.bottom + 31.0);
    figure.canvas.text(text, at, Font::new(SMALL, INK), Anchor::Middle);
}

/// What is drawn, in words.
fn spoken(rows: &[Compared]) -> String {
    let of = |(model, _): (Model, Stroke)| {
        let Some(found) = errors(rows.iter(), model) else {
            return format!("Model {} covers no row.", model.name());
        };
        let regret = regret(rows, model).map_or_else(String::new, |regret| {
            format!(
                ", regret of its best trigger {} in the median and {} at the 90th percentile",
                percent(regret.median),
                percent(regret.p90)
            )
        });
        format!(
            "Model {}: {} rows, error {} in the median, {} at the 95th percentile, {} at most{regret}.",
            model.name(),
            found.rows,
            percent(found.median),
            percent(found.p95),
            percent(found.most)
        )
    };
    format!(
        "Simulated against measured periods of every row, the distribution of errors, and the \
         distribution of regret. {}",
        MODELS.map(of).join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Arm, Chain, Trigger};
    use crate::sim::validation::Measured;

    fn row(arm: Arm, kind: BodyKind, period_ns: f64, events_ns: Option<f64>) -> Compared {
        let mut chain = Chain::default();
        chain.body.kind = kind;
        let row = Measured {
            point: "p000".to_owned(),
            group: 0,
            arm,
            trigger: arm.sweeps_trigger().then_some(Trigger::Implicit),
            chain,
            period_ns,
            period_lo_ns: None,
            period_hi_ns: None,
            verdict: None,
            in_plateau: None,
        };
        Compared { row, closed_ns: Some(2.0 * period_ns), events_ns }
    }

    fn dots<'a>(document: &'a roxmltree::Document<'a>, name: &str) -> Vec<roxmltree::Node<'a, 'a>> {
        let group = document.descendants().find(|node| node.attribute("data-name") == Some(name));
        let group = group.unwrap_or_else(|| panic!("no {name}"));
        group.descendants().filter(|node| node.has_tag_name("circle")).collect()
    }

    #[test]
    fn every_covered_row_has_a_dot_of_its_kind_and_dependency() {
        let rows = [
            row(Arm::GraphPdl, BodyKind::Fma, 5000.0, Some(5500.0)),
            row(Arm::GraphPdl, BodyKind::Fma, 6000.0, Some(5000.0)),
            row(Arm::Graph, BodyKind::Fma, 7000.0, Some(7000.0)),
            row(Arm::Graph, BodyKind::Hbm, 9000.0, Some(9090.0)),
            row(Arm::Graph, BodyKind::L2, 9000.0, None),
        ];
        let svg = validation(&rows, "profile h200 <x>");
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(dots(&document, "fma body, programmatic").len(), 2);
        assert_eq!(dots(&document, "fma body, other dependency").len(), 1);
        assert_eq!(dots(&document, "hbm body, other dependency").len(), 1);
        assert_eq!(dots(&document, "l2 body, other dependency").len(), 0);
        assert!(!svg.contains("spin body"));
        // Errors 0, 1, 10 and 16.7 %: the title tells their median, over what is covered.
        assert!(svg.contains("off by 5.5") && svg.contains("covers 4"), "{svg}");
        // A row that is right stands on the line of equality: as far right as up.
        let at = dots(&document, "fma body, other dependency")[0];
        let px = |name: &str| at.attribute(name).unwrap().parse::<f64>().unwrap();
        let line = "model events";
        let right = document.descendants().any(|node| node.attribute("data-name") == Some(line));
        assert!(right && px("cx") > 0.0 && px("cy") > 0.0);
    }

    #[test]
    fn nothing_covered_is_said_and_drawn_without_a_number_that_is_none() {
        for rows in [vec![], vec![row(Arm::Graph, BodyKind::Fma, 5000.0, None)]] {
            let svg = validation(&rows, "");
            assert!(svg.contains("covers none of the rows"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            roxmltree::Document::parse(&svg).unwrap();
        }
    }
}
