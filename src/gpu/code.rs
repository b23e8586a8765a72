//! The machine code of this very program: what the proof says of the kernels that ran.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;

use crate::device::Paths;
use crate::inspect::{self, Code as Kind, Filter, KernelReport, Options};
use crate::machine_code::{self, Counts};

/// Kernels by architecture (90 for sm_90) and mangled name.
type ByKernel<T> = HashMap<(u32, String), T>;

/// Disassemblers that run while the device is opened.
const WORKERS: usize = 4;

/// The code of the running program.
pub struct Code {
    counts: OnceCell<ByKernel<Counts>>,
    /// Walks the code in the background; joined before the first chain is timed.
    walk: RefCell<Option<JoinHandle<ByKernel<Paths>>>>,
    paths: OnceCell<ByKernel<Paths>>,
}

impl Code {
    /// Starts to read the code of chains for `arch`. Without a disassembler there are no paths.
    pub fn new(arch: u32) -> Code {
        let walk = std::thread::Builder::new().spawn(move || walk(arch).unwrap_or_default());
        Code { counts: OnceCell::new(), walk: RefCell::new(walk.ok()), paths: OnceCell::new() }
    }

    /// Syncs and triggers of a kernel; `None` where it was compiled by the driver from PTX.
    pub fn counts(&self, binary_version: u32, kernel: &str) -> Option<Counts> {
        let counts = self.counts.get_or_init(|| {
            let bytes = program().and_then(|path| std::fs::read(path).ok());
            bytes.map(|bytes| machine_code::scan(&bytes)).unwrap_or_default()
        });
        counts.get(&(binary_version, kernel.to_owned())).copied()
    }

    /// What its paths before the sync access; `None` where there is no disassembler.
    pub fn paths(&self, binary_version: u32, kernel: &str) -> Option<Paths> {
        let paths = self.paths.get_or_init(|| {
            let walk = self.walk.borrow_mut().take();
            walk.and_then(|walk| walk.join().ok()).unwrap_or_default()
        });
        paths.get(&(binary_version, kernel.to_owned())).copied()
    }
}

fn program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

fn walk(arch: u32) -> Option<ByKernel<Paths>> {
    let options = Options {
        filter: Filter::new("chain"),
        targets: vec![format!("sm_{arch}")],
        workers: WORKERS,
        ..Options::default()
    };
    let kernels = inspect::inspect(&program()?, &options).ok()?;
    let machine = kernels.into_iter().filter(|kernel| kernel.code == Kind::Machine);
    Some(machine.filter_map(|k| Some(((k.arch, k.kernel.clone()), paths(&k)?))).collect())
}

fn paths(kernel: &KernelReport) -> Option<Paths> {
    let flow = kernel.flow.as_ref()?;
    Some(Paths {
        sync_reached: flow.sync_reached,
        exits_before: flow.exits_before.count as u32,
        loads_before: flow.loads_before.count as u32,
        stores_before: flow.stores_before.count as u32,
        triggers_before: flow.triggers_before.count as u32,
        nc_loads_after: flow.nc_loads_after.count as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_kernel_that_syncs_has_paths_and_none_stores_before_its_sync() {
        if let Err(error) = inspect::Tools::find() {
            println!("skipped: {error}");
            return;
        }
        let code = Code::new(90);
        let bytes = std::fs::read(program().unwrap()).unwrap();
        let all = machine_code::scan(&bytes).into_iter();
        let chains = all.filter(|((arch, name), counts)| {
            *arch == 90 && counts.syncs > 0 && name.starts_with("_ZN3pdl5chain")
        });
        let mut seen = 0;
        for ((arch, name), counts) in chains {
            assert_eq!(code.counts(arch, &name), Some(counts));
            let paths = code.paths(arch, &name).unwrap_or_else(|| panic!("{name} has no paths"));
            assert!(paths.sync_reached, "{name}: {paths:?}");
            assert_eq!((paths.stores_before, paths.exits_before), (0, 0), "{name}: {paths:?}");
            assert_eq!(paths.nc_loads_after, 0, "{name}: {paths:?}");
            seen += 1;
        }
        assert!(seen > 10, "only {seen} kernels");
        assert_eq!(code.paths(90, "no such kernel"), None);
    }
}
