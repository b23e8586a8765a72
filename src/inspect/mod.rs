//! Sync, trigger and global memory accesses in the machine code of any file, without a GPU.
//!
//! cuobjdump takes cubins and PTX out of the file, the ELF of each cubin tells kernels, resources
//! and where sync and trigger stand, and nvdisasm's listing is walked for what can execute before
//! the sync on some path. A path is that of one thread: a warp that waits through shared memory for
//! another warp's sync has none of its own, and shows as such.

mod access;
pub(crate) mod cubin;
mod finding;
mod flow;
mod input;
mod jobs;
mod name;
pub(crate) mod pool;
mod ptx;
mod report;
mod sass;
mod tools;
mod unpack;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::Path;

pub use self::finding::{Deny, Finding, FindingCode, Severity};
pub use self::name::{Filter, demangle, short_name};
pub use self::report::{Code, Flow, KernelReport, Site, Sites};
pub use self::tools::Tools;

use crate::error::{Error, Result};

/// The oldest architecture with sync and trigger.
const OLDEST_ARCH: u32 = 90;

/// What to look at, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Kernels to report.
    pub filter: Filter,
    /// Targets of the machine code to look at, or beginnings of them: `sm_90` takes sm_90a too.
    /// Empty for all. PTX for the same numbers is taken too.
    pub targets: Vec<String>,
    /// Disassemble kernels without sync too: their accesses are counted then. Such a kernel's
    /// finding does not depend on it, and large libraries have thousands.
    pub full: bool,
    /// Disassemblers that run at once.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Options { filter: Filter::default(), targets: Vec::new(), full: false, workers }
    }
}

/// How far an inspection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The file is being unpacked.
    Unpacking,
    /// Bytes of machine code disassembled, of all that will be.
    Disassembling {
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        of: u64,
    },
}

/// Inspects the file in `path`: one report a kernel and target, kernels in the order of the file.
///
/// # Errors
/// The file cannot be read, is not what it claims, holds no device code or no kernel that the
/// filter lets pass; a program of the toolkit is missing; or the user interrupted.
pub fn inspect(path: &Path, options: &Options) -> Result<Vec<KernelReport>> {
    inspect_watched(path, options, &|_| ())
}

/// The same, telling how far it is, from any thread.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_watched(
    path: &Path,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<KernelReport>> {
    let cannot = |cause: String| Error::failed(format!("inspect {}", path.display()), cause);
    progress(Progress::Unpacking);
    // What the file is matters more than what is installed.
    let opened = unpack::open(path)?;
    let tools = Tools::find()?;
    let unpacked = opened.unpack(options, &tools)?;
    let read = |unit: &unpack::Unit| {
        let bytes = std::fs::read(&unit.path).map_err(|error| cannot(error.to_string()))?;
        cubin::read(&bytes).map_err(&cannot)
    };
    let cubins = pool::each(options.workers, &unpacked.cubins, read, |_| ())?;
    let any = cubins.iter().any(|cubin| !cubin.functions.is_empty());
    let mut reports = jobs::machine_code(&unpacked.cubins, &cubins, options, &tools, progress)?;
    for unit in &unpacked.ptx {
        let text = std::fs::read(&unit.path).map_err(|error| cannot(error.to_string()))?;
        reports.extend(of_ptx(unit, &String::from_utf8_lossy(&text), &options.filter));
    }
    if reports.is_empty() {
        return Err(match any || !unpacked.ptx.is_empty() {
            true if !options.filter.is_all() => cannot("no kernel in it matches the filter".into())
                .remedy("the filter is looked for in mangled and demangled names"),
            _ => cannot("it holds no kernel".into()),
        });
    }
    finish(&mut reports);
    Ok(reports)
}

fn of_ptx(unit: &unpack::Unit, text: &str, filter: &Filter) -> Vec<KernelReport> {
    let module = ptx::read(text);
    let target = module.target.replace("sm_", "compute_");
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    let kernels = module.kernels.into_iter().filter_map(|kernel| {
        let demangled = demangle(&kernel.name);
        filter.passes(&kernel.name, &demangled).then(|| KernelReport {
            demangled,
            code: Code::Ptx,
            target: target.clone(),
            arch: digits.parse().unwrap_or(0),
            unit: unit.name.clone(),
            syncs: Sites::of(&kernel.syncs, "griddepcontrol.wait"),
            triggers: Sites::of(&kernel.triggers, "griddepcontrol.launch_dependents"),
            flow: None,
            registers: None,
            shared_bytes: None,
            local_bytes: None,
            ptx_targets: Vec::new(),
            unread: None,
            findings: Vec::new(),
            kernel: kernel.name,
        })
    });
    kernels.collect()
}

/// Kernels in order, targets of one together, and what needs a look at the whole file.
fn finish(reports: &mut [KernelReport]) {
    let mut order: HashMap<String, usize> = HashMap::new();
    let mut ptx: HashMap<String, Vec<(u32, String)>> = HashMap::new();
    let mut newer: HashSet<String> = HashSet::new();
    for report in reports.iter() {
        let next = order.len();
        order.entry(report.kernel.clone()).or_insert(next);
        if report.code == Code::Ptx {
            let targets = ptx.entry(report.kernel.clone()).or_default();
            let target = (report.arch, report.target.clone());
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if report.arch >= OLDEST_ARCH {
            newer.insert(report.kernel.clone());
        }
    }
    for report in reports.iter_mut() {
        let mut targets = ptx.get(&report.kernel).cloned().unwrap_or_default();
        targets.sort();
        report.ptx_targets = targets.into_iter().map(|(_, target)| target).collect();
        report.findings = finding::judge(report, newer.contains(&report.kernel));
    }
    reports.sort_by_key(|report| (order[&report.kernel], report.code, report.arch));
}

/// `0x01a0`.
pub fn hex(offset: u64) -> String {
    format!("{offset:#06x}")
}
