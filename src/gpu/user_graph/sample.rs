//! Graphs to try everything on: a chain of small kernels that each add one to what the one before
//! wrote, with its sync, without it, or with a write before it.

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::driver::{CudaSlice, sys};

use super::graph::Graph;
use super::memory::{Memory, Region};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::gpu::driver::launch_fault;
use crate::gpu::memory::{address, memory_error, raw};
use crate::gpu::replay;
use crate::gpu::shim::sys as shim_sys;

/// A kernel of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// Syncs before it reads.
    Syncs,
    /// Never syncs: over a programmatic edge it is a race.
    NoSync,
    /// Writes its output before its sync, and again after it.
    EarlyWriter,
    /// No kernel: a memset of memory that no other node uses.
    Memset,
}

/// A captured chain and the memory it works on.
pub struct SampleGraph {
    graph: Graph,
    rows: CudaSlice<u32>,
    gpu: Rc<Gpu>,
    words: u32,
    nodes: u32,
}

impl SampleGraph {
    /// Captures a chain: node i reads row i and writes row i + 1, rows of `words` words. Row 0 is
    /// zero.
    ///
    /// # Errors
    /// The device's.
    pub fn chain(gpu: &Rc<Gpu>, consumers: &[Consumer], words: u32) -> Result<SampleGraph> {
        let nodes = consumers.len() as u32;
        let count = (nodes as usize + 2) * words as usize;
        let stream = &gpu.stream;
        let rows = stream
            .alloc_zeros::<u32>(count)
            .map_err(|error| memory_error("a chain to try", 4 * count as u64, error))?;
        let base = address(&rows, stream);
        let row = |index: u32| base + 4 * u64::from(index) * u64::from(words);
        let submit = || {
            // A memset writes no row: the node after it reads what the node before it wrote.
            let mut input = 0;
            for (index, consumer) in (1..).zip(consumers) {
                let kind = match consumer {
                    Consumer::Syncs => shim_sys::PDL_CONSUMER_SYNCS,
                    Consumer::NoSync => shim_sys::PDL_CONSUMER_NO_SYNC,
                    Consumer::EarlyWriter => shim_sys::PDL_CONSUMER_EARLY_WRITER,
                    Consumer::Memset => {
                        // SAFETY: the last row is this graph's, and no kernel uses it.
                        unsafe {
                            sys::cuMemsetD32Async(
                                row(nodes + 1),
                                0,
                                words as usize,
                                stream.cu_stream(),
                            )
                        }
                        .result()
                        .map_err(|error| crate::error::Error::failed("queue a memset", error))?;
                        continue;
                    }
                };
                // SAFETY: rows of this graph, which outlive its launches.
                unsafe {
                    replay::launch_consumer(raw(stream), kind, row(input), row(index), words)
                }
                .map_err(|error| launch_fault("queue a kernel", error))?;
                input = index;
            }
            Ok(())
        };
        // Kernels load lazily, and a capture forbids what loading needs.
        submit()?;
        stream.synchronize().map_err(|error| crate::gpu::driver::fault("load kernels", error))?;
        let graph = Graph::captured(stream, submit)?;
        Ok(SampleGraph { graph, rows, gpu: gpu.clone(), words, nodes })
    }

    /// The handle.
    pub fn raw(&self) -> *mut c_void {
        self.graph.raw().cast()
    }

    /// The last kernel's row is the output, the rows before it are buffers.
    pub fn memory(&self) -> Memory {
        let base = address(&self.rows, &self.gpu.stream);
        let bytes = 4 * u64::from(self.words);
        let region = |index: u32| {
            Region::new(format!("row {index}"), base + bytes * u64::from(index), bytes)
        };
        Memory {
            outputs: vec![region(self.nodes)],
            buffers: (1..self.nodes).map(region).collect(),
            reset: None,
        }
    }
}
