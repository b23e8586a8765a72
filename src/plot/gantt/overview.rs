//! The whole chain of each arm, a lane a node.

use super::super::figure::Figure;
use super::{Rows, head, part, time_axis, time_scale};
use crate::timeline::Track;

/// Height of an arm's panel, about, CSS pixels.
const HEIGHT: f64 = 170.0;

/// A panel an arm, on one axis: zero is the chain's first begin.
pub(super) fn panels(figure: &mut Figure<'_>, tracks: &[Track]) {
    part(figure, "The whole chain");
    let x = time_scale(tracks.iter().flat_map(|track| {
        let ends = track.stamps.blocks.iter().map(|block| block.end_ns);
        [0.0, ends.fold(f64::MIN, f64::max) - origin_ns(track)]
    }));
    for track in tracks {
        head(figure, track, false);
        Rows::of(track, 0, |_| Some(origin_ns(track))).draw(figure, track, &x, HEIGHT);
    }
    time_axis(figure, &x, "µs from the chain's first begin");
}

/// The first begin of the chain, ns.
pub(super) fn origin_ns(track: &Track) -> f64 {
    track.stamps.blocks.iter().map(|block| block.begin_ns).fold(f64::MAX, f64::min)
}
