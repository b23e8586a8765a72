//! The stamped run of a chain of the user's kernels.
//!
//! A kernel's records go where a variable of its module points, so every launch of a stamped chain
//! has a module of its own: the same code, loaded once a launch of a chain. Chains that are stamped one
//! after the other use the same modules, and each points them to its own records.

use std::collections::HashMap;
use std::rc::Rc;

use cudarc::driver::{CudaGraph, CudaSlice};

use super::launch::{Config, Launch};
use super::module::{Function, Module};
use super::prepared::{UserChain, piece};
use crate::chain::Submission;
use crate::chain_file::{ResolvedNode, stamp_hash};
use crate::error::Result;
use crate::gpu::driver::fault;
use crate::gpu::graph;
use crate::gpu::memory::{address, memory_error};
use crate::kernel::Code;
use crate::stamps::{BlockStamps, NamedStamps, Stamps};

/// The variable of `cuda/pdl_site.cuh`.
const VARIABLE: &str = "pdl_site_records";
/// Launches of a chain that is stamped: each costs a loaded module.
const LAUNCHES_MAX: usize = 256;
/// Most bytes of records.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// `pdl_site_record`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    begin_ns: u64,
    trigger_ns: u64,
    arrive_ns: u64,
    release_ns: u64,
    end_ns: u64,
    sm: u32,
    marks: u32,
    missed: u32,
    reserved: u32,
    mark_ns: [u64; MARKS],
    mark_name: [u32; MARKS],
}

/// `PDL_SITE_MARKS`.
const MARKS: usize = 8;
const RECORD_BYTES: u64 = size_of::<Record>() as u64;
const _: () = assert!(RECORD_BYTES == 152);

impl Record {
    /// When the block first reached a named moment, ns.
    fn moment(&self, name: u32) -> Option<u64> {
        let marks = (self.marks as usize).min(MARKS);
        let at = self.mark_name[..marks].iter().position(|&known| known == name)?;
        Some(self.mark_ns[at])
    }
}

/// What a stamped run needs.
pub struct Stamping {
    launches: Vec<Launch>,
    graph: Option<CudaGraph>,
    records: CudaSlice<u8>,
    node_blocks: Vec<u32>,
    kernels: u32,
    /// What sources name.
    names: Vec<String>,
    // Dropped last: the launches are of their kernels.
    _modules: Vec<Rc<Module>>,
}

impl Stamping {
    /// Loads the stamped code; `None` where it was not compiled, a kernel has no stamps, or the
    /// chain is too long or too wide.
    pub fn new(chain: &UserChain, code: Code) -> Result<Option<Stamping>> {
        let device = chain.device;
        let (variant, resolved, repeats) = device.variant(&chain.chain)?;
        let Some(nodes) = device.build.nodes(variant, code) else { return Ok(None) };
        let count = nodes.len() * repeats as usize;
        let blocks: u64 = resolved.nodes.iter().map(|node| node.blocks()).sum();
        let bytes = blocks.saturating_mul(u64::from(repeats)).saturating_mul(RECORD_BYTES);
        if count > LAUNCHES_MAX || bytes > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let stream = &device.gpu.stream;
        let records = stream
            .alloc_zeros::<u8>(bytes as usize)
            .map_err(|error| memory_error("the stamps", bytes, error))?;
        let mut at = address(&records, stream);
        let (mut modules, mut functions): (Vec<Rc<Module>>, Vec<Function>) = Default::default();
        let mut used: HashMap<usize, usize> = HashMap::new();
        let mut node_blocks = Vec::new();
        for _ in 0..repeats {
            for (node, &code) in resolved.nodes.iter().zip(nodes) {
                let place = used.entry(code.cubin).or_default();
                let module = device.stamped_module(code.cubin, *place)?;
                *place += 1;
                let Some((variable, 8)) = module.variable(VARIABLE) else { return Ok(None) };
                // SAFETY: eight bytes of the module, which is loaded; nothing runs.
                unsafe { cudarc::driver::result::memcpy_htod_sync(variable, &[at]) }
                    .map_err(|error| fault("place the stamps", error))?;
                let function = module.function(&device.build.kernel(code).name)?;
                function.prepare(&Config::of(node), &node.kernel)?;
                at += node.blocks() * RECORD_BYTES;
                node_blocks.push(node.blocks() as u32);
                functions.push(function);
                modules.push(module);
            }
        }
        let launches = device.place(resolved, repeats, &chain.buffers, &|at| functions[at]);
        let submit = || chain.submit_of(&launches, 0, launches.len());
        let graph = match chain.arm.submission() {
            Submission::Graph => Some(graph::capture(stream, submit)?.0),
            Submission::Stream if launches.len() <= piece(device.gpu) as usize => None,
            Submission::Stream => return Ok(None),
        };
        let names = device.loaded.stamp_names();
        let launch = |node: &ResolvedNode| (node.kernel.clone(), Config::of(node));
        let same = resolved.nodes.iter().all(|node| launch(node) == launch(&resolved.nodes[0]));
        let kernels = if same { 1 } else { resolved.nodes.len() as u32 };
        let _modules = modules;
        Ok(Some(Stamping { launches, graph, records, node_blocks, kernels, names, _modules }))
    }

    /// Runs it and keeps the run of the median duration.
    pub fn run(&self, chain: &UserChain, repetitions: u32) -> Result<Option<Stamps>> {
        // The first run loads the kernels.
        let mut runs = Vec::new();
        for repetition in 0..=repetitions.max(1) {
            let Some(run) = self.once(chain)? else { return Ok(None) };
            if repetition > 0 {
                runs.push(run);
            }
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (duration_ns, bytes) = runs.swap_remove(runs.len() / 2);
        Ok(self.read(&bytes, duration_ns))
    }

    /// `None` where the results are wrong: the timed instance's are judged elsewhere, and stamps of
    /// another computation say nothing.
    fn once(&self, chain: &UserChain) -> Result<Option<(f64, Vec<u8>)>> {
        let gpu = chain.device.gpu;
        chain.buffers.clear_differences()?;
        let mut flags = Vec::new();
        let queue = || match &self.graph {
            Some(graph) => graph.launch().map_err(|error| fault("launch the graph", error)),
            None => chain.submit_of(&self.launches, 0, self.launches.len()),
        };
        let gated = gpu.gated();
        let duration_ns = gpu.timed(gated, &mut flags, queue, || chain.check())?.events_ns;
        if chain.buffers.verification()?.mismatches > 0 {
            return Ok(None);
        }
        let bytes = gpu.stream.clone_dtoh(&self.records);
        Ok(Some((duration_ns, bytes.map_err(|error| fault("read the stamps", error))?)))
    }

    /// `None` where a block stored nothing: its kernel has no begin or no end.
    fn read(&self, bytes: &[u8], duration_ns: f64) -> Option<Stamps> {
        let stored: Vec<Record> = bytes
            .chunks_exact(RECORD_BYTES as usize)
            // SAFETY: a record is plain numbers, and the chunk is of its size.
            .map(|chunk| unsafe { chunk.as_ptr().cast::<Record>().read_unaligned() })
            .collect();
        if stored.iter().any(|record| record.begin_ns == 0 || record.end_ns < record.begin_ns) {
            return None;
        }
        let origin = stored.iter().map(|record| record.begin_ns).min()?;
        let after = |ns: u64| ns.saturating_sub(origin) as f64;
        let blocks = stored.iter().map(|record| {
            // A kernel without a chosen sync site works from its begin.
            let synced = record.arrive_ns != 0;
            let at = |ns: u64| after(if synced { ns } else { record.begin_ns });
            BlockStamps {
                begin_ns: after(record.begin_ns),
                trigger_ns: match record.trigger_ns {
                    0 => f64::NAN,
                    ns => after(ns),
                },
                arrive_ns: at(record.arrive_ns),
                release_ns: at(record.release_ns),
                end_ns: after(record.end_ns),
                sm: record.sm,
                body_cycles: 0,
            }
        });
        let blocks: Vec<BlockStamps> = blocks.collect();
        let node_blocks = self.node_blocks.clone();
        // A name that no block reached says nothing.
        let numbers = self.names.iter().map(|name| (name.clone(), stamp_hash(name)));
        let reached =
            numbers.filter(|(_, number)| stored.iter().any(|r| r.moment(*number).is_some()));
        let (names, numbers): (Vec<String>, Vec<u32>) = reached.unzip();
        let moments = stored.iter().flat_map(|record| {
            numbers.iter().map(|&number| record.moment(number).map_or(f64::NAN, after))
        });
        let named = NamedStamps { names, ns: moments.collect() };
        let kernels = self.kernels;
        Some(Stamps { grid_blocks: 0, node_blocks, kernels, blocks, duration_ns, named })
    }
}
