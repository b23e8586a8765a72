//! A trace for Perfetto and Chrome: a process an arm, a track a chain position, flows from trigger
//! to begin.
//!
//! Slices are those of the median block: each boundary is the median over the node's blocks, so
//! that slices of one track follow each other and never overlap, which viewers reject.

use serde_json::{Value, json};

use super::{Moments, Phase, Track};
use crate::stamps::BlockStamps;

/// The trace as JSON, times in µs from each chain's first begin.
pub fn trace_json(tracks: &[Track], title: &str) -> String {
    let mut events = Vec::new();
    for (pid, track) in (1u32..).zip(tracks) {
        events.extend(process(pid, track));
    }
    let document = json!({
        "displayTimeUnit": "ns",
        "otherData": { "title": title },
        "traceEvents": events,
    });
    document.to_string() + "\n"
}

/// A slice: phase, start and end in whole ns.
type Slice = (Phase, i64, i64);

fn process(pid: u32, track: &Track) -> Vec<Value> {
    let trigger = track.trigger.map_or(String::new(), |trigger| format!(", trigger {trigger}"));
    let mut events = vec![json!({
        "ph": "M", "pid": pid, "name": "process_name",
        "args": { "name": format!("{}{trigger}", track.arm) },
    })];
    let stamps = &track.stamps;
    let origin = stamps.blocks.iter().map(|block| block.begin_ns).fold(f64::MAX, f64::min);
    let mut before: Option<(Moments, Vec<Slice>)> = None;
    for node in 0..stamps.nodes() {
        let blocks = stamps.node(node);
        let Some(moments) = Moments::of(blocks) else { continue };
        let tid = node + 1;
        events.push(json!({
            "ph": "M", "pid": pid, "tid": tid, "name": "thread_name",
            "args": { "name": track.node_name(node) },
        }));
        events.push(json!({
            "ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index",
            "args": { "sort_index": 2 * node },
        }));
        events.extend(named(pid, track, node, origin));
        let slices = slices(blocks, origin);
        for &(phase, from, to) in &slices {
            events.push(json!({
                "ph": "X", "pid": pid, "tid": tid, "name": phase.name(), "cat": "phase",
                "ts": us(from), "dur": us(to - from),
                "args": { "node": node, "blocks": blocks.len() },
            }));
        }
        if let Some((primary, primary_slices)) = &before {
            events.extend(flow(pid, node, primary, primary_slices, &slices, origin));
        }
        before = Some((moments, slices));
    }
    events
}

/// Tracks of named phases are numbered from here: far beyond the nodes of any chain.
const NAMED: u32 = 1 << 24;

/// Phases that the kernel names: a track of their own under the node's, since they begin and end
/// where they like.
fn named(pid: u32, track: &Track, node: u32, origin: f64) -> Vec<Value> {
    let phases = track.stamps.named_phases(node);
    if phases.is_empty() {
        return Vec::new();
    }
    let tid = NAMED + node;
    let mut events = vec![
        json!({
            "ph": "M", "pid": pid, "tid": tid, "name": "thread_name",
            "args": { "name": format!("{}, its own phases", track.node_name(node)) },
        }),
        json!({
            "ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index",
            "args": { "sort_index": 2 * node + 1 },
        }),
    ];
    let mut free = i64::MIN;
    for (name, from, to) in phases {
        let whole = |ns: f64| (ns - origin).round() as i64;
        // Medians of blocks that took other ways may cross.
        let (from, to) = (whole(from).max(free), whole(to));
        if to > from {
            events.push(json!({
                "ph": "X", "pid": pid, "tid": tid, "name": name, "cat": "named",
                "ts": us(from), "dur": us(to - from), "args": { "node": node },
            }));
            free = to;
        }
    }
    events
}

/// Whole ns, so that the end of one slice is the start of the next to the last digit.
fn slices(blocks: &[BlockStamps], origin: f64) -> Vec<Slice> {
    let median = |field: &dyn Fn(&BlockStamps) -> f64| {
        let values: Vec<f64> = blocks.iter().map(field).collect();
        let median = crate::stats::median(&values).unwrap_or(origin);
        (median - origin).round() as i64
    };
    let mut slices = Vec::new();
    let mut from = median(&|block| Phase::Preamble.of(block).0);
    for phase in Phase::ALL {
        // Moments of one block are in order, and so are their medians, but for timer skew.
        let to = median(&|block| phase.of(block).1).max(from);
        if to > from {
            slices.push((phase, from, to));
        }
        from = to;
    }
    slices
}

/// An arrow from the trigger of the primary (or its exit) to the begin of the secondary. Viewers
/// tie an end to the slice that encloses its time.
fn flow(
    pid: u32,
    node: u32,
    primary: &Moments,
    from: &[Slice],
    to: &[Slice],
    origin: f64,
) -> Vec<Value> {
    let (Some(&(_, first, _)), Some(&(_, _, last)), Some(&(_, begin, _))) =
        (from.first(), from.last(), to.first())
    else {
        return Vec::new();
    };
    let name = if primary.trigger.is_some() { "trigger" } else { "exit" };
    let at = primary.trigger.map_or(primary.end.median, |trigger| trigger.median);
    let at = ((at - origin).round() as i64).min(begin).clamp(first, last - 1);
    let id = u64::from(pid) << 32 | u64::from(node);
    vec![
        json!({
            "ph": "s", "pid": pid, "tid": node, "id": id, "name": name, "cat": "hop", "ts": us(at),
        }),
        json!({
            "ph": "f", "bp": "e", "pid": pid, "tid": node + 1, "id": id, "name": name,
            "cat": "hop", "ts": us(begin),
        }),
    ]
}

/// µs with the ns behind the point.
fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}
