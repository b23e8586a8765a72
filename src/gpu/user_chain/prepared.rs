//! A chain of the user's kernels that is ready to run in one arm.

use std::rc::Rc;

use cudarc::driver::CudaGraph;

use super::UserChains;
use super::launch::{Config, Launch};
use super::memory::Buffers;
use super::module::Resources;
use super::stamping::Stamping;
use crate::attach::Flips;
use crate::chain::{Arm, Chain, Dependency, L2, Mode, Submission};
use crate::chain_file::Edge;
use crate::device::{Device, EdgeCount, Flag, Prepared, Proof, Sample, Verification};
use crate::error::{Error, Result};
use crate::gpu::driver::{Gpu, fault};
use crate::gpu::graph;
use crate::gpu::user_graph::{Executable, Graph};
use crate::interrupt;
use crate::kernel::Code;
use crate::stamps::Stamps;

/// Chains in one pipelined sample, where the queue holds them.
const PIPELINED_CHAINS: usize = 8;

/// One arm of one chain.
pub struct UserChain<'a> {
    pub(super) device: &'a UserChains<'a>,
    pub(super) chain: Chain,
    pub(super) arm: Arm,
    /// The code whose stream arm says what is right.
    judge: Code,
    pub(super) buffers: Rc<Buffers>,
    pub(super) launches: Vec<Launch>,
    /// What the edge before each launch may become.
    pub(super) edges: Vec<Edge>,
    graph: Option<Instance>,
    proof: Proof,
}

/// A chain as a graph.
enum Instance {
    /// As it was captured.
    Captured(CudaGraph),
    /// With edges that no capture makes.
    Edited(Executable),
}

impl Instance {
    fn launch(&self, gpu: &Gpu) -> Result<()> {
        match self {
            Instance::Captured(graph) => {
                graph.launch().map_err(|error| fault("launch the graph", error))
            }
            Instance::Edited(graph) => graph.launch(&gpu.stream),
        }
    }
}

/// The chain captured by `submit` over full edges, whose edges wait for the launch completion of their
/// primaries where they may be programmatic.
fn over_launch_completion(
    gpu: &Gpu,
    may: &[Edge],
    submit: impl FnOnce() -> Result<()>,
) -> Result<(Executable, Vec<EdgeCount>)> {
    let graph = Graph::captured(&gpu.stream, submit)?;
    let nodes = graph.nodes()?;
    let edges = graph.edges(&nodes)?;
    let starts = |node: &u32| edges.iter().all(|edge| edge.to != *node);
    let mut at = (0..nodes.len() as u32).find(starts);
    let mut flips = Vec::new();
    for may in may.iter().skip(1) {
        let Some(next) = edges.iter().position(|edge| Some(edge.from) == at) else { break };
        if *may == Edge::Programmatic {
            flips.push(next as u32);
        }
        at = Some(edges[next].to);
    }
    graph.flip(&nodes, &edges, &Flips::of(flips), Dependency::LaunchCompletion)?;
    let counts = graph::edges(graph.raw())?;
    Ok((graph.instantiate(&gpu.stream)?, counts))
}

impl<'a> UserChain<'a> {
    pub(super) fn new(device: &'a UserChains<'a>, chain: &Chain, arm: Arm) -> Result<Self> {
        let code = UserChains::code(chain, arm)?;
        let judge = if device.loaded.file.verify.same_bits { Code::Off } else { code };
        UserChain::of_code(device, chain, arm, code, judge)
    }

    /// An arm of any code, compared with what the stream arm of `judge` leaves.
    pub(super) fn of_code(
        device: &'a UserChains<'a>,
        chain: &Chain,
        arm: Arm,
        code: Code,
        judge: Code,
    ) -> Result<Self> {
        let (variant, resolved, repeats) = device.variant(chain)?;
        let buffers = device.buffers(variant, repeats)?;
        if !buffers.knows(judge) {
            device.learn(variant, judge, repeats, &buffers)?;
        }
        if chain.l2 == L2::Rotated {
            device.gpu.flush_buffer()?;
        }
        let launches = device.launches(variant, code, repeats, &buffers)?;
        let edges = (0..repeats).flat_map(|_| resolved.nodes.iter().map(|n| n.edge)).collect();
        let proof = proof(device, variant, code)?;
        let chain = *chain;
        let mut ready =
            UserChain { device, chain, arm, judge, buffers, launches, edges, graph: None, proof };
        ready.check_mode()?;
        let submit = || ready.submit(0, ready.launches.len());
        match arm.submission() {
            Submission::Graph if arm.dependency() == Dependency::LaunchCompletion => {
                let (graph, edges) = over_launch_completion(device.gpu, &ready.edges, submit)?;
                (ready.graph, ready.proof.edges) = (Some(Instance::Edited(graph)), edges);
            }
            Submission::Graph => {
                let (graph, edges) = graph::capture(&device.gpu.stream, submit)?;
                (ready.graph, ready.proof.edges) = (Some(Instance::Captured(graph)), edges);
            }
            Submission::Stream => {
                ready.proof.edges = graph::edges_of(&device.gpu.stream, submit)?;
            }
        }
        Ok(ready)
    }

    fn submit(&self, from: usize, to: usize) -> Result<()> {
        self.submit_of(&self.launches, from, to)
    }

    /// Queues launches [from, to); the first has a full dependency.
    pub(super) fn submit_of(&self, launches: &[Launch], from: usize, to: usize) -> Result<()> {
        self.submit_behind(launches, from, to, false)
    }

    /// The same; `first_too` says whether the first has the arm's dependency on what was queued before.
    fn submit_behind(
        &self,
        launches: &[Launch],
        from: usize,
        to: usize,
        first_too: bool,
    ) -> Result<()> {
        let programmatic = self.arm.dependency() == Dependency::Programmatic;
        let part = launches.iter().enumerate().take(to).skip(from);
        for (at, launch) in part {
            let behind =
                programmatic && (first_too || at != from) && self.edges[at] == Edge::Programmatic;
            // SAFETY: modules and buffers outlive the stream's work: it is drained by every caller.
            unsafe { launch.queue(self.device.gpu.stream.cu_stream(), behind) }?;
        }
        Ok(())
    }

    pub(super) fn run(&self) -> Result<()> {
        match &self.graph {
            Some(graph) => graph.launch(self.device.gpu),
            None => self.submit(0, self.launches.len()),
        }
    }

    /// Chains of one pipelined sample.
    fn pipelined_chains(&self) -> usize {
        match self.arm.submission() {
            Submission::Graph => PIPELINED_CHAINS,
            Submission::Stream => {
                PIPELINED_CHAINS.min(piece(self.device.gpu) as usize / self.launches.len().max(1))
            }
        }
    }

    /// Refuses what cannot be pipelined, when it is prepared.
    fn check_mode(&self) -> Result<()> {
        if self.chain.mode != Mode::Pipelined {
            return Ok(());
        }
        let nodes = self.launches.len();
        if self.pipelined_chains() < 2 {
            let depth = self.device.gpu.facts().queue_depth;
            let action = format!("pipeline stream chains of {nodes} nodes");
            return Err(Error::unsupported(action, format!("the queue holds {depth} launches"))
                .remedy("use a smaller repeat, or --mode isolated"));
        }
        match self.device.runs_again(&self.chain, &self.buffers)? {
            true => Ok(()),
            false => Err(Error::unsupported(
                "run the chain back to back",
                "it changes what it reads: a second run computes something else",
            )
            .remedy("use --mode isolated, which puts the buffers back between chains")),
        }
    }

    /// The duration of one of several chains back to back.
    fn pipelined(&self, flags: &mut Vec<Flag>) -> Result<f64> {
        let (gpu, chains) = (self.device.gpu, self.pipelined_chains());
        let queue = || {
            (0..chains).try_for_each(|_| match &self.graph {
                Some(graph) => graph.launch(gpu),
                None => self.submit_behind(&self.launches, 0, self.launches.len(), true),
            })
        };
        let timing = gpu.timed(gpu.gated(), flags, queue, || self.check())?;
        Ok(timing.events_ns / chains as f64)
    }

    /// Compares, and makes the buffers what they were.
    pub(super) fn check(&self) -> Result<()> {
        self.buffers.queue_comparison(self.judge)?;
        self.buffers.restore()
    }

    /// The duration of one chain, in pieces where it is longer than the queue.
    fn isolated(&self, flags: &mut Vec<Flag>) -> Result<f64> {
        let gpu = self.device.gpu;
        let (launches, piece) = (self.launches.len(), piece(gpu) as usize);
        if self.graph.is_some() || launches <= piece {
            return Ok(gpu.timed(gpu.gated(), flags, || self.run(), || self.check())?.events_ns);
        }
        flags.push(Flag::Split);
        let mut total = 0.0;
        for from in (0..launches).step_by(piece) {
            let to = launches.min(from + piece);
            let after = || if to == launches { self.check() } else { Ok(()) };
            total += gpu.timed(gpu.gated(), flags, || self.submit(from, to), after)?.events_ns;
        }
        flags.dedup();
        Ok(total)
    }
}

/// Launches that one gated piece of a stream chain may have: events and the check need room too.
pub(super) fn piece(gpu: &Gpu) -> u32 {
    const QUEUE_SHARE: f64 = 0.8;
    match gpu.gated() {
        true => ((f64::from(gpu.facts().queue_depth) * QUEUE_SHARE) as u32).max(1),
        false => u32::MAX,
    }
}

/// What was armed: of several kernels the least that holds for each of them.
fn proof(device: &UserChains, variant: usize, code: Code) -> Result<Proof> {
    let resolved = &device.build.variants[variant];
    let nodes = device.build.nodes(variant, code).unwrap_or_default();
    let mut all: Vec<Resources> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (node, &code) in resolved.nodes.iter().zip(nodes) {
        let kernel = device.build.kernel(code);
        let function = device.module(code.cubin)?.function(&kernel.name)?;
        all.push(function.prepare(&Config::of(node), &node.kernel)?);
        if !names.contains(&kernel.name.as_str()) {
            names.push(&kernel.name);
        }
    }
    let kernels = || nodes.iter().map(|&node| device.build.kernel(node));
    let least = |of: fn(&Resources) -> u32| all.iter().map(of).min();
    let most = |of: fn(&Resources) -> u32| all.iter().map(of).max();
    Ok(Proof {
        kernel: names.join(" "),
        ptx_version: least(|r| r.ptx_version),
        binary_version: least(|r| r.binary_version),
        syncs: kernels().map(|kernel| kernel.syncs.len() as u32).min(),
        triggers: Some(kernels().map(|kernel| kernel.triggers.len() as u32).sum()),
        edges: Vec::new(),
        paths: None,
        registers: most(|r| r.registers),
        local_bytes: most(|r| r.local_bytes),
        blocks_per_sm: least(|r| r.blocks_per_sm),
    })
}

impl Prepared for UserChain<'_> {
    fn proof(&self) -> &Proof {
        &self.proof
    }

    fn verify(&mut self) -> Result<Verification> {
        let what = "run the chain";
        let gpu = self.device.gpu;
        self.buffers.clear_differences()?;
        match self.graph {
            Some(_) => self.run()?,
            None => {
                for from in (0..self.launches.len()).step_by(piece(gpu) as usize) {
                    self.submit(from, self.launches.len().min(from + piece(gpu) as usize))?;
                }
            }
        }
        self.check()?;
        gpu.done.record(&gpu.stream).map_err(|error| fault(what, error))?;
        gpu.wait(&gpu.done, what)?;
        self.buffers.verification()
    }

    fn sample(&mut self) -> Result<Sample> {
        interrupt::check("go on measuring")?;
        self.buffers.clear_differences()?;
        if self.chain.l2 == L2::Rotated {
            self.device.gpu.flush()?;
        }
        let mut flags = Vec::new();
        let duration_ns = match self.chain.mode {
            Mode::Isolated => self.isolated(&mut flags)?,
            Mode::Pipelined => self.pipelined(&mut flags)?,
        };
        let mismatches = self.buffers.verification()?.mismatches;
        if mismatches > 0 {
            flags.push(Flag::Wrong);
        }
        Ok(Sample { duration_ns, flags, mismatches })
    }

    fn stamps(&mut self, repetitions: u32) -> Result<Option<Stamps>> {
        let sites = match UserChains::code(&self.chain, self.arm)? {
            Code::Sites(sites) => sites,
            _ => return Ok(None),
        };
        match Stamping::new(self, Code::Stamped(sites))? {
            Some(stamping) => stamping.run(self, repetitions),
            None => Ok(None),
        }
    }
}
