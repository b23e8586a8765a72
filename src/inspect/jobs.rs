//! Disassembles what is worth it, a few parts of the file at a time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cubin::{Cubin, Function};
use super::flow;
use super::name::demangle;
use super::pool;
use super::report::{Code, Flow, KernelReport, Sites};
use super::sass::{Guard, Listing};
use super::tools::{Tools, complaint};
use super::unpack::Unit;
use super::{OLDEST_ARCH, Options, Progress, access};
use crate::error::Result;

/// Code that one call of the disassembler gets, about: enough to outweigh its start, little enough
/// to share the work of one large cubin and to hold its listing.
const JOB_BYTES: u64 = 1 << 20;

/// A part of one cubin to disassemble at once.
struct Job<'a> {
    cubin: usize,
    unit: &'a Unit,
    /// Kernels that are asked about.
    kernels: Vec<&'a Function>,
    /// What they may call.
    others: Vec<&'a Function>,
    bytes: u64,
}

/// What a job found, by cubin and symbol.
type Found = HashMap<(usize, usize), Result<(String, Flow), String>>;

/// Reports on every kernel of the cubins that passes the filter.
///
/// # Errors
/// The disassembler cannot be run, or the user interrupted.
pub(super) fn machine_code(
    units: &[Unit],
    cubins: &[Cubin],
    options: &Options,
    tools: &Tools,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<KernelReport>> {
    let mut chosen: Vec<(usize, &Function, String)> = Vec::new();
    for (index, cubin) in cubins.iter().enumerate() {
        for function in cubin.functions.iter().filter(|function| function.kernel) {
            let demangled = demangle(&function.name);
            if options.filter.passes(&function.name, &demangled) {
                chosen.push((index, function, demangled));
            }
        }
    }
    let jobs = plan(units, cubins, &chosen, options);
    let of = jobs.iter().map(|job| job.bytes).sum();
    let done = AtomicU64::new(0);
    let work = |job: &Job<'_>| {
        let found = disassemble(job, tools);
        let done = done.fetch_add(job.bytes, Ordering::Relaxed) + job.bytes;
        progress(Progress::Disassembling { done, of });
        found
    };
    let found: Found =
        pool::each(options.workers, &jobs, work, |_| ())?.into_iter().flatten().collect();
    let reports = chosen.into_iter().map(|(index, function, demangled)| {
        report(index, &cubins[index], &units[index], function, demangled, &found)
    });
    Ok(reports.collect())
}

/// Whether the answer about a kernel depends on its control flow.
fn worth_it(function: &Function, cubin: &Cubin, full: bool) -> bool {
    let called = cubin.functions.iter().any(|f| !f.kernel && !f.positions.syncs.is_empty());
    let depends = called || cubin.relocatable || !function.positions.syncs.is_empty();
    cubin.arch >= OLDEST_ARCH && (full || depends)
}

fn plan<'a>(
    units: &'a [Unit],
    cubins: &'a [Cubin],
    chosen: &[(usize, &'a Function, String)],
    options: &Options,
) -> Vec<Job<'a>> {
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for &(index, function, _) in chosen {
        if !worth_it(function, &cubins[index], options.full) {
            continue;
        }
        match jobs.last_mut() {
            Some(job) if job.cubin == index && job.bytes < JOB_BYTES => {
                job.kernels.push(function);
                job.bytes += function.code_bytes;
            }
            _ => {
                let others = cubins[index].functions.iter().filter(|f| !f.kernel).collect();
                let bytes = function.code_bytes;
                jobs.push(Job {
                    cubin: index,
                    unit: &units[index],
                    kernels: vec![function],
                    others,
                    bytes,
                });
            }
        }
    }
    // The largest first: none is left alone at the end.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.bytes));
    jobs
}

/// A listing that nvdisasm refuses is not this program's failure: its kernels are reported so.
fn disassemble(job: &Job<'_>, tools: &Tools) -> Result<Found> {
    let symbols = job.kernels.iter().chain(&job.others).map(|f| f.symbol.to_string());
    let symbols = symbols.collect::<Vec<_>>().join(",");
    let arguments =
        [OsStr::new("-c"), OsStr::new("-fun"), OsStr::new(&symbols), job.unit.path.as_os_str()];
    let output = tools.nvdisasm(Path::new("."), &arguments)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let listing = Listing::parse(&text);
    let complaint = (!output.status.success()).then(|| complaint(&output));
    let by_name: HashMap<&str, usize> =
        listing.functions.iter().enumerate().map(|(index, f)| (f.name, index)).collect();
    let found = job.kernels.iter().map(|kernel| {
        let outcome = match (&complaint, by_name.get(kernel.name.as_str())) {
            (Some(complaint), _) => Err(format!("nvdisasm: {complaint}")),
            (None, None) => Err("nvdisasm left it out".into()),
            (None, Some(&function)) => checked(&listing, function, kernel),
        };
        ((job.cubin, kernel.symbol), outcome)
    });
    Ok(found.collect())
}

/// The listing and the bytes must tell the same syncs and triggers of a section.
fn checked(
    listing: &Listing<'_>,
    function: usize,
    kernel: &Function,
) -> Result<(String, Flow), String> {
    let bounds = &listing.functions[function];
    let section = &listing.instructions[bounds.first..bounds.end];
    let count = |stem: &str| section.iter().filter(|i| i.stem() == stem).count();
    let told = (count("ACQBULK"), count("PREEXIT"));
    if told != (kernel.positions.syncs.len(), kernel.positions.triggers.len()) {
        return Err("the disassembly and the bytes tell different syncs and triggers".into());
    }
    Ok((listing.target.to_owned(), summarise(listing, function)))
}

/// Walks one kernel of a listing and sorts what is reached.
pub(super) fn summarise(listing: &Listing<'_>, function: usize) -> Flow {
    let reach = flow::reach(listing, function);
    let mut summary = Flow { sync_reached: !reach.after.is_empty(), ..Flow::default() };
    let mut reached: Vec<usize> = reach.before.iter().chain(&reach.after).copied().collect();
    reached.sort_unstable();
    reached.dedup();
    for instruction in reached.iter().map(|&at| &listing.instructions[at]) {
        let access = access::of(instruction);
        summary.loads += usize::from(access.load);
        summary.stores += usize::from(access.store);
        summary.nc_loads += usize::from(access.non_coherent);
    }
    for instruction in reach.before.iter().map(|&at| &listing.instructions[at]) {
        if instruction.guard == Guard::Never {
            continue;
        }
        let access = access::of(instruction);
        for (is, sites) in [
            (access.load, &mut summary.loads_before),
            (access.non_coherent, &mut summary.nc_loads_before),
            (access.store, &mut summary.stores_before),
            (instruction.stem() == "PREEXIT", &mut summary.triggers_before),
            (instruction.stem() == "EXIT", &mut summary.exits_before),
            (flow::leaves(listing, instruction), &mut summary.calls_before),
        ] {
            if is {
                sites.push(instruction.offset, || instruction.text());
            }
        }
    }
    for instruction in reach.after.iter().map(|&at| &listing.instructions[at]) {
        if access::of(instruction).non_coherent {
            summary.nc_loads_after.push(instruction.offset, || instruction.text());
        }
    }
    summary
}

fn report(
    index: usize,
    cubin: &Cubin,
    unit: &Unit,
    function: &Function,
    demangled: String,
    found: &Found,
) -> KernelReport {
    let (flow, target, unread) = match found.get(&(index, function.symbol)) {
        Some(Ok((target, flow))) => (Some(flow.clone()), Some(target.as_str()), None),
        Some(Err(reason)) => (None, None, Some(reason.clone())),
        None => (None, None, None),
    };
    let target = target.filter(|target| !target.is_empty()).or(unit.target());
    KernelReport {
        kernel: function.name.clone(),
        demangled,
        code: Code::Machine,
        target: target.map_or_else(|| format!("sm_{}", cubin.arch), str::to_owned),
        arch: cubin.arch,
        unit: unit.name.clone(),
        syncs: Sites::of(&function.positions.syncs, "ACQBULK"),
        triggers: Sites::of(&function.positions.triggers, "PREEXIT"),
        flow,
        registers: function.registers,
        shared_bytes: Some(function.shared_bytes),
        local_bytes: function.local_bytes,
        ptx_targets: Vec::new(),
        unread,
        findings: Vec::new(),
    }
}
