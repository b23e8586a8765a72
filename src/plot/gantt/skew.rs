//! How many SMs ran how many blocks of a node.

use super::super::canvas::{Anchor, Font};
use super::super::figure::{Figure, SMALL};
use super::super::scale::{self, Scale};
use super::super::style::{self, INK};
use super::{LEFT, RIGHT, part};
use crate::timeline::{Placement, Track, placement};

/// Counts of blocks beyond this share the last bar.
const MOST_BARS: usize = 17;

/// Bars of all arms beside each other.
pub(super) fn panel(figure: &mut Figure<'_>, tracks: &[Track], sm_count: u32) {
    part(figure, "Placement: blocks of one node on an SM");
    let placements: Vec<Placement> =
        tracks.iter().map(|track| placement(&track.stamps, sm_count)).collect();
    let bars = placements.iter().map(|p| p.sms_by_blocks.len()).max().unwrap_or(1);
    let shown = bars.min(MOST_BARS);
    let most = placements.iter().flat_map(|p| p.sms_by_blocks.iter().copied());
    let most = most.fold(1.0, f64::max);
    let panel = figure.panel(LEFT, RIGHT, 110.0);
    let y = Scale::linear((0.0, most * 1.15), panel.bottom, panel.top);
    figure.y_axis(panel, &y, "mean SMs");
    let slot = (RIGHT - LEFT) / shown as f64;
    let width = (slot * 0.7 / tracks.len() as f64).min(40.0);
    for (index, (track, placement)) in tracks.iter().zip(&placements).enumerate() {
        figure.canvas.open("placement", &track.arm.to_string());
        for blocks in 0..shown {
            let rest = if blocks + 1 == shown { bars } else { blocks + 1 };
            let range = blocks..rest.min(placement.sms_by_blocks.len()).max(blocks);
            let sms: f64 = placement.sms_by_blocks.get(range).unwrap_or_default().iter().sum();
            let middle = LEFT + (blocks as f64 + 0.5) * slot;
            let left = middle + (index as f64 - tracks.len() as f64 / 2.0) * width;
            if sms > 0.0 {
                let color = style::of(track.arm).stroke.color;
                let top = y.px(sms);
                figure.canvas.rect(
                    (left + 1.0, top),
                    (left + width - 1.0, panel.bottom),
                    color,
                    1.0,
                );
                let at = (left + width / 2.0, top - 8.0);
                let text = scale::plain((sms * 10.0).round() / 10.0);
                figure.canvas.text(&text, at, Font::new(11.0, INK), Anchor::Middle);
            }
        }
        figure.canvas.close();
    }
    figure.frame(panel);
    for blocks in 0..shown {
        let more = if blocks + 1 == shown && bars > shown { "+" } else { "" };
        let at = (LEFT + (blocks as f64 + 0.5) * slot, panel.bottom + 11.0);
        figure.canvas.text(&format!("{blocks}{more}"), at, Font::new(SMALL, INK), Anchor::Middle);
    }
    figure.y += 20.0;
    figure.x_label(panel, "blocks of one node that an SM ran");
    for (track, placement) in tracks.iter().zip(&placements) {
        let text = words(track, placement, sm_count);
        figure.note(&text);
    }
}

fn words(track: &Track, placement: &Placement, sm_count: u32) -> String {
    let (nodes, grid) = (track.stamps.nodes(), track.stamps.grid_blocks);
    let even = grid.div_ceil(sm_count.max(1));
    match placement.uneven_nodes {
        0 => format!("{}: even in all {nodes} nodes, at most {even} on an SM.", track.arm),
        uneven => format!(
            "{}: uneven in {uneven} of {nodes} nodes; at most {} on an SM (node {}), where {even} \
             would do.",
            track.arm, placement.most_blocks, placement.most_in_node
        ),
    }
}
