//! A chain that is ready to run in one arm on the GPU.

use std::rc::Rc;

use cudarc::driver::{CudaGraph, CudaSlice};

use super::driver::{Gpu, condition_fault, fault, launch_fault};
use super::graph;
use super::memory::{StreamBuffer, VECTOR_BYTES, Workspace, address, memory_error, raw};
use super::nodes;
use super::shim::{self, Kernel, KernelInfo, Stamp};
use crate::chain::{Arm, Chain, Dependency, L2, Mode, Submission};
use crate::device::{Device, Flag, Prepared, Proof, Sample, Verification};
use crate::error::{Error, Kind, Result};
use crate::interrupt;
use crate::stamps::{BlockStamps, Stamps};

/// Part of the queue that a gated piece of a chain may fill: events and the check need room too.
const QUEUE_SHARE: f64 = 0.85;
/// Chains in one pipelined sample, where the queue holds them.
const PIPELINED_CHAINS: u32 = 8;
/// A chain of stamps that would need more than this is not stamped.
const STAMP_BYTES_MAX: u64 = 1 << 31;

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
}

impl<'a> GpuChain<'a> {
    pub(super) fn new(gpu: &'a Gpu, chain: &Chain, arm: Arm) -> Result<GpuChain<'a>> {
        let kernel = nodes::kernel(chain, arm, false);
        fits_device(gpu, chain)?;
        let info = load(gpu, chain, arm, &kernel)?;
        let buffer = gpu.buffer(chain)?;
        let words = buffer.as_ref().map_or(0, |buffer| buffer.words());
        let workspace = gpu.workspace(chain, words)?;
        if chain.l2 == L2::Rotated {
            gpu.flush_buffer()?;
        }
        let proof = proof(gpu, info);
        let mut ready =
            GpuChain { gpu, chain: *chain, arm, kernel, workspace, buffer, graph: None, proof };
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
    fn launches(&self) -> u32 {
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
    fn piece(&self) -> u32 {
        let room = (f64::from(self.gpu.facts().queue_depth) * QUEUE_SHARE) as u32;
        match self.gpu.facts().no_gate {
            None => room.max(1),
            Some(_) => u32::MAX,
        }
    }

    /// Times what `queue` puts on the stream: gate → event → work → event → drain. Nothing else
    /// is queued while the gate is open.
    fn timed(
        &self,
        flags: &mut Vec<Flag>,
        queue: impl FnOnce() -> Result<()>,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<f64> {
        let gpu = self.gpu;
        let what = "run the chain";
        let gated = gpu.facts().no_gate.is_none();
        gpu.conditioner.condition(&gpu.stream).map_err(condition_fault)?;
        let closed = match gated {
            true => Some(gpu.gate.close(raw(&gpu.stream)).map_err(|e| launch_fault(what, e))?),
            false => None,
        };
        gpu.start.record(&gpu.stream).map_err(|error| fault(what, error))?;
        queue()?;
        gpu.end.record(&gpu.stream).map_err(|error| fault(what, error))?;
        after()?;
        gpu.done.record(&gpu.stream).map_err(|error| fault(what, error))?;
        drop(closed);
        gpu.wait(&gpu.done, what)?;
        if gated {
            flags.extend(gpu.gate.flags());
        } else {
            flags.push(Flag::NoGate);
        }
        let ms = gpu.start.elapsed_ms(&gpu.end).map_err(|error| fault(what, error))?;
        Ok(f64::from(ms) * 1e6)
    }

    fn check(&self) -> Result<()> {
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

    /// One stamped run: its duration and its stamps as stored.
    fn stamped_run(
        &self,
        graph: Option<&CudaGraph>,
        memory: &CudaSlice<u8>,
    ) -> Result<(f64, Vec<u8>)> {
        let kernel = nodes::kernel(&self.chain, self.arm, true);
        let stamps = address(memory, &self.gpu.stream);
        let queue = || match graph {
            Some(graph) => graph.launch().map_err(|error| fault("launch the graph", error)),
            None => self.submit(0, self.launches(), stamps, &kernel, false),
        };
        let mut flags = Vec::new();
        let duration_ns = self.timed(&mut flags, queue, || self.check())?;
        let read = self.gpu.stream.clone_dtoh(memory);
        let bytes = read.map_err(|error| fault("read the stamps", error))?;
        let mismatches = self.workspace.take_mismatches();
        if mismatches > 0 {
            let cause = format!("{mismatches} values of a stamped run are wrong");
            return Err(Error::new(Kind::Wrong, "trust the stamps", cause));
        }
        Ok((duration_ns, bytes))
    }
}

/// What this device cannot launch, said before the driver does.
fn fits_device(gpu: &Gpu, chain: &Chain) -> Result<()> {
    let facts = gpu.facts();
    let shared = nodes::shared_bytes(chain);
    if shared > facts.block_shared_bytes {
        return Err(Error::unsupported(
            format!("give a block {} KiB of shared memory", shared.div_ceil(1024)),
            format!("{} allows {} KiB", facts.name, facts.block_shared_bytes / 1024),
        )
        .remedy("use a smaller --shared-kib, a shorter --preamble-us, or a larger --grid"));
    }
    Ok(())
}

fn load(gpu: &Gpu, chain: &Chain, arm: Arm, kernel: &Kernel) -> Result<KernelInfo> {
    let launch = nodes::launch(chain, arm.dependency());
    let info = shim::prepare(kernel, &launch)
        .map_err(|error| Error::unsupported("load the kernel at this shape", error))?;
    let shape = chain.shape;
    if info.max_threads < shape.block_threads as i32 || info.blocks_per_sm < 1 {
        return Err(Error::unsupported(
            format!("fit a block of {} threads on an SM", shape.block_threads),
            format!(
                "its {} registers a thread leave room for {}",
                info.registers, info.max_threads
            ),
        ));
    }
    if info.clusters == 0 {
        return Err(Error::unsupported(
            format!("place a cluster of {} blocks", shape.cluster_blocks),
            "no part of this GPU holds one at this shape",
        )
        .remedy("use a smaller --cluster, --block or --shared-kib"));
    }
    let resident = info.blocks_per_sm as u64 * u64::from(gpu.facts().sm_count);
    if arm == Arm::Persistent && u64::from(shape.grid_blocks) > resident {
        return Err(Error::unsupported(
            format!("run {} persistent blocks", shape.grid_blocks),
            format!("the device holds {resident} at once"),
        ));
    }
    if arm == Arm::Persistent && shape.cluster_blocks > 1 {
        return Err(Error::unsupported(
            "run the persistent arm in clusters",
            "its grid barrier does not know them",
        ));
    }
    Ok(info)
}

fn proof(gpu: &Gpu, info: KernelInfo) -> Proof {
    let name = shim::kernel_name(&info);
    let binary_version = info.binary_version as u32;
    let counts = gpu.code.counts(binary_version, &name);
    Proof {
        ptx_version: Some(info.ptx_version as u32),
        binary_version: Some(binary_version),
        syncs: counts.map(|counts| counts.syncs),
        triggers: counts.map(|counts| counts.triggers),
        paths: gpu.code.paths(binary_version, &name),
        registers: Some(info.registers as u32),
        local_bytes: Some(info.local_bytes as u32),
        blocks_per_sm: Some(info.blocks_per_sm as u32),
        edges: Vec::new(),
        kernel: name,
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
        let entries = u64::from(self.chain.nodes) * u64::from(self.chain.shape.grid_blocks);
        let bytes = entries * size_of::<Stamp>() as u64;
        let fits_queue = self.graph.is_some() || self.launches() <= self.piece();
        if self.arm == Arm::Persistent || bytes > STAMP_BYTES_MAX || !fits_queue {
            return Ok(None);
        }
        let stream = &self.gpu.stream;
        // SAFETY: every entry is written by the chain before it is read.
        let memory = unsafe { stream.alloc::<u8>(bytes as usize) }
            .map_err(|error| memory_error("the stamps", bytes, error))?;
        let kernel = nodes::kernel(&self.chain, self.arm, true);
        load(self.gpu, &self.chain, self.arm, &kernel)?;
        let graph = match self.graph {
            Some(_) => {
                let stamps = address(&memory, stream);
                let submit = || self.submit(0, self.launches(), stamps, &kernel, false);
                Some(graph::capture(stream, submit)?.0)
            }
            None => None,
        };
        // The first run loads the kernel.
        self.stamped_run(graph.as_ref(), &memory)?;
        let mut runs = Vec::new();
        for _ in 0..repetitions.max(1) {
            runs.push(self.stamped_run(graph.as_ref(), &memory)?);
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (duration_ns, bytes) = runs.swap_remove(runs.len() / 2);
        Ok(Some(read(&bytes, self.chain.shape.grid_blocks, duration_ns)))
    }
}

/// From the 32 bytes a block stores to moments on one axis, from the chain's first begin.
fn read(bytes: &[u8], grid_blocks: u32, duration_ns: f64) -> Stamps {
    let stored: Vec<Stamp> = bytes
        .chunks_exact(size_of::<Stamp>())
        // SAFETY: a stamp is plain numbers, and the chunk is of its size.
        .map(|chunk| unsafe { chunk.as_ptr().cast::<Stamp>().read_unaligned() })
        .collect();
    let origin = stored.iter().map(|stamp| stamp.begin_ns).min().unwrap_or(0);
    let blocks = stored.iter().map(|stamp| {
        let begin_ns = (stamp.begin_ns - origin) as f64;
        let after = |ns: u32| begin_ns + f64::from(ns);
        BlockStamps {
            begin_ns,
            trigger_ns: if stamp.trigger_ns == u32::MAX {
                f64::NAN
            } else {
                after(stamp.trigger_ns)
            },
            arrive_ns: after(stamp.arrive_ns),
            release_ns: after(stamp.release_ns),
            end_ns: after(stamp.end_ns),
            sm: stamp.sm,
            body_cycles: stamp.body_cycles,
        }
    });
    Stamps { grid_blocks, blocks: blocks.collect(), duration_ns }
}

const _: () = assert!(size_of::<Stamp>() == 32 && VECTOR_BYTES == 16);
