//! stamps.csv: every stamp, a block a row.

use std::fmt::Write;

use super::Track;

/// Columns: arm, node, block, sm, then begin, trigger, arrive, release and end in ns from the
/// chain's first begin, SM cycles of the body, and a column for each moment that kernels name. RFC
/// 4180, LF; a moment that a block does not reach is an empty cell.
pub fn stamps_csv(tracks: &[Track]) -> String {
    let mut text = String::from(
        "arm,node,block,sm,begin_ns,trigger_ns,arrive_ns,release_ns,end_ns,body_cycles",
    );
    let mut names: Vec<&str> = Vec::new();
    for name in tracks.iter().flat_map(|track| &track.stamps.named.names) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.iter().for_each(|name| text += &format!(",{name}_ns"));
    text.push('\n');
    for track in tracks {
        let stamps = &track.stamps;
        let origin = stamps.blocks.iter().map(|block| block.begin_ns).fold(f64::MAX, f64::min);
        let cell = |ns: f64| match (ns - origin).is_finite() {
            true => format!("{:.1}", ns - origin),
            false => String::new(),
        };
        for node in 0..stamps.nodes() {
            for (block, index) in stamps.places(node).enumerate() {
                row(&mut text, track, (node, block, index), &names, &cell);
            }
        }
    }
    text
}

fn row(
    text: &mut String,
    track: &Track,
    (node, place, index): (u32, usize, usize),
    names: &[&str],
    cell: &dyn Fn(f64) -> String,
) {
    let (block, named) = (&track.stamps.blocks[index], &track.stamps.named);
    write!(
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
    for name in names {
        let at = named.names.iter().position(|known| known == name);
        let moment = at.and_then(|at| named.of(index).get(at).copied());
        text.push(',');
        *text += &moment.map_or_else(String::new, cell);
    }
    text.push('\n');
}
