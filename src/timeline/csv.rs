//! stamps.csv: every stamp, a block a row.

use std::fmt::Write;

use super::Track;

/// Columns: arm, node, block, sm, then begin, trigger, arrive, release and end in ns from the
/// chain's first begin, and SM cycles of the body. RFC 4180, LF; a block that does not trigger has
/// an empty cell.
pub fn stamps_csv(tracks: &[Track]) -> String {
    let mut text = String::from(
        "arm,node,block,sm,begin_ns,trigger_ns,arrive_ns,release_ns,end_ns,body_cycles\n",
    );
    for track in tracks {
        let stamps = &track.stamps;
        let origin = stamps.blocks.iter().map(|block| block.begin_ns).fold(f64::MAX, f64::min);
        let grid = stamps.grid_blocks.max(1) as usize;
        for (index, block) in stamps.blocks.iter().enumerate() {
            let (node, place) = (index / grid, index % grid);
            let cell = |ns: f64| match (ns - origin).is_finite() {
                true => format!("{:.1}", ns - origin),
                false => String::new(),
            };
            writeln!(
                text,
                "{},{node},{place},{},{},{},{},{},{},{}",
                track.arm,
                block.sm,
                cell(block.begin_ns),
                cell(block.trigger_ns),
                cell(block.arrive_ns),
                cell(block.release_ns),
                cell(block.end_ns),
                block.body_cycles
            )
            .expect("writing to a string cannot fail");
        }
    }
    text
}
