//! The host's oracle of a repetition, and what a wrong value turns out to be.

use serde::{Deserialize, Serialize};

use super::layout::{Input, Layout};
use crate::oracle::mix;

/// What every row holds before its node writes it (`PDL_CHECK_POISON`).
const POISON: u64 = 0xDEAD_DEAD_DEAD_DEAD;
/// What staging starts from (`kStageSeed` in check.cuh).
const STAGE_SEED: u64 = 0x57A6E;

/// The constants that first nodes read in a round: one a thread of the grid.
pub fn seeds(layout: &Layout, round: u32) -> Vec<u64> {
    (0..layout.width() as u32).map(|at| mix(0x5EED, round, u32::MAX, at)).collect()
}

/// Every row after a repetition of round `round` in which nodes ran one after another, row by row.
pub fn expected(layout: &Layout, round: u32) -> Vec<u64> {
    let width = layout.width() as usize;
    let mut rows = vec![POISON; layout.rows() as usize * width];
    let seeds = seeds(layout, round);
    for (index, node) in layout.nodes.iter().enumerate() {
        if node.idle {
            continue;
        }
        let start = |row: u64| row as usize * width;
        let input = match node.input {
            Input::Seeds => seeds.clone(),
            Input::Slot(slot) => rows[start(layout.slot_row(slot))..][..width].to_vec(),
        };
        let (first, late) = (start(layout.first_row(index)), start(layout.late_row(index)));
        let output = start(layout.slot_row(node.output));
        for at in 0..width {
            let read = input[source(layout, at)];
            let staged = mix(STAGE_SEED, 0, index as u32, at as u32);
            rows[first + at] = read;
            rows[late + at] = if layout.stages { staged } else { read };
            rows[output + at] = mix(read, 0, index as u32, at as u32);
        }
    }
    rows
}

/// The value that thread `at` of a grid reads: the same thread of the block `block_shift` after
/// its own.
fn source(layout: &Layout, at: usize) -> usize {
    let threads = layout.shape.block_threads as usize;
    let (block, thread) = (at / threads, at % threads);
    let read = (block + layout.block_shift as usize) % layout.shape.grid_blocks as usize;
    read * threads + thread
}

/// What a wrong value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what", content = "node")]
pub enum Found {
    /// The poison: not written yet.
    Poison,
    /// Zero: cleared, not written yet.
    Cleared,
    /// What this node writes or stages at that place in this repetition.
    Node(u32),
    /// What a node writes at that place in another round: left from another repetition.
    Stale,
    /// A value that follows from an earlier wrong one, or from nothing known.
    Unknown,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Poison => f.write_str("poison, nothing written yet"),
            Found::Cleared => f.write_str("zero, cleared and not written yet"),
            Found::Node(node) => write!(f, "the value of node {node}"),
            Found::Stale => f.write_str("a value of an earlier repetition"),
            Found::Unknown => f.write_str("a value of no node"),
        }
    }
}

/// What `found` is, read or stored at `index` of all rows in a repetition of `round` of `rounds`.
pub fn identify(layout: &Layout, index: u64, found: u64, round: u32, rounds: u32) -> Found {
    match found {
        POISON => return Found::Poison,
        0 => return Found::Cleared,
        _ => {}
    }
    if let Some(node) = writer(layout, index, found, round) {
        return Found::Node(node);
    }
    let others = (0..rounds).filter(|&other| other != round);
    match others.into_iter().any(|other| writer(layout, index, found, other).is_some()) {
        true => Found::Stale,
        false => Found::Unknown,
    }
}

/// The node that writes or stages `found` where `index` was read or stored.
fn writer(layout: &Layout, index: u64, found: u64, round: u32) -> Option<u32> {
    let width = layout.width();
    let at = (index % width) as usize;
    let is_slot = index / width >= 2 * layout.nodes.len() as u64;
    let place = if is_slot { at } else { source(layout, at) };
    let rows = expected(layout, round);
    let nodes = 0..layout.nodes.len();
    let writes = |&node: &usize| {
        // What a node read at `place` is all that its value there depends on.
        let read = rows[(layout.first_row(node) * width) as usize + place];
        let value = mix(read, 0, node as u32, place as u32);
        let staged = mix(STAGE_SEED, 0, node as u32, at as u32);
        !layout.nodes[node].idle && (value == found || layout.stages && staged == found)
    };
    nodes.into_iter().find(writes).map(|node| node as u32)
}
