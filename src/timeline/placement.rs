//! How the blocks of nodes were spread over SMs: uneven placement explains real slow-downs.

use serde::Serialize;

use crate::stamps::{Stamps, blocks_per_sm};

/// Placement over a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placement {
    /// Mean over nodes of the SMs that ran exactly this many blocks of a node, from 0 blocks.
    pub sms_by_blocks: Vec<f64>,
    /// Most blocks of one node on one SM.
    pub most_blocks: u32,
    /// The first node with that many.
    pub most_in_node: u32,
    /// Nodes in which an SM ran more blocks than an even spread would give it.
    pub uneven_nodes: u32,
}

/// Placement of the blocks of a chain on a device of `sm_count` SMs.
pub fn placement(stamps: &Stamps, sm_count: u32) -> Placement {
    let even = stamps.grid_blocks.div_ceil(sm_count.max(1));
    let mut totals: Vec<u64> = Vec::new();
    let (mut most_blocks, mut most_in_node, mut uneven_nodes) = (0, 0, 0);
    for node in 0..stamps.nodes() {
        let mut blocks = blocks_per_sm(stamps.node(node));
        let most = blocks.iter().copied().max().unwrap_or(0);
        blocks.resize(blocks.len().max(sm_count as usize), 0);
        if most > most_blocks {
            (most_blocks, most_in_node) = (most, node);
        }
        uneven_nodes += u32::from(most > even);
        totals.resize(totals.len().max(most as usize + 1), 0);
        for count in blocks {
            totals[count as usize] += 1;
        }
    }
    let nodes = f64::from(stamps.nodes().max(1));
    let sms_by_blocks = totals.into_iter().map(|total| total as f64 / nodes).collect();
    Placement { sms_by_blocks, most_blocks, most_in_node, uneven_nodes }
}
