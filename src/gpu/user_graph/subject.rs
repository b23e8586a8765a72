//! A graph on a bench: its edges listed, flipped, verified, checked and attributed.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use cudarc::driver::sys;

use super::bench::{Bench, Comparison};
use super::code::{Catalogue, Code};
use super::graph::{Executable, Graph, edges_of, nodes_of};
use super::memory::Memory;
use super::read;
use super::records::Records;
use crate::attach::{
    Attributed, Flips, Listing, Options, Order, Origin, Progress, Race, RawEdge, Report, Standing,
};
use crate::chain::{Dependency, Submission};
use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::gpu::driver::Gpu;

/// Called as the attribution goes on; `false` stops it.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> bool;

/// A graph that somebody else made.
pub struct UserGraph {
    pub(super) bench: Bench,
    /// A clone: later changes to the original, and its end, do not reach it.
    graph: Graph,
    /// The clone's nodes, in the order in which the original lists its own.
    nodes: Vec<sys::CUgraphNode>,
    pub(super) edges: Vec<RawEdge>,
    pub(super) order: Order,
    pub(super) listing: Listing,
    pub(super) records: Option<Records>,
    referenced: bool,
}

/// What a graph is made of, without anything being run or cloned.
///
/// # Safety
/// `graph` is a live `CUgraph` of the current context.
///
/// # Errors
/// The driver's.
pub unsafe fn list(graph: *mut c_void, code: &Code) -> Result<Listing> {
    // SAFETY: the caller's promise.
    unsafe { read_graph(graph.cast(), code) }.map(|(listing, ..)| listing)
}

type Read = (Listing, Vec<RawEdge>, Vec<sys::CUgraphNode>);

unsafe fn read_graph(graph: sys::CUgraph, code: &Code) -> Result<Read> {
    // SAFETY: the caller's promise.
    let nodes = unsafe { nodes_of(graph) }?;
    // SAFETY: as above.
    let edges = unsafe { edges_of(graph, &nodes) }?;
    // SAFETY: as above.
    let described = unsafe { read::describe(&nodes, &mut Catalogue::new(code)) }?;
    Ok((Listing::new(described, &edges), edges, nodes))
}

impl UserGraph {
    /// Clones and lists `graph` (`CUgraph`, the runtime's `cudaGraph_t`). Nothing is run.
    ///
    /// # Safety
    /// `graph` is a live graph of the current context, whose kernels may be launched again and
    /// again as long as this lives: modules stay loaded, memory stays allocated. Every region of
    /// `memory` is live device memory.
    ///
    /// # Errors
    /// Memory that cannot be compared, a graph that CUDA does not clone, or the driver's.
    pub unsafe fn attach(
        gpu: Rc<Gpu>,
        graph: *mut c_void,
        memory: Memory,
        code: &Code,
    ) -> Result<UserGraph> {
        // SAFETY: the caller's promise.
        let (listing, edges, nodes) = unsafe { read_graph(graph.cast(), code) }?;
        if listing.nodes.is_empty() {
            return Err(Error::usage("attach the graph", "it is empty"));
        }
        if let Some(reason) = listing.forbids_clone() {
            return Err(Error::new(Kind::Refused, "attach the graph", reason)
                .remedy("capture that part into a graph of its own"));
        }
        // SAFETY: the caller's promise.
        let (graph, nodes) = unsafe { Graph::clone_of(graph.cast(), &nodes) }?;
        let order = Order::new(listing.nodes.len(), &edges);
        let bench = Bench::new(gpu, memory)?;
        Ok(UserGraph {
            bench,
            graph,
            nodes,
            edges,
            order,
            listing,
            records: None,
            referenced: false,
        })
    }

    /// Nodes, edges, and what may be done with each edge.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Refuses edges that their owner wants to stay full.
    pub fn keep_full(&mut self, edges: &[u32], reason: &str) {
        for edge in self.listing.edges.iter_mut().filter(|edge| edges.contains(&edge.index)) {
            edge.standing = Standing::Refused { reason: reason.to_owned() };
        }
    }

    /// The memory, the timing and the comparison.
    pub fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    /// The graph with some edges flipped, ready to be launched. Whether that is safe is not asked.
    ///
    /// # Errors
    /// The driver's.
    pub fn variant(&self, flips: &Flips, dependency: Dependency) -> Result<Executable> {
        let (clone, nodes) = self.copy()?;
        clone.flip(&nodes, &self.edges, flips, dependency)?;
        clone.instantiate(&self.bench.gpu().stream)
    }

    /// Another clone, and its nodes in the order of the listing.
    pub(super) fn copy(&self) -> Result<(Graph, Vec<sys::CUgraphNode>)> {
        // SAFETY: our own clone is live, and these are its nodes.
        unsafe { Graph::clone_of(self.graph.raw(), &self.nodes) }
    }

    /// Runs the graph with some edges flipped and compares its outputs with the original's.
    ///
    /// # Errors
    /// The device's, or results of the original that cannot be compared.
    pub fn verify(&mut self, flips: &Flips, dependency: Dependency) -> Result<Comparison> {
        self.reference()?;
        let executable = self.variant(flips, dependency)?;
        self.bench.verify(&executable)
    }

    /// Makes edges of the caller's own graph depend as `to` says.
    ///
    /// # Safety
    /// `graph` is a live graph.
    ///
    /// # Errors
    /// It is not the graph that was attached, or was changed since; or the driver's.
    pub unsafe fn apply(&self, graph: *mut c_void, flips: &Flips, to: Dependency) -> Result<()> {
        // SAFETY: the caller's promise; it stays the caller's.
        let graph = ManuallyDrop::new(unsafe { Graph::owned(graph.cast()) });
        let nodes = graph.nodes()?;
        // SAFETY: the caller's promise.
        let edges = unsafe { edges_of(graph.raw(), &nodes) }?;
        if nodes.len() != self.listing.nodes.len() || edges != self.edges {
            return Err(Error::new(
                Kind::Refused,
                "change the graph",
                "it has other nodes or edges than the one that was attached",
            ));
        }
        graph.flip(&nodes, &edges, flips, to)
    }

    /// Checks one edge for races: see [`Race`].
    ///
    /// # Errors
    /// The device's.
    pub fn race(&mut self, edge: u32, options: &Options) -> Result<Race> {
        let mut found = self.races(edge, &[Submission::Graph], options)?;
        found.pop().ok_or_else(|| Error::failed("check an edge", "nothing was found"))
    }

    /// The same in each of `forms`: as a graph, and as launches into a stream with the programmatic
    /// attribute. One result a form, in their order.
    ///
    /// # Errors
    /// The device's.
    pub fn races(
        &mut self,
        edge: u32,
        forms: &[Submission],
        options: &Options,
    ) -> Result<Vec<Race>> {
        self.reference()?;
        super::race::check(self, edge, forms, options)
    }

    /// Which edges are worth it: race checks first, then times.
    ///
    /// # Errors
    /// The device's, results that cannot be compared, or an interruption.
    pub fn attribute(&mut self, options: &Options, watch: Watch<'_>) -> Result<Report> {
        self.attribute_recorded(options, watch).map(|(report, _)| report)
    }

    /// The same, with all that the report was made from: a run directory can be
    /// written of it.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn attribute_recorded(
        &mut self,
        options: &Options,
        watch: Watch<'_>,
    ) -> Result<(Report, Attributed)> {
        self.reference()?;
        let (report, recorded) = super::trial::attribute(self, options, watch)?;
        let gpu = self.bench.gpu();
        let (facts, health) = (gpu.facts().clone(), gpu.health());
        Ok((report, Attributed { facts, health, recorded }))
    }

    /// What reports say of where they come from.
    pub fn origin(&self) -> Origin {
        let facts = self.bench.gpu().facts();
        let revision = env!("PDL_REVISION");
        Origin {
            version: format!("{} {revision}", env!("CARGO_PKG_VERSION")).trim().to_owned(),
            device: facts.label(),
            driver: facts.driver.clone(),
            no_gate: facts.no_gate.clone().unwrap_or_default(),
        }
    }

    fn reference(&mut self) -> Result<()> {
        if !self.referenced {
            let original = self.variant(&Flips::none(), Dependency::Full)?;
            self.bench.take_reference(&original)?;
            self.referenced = true;
        }
        Ok(())
    }
}
