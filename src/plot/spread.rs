//! Every sample of every arm, around the arm's own median on one scale.

use crate::chain::Arm;
use crate::device::Flag;
use crate::record::{SampleRow, SummaryRow};
use crate::stats::quantile;

use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, Panel, SMALL};
use super::finding;
use super::group::{Group, Shown, period};
use super::scale::{self, Scale, drawable, figure as number};
use super::style::{self, FAINT, GRID, INK, Marker, Stroke};
use super::{Context, Named, layout};

const LEFT: f64 = 172.0;
const RIGHT: f64 = 660.0;
const ROW: f64 = 46.0;

/// The samples of one arm at one trigger: deviations from their median in ns a node.
struct Strip {
    arm: Arm,
    label: String,
    /// Period of the samples' median, ns.
    median: f64,
    /// 95 % interval of the median, as deviations.
    interval: Option<(f64, f64)>,
    plain: Vec<f64>,
    flagged: Vec<f64>,
    excluded: Vec<f64>,
}

/// The chart of a group; `None` without samples.
pub(super) fn chart(group: &Group, samples: &[SampleRow], ctx: &Context) -> Option<Named> {
    let rows: Vec<_> = group.arms().into_iter().filter_map(|arm| row(group, arm, ctx)).collect();
    let (wrong, rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| period(row) == Shown::Wrong);
    let strips: Vec<_> = rows.into_iter().filter_map(|row| strip(group, row, samples)).collect();
    let range = range(&strips)?;
    let name = format!("samples-{}.svg", group.slug());
    let finding = title(&strips);
    let mut figure = Figure::new(&finding, &group.label(None), ctx);
    let mut legend = vec![
        (Key::Mark(Marker::Circle, INK, true), "one sample".to_owned()),
        (Key::Line(Stroke::solid(INK, 3.0)), "95 % interval of the median".to_owned()),
    ];
    if strips.iter().any(|s| !s.flagged.is_empty()) {
        legend.push((Key::Mark(Marker::Circle, INK, false), "flagged, counted".to_owned()));
    }
    if strips.iter().any(|s| !s.excluded.is_empty()) {
        let text = "flagged, left out of statistics".to_owned();
        legend.push((Key::Mark(Marker::Times, FAINT, true), text));
    }
    figure.legend(&legend);
    let head = figure.y + 8.0;
    let columns = [(RIGHT + 12.0, "median, µs a node (95 %)"), (16.0, "arm, trigger")];
    for (x, text) in columns {
        figure.canvas.text(text, (x, head), Font::new(SMALL, FAINT), Anchor::Start);
    }
    figure.y += 12.0;

    let panel = figure.panel(LEFT, RIGHT, ROW * strips.len() as f64);
    let x = Scale::linear(range, LEFT + 8.0, RIGHT - 8.0);
    for (value, text) in x.ticks(7) {
        let at = x.px(value);
        let grid = [(at, panel.top), (at, panel.bottom)];
        figure.canvas.line(&grid, &Stroke::solid(GRID, 1.0));
        let label = (at, panel.bottom + 13.0);
        figure.canvas.text(&text, label, Font::new(SMALL, INK), Anchor::Middle);
    }
    for (i, strip) in strips.iter().enumerate() {
        draw(&mut figure, strip, &x, panel.top + ROW * (i as f64 + 0.5));
    }
    figure.frame(panel);
    figure.y += 22.0;
    let wide = Panel { left: LEFT - 60.0, right: RIGHT + 60.0, ..panel };
    figure.x_label(wide, "sample − median of its arm: ns a node (zero is each arm's own median)");
    figure.note(
        "Height within a strip means nothing. Where an arm has several triggers, one is shown.",
    );
    if !wrong.is_empty() {
        let arms: Vec<_> = wrong.iter().map(|row| row.arm.to_string()).collect();
        figure.note(&format!("Not shown, results were wrong: {}.", arms.join(", ")));
    }
    let spoken: Vec<_> =
        strips.iter().map(|s| format!("{}: {}.", s.label, summary(s).join(", "))).collect();
    let desc = format!("{finding}. Samples around each arm's median. {}", spoken.join(" "));
    Some((name.clone(), figure.finish(&name, &desc)))
}

/// The row whose samples stand for an arm: its answer's, and for a control the subject's trigger.
fn row<'a>(group: &Group<'a>, arm: Arm, ctx: &Context) -> Option<&'a SummaryRow> {
    let rows = group.arm(arm);
    let subject = group.arms().into_iter().find(|a| a.full_control() == Some(arm));
    let trigger = subject.and_then(|a| finding::best(group, a, ctx)).map(|row| row.trigger);
    let at_subject = trigger.and_then(|t| rows.iter().copied().find(|row| row.trigger == t));
    at_subject.or_else(|| finding::best(group, arm, ctx)).or(rows.first().copied())
}

fn strip(group: &Group, row: &SummaryRow, samples: &[SampleRow]) -> Option<Strip> {
    let nodes = f64::from(group.chain.nodes.max(1));
    let own =
        |s: &&SampleRow| *s.point == *row.point && s.arm == row.arm && s.nodes == group.chain.nodes;
    let (mut plain, mut flagged, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
    for sample in samples.iter().filter(own) {
        let Some(period) = drawable(Some(sample.duration_ns / nodes)) else { continue };
        if sample.flags.iter().copied().any(Flag::excludes) {
            excluded.push(period);
        } else if sample.flags.is_empty() {
            plain.push(period);
        } else {
            flagged.push(period);
        }
    }
    let median = quantile(&[&plain[..], &flagged[..]].concat(), 0.5)?;
    let around = |values: Vec<f64>| values.into_iter().map(|v| v - median).collect();
    let interval = match period(row) {
        Shown::Value { interval: Some((lo, hi)), .. } => {
            Some((lo * 1e3 - median, hi * 1e3 - median))
        }
        _ => None,
    };
    let trigger = row.trigger.map_or_else(String::new, |t| format!(" {t}"));
    Some(Strip {
        arm: row.arm,
        label: format!("{}{trigger}", row.arm),
        median,
        interval,
        plain: around(plain),
        flagged: around(flagged),
        excluded: around(excluded),
    })
}

impl Strip {
    /// Samples in the statistics.
    fn counted(&self) -> Vec<f64> {
        [&self.plain[..], &self.flagged[..]].concat()
    }

    /// The middle 90 % of the counted samples.
    fn middle(&self) -> (f64, f64) {
        let counted = self.counted();
        (quantile(&counted, 0.05).unwrap_or(0.0), quantile(&counted, 0.95).unwrap_or(0.0))
    }
}

/// A range that shows the middle 90 % of every arm twice over; what lies beyond is drawn at the
/// edge and counted.
fn range(strips: &[Strip]) -> Option<(f64, f64)> {
    let all = || strips.iter().flat_map(Strip::counted);
    let (least, most) = scale::span(all(), 0.04)?;
    let core = strips.iter().flat_map(|s| {
        let (lo, hi) = s.middle();
        let (low, high) = s.interval.unwrap_or((lo, hi));
        [lo, hi, low, high]
    });
    let (lo, hi) = scale::span(core, 0.6)?;
    Some((lo.max(least), hi.min(most)))
}

fn draw(figure: &mut Figure, strip: &Strip, x: &Scale, middle: f64) {
    let color = style::of(strip.arm).stroke.color;
    let (lo, hi) = x.range();
    figure.canvas.open("arm", &strip.arm.to_string());
    let zero = x.px(0.0);
    let place = |values: &[f64], salt: usize| -> Vec<(f64, f64)> {
        values
            .iter()
            .enumerate()
            .filter(|(_, v)| (lo..=hi).contains(*v))
            .map(|(i, &v)| (x.px(v), middle + jitter(i + salt) * ROW * 0.30))
            .collect()
    };
    figure.canvas.dots(&place(&strip.plain, 0), 2.2, color, true, 0.5);
    figure.canvas.dots(&place(&strip.flagged, 7919), 2.4, color, false, 0.9);
    for at in place(&strip.excluded, 104_729) {
        figure.canvas.marker(Marker::Times, at, 3.5, FAINT, true);
    }
    if let Some((low, high)) = strip.interval {
        let (low, high) = (x.px(low), x.px(high));
        figure.canvas.line(&[(low, middle), (high, middle)], &Stroke::solid(INK, 3.0));
    }
    let tick = [(zero, middle - ROW * 0.4), (zero, middle + ROW * 0.4)];
    figure.canvas.line(&tick, &Stroke::solid(INK, 2.0));
    figure.canvas.close();
    let beyond = |far: &dyn Fn(f64) -> bool| {
        strip.counted().iter().chain(&strip.excluded).filter(|&&v| far(v)).count()
    };
    let over = [
        (beyond(&|v| v < lo), LEFT + 5.0, Anchor::Start, "◂ "),
        (beyond(&|v| v > hi), RIGHT - 5.0, Anchor::End, "▸ "),
    ];
    for (count, at, anchor, arrow) in over {
        if count > 0 {
            let text = format!("{arrow}{count} beyond");
            let font = Font::new(11.0, INK);
            figure.canvas.text_over(&text, (at, middle - ROW * 0.33), font, anchor);
        }
    }
    figure.canvas.marker(style::of(strip.arm).marker, (24.0, middle), 5.0, color, true);
    let label = layout::wrap(&strip.label, SMALL, false, LEFT - 44.0, 2);
    for (i, line) in label.iter().enumerate() {
        let y = middle + 15.0 * (i as f64 - (label.len() as f64 - 1.0) / 2.0);
        figure.canvas.text(line, (36.0, y), Font::new(SMALL, INK), Anchor::Start);
    }
    let lines = summary(strip);
    for (i, line) in lines.iter().enumerate() {
        let line = &layout::wrap(line, SMALL, false, super::figure::WIDTH - RIGHT - 18.0, 1)[0];
        let y = middle - 8.0 + 16.0 * i as f64;
        figure.canvas.text(line, (RIGHT + 12.0, y), Font::new(SMALL, INK), Anchor::Start);
    }
}

/// Median and interval of a strip in µs, and its counts: two lines.
fn summary(strip: &Strip) -> [String; 2] {
    let us = |ns: f64| format!("{:.3}", (strip.median + ns) / 1e3);
    let interval =
        strip.interval.map_or_else(String::new, |(lo, hi)| format!(" ({} to {})", us(lo), us(hi)));
    let out = match strip.excluded.len() {
        0 => String::new(),
        n => format!(", {n} left out"),
    };
    let counted = strip.plain.len() + strip.flagged.len();
    [format!("{}{interval}", us(0.0)), format!("{counted} samples{out}")]
}

/// A fixed scatter in −1..1: the fractional parts of multiples of the golden ratio, which fill a
/// strip evenly in every prefix.
fn jitter(index: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    2.0 * (index as f64 * GOLDEN).fract() - 1.0
}

fn title(strips: &[Strip]) -> String {
    let reach = |s: &Strip| {
        let (lo, hi) = s.middle();
        hi.max(-lo)
    };
    let widest = strips.iter().max_by(|a, b| reach(a).total_cmp(&reach(b)));
    widest.map_or_else(String::new, |s| {
        format!(
            "90 % of the samples of every arm lie within {} ns a node of its median (widest: {}, \
             {:.2} % of its period)",
            number(reach(s)),
            s.label,
            100.0 * reach(s) / s.median.abs().max(1e-9)
        )
    })
}
