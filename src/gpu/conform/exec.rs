//! Graphs of a scene: captured, or built node by node; and what can be launched of them.

use std::sync::Arc;

use cudarc::driver::{CudaStream, sys};

use super::stage::Stage;
use crate::conform::{Port, Scene, Usage};
use crate::device::EdgeCount;
use crate::gpu::graph;
use crate::gpu::shim;

/// A graph that is destroyed with this.
pub struct Graph(sys::CUgraph);

/// An instance of a graph, and the graph itself.
pub struct Executable {
    instance: Instance,
    _graph: Graph,
}

struct Instance(sys::CUgraphExec);

fn refusal(what: &str) -> impl Fn(cudarc::driver::DriverError) -> String + '_ {
    move |error| format!("{what}: {error}")
}

impl Graph {
    /// The graph of the stage's scene.
    pub fn of(stage: &Stage<'_>) -> Result<Graph, String> {
        Graph::of_scene(stage, stage.scene)
    }

    fn of_scene(stage: &Stage<'_>, scene: &Scene) -> Result<Graph, String> {
        match scene.edges[..] {
            [] => Graph::captured(&stage.bench.gpu.stream, || stage.submit(scene)),
            _ => Graph::built(stage, scene),
        }
    }

    /// What `submit` queues on the stream.
    pub fn captured(
        stream: &Arc<CudaStream>,
        submit: impl FnOnce() -> Result<(), String>,
    ) -> Result<Graph, String> {
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(refusal("begin a capture"))?;
        let submitted = submit();
        let mut captured = std::ptr::null_mut();
        // SAFETY: the stream is capturing; the graph is this function's.
        let ended = unsafe { sys::cuStreamEndCapture(stream.cu_stream(), &mut captured) }.result();
        let graph = (!captured.is_null()).then_some(Graph(captured));
        submitted?;
        ended.map_err(refusal("end the capture"))?;
        graph.ok_or_else(|| "the capture gave no graph".into())
    }

    /// Nodes without edges, then the edges.
    fn built(stage: &Stage<'_>, scene: &Scene) -> Result<Graph, String> {
        let mut made = std::ptr::null_mut();
        // SAFETY: writes one handle, which the guard owns.
        unsafe { sys::cuGraphCreate(&mut made, 0) }.result().map_err(refusal("make a graph"))?;
        let graph = Graph(made);
        let mut nodes = Vec::new();
        for (index, actor) in scene.actors().enumerate() {
            let (launch, args) = (stage.launch(actor, index), stage.args(actor, index));
            // SAFETY: the stage outlives the graph's launches.
            let node = unsafe { shim::graph_add_actor(graph.0.cast(), &launch, &args) };
            nodes.push(node.map_err(|error| format!("add a node: {error}"))?);
        }
        for edge in &scene.edges {
            let port = match edge.port {
                Port::Full => 0,
                Port::Programmatic => 1,
                Port::LaunchCompletion => 2,
            };
            let (from, to) = (nodes[edge.from], nodes[edge.to]);
            // SAFETY: both nodes belong to the live graph.
            unsafe { shim::graph_connect(graph.0.cast(), from, to, port) }
                .map_err(|error| format!("add an edge: {error}"))?;
        }
        Ok(graph)
    }

    /// The handle.
    pub fn raw(&self) -> sys::CUgraph {
        self.0
    }

    /// Its edges by type and port.
    pub fn edges(&self) -> Result<Vec<EdgeCount>, String> {
        graph::edges(self.0).map_err(|error| error.to_string())
    }

    /// A clone.
    fn clone_of(original: &Graph) -> Result<Graph, String> {
        let mut clone = std::ptr::null_mut();
        // SAFETY: the original is live.
        unsafe { sys::cuGraphClone(&mut clone, original.0) }
            .result()
            .map_err(refusal("clone the graph"))?;
        Ok(Graph(clone))
    }

    /// Instantiates and uploads.
    pub fn instantiate(self, stream: &Arc<CudaStream>) -> Result<Executable, String> {
        let instance = self.instance(stream)?;
        Ok(Executable { instance, _graph: self })
    }

    fn instance(&self, stream: &Arc<CudaStream>) -> Result<Instance, String> {
        let mut instance = std::ptr::null_mut();
        // SAFETY: the graph is live; the guard owns the instance.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut instance, self.0, 0) }
            .result()
            .map_err(refusal("instantiate the graph"))?;
        let instance = Instance(instance);
        // SAFETY: both are live.
        unsafe { sys::cuGraphUpload(instance.0, stream.cu_stream()) }
            .result()
            .map_err(refusal("upload the graph"))?;
        Ok(instance)
    }
}

impl Executable {
    /// The stage's scene as its usage says, and the edges of the graph behind it.
    pub fn of(stage: &Stage<'_>) -> Result<(Executable, Vec<EdgeCount>), String> {
        let stream = &stage.bench.gpu.stream;
        let graph = Graph::of(stage)?;
        let executable = match stage.scene.usage {
            Usage::Plain => graph.instantiate(stream)?,
            Usage::Cloned => {
                let clone = Graph::clone_of(&graph)?;
                drop(graph);
                clone.instantiate(stream)?
            }
            Usage::Reinstantiated => {
                let first = graph.instance(stream)?;
                first.launch(stream)?;
                stream.synchronize().map_err(refusal("run the first instance"))?;
                drop(first);
                graph.instantiate(stream)?
            }
            Usage::Updated => {
                let halved = Graph::of_scene(stage, &stage.scene.halved())?;
                let instance = halved.instance(stream)?;
                instance.launch(stream)?;
                stream.synchronize().map_err(refusal("run before the update"))?;
                instance.update(&graph)?;
                Executable { instance, _graph: graph }
            }
        };
        let edges = executable._graph.edges()?;
        Ok((executable, edges))
    }

    /// Queues one launch.
    pub fn launch(&self, stream: &Arc<CudaStream>) -> Result<(), String> {
        self.instance.launch(stream)
    }
}

impl Instance {
    fn launch(&self, stream: &Arc<CudaStream>) -> Result<(), String> {
        // SAFETY: both are live.
        unsafe { sys::cuGraphLaunch(self.0, stream.cu_stream()) }
            .result()
            .map_err(refusal("launch the graph"))
    }

    fn update(&self, graph: &Graph) -> Result<(), String> {
        // SAFETY: plain numbers and pointers, zero is a value of each.
        let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        // SAFETY: all are live.
        unsafe { sys::cuGraphExecUpdate_v2(self.0, graph.0, &mut info) }
            .result()
            .map_err(|error| format!("update the graph: {error} ({:?})", info.result))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing else holds it.
        let _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing else holds it. An instance that still runs is freed afterwards.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
