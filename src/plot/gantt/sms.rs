//! The whole chain of each arm, a lane an SM: every block where it ran.

use std::collections::BTreeMap;

use super::super::canvas::{Anchor, Font};
use super::super::figure::{Figure, SMALL};
use super::super::scale::Scale;
use super::super::style::INK;
use super::overview::origin_ns;
use super::{LEFT, head, lanes, part, time_axis, time_grid, time_scale};
use crate::stamps::BlockStamps;
use crate::timeline::{Phase, Track};

/// Height of an arm's panel, about, and bounds of a block's row, CSS pixels.
const HEIGHT: f64 = 700.0;
const ROW: (f64, f64) = (1.2, 4.0);

/// A panel an arm, on one axis: zero is the chain's first begin.
pub(super) fn panels(figure: &mut Figure<'_>, tracks: &[Track]) {
    part(figure, "The whole chain by SM");
    let x = time_scale(tracks.iter().flat_map(|track| {
        let ends = track.stamps.blocks.iter().map(|block| block.end_ns);
        [0.0, ends.fold(f64::MIN, f64::max) - origin_ns(track)]
    }));
    for track in tracks {
        head(figure, track, false);
        panel(figure, track, &x);
    }
    time_axis(figure, &x, "µs from the chain's first begin");
}

fn panel(figure: &mut Figure<'_>, track: &Track, x: &Scale) {
    let mut by_sm: BTreeMap<u32, Vec<&BlockStamps>> = BTreeMap::new();
    for block in &track.stamps.blocks {
        by_sm.entry(block.sm).or_default().push(block);
    }
    let packed: Vec<(u32, Vec<Vec<&BlockStamps>>)> =
        by_sm.into_iter().map(|(sm, blocks)| (sm, rows(blocks))).collect();
    let count: usize = packed.iter().map(|(_, rows)| rows.len()).sum();
    let row_px = (HEIGHT / count.max(1) as f64).clamp(ROW.0, ROW.1);
    let between = row_px / 4.0;
    let height = count as f64 * row_px + packed.len() as f64 * between;
    let top = figure.y + 4.0;
    time_grid(figure, x, top, top + height);
    let origin = origin_ns(track);
    let mut polygons = Phase::ALL.map(|phase| (phase, Vec::new()));
    let mut y = top;
    let mut labelled = f64::MIN;
    for (sm, rows) in &packed {
        if y - labelled >= 14.0 {
            let at = (LEFT - 8.0, y + row_px / 2.0);
            figure.canvas.text(&sm.to_string(), at, Font::new(SMALL, INK), Anchor::End);
            labelled = y;
        }
        for row in rows {
            for block in row {
                for (phase, of_phase) in &mut polygons {
                    let (from, to) = phase.of(block);
                    let (left, right) = (x.px((from - origin) / 1e3), x.px((to - origin) / 1e3));
                    if to > from {
                        let bottom = y + row_px * 0.88;
                        of_phase.push(vec![(left, y), (right, y), (right, bottom), (left, bottom)]);
                    }
                }
            }
            y += row_px;
        }
        y += between;
    }
    for (phase, polygons) in &polygons {
        lanes::fill_all(figure, *phase, polygons);
    }
    let middle = (16.0, top + height / 2.0);
    figure.canvas.text("SM", middle, Font::new(SMALL, INK), Anchor::Upwards);
    figure.y = top + height + 4.0;
}

/// Blocks of one SM in as few rows as keep those apart that ran at once.
fn rows(mut blocks: Vec<&BlockStamps>) -> Vec<Vec<&BlockStamps>> {
    blocks.sort_by(|a, b| a.begin_ns.total_cmp(&b.begin_ns));
    let mut rows: Vec<Vec<&BlockStamps>> = Vec::new();
    for block in blocks {
        let free =
            rows.iter_mut().find(|row| row.last().is_none_or(|last| last.end_ns <= block.begin_ns));
        match free {
            Some(row) => row.push(block),
            None => rows.push(vec![block]),
        }
    }
    rows
}
