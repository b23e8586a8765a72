//! Every node from the last end of its primary: what differs from hop to hop shows as a bend.

use super::super::figure::Figure;
use super::{Rows, head, part, time_axis, time_scale};
use crate::timeline::{HopMoments, Track};

/// Height of an arm's panel, about, CSS pixels.
const HEIGHT: f64 = 280.0;

/// A panel an arm, on one axis.
pub(super) fn panels(figure: &mut Figure<'_>, tracks: &[Track]) {
    let hop = |track: &Track, node: u32| HopMoments::into(&track.stamps, node);
    let times = tracks.iter().flat_map(|track| {
        let hops = (1..track.stamps.nodes()).filter_map(move |node| hop(track, node));
        hops.flat_map(|hop| {
            [hop.secondary.begin.first, hop.secondary.end.last].map(|ns| ns - hop.primary.end.last)
        })
    });
    let times: Vec<f64> = times.chain([0.0]).collect();
    if times.len() < 2 {
        return;
    }
    part(figure, "Every node from the last end of its primary");
    let x = time_scale(times);
    for track in tracks {
        head(figure, track, false);
        let origin = |node| Some(hop(track, node)?.primary.end.last);
        Rows::of(track, 1, origin).draw(figure, track, &x, HEIGHT);
    }
    time_axis(figure, &x, "µs from the last end of the primary");
}
