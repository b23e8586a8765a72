//! Machine code of loaded functions, where it can be had: from the caller, from this program, or
//! from what the process holds in memory.

use std::collections::HashMap;

use super::resident;
use crate::attach::SyncEvidence;
use crate::machine_code::{self, Counts};

/// Machine code that the caller has, of one function or of any.
#[derive(Clone, Debug)]
pub struct Image {
    /// The loaded function that it is the code of (`CUfunction` or `CUkernel`); `None`: found by
    /// name.
    pub function: Option<u64>,
    /// For people: where it comes from.
    pub source: String,
    /// A cubin, or anything that holds uncompressed ones.
    pub bytes: Vec<u8>,
}

/// Where the machine code of the graph's kernels is looked for.
#[derive(Clone, Debug)]
pub struct Code {
    /// What the caller has; looked at first.
    pub images: Vec<Image>,
    /// Look for cubins in the memory of this process, where drivers and runtimes keep what they
    /// loaded.
    pub search_process: bool,
}

impl Default for Code {
    fn default() -> Code {
        Code { images: Vec::new(), search_process: true }
    }
}

/// What is asked for.
pub(super) struct Wanted<'a> {
    /// The function's handle.
    pub function: u64,
    /// The kernel's, where it is one of a library.
    pub kernel: u64,
    /// As the driver names it.
    pub name: &'a str,
    /// Binary version of the loaded function: 90 for sm_90.
    pub binary_version: Option<u32>,
}

/// Counts of syncs and triggers of everything that was found.
pub(super) struct Catalogue {
    of_function: HashMap<u64, Vec<(String, Found)>>,
    by_name: Vec<(String, Found)>,
    resident: Option<Found>,
}

type Found = HashMap<(u32, String), Counts>;

impl Catalogue {
    /// Reads the images; the process is searched when the first kernel is not in them.
    pub fn new(code: &Code) -> Catalogue {
        let mut all =
            Catalogue { of_function: HashMap::new(), by_name: Vec::new(), resident: None };
        for image in &code.images {
            let entry = (image.source.clone(), machine_code::scan(&image.bytes));
            match image.function {
                Some(function) => all.of_function.entry(function).or_default().push(entry),
                None => all.by_name.push(entry),
            }
        }
        if !code.search_process {
            all.resident = Some(Found::new());
        }
        all
    }

    /// What is known of one kernel.
    pub fn evidence(&mut self, wanted: &Wanted) -> SyncEvidence {
        for handle in [wanted.function, wanted.kernel] {
            for (source, found) in self.of_function.get(&handle).into_iter().flatten() {
                if let Some(counts) = lookup(found, wanted) {
                    return evidence(counts, source);
                }
            }
        }
        let named = self.by_name.iter().filter_map(|(source, found)| {
            lookup(found, wanted).map(|counts| (counts, source.as_str()))
        });
        match agreed(named) {
            Ok(Some((counts, source))) => return evidence(counts, source),
            Err(reason) => return SyncEvidence::Unknown { reason },
            Ok(None) => {}
        }
        let resident = self.resident.get_or_insert_with(resident::search);
        match lookup(resident, wanted) {
            Some(counts) => evidence(counts, "the memory of this process"),
            None => SyncEvidence::Unknown {
                reason: "its machine code is not within reach (compressed in a library)".into(),
            },
        }
    }
}

/// Machine code of this name for the binary version that is loaded.
fn lookup(found: &Found, wanted: &Wanted) -> Option<Counts> {
    match wanted.binary_version {
        Some(version) => found.get(&(version, wanted.name.to_owned())).copied(),
        None => None,
    }
}

/// Several kernels may share a name: they are taken together only where they agree on having a
/// sync.
fn agreed<'a>(
    all: impl Iterator<Item = (Counts, &'a str)>,
) -> Result<Option<(Counts, &'a str)>, String> {
    let mut agreed: Option<(Counts, &str)> = None;
    for (counts, source) in all {
        match agreed {
            Some((first, _)) if (first.syncs > 0) != (counts.syncs > 0) => {
                return Err("kernels of this name with and without a sync were given".into());
            }
            Some(_) => {}
            None => agreed = Some((counts, source)),
        }
    }
    Ok(agreed)
}

fn evidence(counts: Counts, source: &str) -> SyncEvidence {
    let (triggers, source) = (counts.triggers, source.to_owned());
    match counts.syncs {
        0 => SyncEvidence::Absent { triggers, source },
        syncs => SyncEvidence::Found { syncs, triggers, source },
    }
}
