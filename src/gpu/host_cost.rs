//! What a launch costs the host: by the path that the sweep takes, and by a plain C++ loop over
//! the same calls, while the device waits for it, is behind, or is held by the gate.

use std::time::{Duration, Instant};

use super::driver::{Gpu, fault, launch_fault};
use super::memory::raw;
use super::prepared::GpuChain;
use super::{nodes, shim};
use crate::chain::{
    Arm, Body, BodyKind, Chain, L2, Mode, Preamble, PreambleKind, Shape, Submission, Target,
    Trigger, TriggerBy,
};
use crate::device::{Batch, Device, HostBatches, Prepared, Regime};
use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// Nodes of the graph that is launched.
const GRAPH_NODES: u32 = 50;
/// Nodes in one batch where the queue holds more.
const BATCH_NODES: u32 = 500;
/// Launches in one batch while the device is behind: the batch lasts as long as its bodies.
const BEHIND_LAUNCHES: u32 = 200;
/// Bodies of nodes that the device is behind with, ns: several launches' time, and a part of that
/// of a graph, which holds many.
const BEHIND_BODY_NS: (u64, u64) = (15_000, 5_000);

/// Who loops over the launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLoop {
    /// The path of every timed chain: arguments of each node, then the call through the shim, or
    /// cudarc's launch of a graph.
    Rust,
    /// A loop in the shim with the arguments of one node.
    Cpp,
}

/// Batches of launches of one node in one arm, all loaded, captured and verified.
pub struct HostCost<'a> {
    ready: GpuChain<'a>,
    calls: u32,
    regime: Regime,
}

impl Gpu {
    /// Prepares batches of launches in `arm`: a stream arm launches nodes, a graph arm graphs of
    /// 50 nodes. A batch fills at most half of the queue, so that no launch waits for room.
    ///
    /// # Errors
    /// Usage for an arm whose nodes are not launched one by one or as one graph of kernels; a
    /// fault; a wrong value.
    pub fn host_cost(&self, arm: Arm) -> Result<HostCost<'_>> {
        self.host_cost_in(arm, Regime::HostBound, GRAPH_NODES)
    }

    /// The same in a regime, with graphs of `graph_nodes` nodes.
    pub(super) fn host_cost_in(
        &self,
        arm: Arm,
        regime: Regime,
        graph_nodes: u32,
    ) -> Result<HostCost<'_>> {
        let action = || format!("measure the host's cost of {arm}, {}", regime.name());
        if matches!(arm, Arm::Flags | Arm::Persistent | Arm::Sentinel) {
            return Err(Error::usage(action(), "not supported"));
        }
        if let (Regime::Held, Some(reason)) = (regime, &self.facts().no_gate) {
            return Err(Error::unsupported(action(), reason));
        }
        let most = if regime == Regime::GpuBound { BEHIND_LAUNCHES } else { BATCH_NODES };
        let room = match self.facts().queue_depth {
            0 => GRAPH_NODES,
            depth => (depth / 2).clamp(2, most),
        };
        let (nodes, calls) = match arm.submission() {
            Submission::Stream => (room, room),
            Submission::Graph => (graph_nodes, (room / graph_nodes).max(2)),
        };
        let body = match regime {
            Regime::GpuBound => {
                let ns = match arm.submission() {
                    Submission::Stream => BEHIND_BODY_NS.0,
                    Submission::Graph => BEHIND_BODY_NS.1,
                };
                Body { kind: BodyKind::Spin, target: Target::Ns(ns as f64), units: ns }
            }
            Regime::HostBound | Regime::Held => {
                Body { kind: BodyKind::None, target: Target::Ns(0.0), units: 0 }
            }
        };
        let mut ready = GpuChain::new(self, &smallest_chain(nodes, body), arm)?;
        let verification = ready.verify()?;
        if verification.mismatches > 0 {
            let cause = format!("{} values are wrong", verification.mismatches);
            return Err(Error::new(Kind::Wrong, action(), cause));
        }
        Ok(HostCost { ready, calls, regime })
    }
}

/// Nodes of one block of one warp.
fn smallest_chain(nodes: u32, body: Body) -> Chain {
    Chain {
        nodes,
        shape: Shape { grid_blocks: 1, block_threads: 32, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body,
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

impl HostCost<'_> {
    /// Launch calls in a batch.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Nodes that one call queues.
    pub fn nodes_a_call(&self) -> u32 {
        match self.ready.arm.submission() {
            Submission::Stream => 1,
            Submission::Graph => self.ready.chain.nodes,
        }
    }

    /// Host time of the loop over one batch of launches, and of nothing else. `gated`: behind a
    /// closed gate, so that the device takes up nothing meanwhile. `None` for a batch whose gate
    /// was opened by a time-out.
    ///
    /// # Errors
    /// A fault or an interruption.
    pub fn batch(&self, gated: bool, by: HostLoop) -> Result<Option<Duration>> {
        Ok(self.timed(gated, by)?.map(|(calls, _)| calls))
    }

    /// Host time of the loop, and until the device was done.
    fn timed(&self, gated: bool, by: HostLoop) -> Result<Option<(Duration, Duration)>> {
        interrupt::check("go on measuring")?;
        let gpu = self.ready.gpu;
        let what = "measure the host's cost";
        let closed = match gated {
            true => Some(gpu.gate.close(raw(&gpu.stream)).map_err(|e| launch_fault(what, e))?),
            false => None,
        };
        let began = Instant::now();
        let queued = match by {
            HostLoop::Rust => self.rust(),
            HostLoop::Cpp => self.cpp(),
        };
        let elapsed = began.elapsed();
        drop(closed);
        gpu.stream.synchronize().map_err(|error| fault(what, error))?;
        let drained = began.elapsed();
        queued?;
        let spoiled = gated && !gpu.gate.flags().is_empty();
        Ok((!spoiled).then_some((elapsed, drained)))
    }

    /// Calls into an idle device, each waited for: the time of the calls, and of all.
    fn one_by_one(&self) -> Result<(Duration, Duration)> {
        interrupt::check("go on measuring")?;
        let began = Instant::now();
        let mut calls = Duration::ZERO;
        for _ in 0..self.calls {
            let before = Instant::now();
            self.ready.run()?;
            calls += before.elapsed();
            let stream = &self.ready.gpu.stream;
            stream.synchronize().map_err(|error| fault("measure the host's cost", error))?;
        }
        Ok((calls, began.elapsed()))
    }

    /// Gives the device something to be behind with, so that no call of the batch finds it idle.
    fn get_behind(&self) -> Result<()> {
        match self.ready.arm.submission() {
            Submission::Stream => self.ready.submit(0, 2, 0, &self.ready.kernel, true),
            Submission::Graph => self.ready.run(),
        }
    }

    fn rust(&self) -> Result<()> {
        match self.ready.arm.submission() {
            Submission::Stream => self.ready.submit(0, self.calls, 0, &self.ready.kernel, true),
            Submission::Graph => (0..self.calls).try_for_each(|_| self.ready.run()),
        }
    }

    fn cpp(&self) -> Result<()> {
        let ready = &self.ready;
        let stream = raw(&ready.gpu.stream);
        let launched = match &ready.graph {
            Some(graph) => {
                // SAFETY: the executable graph lives as long as `ready`, past the drained stream.
                unsafe { shim::launch_graph_loop(stream, graph.cu_graph_exec().cast(), self.calls) }
            }
            None => {
                let launch = nodes::launch(&ready.chain, ready.arm.dependency());
                let buffer = ready.buffer.as_deref();
                let args = nodes::args(&ready.chain, 0, &ready.workspace, buffer, 0);
                // SAFETY: every address belongs to the workspace, which outlives the drained
                // stream. Launches of one node write the same values, in whatever order.
                unsafe {
                    shim::launch_chain_loop(stream, &launch, &ready.kernel, &args, self.calls)
                }
            }
        };
        launched.map_err(|error| launch_fault("launch a batch", error))
    }
}

impl HostBatches for HostCost<'_> {
    fn calls(&self) -> u32 {
        self.calls
    }

    fn nodes_a_call(&self) -> u32 {
        HostCost::nodes_a_call(self)
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        let timed = match (self.regime, self.ready.arm.submission()) {
            (Regime::Held, _) => self.timed(true, HostLoop::Rust)?,
            // Empty nodes are over before the host has launched the next one.
            (Regime::HostBound, Submission::Stream) => self.timed(false, HostLoop::Rust)?,
            // A graph of them takes longer than its launch: one at a time.
            (Regime::HostBound, Submission::Graph) => Some(self.one_by_one()?),
            (Regime::GpuBound, _) => {
                self.get_behind()?;
                self.timed(false, HostLoop::Rust)?
            }
        };
        Ok(timed.map(|(calls, drained)| Batch {
            calls_ns: calls.as_nanos() as f64,
            drained_ns: drained.as_nanos() as f64,
        }))
    }
}
