//! The typical hop of each arm, large, with the quantities of the hop as dimension lines.

use super::super::canvas::{Anchor, Font};
use super::super::figure::{Figure, SMALL};
use super::super::layout;
use super::super::scale::Scale;
use super::super::style::{INK, Stroke};
use super::lanes::{self, END, RELEASE, TRIGGER};
use super::{LEFT, RIGHT, head, micro, part, time_axis, time_grid, time_scale};
use crate::chain::Dependency;
use crate::stats;
use crate::timeline::{HopMoments, Moments, Phase, Track, typical_hop};

const LANE: f64 = 40.0;
/// Room between two lanes for two dimension lines.
const BETWEEN: f64 = 34.0;
/// Corners of an edge of an area.
const ROWS: usize = 24;

/// Three nodes of one arm: the hop in the middle is the typical one.
struct View<'a> {
    track: &'a Track,
    nodes: std::ops::Range<u32>,
    hop: u32,
    /// Last end of the hop's primary: zero on the axis.
    origin_ns: f64,
}

impl<'a> View<'a> {
    fn of(track: &'a Track) -> Option<View<'a>> {
        let hop = typical_hop(&track.stamps)?;
        let moments = HopMoments::into(&track.stamps, hop)?;
        let nodes = hop - 1..(hop + 2).min(track.stamps.nodes());
        Some(View { track, nodes, hop, origin_ns: moments.primary.end.last })
    }

    fn moments(&self, node: u32) -> Option<Moments> {
        Moments::of(self.track.stamps.node(node))
    }
}

/// A panel an arm, all on one axis: zero is the last end of the typical hop's primary.
pub(super) fn panels(figure: &mut Figure<'_>, tracks: &[Track]) {
    let views: Vec<View<'_>> = tracks.iter().filter_map(View::of).collect();
    if views.is_empty() {
        return;
    }
    part(figure, "A typical hop");
    let times = views.iter().flat_map(|view| {
        let moments = view.nodes.clone().filter_map(|node| view.moments(node));
        moments.flat_map(move |m| [m.begin.first, m.end.last].map(|ns| ns - view.origin_ns))
    });
    let x = time_scale(times);
    for view in &views {
        head(figure, view.track, true);
        panel(figure, view, &x);
    }
    time_axis(figure, &x, "µs from the last end of the hop's primary");
}

fn panel(figure: &mut Figure<'_>, view: &View<'_>, x: &Scale) {
    let top = figure.y + 4.0;
    let lanes = view.nodes.len() as f64;
    let bottom = top + lanes * LANE + (lanes - 1.0) * BETWEEN;
    time_grid(figure, x, top, bottom);
    for (index, node) in view.nodes.clone().enumerate() {
        let y = top + index as f64 * (LANE + BETWEEN);
        lane(figure, view, node, x, y);
    }
    for (index, node) in view.nodes.clone().enumerate().skip(1) {
        let y = top + index as f64 * (LANE + BETWEEN);
        if let Some(hop) = HopMoments::into(&view.track.stamps, node) {
            across(figure, view, &hop, x, y, node == view.hop);
        }
    }
    figure.y = bottom + 4.0;
}

fn lane(figure: &mut Figure<'_>, view: &View<'_>, node: u32, x: &Scale, y: f64) {
    let blocks = view.track.stamps.node(node);
    let name = format!("node {node}");
    figure.canvas.open("node", &name);
    for (phase, area) in lanes::areas(blocks, view.origin_ns, x, (y, y + LANE), ROWS) {
        lanes::fill(figure, phase, &area);
    }
    figure.canvas.close();
    let at = (LEFT - 8.0, y + LANE / 2.0);
    figure.canvas.text(&name, at, Font::new(SMALL, INK), Anchor::End);
    for phase in Phase::ALL {
        duration(figure, view, node, phase, x, y);
    }
    named(figure, view, node, x, y);
}

/// Moments that the kernel names: a line each, and the name of what begins there where there is
/// room for it.
fn named(figure: &mut Figure<'_>, view: &View<'_>, node: u32, x: &Scale, y: f64) {
    let px = |ns: f64| x.px((ns - view.origin_ns) / 1e3);
    for (name, from, to) in view.track.stamps.named_phases(node) {
        let (left, right) = (px(from), px(to));
        figure.canvas.line(&[(left, y), (left, y + LANE)], &Stroke::solid(INK, 1.0));
        if right - left > layout::width(name, SMALL, false) + 5.0 {
            let at = (left + 3.0, y + 7.0);
            figure.canvas.text_over(name, at, Font::new(SMALL, INK), Anchor::Start);
        }
    }
}

/// The median block's time in a phase, written on it where there is room.
fn duration(figure: &mut Figure<'_>, view: &View<'_>, node: u32, phase: Phase, x: &Scale, y: f64) {
    let blocks = view.track.stamps.node(node);
    let median = |end: bool| {
        let moments = blocks.iter().map(|block| phase.of(block));
        let moments: Vec<f64> = moments.map(|(from, to)| if end { to } else { from }).collect();
        stats::median(&moments)
    };
    let (Some(from), Some(to)) = (median(false), median(true)) else { return };
    let (left, right) = (x.px((from - view.origin_ns) / 1e3), x.px((to - view.origin_ns) / 1e3));
    let fits = |text: &String| right - left > layout::width(text, SMALL, false) + 4.0;
    let long = format!("{} {}", phase.name(), micro(to - from));
    let Some(text) = [long, micro(to - from)].into_iter().find(fits) else { return };
    let at = ((left + right) / 2.0, y + LANE / 2.0);
    figure.canvas.text_over(&text, at, Font::new(SMALL, INK), Anchor::Middle);
}

/// Trigger, end and release across the two lanes, and between them launch gap and hop latency.
fn across(
    figure: &mut Figure<'_>,
    view: &View<'_>,
    hop: &HopMoments,
    x: &Scale,
    y: f64,
    with_words: bool,
) {
    let px = |ns: f64| x.px((ns - view.origin_ns) / 1e3);
    let (above, below) = (y - BETWEEN - LANE, y + LANE);
    let trigger = px(hop.primary.allowed_ns());
    // A full dependency does not heed it.
    let heeded = view.track.arm.dependency() == Dependency::Programmatic;
    let down_to = if heeded { below } else { above + LANE };
    figure.canvas.line(&[(trigger, above), (trigger, down_to)], &TRIGGER);
    let end = px(hop.primary.end.last);
    figure.canvas.line(&[(end, above), (end, below)], &END);
    let release = px(hop.secondary.release.median);
    figure.canvas.line(&[(release, y - 16.0), (release, below)], &RELEASE);
    if !with_words {
        return;
    }
    let begin = px(hop.secondary.begin.first);
    let gap = format!("launch gap {}", micro(hop.launch_gap_ns()));
    let latency = format!("hop latency {}", micro(hop.hop_latency_ns()));
    dimension(figure, (end, begin), y - BETWEEN + 10.0, &gap);
    dimension(figure, (end, release), y - BETWEEN + 25.0, &latency);
}

/// A line with a bar at each end, and its text beside it.
fn dimension(figure: &mut Figure<'_>, (a, b): (f64, f64), y: f64, text: &str) {
    let (from, to) = (a.min(b), a.max(b));
    let stroke = Stroke::solid(INK, 1.2);
    figure.canvas.line(&[(from, y), (to, y)], &stroke);
    for end in [from, to] {
        figure.canvas.line(&[(end, y - 4.0), (end, y + 4.0)], &stroke);
    }
    let font = Font::new(SMALL, INK).bold();
    match to + layout::width(text, SMALL, true) + 8.0 < RIGHT {
        true => figure.canvas.text_over(text, (to + 6.0, y), font, Anchor::Start),
        false => figure.canvas.text_over(text, (from - 6.0, y), font, Anchor::End),
    }
}
