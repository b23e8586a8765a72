//! Chains for tests.

use super::{StampCost, Track};
use crate::chain::{Arm, Trigger};
use crate::stamps::{BlockStamps, NamedStamps, Stamps};

/// A chain of `nodes` × `blocks`, a block an SM: bodies of 4 µs that trigger `trigger_ns` after
/// the release, preambles of 2 µs that begin `lead_ns` before the primary's end, and a hop of
/// 0.8 µs. Blocks follow each other by 8 ns.
pub fn track(arm: Arm, nodes: u32, blocks: u32, lead_ns: f64, trigger_ns: f64) -> Track {
    let mut stamps = Vec::new();
    let mut end = 2000.0;
    for node in 0..nodes {
        let release = end + 800.0;
        let begin = if node == 0 { 0.0 } else { end - lead_ns };
        for block in 0..blocks {
            let late = f64::from(block) * 8.0;
            let arrive_ns = begin + 2000.0 + late;
            let release_ns = arrive_ns.max(release + late);
            stamps.push(BlockStamps {
                begin_ns: begin + late,
                trigger_ns: release_ns + trigger_ns,
                arrive_ns,
                release_ns,
                end_ns: release_ns + 4000.0,
                sm: block,
                body_cycles: 7000,
            });
        }
        end = stamps.last().map_or(0.0, |block: &BlockStamps| block.end_ns);
    }
    let trigger = (!trigger_ns.is_nan()).then_some(Trigger::Segment { at: 4, of: 8 });
    let stamps =
        Stamps { grid_blocks: blocks, blocks: stamps, duration_ns: end, ..Stamps::default() };
    let cost = StampCost { unstamped_ns: end / 1.01, stamped_ns: end, samples: 21 };
    Track { arm, trigger, stamps, cost, kernels: Vec::new() }
}

/// The same, of two kernels in turn, which name what they do 500 ns after their begin and 1 µs
/// before their end.
pub fn named_track(arm: Arm, nodes: u32, blocks: u32) -> Track {
    let mut track = track(arm, nodes, blocks, 3000.0, 1000.0);
    let moments =
        track.stamps.blocks.iter().flat_map(|b| [b.begin_ns + 500.0, b.end_ns - 1000.0]).collect();
    track.stamps.named = NamedStamps { names: vec!["weights".into(), "sum".into()], ns: moments };
    track.kernels = (0..nodes).map(|node| ["norm", "gemv"][node as usize % 2].into()).collect();
    track
}
