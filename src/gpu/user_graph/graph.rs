//! A graph that was made elsewhere: read, cloned, edited, instantiated.

use std::sync::Arc;

use cudarc::driver::{CudaStream, sys};

use crate::attach::{Flips, RawEdge};
use crate::chain::Dependency;
use crate::error::{Error, Result};

/// `CUgraphEdgeData` of a programmatic edge.
const TYPE_PROGRAMMATIC: u8 = 1;
const PORT_PROGRAMMATIC: u8 = 1;
const PORT_LAUNCH_COMPLETION: u8 = 2;

/// A graph that is destroyed with this.
pub struct Graph(sys::CUgraph);

/// A graph ready to be launched.
pub struct Executable {
    instance: sys::CUgraphExec,
    _graph: Graph,
}

fn cannot(what: &str) -> impl Fn(cudarc::driver::DriverError) -> Error + '_ {
    move |error| Error::failed(what, error)
}

impl Graph {
    /// A graph that exists, taken over: it is destroyed with this.
    ///
    /// # Safety
    /// `graph` is live, and nothing else destroys it.
    pub unsafe fn owned(graph: sys::CUgraph) -> Graph {
        Graph(graph)
    }

    /// A clone, and where each of the original's `nodes` is in it. The original is neither kept nor
    /// changed.
    ///
    /// # Safety
    /// `original` is a live graph, and `nodes` are nodes of it.
    ///
    /// # Errors
    /// The driver's: among others, graphs with memory or conditional nodes are not cloned.
    pub unsafe fn clone_of(
        original: sys::CUgraph,
        nodes: &[sys::CUgraphNode],
    ) -> Result<(Graph, Vec<sys::CUgraphNode>)> {
        let mut clone = std::ptr::null_mut();
        // SAFETY: the caller's promise; the guard owns the clone.
        unsafe { sys::cuGraphClone(&mut clone, original) }
            .result()
            .map_err(cannot("clone the graph"))?;
        let clone = Graph(clone);
        let find = |&node: &sys::CUgraphNode| {
            let mut found = std::ptr::null_mut();
            // SAFETY: the caller's promise; the clone is live.
            unsafe { sys::cuGraphNodeFindInClone(&mut found, node, clone.0) }
                .result()
                .map_err(cannot("find a node in the clone"))?;
            Ok(found)
        };
        let nodes = nodes.iter().map(find).collect::<Result<_>>()?;
        Ok((clone, nodes))
    }

    /// An empty one.
    ///
    /// # Errors
    /// The driver's.
    pub fn empty() -> Result<Graph> {
        let mut made = std::ptr::null_mut();
        // SAFETY: writes one handle, which the guard owns.
        unsafe { sys::cuGraphCreate(&mut made, 0) }.result().map_err(cannot("make a graph"))?;
        Ok(Graph(made))
    }

    /// What `submit` queues on the stream.
    ///
    /// # Errors
    /// The driver's, and those of `submit`. The capture is ended in any case.
    pub fn captured(
        stream: &Arc<CudaStream>,
        submit: impl FnOnce() -> Result<()>,
    ) -> Result<Graph> {
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(cannot("begin a capture"))?;
        let submitted = submit();
        let mut captured = std::ptr::null_mut();
        // SAFETY: the stream is capturing; the graph is this function's.
        let ended = unsafe { sys::cuStreamEndCapture(stream.cu_stream(), &mut captured) }.result();
        let graph = (!captured.is_null()).then_some(Graph(captured));
        submitted?;
        ended.map_err(cannot("end the capture"))?;
        graph.ok_or_else(|| Error::failed("capture", "the capture gave no graph"))
    }

    /// The handle: `CUgraph`, which is the runtime's `cudaGraph_t`.
    pub fn raw(&self) -> sys::CUgraph {
        self.0
    }

    /// Its nodes.
    ///
    /// # Errors
    /// The driver's.
    pub fn nodes(&self) -> Result<Vec<sys::CUgraphNode>> {
        // SAFETY: the graph is live.
        unsafe { nodes_of(self.0) }
    }

    /// Its edges, with their data, as places in `nodes`, which are its nodes.
    ///
    /// # Errors
    /// The driver's.
    pub fn edges(&self, nodes: &[sys::CUgraphNode]) -> Result<Vec<RawEdge>> {
        // SAFETY: the graph is live.
        unsafe { edges_of(self.0, nodes) }
    }

    /// Makes the edges of `flips` depend as `dependency` says. `nodes` and `edges` are those of
    /// this graph.
    ///
    /// # Errors
    /// The driver's, with the edge.
    pub fn flip(
        &self,
        nodes: &[sys::CUgraphNode],
        edges: &[RawEdge],
        flips: &Flips,
        dependency: Dependency,
    ) -> Result<()> {
        for &index in flips.edges() {
            let edge = edges.get(index as usize).ok_or_else(|| {
                Error::usage("flip an edge", format!("the graph has no edge {index}"))
            })?;
            let ends = (nodes[edge.from as usize], nodes[edge.to as usize]);
            self.remove(ends, &data_of(edge))
                .and_then(|()| self.connect(ends.0, ends.1, dependency))
                .map_err(|error| error.at(&format!("edge {index}")))?;
        }
        Ok(())
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// The driver's.
    pub fn connect(
        &self,
        from: sys::CUgraphNode,
        to: sys::CUgraphNode,
        dependency: Dependency,
    ) -> Result<()> {
        let (type_, from_port) = match dependency {
            Dependency::Full => (0, 0),
            Dependency::Programmatic => (TYPE_PROGRAMMATIC, PORT_PROGRAMMATIC),
            Dependency::LaunchCompletion => (TYPE_PROGRAMMATIC, PORT_LAUNCH_COMPLETION),
        };
        let data = sys::CUgraphEdgeData { from_port, to_port: 0, type_, reserved: [0; 5] };
        // SAFETY: arrays of one; both nodes belong to this graph.
        unsafe { sys::cuGraphAddDependencies_v2(self.0, &from, &to, &data, 1) }
            .result()
            .map_err(|error| Error::failed(format!("make an edge {}", dependency.name()), error))
    }

    fn remove(
        &self,
        (from, to): (sys::CUgraphNode, sys::CUgraphNode),
        data: &sys::CUgraphEdgeData,
    ) -> Result<()> {
        // SAFETY: arrays of one; both nodes belong to this graph.
        unsafe { sys::cuGraphRemoveDependencies_v2(self.0, &from, &to, data, 1) }
            .result()
            .map_err(cannot("remove an edge"))
    }

    /// Destroys all `nodes`, and with them their edges, but those whose place `keep` lets stand.
    ///
    /// # Errors
    /// The driver's.
    pub fn keep_only(
        &self,
        nodes: &[sys::CUgraphNode],
        keep: impl Fn(usize) -> bool,
    ) -> Result<()> {
        for (_, &node) in nodes.iter().enumerate().filter(|&(place, _)| !keep(place)) {
            // SAFETY: the node belongs to this graph and is not used afterwards.
            unsafe { sys::cuGraphDestroyNode(node) }.result().map_err(cannot("remove a node"))?;
        }
        Ok(())
    }

    /// Instantiates and uploads.
    ///
    /// # Errors
    /// The driver's.
    pub fn instantiate(self, stream: &Arc<CudaStream>) -> Result<Executable> {
        let mut instance = std::ptr::null_mut();
        // SAFETY: the graph is live; the guard owns the instance.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut instance, self.0, 0) }
            .result()
            .map_err(cannot("instantiate the graph"))?;
        let executable = Executable { instance, _graph: self };
        // SAFETY: both are live.
        unsafe { sys::cuGraphUpload(instance, stream.cu_stream()) }
            .result()
            .map_err(cannot("upload the graph"))?;
        Ok(executable)
    }
}

impl Executable {
    /// Queues one launch.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&self, stream: &Arc<CudaStream>) -> Result<()> {
        // SAFETY: both are live.
        unsafe { sys::cuGraphLaunch(self.instance, stream.cu_stream()) }
            .result()
            .map_err(cannot("launch the graph"))
    }

    /// The graph behind it.
    pub fn graph(&self) -> &Graph {
        &self._graph
    }
}

/// Nodes of a graph.
///
/// # Safety
/// The graph is live.
pub unsafe fn nodes_of(graph: sys::CUgraph) -> Result<Vec<sys::CUgraphNode>> {
    let mut count = 0;
    // SAFETY: a null array only asks for the count.
    unsafe { sys::cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count) }
        .result()
        .map_err(cannot("list the graph's nodes"))?;
    let mut nodes = vec![std::ptr::null_mut(); count];
    if count > 0 {
        // SAFETY: `nodes` holds `count` handles.
        unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) }
            .result()
            .map_err(cannot("list the graph's nodes"))?;
    }
    nodes.truncate(count);
    Ok(nodes)
}

/// Edges of a graph, with their data, as places in `nodes`.
///
/// # Safety
/// The graph is live, and `nodes` are its nodes.
pub unsafe fn edges_of(graph: sys::CUgraph, nodes: &[sys::CUgraphNode]) -> Result<Vec<RawEdge>> {
    let what = "list the graph's edges";
    let mut count = 0;
    let null = std::ptr::null_mut();
    // SAFETY: null arrays only ask for the count.
    unsafe { sys::cuGraphGetEdges_v2(graph, null, null, std::ptr::null_mut(), &mut count) }
        .result()
        .map_err(cannot(what))?;
    let nowhere: sys::CUgraphNode = std::ptr::null_mut();
    let (mut from, mut to) = (vec![nowhere; count], vec![nowhere; count]);
    let nothing = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    let mut data = vec![nothing; count];
    if count > 0 {
        let (from, to, data) = (from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr());
        // SAFETY: three arrays of `count`. Edge data is asked for, so that nothing is lost.
        unsafe { sys::cuGraphGetEdges_v2(graph, from, to, data, &mut count) }
            .result()
            .map_err(cannot(what))?;
    }
    let places: std::collections::HashMap<_, _> =
        nodes.iter().enumerate().map(|(place, &node)| (node, place as u32)).collect();
    let place = |node| places.get(&node).copied().unwrap_or(u32::MAX);
    let edges = from.iter().zip(&to).zip(&data).take(count);
    Ok(edges
        .map(|((&from, &to), data)| RawEdge {
            from: place(from),
            to: place(to),
            edge_type: data.type_,
            from_port: data.from_port,
            to_port: data.to_port,
        })
        .collect())
}

fn data_of(edge: &RawEdge) -> sys::CUgraphEdgeData {
    sys::CUgraphEdgeData {
        from_port: edge.from_port,
        to_port: edge.to_port,
        type_: edge.edge_type,
        reserved: [0; 5],
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing else holds it.
        let _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing else holds it. An instance that still runs is freed afterwards.
        let _ = unsafe { sys::cuGraphExecDestroy(self.instance) };
    }
}
