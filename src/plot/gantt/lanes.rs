//! One lane: the phases of a node's blocks as areas between sorted moments.

use std::fmt::Write;

use plotters::style::RGBColor;

use super::super::canvas::STEPS;
use super::super::figure::Figure;
use super::super::scale::Scale;
use super::super::style::Stroke;
use crate::stamps::BlockStamps;
use crate::timeline::Phase;

/// The line at the moment from which secondaries may launch.
pub(super) const TRIGGER: Stroke =
    Stroke { color: RGBColor(0xA8, 0x3A, 0x00), width: 1.6, dash: &[5.0, 3.0] };
/// The line at the median release.
pub(super) const RELEASE: Stroke = Stroke { color: RGBColor(0, 0, 0), width: 1.6, dash: &[] };
/// The line at the last end of a primary.
pub(super) const END: Stroke =
    Stroke { color: RGBColor(0x55, 0x55, 0x55), width: 1.2, dash: &[2.0, 2.0] };

/// Ids of patterns, unique in a page that holds other charts.
fn id(phase: Phase) -> &'static str {
    match phase {
        Phase::Preamble => "pdl-timeline-preamble",
        Phase::Parked => "pdl-timeline-parked",
        Phase::Body => "pdl-timeline-body",
        Phase::AfterTrigger => "pdl-timeline-after",
    }
}

/// Colours of Okabe and Ito with a pattern each: rising stripes, dots, plain, falling stripes. No
/// arm is told by them here.
pub(super) fn define_patterns(figure: &mut Figure<'_>) {
    let stripes = |phase: Phase, paper: &str, ink: &str, turn: i32| {
        format!(
            "<pattern id=\"{}\" width=\"55\" height=\"55\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate({turn})\"><rect width=\"55\" height=\"55\" fill=\"{paper}\"/>\
             <rect width=\"16\" height=\"55\" fill=\"{ink}\"/></pattern>",
            id(phase)
        )
    };
    let dots = format!(
        "<pattern id=\"{}\" width=\"44\" height=\"44\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"44\" height=\"44\" fill=\"#EDEDED\"/>\
         <circle cx=\"22\" cy=\"22\" r=\"9\" fill=\"#6E6E6E\"/></pattern>",
        id(Phase::Parked)
    );
    let plain = format!(
        "<pattern id=\"{}\" width=\"55\" height=\"55\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"55\" height=\"55\" fill=\"#0072B2\"/></pattern>",
        id(Phase::Body)
    );
    figure.canvas.raw(&format!(
        "<defs>{}{dots}{plain}{}</defs>\n",
        stripes(Phase::Preamble, "#BFE3F7", "#2F86BE", 45),
        stripes(Phase::AfterTrigger, "#F8D48A", "#B86E00", -45),
    ));
}

/// A polygon filled as a phase is.
pub(super) fn fill(figure: &mut Figure<'_>, phase: Phase, points: &[(f64, f64)]) {
    let path = path(points);
    figure.canvas.raw(&format!("<path fill=\"url(#{})\" d=\"{path}\"/>\n", id(phase)));
}

/// Several polygons of one phase as one element: compact where there are thousands.
pub(super) fn fill_all(figure: &mut Figure<'_>, phase: Phase, polygons: &[Vec<(f64, f64)>]) {
    if polygons.is_empty() {
        return;
    }
    let path: String = polygons.iter().map(|points| path(points)).collect();
    figure.canvas.raw(&format!("<path fill=\"url(#{})\" d=\"{path}\"/>\n", id(phase)));
}

/// Relative to the last point: short numbers.
fn path(points: &[(f64, f64)]) -> String {
    let grid = |(x, y): (f64, f64)| ((x * STEPS).round() as i64, (y * STEPS).round() as i64);
    let mut text = String::new();
    let mut before: Option<(i64, i64)> = None;
    for &point in points {
        let (x, y) = grid(point);
        match before {
            None => write!(text, "M{x} {y}"),
            Some(before) if before == (x, y) => continue,
            Some((from_x, from_y)) => write!(text, "l{} {}", x - from_x, y - from_y),
        }
        .expect("writing to a string cannot fail");
        before = Some((x, y));
    }
    text.push('z');
    text
}

/// The areas of a node's lane between `top` and `bottom`: at each height a share of the blocks,
/// the first to reach a moment on top. `origin_ns` is zero on the axis. `rows` bounds the corners
/// of an edge.
pub(super) fn areas(
    blocks: &[BlockStamps],
    origin_ns: f64,
    x: &Scale,
    (top, bottom): (f64, f64),
    rows: usize,
) -> Vec<(Phase, Vec<(f64, f64)>)> {
    let mut areas = Vec::new();
    for phase in Phase::ALL {
        let edge = |end: bool| {
            let moments = blocks.iter().map(|block| phase.of(block));
            let mut edge: Vec<f64> =
                moments.map(|(from, to)| if end { to } else { from } - origin_ns).collect();
            edge.sort_by(f64::total_cmp);
            edge
        };
        let (from, to) = (edge(false), edge(true));
        if from.iter().zip(&to).all(|(from, to)| to <= from) {
            continue;
        }
        let corners = |edge: &[f64]| -> Vec<(f64, f64)> {
            let last = edge.len() - 1;
            let rows = rows.min(edge.len()).max(2);
            (0..rows)
                .map(|row| {
                    let part = row as f64 / (rows - 1) as f64;
                    let moment = edge[(part * last as f64).round() as usize];
                    (x.px(moment / 1e3), top + part * (bottom - top))
                })
                .collect()
        };
        let mut polygon = straighten(corners(&from));
        let mut back = straighten(corners(&to));
        back.reverse();
        polygon.extend(back);
        areas.push((phase, polygon));
    }
    areas
}

/// Leaves out corners between neighbours of the same x: most lanes are steep.
fn straighten(corners: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let same = |a: f64, b: f64| (a - b).abs() < 0.05;
    let last = corners.len() - 1;
    let kept = |(i, corner): (usize, &(f64, f64))| {
        let middle = i > 0
            && i < last
            && same(corners[i - 1].0, corner.0)
            && same(corner.0, corners[i + 1].0);
        (!middle).then_some(*corner)
    };
    corners.iter().enumerate().filter_map(kept).collect()
}
