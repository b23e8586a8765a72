//! A chain that is ready to run in one arm on the GPU.

use std::rc::Rc;

use cudarc::driver::CudaGraph;

use super::driver::{Gpu, fault, launch_fault};
use super::loaded::{fits_device, load, proof};
use super::memory::{StreamBuffer, Workspace, raw};
use super::shim::{self, Kernel};
use super::stamped::Stamped;
use super::{graph, nodes};
use crate::chain::{Arm, BodyKind, Chain, Dependency, L2, Mode, Submission};
use crate::device::{Clocks, Device, Flag, Prepared, Proof, Reading, Sample, Verification};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::stamps::Stamps;

/// Part of the queue that a gated piece of a chain may fill: events and the check need room too.
const QUEUE_SHARE: f64 = 0.85;
/// Chains in one pipelined sample, where the queue holds them.
const PIPELINED_CHAINS: u32 = 8;

/// One arm of one chain: everything is loaded, allocated, captured and uploaded.
pub struct GpuChain<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) chain: Chain,
    pub(super) arm: Arm,
    pub(super) kernel: Kernel,
    pub(super) workspace: Rc<Workspace>,
    pub(super) buffer: Option<Rc<StreamBuffer>>,
    pub(super) graph: Option<CudaGraph>,
    proof: Proof,
    /// Kept from one reading of clocks to the next.
    stamped: Option<Stamped>,
}

impl<'a> GpuChain<'a> {
    pub(super) fn new(gpu: &'a Gpu, chain: &Chain, arm: Arm) -> Result<GpuChain<'a>> {
        let kernel = nodes::kernel(chain, arm, false);
        if chain.body.kind == BodyKind::Kernel {
            return Err(Error::failed("prepare the chain", "it is of the user's own kernels"));
        }
        fits_device(gpu, chain)?;
        let info = load(gpu, chain, arm, &kernel)?;
        let buffer = gpu.buffer(chain)?;
        let words = buffer.as_ref().map_or(0, |buffer| buffer.words());
        let workspace = gpu.workspace(chain, words)?;
        if chain.l2 == L2::Rotated {
            gpu.flush_buffer()?;
        }
        let proof = proof(gpu, info);
        let mut ready = GpuChain {
            gpu,
            chain: *chain,
            arm,
            kernel,
            workspace,
            buffer,
            graph: None,
            proof,
            stamped: None,
        };
        let submit = || ready.submit(0, ready.launches(), 0, &ready.kernel, false);
        match arm.submission() {
            Submission::Graph => {
                let (graph, edges) = graph::capture(&gpu.stream, submit)?;
                ready.graph = Some(graph);
                ready.proof.edges = edges;
            }
            Submission::Stream => ready.proof.edges = graph::edges_of(&gpu.stream, submit)?,
        }
        ready.check_mode()?;
        Ok(ready)
    }

    /// Launches of one chain.
    pub(super) fn launches(&self) -> u32 {
        if self.arm == Arm::Persistent { 1 } else { self.chain.nodes }
    }

    /// Queues nodes [from, to). The first node of a chain has a full dependency, unless
    /// `first_as_rest`.
    pub(super) fn submit(
        &self,
        from: u32,
        to: u32,
        stamps: u64,
        kernel: &Kernel,
        first_as_rest: bool,
    ) -> Result<()> {
        let stream = raw(&self.gpu.stream);
        let full = nodes::launch(&self.chain, Dependency::Full);
        let rest = nodes::launch(&self.chain, self.arm.dependency());
        let buffer = self.buffer.as_deref();
        let completion = self.arm.dependency() == Dependency::LaunchCompletion;
        for node in from..to {
            let launch = if node == from && !first_as_rest { &full } else { &rest };
            let args = nodes::args(&self.chain, node, &self.workspace, buffer, stamps);
            // SAFETY: every address belongs to the workspace, the buffer or the stamps, all of
            // which outlive the drained stream.
            let launched = unsafe {
                match self.arm {
                    Arm::Flags => {
                        let flags = nodes::flags(node, &self.workspace);
                        shim::launch_flags(stream, launch, kernel, &args, &flags)
                    }
                    Arm::Persistent => {
                        let all = nodes::persistent(&self.chain, &self.workspace, buffer);
                        shim::launch_persistent(stream, launch, kernel, &args, &all)
                    }
                    _ => shim::launch_chain(stream, launch, kernel, &args),
                }
            };
            launched.map_err(|error| launch_fault("launch a node", error))?;
            if completion && node + 1 < to {
                const LAUNCH_COMPLETION: u32 = 2;
                // SAFETY: a launch-completion chain is only ever captured.
                unsafe { shim::capture_port(stream, LAUNCH_COMPLETION) }
                    .map_err(|error| launch_fault("set a launch-completion edge", error))?;
            }
        }
        Ok(())
    }

    /// Queues one whole chain the way it is timed.
    pub(super) fn run(&self) -> Result<()> {
        match &self.graph {
            Some(graph) => graph.launch().map_err(|error| fault("launch the graph", error)),
            None => self.submit(0, self.launches(), 0, &self.kernel, false),
        }
    }

    /// Nodes of each gated piece of a stream chain.
    pub(super) fn piece(&self) -> u32 {
        let room = (f64::from(self.gpu.facts().queue_depth) * QUEUE_SHARE) as u32;
        match self.gpu.facts().no_gate {
            None => room.max(1),
            Some(_) => u32::MAX,
        }
    }

    /// Duration by events of what `queue` puts on the stream.
    fn timed(
        &self,
        flags: &mut Vec<Flag>,
        queue: impl FnOnce() -> Result<()>,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<f64> {
        Ok(self.gpu.timed(self.gpu.gated(), flags, queue, after)?.events_ns)
    }

    /// Queues the comparison of the chain's values and the poison.
    pub(super) fn check(&self) -> Result<()> {
        self.workspace
            .check_and_poison()
            .map_err(|error| launch_fault("compare the chain's values", error))
    }

    fn isolated(&self, flags: &mut Vec<Flag>) -> Result<f64> {
        let launches = self.launches();
        let piece = self.piece();
        if self.graph.is_some() || launches <= piece {
            return self.timed(flags, || self.run(), || self.check());
        }
        flags.push(Flag::Split);
        let mut total = 0.0;
        for from in (0..launches).step_by(piece as usize) {
            let to = launches.min(from + piece);
            let queue = || self.submit(from, to, 0, &self.kernel, false);
            let after = || if to == launches { self.check() } else { Ok(()) };
            total += self.timed(flags, queue, after)?;
        }
        flags.dedup();
        Ok(total)
    }

    /// Chains of one pipelined sample.
    fn pipelined_chains(&self) -> u32 {
        match self.graph {
            Some(_) => PIPELINED_CHAINS,
            None => PIPELINED_CHAINS.min(self.piece() / self.launches()),
        }
    }

    /// Refuses to read clocks around a chain that is measured in pieces.
    fn check_whole(&self) -> Result<()> {
        if self.graph.is_some() || self.launches() <= self.piece() {
            return Ok(());
        }
        let cause = format!("the queue holds {} launches", self.gpu.facts().queue_depth);
        Err(Error::unsupported(
            format!("read clocks around a stream chain of {} nodes", self.chain.nodes),
            cause,
        ))
    }

    /// Refuses what cannot be pipelined, when it is prepared.
    fn check_mode(&self) -> Result<()> {
        if self.chain.mode != Mode::Pipelined {
            return Ok(());
        }
        if matches!(self.arm, Arm::Flags | Arm::Persistent) {
            // Their flags and counter are cleared between samples, not between chains: later
            // chains would not wait at all.
            return Err(Error::unsupported(
                format!("pipeline the {} arm", self.arm),
                "its flags are cleared only between samples",
            ));
        }
        if self.pipelined_chains() < 2 {
            return Err(Error::unsupported(
                format!("pipeline stream chains of {} nodes", self.chain.nodes),
                format!("the queue holds {} launches", self.gpu.facts().queue_depth),
            )
            .remedy("use fewer nodes, or --mode isolated"));
        }
        Ok(())
    }

    fn pipelined(&self, flags: &mut Vec<Flag>) -> Result<f64> {
        let chains = self.pipelined_chains();
        let queue = || {
            for _ in 0..chains {
                match &self.graph {
                    Some(_) => self.run()?,
                    None => self.submit(0, self.launches(), 0, &self.kernel, true)?,
                }
            }
            Ok(())
        };
        Ok(self.timed(flags, queue, || self.check())? / f64::from(chains))
    }
}

impl Prepared for GpuChain<'_> {
    fn proof(&self) -> &Proof {
        &self.proof
    }

    fn verify(&mut self) -> Result<Verification> {
        let piece = self.piece();
        match self.graph {
            Some(_) => self.run()?,
            None => {
                for from in (0..self.launches()).step_by(piece as usize) {
                    let to = self.launches().min(from + piece);
                    self.submit(from, to, 0, &self.kernel, false)?;
                }
            }
        }
        let done = &self.gpu.done;
        done.record(&self.gpu.stream).map_err(|error| fault("run the chain", error))?;
        self.gpu.wait(done, "run the chain")?;
        let verification = self.workspace.verify()?;
        self.check()?;
        self.gpu.stream.synchronize().map_err(|error| fault("run the chain", error))?;
        self.workspace.take_mismatches();
        Ok(verification)
    }

    fn sample(&mut self) -> Result<Sample> {
        interrupt::check("go on measuring")?;
        if self.chain.l2 == L2::Rotated {
            self.gpu.flush()?;
        }
        let mut flags = Vec::new();
        let duration_ns = match self.chain.mode {
            Mode::Isolated => self.isolated(&mut flags)?,
            Mode::Pipelined => self.pipelined(&mut flags)?,
        };
        let mismatches = self.workspace.take_mismatches();
        if mismatches > 0 {
            flags.push(Flag::Wrong);
        }
        Ok(Sample { duration_ns, flags, mismatches })
    }

    fn stamps(&mut self, repetitions: u32) -> Result<Option<Stamps>> {
        let Some(stamped) = Stamped::new(self)? else { return Ok(None) };
        let mut runs = Vec::new();
        for _ in 0..repetitions.max(1) {
            let mut flags = Vec::new();
            runs.push(stamped.run(self, self.gpu.gated(), &mut flags)?);
        }
        runs.sort_by(|a, b| a.0.events_ns.total_cmp(&b.0.events_ns));
        let (timing, bytes) = runs.swap_remove(runs.len() / 2);
        Ok(Some(stamped.read(&bytes, timing.events_ns)))
    }

    fn clocks(&mut self, reading: Reading) -> Result<Option<Clocks>> {
        interrupt::check("go on measuring")?;
        self.check_whole()?;
        if self.chain.l2 == L2::Rotated {
            self.gpu.flush()?;
        }
        let gated = reading.gated && self.gpu.gated();
        let mut flags = Vec::new();
        if !reading.stamped {
            let timing = self.gpu.timed(gated, &mut flags, || self.run(), || self.check())?;
            if self.workspace.take_mismatches() > 0 {
                flags.push(Flag::Wrong);
            }
            let (events_ns, wall_ns) = (timing.events_ns, Some(timing.wall_ns));
            return Ok(Some(Clocks { events_ns, wall_ns, stamps: None, flags }));
        }
        if self.stamped.is_none() {
            self.stamped = Stamped::new(self)?;
        }
        let Some(stamped) = &self.stamped else { return Ok(None) };
        let (timing, bytes) = stamped.run(self, gated, &mut flags)?;
        let stamps = Some(stamped.read(&bytes, timing.events_ns));
        let (events_ns, wall_ns) = (timing.events_ns, Some(timing.wall_ns));
        Ok(Some(Clocks { events_ns, wall_ns, stamps, flags }))
    }
}
