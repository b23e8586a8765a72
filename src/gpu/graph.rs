//! A chain captured as a graph, and the edges read back from it.

use std::sync::Arc;

use cudarc::driver::result::{graph, stream as raw_stream};
use cudarc::driver::{CudaGraph, CudaStream, DriverError, sys};

use super::shim;
use crate::device::EdgeCount;
use crate::error::{Error, Result};

/// Runs `submit` with `stream` capturing and instantiates what it queued; uploaded, so that the
/// first launch costs what every launch costs.
pub fn capture(
    stream: &Arc<CudaStream>,
    submit: impl FnOnce() -> Result<()>,
) -> Result<(CudaGraph, Vec<EdgeCount>)> {
    let fail = |error: DriverError| Error::failed("capture the chain", error);
    begin(stream)?;
    let submitted = submit();
    let captured = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    submitted?;
    let graph = captured.map_err(fail)?.expect("something was captured");
    let edges = edges(graph.cu_graph())?;
    graph.upload().map_err(fail)?;
    Ok((graph, edges))
}

/// The edges of a capture of `submit`, which is neither instantiated nor run: what stream launches
/// mean, untimed.
pub fn edges_of(
    stream: &Arc<CudaStream>,
    submit: impl FnOnce() -> Result<()>,
) -> Result<Vec<EdgeCount>> {
    begin(stream)?;
    let submitted = submit();
    // SAFETY: the stream is capturing; the graph is destroyed below.
    let captured = unsafe { raw_stream::end_capture(stream.cu_stream()) };
    let captured = match (submitted, captured) {
        (Ok(()), Ok(captured)) => captured,
        (Err(error), _) => return Err(error),
        (_, Err(error)) => return Err(Error::failed("capture the chain", error)),
    };
    let edges = edges(captured);
    // SAFETY: ours, and nothing else holds it.
    unsafe { graph::destroy(captured) }.map_err(|e| Error::failed("destroy the capture", e))?;
    edges
}

fn begin(stream: &Arc<CudaStream>) -> Result<()> {
    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .map_err(|error| Error::failed("begin the capture", error))
}

/// The edges of a live graph, counted by type and port.
pub(super) fn edges(captured: sys::CUgraph) -> Result<Vec<EdgeCount>> {
    // SAFETY: the graph is live.
    let edges = unsafe { shim::graph_edges(captured.cast()) }
        .map_err(|error| Error::failed("read the graph's edges", error))?;
    let mut counts: Vec<EdgeCount> = Vec::new();
    for edge in edges {
        let (edge_type, from_port) = (type_name(edge.edge_type), port_name(edge.from_port));
        match counts.iter_mut().find(|c| c.edge_type == edge_type && c.from_port == from_port) {
            Some(found) => found.count += 1,
            None => counts.push(EdgeCount { edge_type, from_port, count: 1 }),
        }
    }
    Ok(counts)
}

/// `cudaGraphDependencyType` of driver_types.h.
fn type_name(edge_type: u32) -> String {
    match edge_type {
        0 => "default".into(),
        1 => "programmatic".into(),
        other => other.to_string(),
    }
}

/// `cudaGraphKernelNodePort…` of driver_types.h.
fn port_name(port: u32) -> String {
    match port {
        0 => "default".into(),
        1 => "programmatic".into(),
        2 => "launch-completion".into(),
        other => other.to_string(),
    }
}
