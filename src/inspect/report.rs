//! What is reported of a kernel.

use serde::Serialize;

use super::finding::{Finding, Severity};

/// The most places of one kind that a report lists; all are counted.
const LISTED: usize = 16;

/// What a kernel's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Machine code in a cubin.
    Machine,
    /// PTX, compiled by the driver for GPUs without machine code here.
    Ptx,
}

/// One place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Byte offset in the function's machine code; line number in PTX.
    pub offset: u64,
    /// The instruction.
    pub text: String,
}

/// Places of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sites {
    /// How many there are.
    pub count: usize,
    /// The first of them, at most 16.
    pub first: Vec<Site>,
}

impl Sites {
    pub(super) fn push(&mut self, offset: u64, text: impl FnOnce() -> String) {
        if self.first.len() < LISTED {
            self.first.push(Site { offset, text: text() });
        }
        self.count += 1;
    }

    pub(super) fn of(offsets: &[u64], text: &str) -> Sites {
        let mut sites = Sites::default();
        for &offset in offsets {
            sites.push(offset, || text.to_owned());
        }
        sites
    }
}

/// What can execute before and after the sync, on some path of the control flow, whatever the
/// values of predicates. "Before" means: without any sync executed by that thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Instructions that read global memory, reached at all.
    pub loads: usize,
    /// Instructions that write global memory, reached at all.
    pub stores: usize,
    /// Non-coherent ones among the loads.
    pub nc_loads: usize,
    /// Loads before the sync.
    pub loads_before: Sites,
    /// Non-coherent ones among them.
    pub nc_loads_before: Sites,
    /// Stores before the sync.
    pub stores_before: Sites,
    /// Triggers before the sync.
    pub triggers_before: Sites,
    /// Returns before the sync.
    pub exits_before: Sites,
    /// Calls before the sync that could not be followed.
    pub calls_before: Sites,
    /// Non-coherent loads after the sync.
    pub nc_loads_after: Sites,
    /// Whether any sync is reached.
    pub sync_reached: bool,
}

/// One kernel for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Mangled name.
    pub kernel: String,
    /// Name as the source spells it; the mangled one where it is not C++.
    pub demangled: String,
    /// Machine code or PTX.
    pub code: Code,
    /// `sm_90a`, or `compute_90` for PTX.
    pub target: String,
    /// The number in it.
    pub arch: u32,
    /// The cubin or PTX it was found in.
    pub unit: String,
    /// Syncs.
    pub syncs: Sites,
    /// Triggers.
    pub triggers: Sites,
    /// What executes around the sync; `None` where the code was not disassembled: PTX, code below
    /// sm_90, and kernels without sync unless asked for.
    pub flow: Option<Flow>,
    /// Registers a thread.
    pub registers: Option<u32>,
    /// Static shared memory a block, bytes.
    pub shared_bytes: Option<u32>,
    /// Local memory a thread, bytes.
    pub local_bytes: Option<u32>,
    /// Targets of PTX for the same kernel in the same file.
    pub ptx_targets: Vec<String>,
    /// Why the code could not be disassembled.
    pub unread: Option<String>,
    /// What this means, most serious first.
    pub findings: Vec<Finding>,
}

impl KernelReport {
    /// Whether a sync is there and, where that was looked at, reached.
    pub fn syncs_somewhere(&self) -> bool {
        match &self.flow {
            Some(flow) => flow.sync_reached,
            None => self.syncs.count > 0,
        }
    }

    /// The most serious finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
