//! The race check of a chain's edges, by what kernels write alone: no mark and no source is believed.

use std::ffi::c_void;
use std::rc::Rc;

use super::UserChains;
use crate::attach::{Listing, Options, Race};
use crate::chain::Trigger;
use crate::chain_file::Edge;
use crate::error::Result;
use crate::gpu::driver::Gpu;
use crate::gpu::user_graph::{Code as GraphCode, Graph, Image, Memory, Reset, UserGraph};
use crate::kernel::Code;

/// Repeats of the chain that is checked: enough for the edge from its last kernel to its first.
const REPEATS: u32 = 2;

/// The race check of one edge.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EdgeRace {
    /// Kernel before the edge.
    pub primary: String,
    /// Kernel after it.
    pub secondary: String,
    /// What was found.
    pub race: Race,
}

/// The edges of a chain from its first node to its last; the driver lists them in any order.
fn in_order(listing: &Listing) -> Vec<u32> {
    let first = |node: &u32| listing.edges.iter().all(|edge| edge.to != *node);
    let mut at = (0..listing.nodes.len() as u32).find(first);
    let mut edges = Vec::new();
    while let Some(edge) = listing.edges.iter().find(|edge| Some(edge.from) == at) {
        edges.push(edge.index);
        at = Some(edge.to);
        if edges.len() > listing.edges.len() {
            break;
        }
    }
    edges
}

impl UserChains<'_> {
    /// Checks every edge of one repeat that may be programmatic, and the one to the next repeat, with
    /// the code that the chain has at `trigger`. `gpu` is this device.
    ///
    /// # Errors
    /// The device's, or results that cannot be compared.
    pub fn races(
        &self,
        gpu: &Rc<Gpu>,
        variant: usize,
        trigger: Trigger,
        options: &Options,
    ) -> Result<Vec<EdgeRace>> {
        let resolved = &self.build.variants[variant];
        let buffers = self.buffers(variant, REPEATS)?;
        let code = Code::at(trigger);
        let launches = self.launches(variant, code, REPEATS, &buffers)?;
        let graph = Graph::captured(&gpu.stream, || {
            // SAFETY: modules and buffers outlive the graph's runs: both are kept below.
            launches.iter().try_for_each(|l| unsafe { l.queue(gpu.stream.cu_stream(), false) })
        })?;
        let restored = buffers.clone();
        let reset: Reset = Box::new(move |_: *mut c_void| restored.restore());
        let (outputs, written) = buffers.regions();
        let memory = Memory { outputs, buffers: written, reset: Some(reset) };
        let nodes = self.build.nodes(variant, code).unwrap_or_default();
        let images = nodes.iter().map(|node| Image {
            function: None,
            source: self.loaded.name(),
            bytes: self.build.cubins[node.cubin].bytes.clone(),
        });
        let known = GraphCode { images: images.collect(), search_process: false };
        // SAFETY: the graph is live; its modules are this struct's, its memory the buffers'.
        let mut subject =
            unsafe { UserGraph::attach(gpu.clone(), graph.raw().cast(), memory, &known) }?;
        let count = resolved.nodes.len();
        let mut found = Vec::new();
        for (at, edge) in in_order(subject.listing()).into_iter().take(count).enumerate() {
            let (primary, secondary) = (&resolved.nodes[at], &resolved.nodes[(at + 1) % count]);
            if secondary.edge == Edge::Full {
                continue;
            }
            let race = subject.race(edge, options)?;
            let (primary, secondary) = (primary.kernel.clone(), secondary.kernel.clone());
            found.push(EdgeRace { primary, secondary, race });
        }
        Ok(found)
    }
}
