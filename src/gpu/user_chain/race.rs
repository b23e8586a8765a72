//! The race check of a chain's edges, by what kernels write alone: no mark and no source is believed.

use std::ffi::c_void;
use std::rc::Rc;

use super::UserChains;
use super::launch::Launch;
use super::memory::Buffers;
use crate::attach::{Attributed, Listing, Options, Report};
use crate::chain::{Submission, Trigger};
use crate::chain_file::Edge;
use crate::error::Result;
use crate::gpu::driver::Gpu;
use crate::gpu::user_graph::{Code as GraphCode, Graph, Image, Memory, Reset, UserGraph};
use crate::kernel::{Code, EdgeRace};

/// Repeats of the chain that is checked: enough for the edge from its last kernel to its first.
pub(super) const REPEATS: u32 = 2;
/// Both forms of an edge.
const FORMS: [Submission; 2] = [Submission::Graph, Submission::Stream];

/// What the race check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaceSubject {
    /// The set of axis values.
    pub variant: usize,
    /// Where the kernels trigger and sync.
    pub trigger: Trigger,
    /// A node that is given code without a sync: what the check must catch.
    pub without_sync: Option<usize>,
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
    /// Whether marks hold the sync of a node, so that there is code of it without one. A module with
    /// variables is left as it is: a kernel out of another one would use other variables.
    pub fn may_lose_sync(&self, variant: usize, trigger: Trigger, node: usize) -> bool {
        let syncs = |code: Code| {
            let code = *self.build.nodes(variant, code)?.get(node)?;
            let own = !self.build.cubins[code.cubin].variables;
            own.then(|| self.build.kernel(code).syncs.len())
        };
        let bare = syncs(Code::without_sync(trigger));
        bare == Some(0) && syncs(Code::at(trigger)).is_some_and(|count| count > 0)
    }

    /// Checks every edge of one repeat that may be programmatic, and the one to the next repeat, in
    /// both forms, with the code that the chain has at the trigger. `gpu` is this device.
    ///
    /// # Errors
    /// The device's, or results that cannot be compared.
    pub fn races(
        &self,
        gpu: &Rc<Gpu>,
        subject: &RaceSubject,
        options: &Options,
    ) -> Result<Vec<EdgeRace>> {
        self.races_into(gpu, subject, None, options)
    }

    /// The same, but the edges into one node alone.
    ///
    /// # Errors
    /// As [`races`](Self::races).
    pub fn races_into(
        &self,
        gpu: &Rc<Gpu>,
        subject: &RaceSubject,
        only: Option<usize>,
        options: &Options,
    ) -> Result<Vec<EdgeRace>> {
        let resolved = &self.build.variants[subject.variant];
        let mut attached = self.attached(gpu, subject, REPEATS)?;
        let count = resolved.nodes.len();
        let mut found = Vec::new();
        for (at, edge) in in_order(attached.listing()).into_iter().take(count).enumerate() {
            let node = (at + 1) % count;
            let (primary, secondary) = (&resolved.nodes[at], &resolved.nodes[node]);
            if secondary.edge == Edge::Full || only.is_some_and(|only| only != node) {
                continue;
            }
            let races = attached.races(edge, &FORMS, options)?;
            found.extend(FORMS.into_iter().zip(races).map(|(submission, race)| EdgeRace {
                primary: primary.kernel.clone(),
                secondary: secondary.kernel.clone(),
                node,
                submission,
                race,
            }));
        }
        Ok(found)
    }

    /// Which kinds of edges of the whole chain are worth being programmatic at a trigger, those that
    /// the chain file leaves full aside.
    ///
    /// # Errors
    /// The device's, or results that cannot be compared.
    pub fn edges(
        &self,
        gpu: &Rc<Gpu>,
        subject: &RaceSubject,
        options: &Options,
    ) -> Result<(Report, Attributed)> {
        let resolved = &self.build.variants[subject.variant];
        let mut attached = self.attached(gpu, subject, resolved.repeat)?;
        let count = resolved.nodes.len();
        let edges = in_order(attached.listing()).into_iter().enumerate();
        let full = edges.filter(|(at, _)| resolved.nodes[(at + 1) % count].edge == Edge::Full);
        let full: Vec<u32> = full.map(|(_, edge)| edge).collect();
        attached.keep_full(&full, "the chain file leaves it full");
        attached.attribute_recorded(options, &mut |_| true)
    }

    /// The chain as a graph over full edges, attached.
    fn attached(&self, gpu: &Rc<Gpu>, subject: &RaceSubject, repeats: u32) -> Result<UserGraph> {
        let buffers = self.buffers(subject.variant, repeats)?;
        let launches = self.launches_of(subject, repeats, &buffers)?;
        let graph = Graph::captured(&gpu.stream, || {
            // SAFETY: modules and buffers outlive the graph's runs: both are kept below.
            launches.iter().try_for_each(|l| unsafe { l.queue(gpu.stream.cu_stream(), false) })
        })?;
        let restored = buffers.clone();
        let reset: Reset = Box::new(move |_: *mut c_void| restored.restore());
        let (outputs, written) = buffers.regions();
        let memory = Memory { outputs, buffers: written, reset: Some(reset) };
        let nodes = self.build.nodes(subject.variant, Code::at(subject.trigger));
        let images = nodes.unwrap_or_default().iter().map(|node| Image {
            function: None,
            source: self.loaded.name(),
            bytes: self.build.cubins[node.cubin].bytes.clone(),
        });
        let known = GraphCode { images: images.collect(), search_process: false };
        // SAFETY: the graph is live; its modules are this struct's, its memory the buffers'.
        unsafe { UserGraph::attach(gpu.clone(), graph.raw().cast(), memory, &known) }
    }

    /// The launches of the chain that is checked: one node of every repeat may be without its sync.
    fn launches_of(
        &self,
        subject: &RaceSubject,
        repeats: u32,
        buffers: &Buffers,
    ) -> Result<Vec<Launch>> {
        let mut launches =
            self.launches(subject.variant, Code::at(subject.trigger), repeats, buffers)?;
        if let Some(node) = subject.without_sync {
            let count = self.build.variants[subject.variant].nodes.len();
            let code = Code::without_sync(subject.trigger);
            let bare = self.launches(subject.variant, code, repeats, buffers)?;
            for (place, launch) in bare.into_iter().enumerate() {
                if place % count == node {
                    launches[place] = launch;
                }
            }
        }
        Ok(launches)
    }
}
