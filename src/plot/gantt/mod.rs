//! The timeline of one chain an arm: the typical hop with its quantities drawn in, the whole
//! chain, and how blocks were spread over SMs.

mod aligned;
mod lanes;
mod overview;
mod skew;
mod sms;
#[cfg(test)]
mod tests;
mod typical;

use super::Context;
use super::canvas::{Anchor, Font};
use super::figure::{Figure, Key, SMALL, WIDTH};
use super::scale::{self, Scale};
use super::style::{self, GRID, INK, Stroke};
use crate::timeline::{Phase, Track};
use crate::units::or_absent;

/// Left and right edge of every panel, CSS pixels.
const LEFT: f64 = 74.0;
const RIGHT: f64 = WIDTH - 22.0;

/// What a lane of the chain's panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// A node: its blocks in the order in which they reach each moment.
    Node,
    /// An SM, with every block that ran on it: for short chains.
    Sm,
}

/// The most nodes that lanes of SMs are drawn for.
pub const SM_LANES_NODES: u32 = 8;
/// The most blocks of a chain that lanes of SMs are drawn for.
pub const SM_LANES_BLOCKS: usize = 4096;

/// The chart of one or more arms above each other; `sm_count` are the SMs of the device, and
/// `subtitle` says what every node does. Lanes of SMs fall back to nodes beyond
/// [`SM_LANES_NODES`] and [`SM_LANES_BLOCKS`].
pub fn timeline(
    tracks: &[Track],
    sm_count: u32,
    lanes: Lanes,
    subtitle: &str,
    ctx: &Context,
) -> String {
    let mut figure = Figure::new(&finding(tracks), subtitle, ctx);
    lanes::define_patterns(&mut figure);
    legend(&mut figure, tracks);
    typical::panels(&mut figure, tracks);
    let short = |track: &Track| {
        track.stamps.nodes() <= SM_LANES_NODES && track.stamps.blocks.len() <= SM_LANES_BLOCKS
    };
    match lanes {
        Lanes::Sm if tracks.iter().all(short) => sms::panels(&mut figure, tracks),
        _ => overview::panels(&mut figure, tracks),
    }
    aligned::panels(&mut figure, tracks);
    skew::panel(&mut figure, tracks, sm_count);
    let costs: Vec<String> = tracks
        .iter()
        .map(|track| {
            let percent = crate::units::signed_percent(track.cost.ratio());
            format!("{}: stamping changes the chain by {percent}", track.arm)
        })
        .collect();
    figure.note(&format!("{}.", costs.join("; ")));
    figure.finish("timeline", "Phases of the blocks of each node of a chain over time, by arm.")
}

/// What the chart shows, in words.
fn finding(tracks: &[Track]) -> String {
    let clause = |track: &Track| {
        let reduced = track.stamps.reduce();
        let (Some(gap), Some(latency)) = (reduced.launch_gap_ns, reduced.hop_latency_ns) else {
            return format!("{}: no hop to measure", track.arm);
        };
        let side = if gap < 0.0 { "before" } else { "after" };
        format!(
            "{}: a node begins {} {side} its primary ends, its body {} after",
            track.arm,
            micro(gap.abs()),
            micro(latency)
        )
    };
    tracks.iter().map(clause).collect::<Vec<_>>().join("; ")
}

/// A time as charts show it, with its unit.
fn micro(ns: f64) -> String {
    format!("{}\u{A0}µs", scale::figure(ns / 1e3))
}

fn legend(figure: &mut Figure<'_>, tracks: &[Track]) {
    let mut x = 16.0;
    for phase in Phase::ALL {
        let y = figure.y + 9.0;
        lanes::fill(
            figure,
            phase,
            &[(x, y - 6.0), (x + 34.0, y - 6.0), (x + 34.0, y + 6.0), (x, y + 6.0)],
        );
        figure.canvas.text(phase.name(), (x + 40.0, y), Font::new(SMALL, INK), Anchor::Start);
        x += 40.0 + super::layout::width(phase.name(), SMALL, false) + 16.0;
    }
    figure.y += 21.0;
    let mut keys = vec![
        (Key::Line(lanes::TRIGGER), "last trigger, or exit without one".into()),
        (Key::Line(lanes::RELEASE), "median release of the secondary".into()),
        (Key::Line(lanes::END), "last end of the primary".into()),
    ];
    if tracks.iter().any(|track| !track.stamps.named.names.is_empty()) {
        keys.push((Key::Line(Stroke::solid(INK, 1.0)), "begin of what a kernel names".into()));
    }
    figure.legend(&keys);
}

/// The head of an arm's panel: its name and its quantities over the chain.
fn head(figure: &mut Figure<'_>, track: &Track, with_quantities: bool) {
    let arm = style::of(track.arm);
    let y = figure.y + 12.0;
    figure.canvas.marker(arm.marker, (22.0, y), 5.0, arm.stroke.color, true);
    let trigger = track.trigger.map_or(String::new(), |trigger| format!(", trigger {trigger}"));
    let name = format!("{}{trigger}", track.arm);
    figure.canvas.text(&name, (32.0, y), Font::new(13.0, INK).bold(), Anchor::Start);
    figure.y += 22.0;
    if !with_quantities {
        return;
    }
    let r = track.stamps.reduce();
    let text = format!(
        "medians: launch gap {} · hop latency {} · preamble {} · useful {} · parked {} · body {}",
        or_absent(r.launch_gap_ns, micro),
        or_absent(r.hop_latency_ns, micro),
        or_absent(r.preamble_ns, micro),
        or_absent(r.useful_ns, micro),
        or_absent(r.parked_ns, micro),
        or_absent(r.body_ns, micro),
    );
    let at = (32.0, figure.y + 5.0);
    figure.canvas.text(&text, at, Font::new(SMALL, INK), Anchor::Start);
    figure.y += 16.0;
}

/// Vertical grid lines of a time axis over a panel.
fn time_grid(figure: &mut Figure<'_>, x: &Scale, top: f64, bottom: f64) {
    for (value, _) in x.ticks(10) {
        let px = x.px(value);
        figure.canvas.line(&[(px, top), (px, bottom)], &Stroke::solid(GRID, 1.0));
    }
}

/// The time axis under the last panel that uses it.
fn time_axis(figure: &mut Figure<'_>, x: &Scale, label: &str) {
    let y = figure.y + 4.0;
    figure.canvas.line(&[(LEFT, y), (RIGHT, y)], &Stroke::solid(INK, 1.0));
    for (value, text) in x.ticks(10) {
        let px = x.px(value);
        figure.canvas.line(&[(px, y), (px, y + 4.0)], &Stroke::solid(INK, 1.0));
        figure.canvas.text(&text, (px, y + 12.0), Font::new(SMALL, INK), Anchor::Middle);
    }
    let at = ((LEFT + RIGHT) / 2.0, y + 28.0);
    figure.canvas.text(label, at, Font::new(SMALL, INK), Anchor::Middle);
    figure.y = y + 38.0;
}

/// Lanes of nodes between the same edges: their names at the left, where there is room.
struct Rows {
    /// Node and what is zero on the axis for it, ns.
    nodes: Vec<(u32, f64)>,
    /// Every how many-th node is drawn.
    stride: u32,
}

/// The most lanes of an arm.
const MOST_LANES: u32 = 200;
/// Corners of an edge of an area in a thin lane.
const ROWS: usize = 6;

impl Rows {
    /// Nodes of a chain from `first`, or every second, third … of a long one.
    fn of(track: &Track, first: u32, origin_ns: impl Fn(u32) -> Option<f64>) -> Rows {
        let nodes = track.stamps.nodes();
        let stride = nodes.div_ceil(MOST_LANES).max(1);
        let shown = (first..nodes).step_by(stride as usize);
        Rows { nodes: shown.filter_map(|node| Some((node, origin_ns(node)?))).collect(), stride }
    }

    /// Draws them in a panel of about `height`.
    fn draw(&self, figure: &mut Figure<'_>, track: &Track, x: &Scale, height: f64) {
        let lane = (height / self.nodes.len().max(1) as f64).clamp(1.0, 18.0);
        let (top, height) = (figure.y + 4.0, lane * self.nodes.len() as f64);
        time_grid(figure, x, top, top + height);
        let gap = if lane >= 5.0 { 1.0 } else { 0.0 };
        let mut areas = Phase::ALL.map(|phase| (phase, Vec::new()));
        for (row, &(node, origin_ns)) in self.nodes.iter().enumerate() {
            let y = top + row as f64 * lane;
            let blocks = track.stamps.node(node);
            let lane = lanes::areas(blocks, origin_ns, x, (y, y + lane - gap), ROWS);
            for (phase, area) in lane {
                let of_phase = areas.iter_mut().find(|(of, _)| *of == phase);
                of_phase.expect("every phase has its list").1.push(area);
            }
        }
        for (phase, polygons) in &areas {
            lanes::fill_all(figure, *phase, polygons);
        }
        let each = [1, 2, 5, 10, 20, 50].into_iter().find(|&step| step as f64 * lane >= 14.0);
        let at = |row: usize| (LEFT - 8.0, top + (row as f64 + 0.5) * lane);
        for (row, (node, _)) in self.nodes.iter().enumerate().step_by(each.unwrap_or(100)) {
            figure.canvas.text(&node.to_string(), at(row), Font::new(SMALL, INK), Anchor::End);
        }
        let label = match self.stride {
            1 => "node".to_owned(),
            stride => format!("node, each {stride}th"),
        };
        let middle = (16.0, top + height / 2.0);
        figure.canvas.text(&label, middle, Font::new(SMALL, INK), Anchor::Upwards);
        figure.y = top + height + 4.0;
    }
}

/// A time axis over all tracks, from times in ns.
fn time_scale(times_ns: impl IntoIterator<Item = f64>) -> Scale {
    let times = times_ns.into_iter().filter_map(|ns| scale::us(Some(ns)));
    Scale::linear(scale::span(times, 0.015).unwrap_or((0.0, 1.0)), LEFT, RIGHT)
}

/// The title of a part of the chart.
fn part(figure: &mut Figure<'_>, text: &str) {
    figure.y += 6.0;
    let at = (16.0, figure.y + 9.0);
    figure.canvas.text(text, at, Font::new(14.0, INK).bold(), Anchor::Start);
    figure.y += 20.0;
}
