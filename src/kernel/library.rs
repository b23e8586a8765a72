//! What the file of a launch hook says before it is loaded: its functions, and the kernels that it
//! carries. Needs neither a driver nor a compiler.

use std::path::Path;

use object::elf::{FileHeader64, SHT_DYNSYM};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, Sym};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::inspect::short_name;
use crate::machine_code;

/// Functions that a hook must export, and those that it may.
const REQUIRED: [&str; 2] = ["pdl_launch", "pdl_memory"];
const OPTIONAL: [&str; 4] = ["pdl_init", "pdl_reset", "pdl_verify", "pdl_finish"];

/// A library with a launch hook, as its file says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookFile {
    /// Functions of `include/pdl_hook.h` that it exports.
    pub exports: Vec<String>,
    /// Kernels in uncompressed machine code, by name and architecture.
    pub kernels: Vec<HookKernel>,
}

/// A kernel of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HookKernel {
    /// As the source writes it, without parameters.
    pub name: String,
    /// 90 for sm_90.
    pub arch: u32,
    /// Syncs in its machine code.
    pub syncs: u32,
    /// Triggers in it.
    pub triggers: u32,
}

/// Reads the file of a hook.
///
/// # Errors
/// It cannot be read, is no shared library, or exports no hook.
pub fn hook_file(path: &Path) -> Result<HookFile> {
    let action = || format!("use {}", path.display());
    let bytes = std::fs::read(path).map_err(|error| Error::failed(action(), error))?;
    let exported = exports(&bytes)
        .map_err(|error| Error::failed(action(), format!("it is no shared library: {error}")))?;
    let has = |name: &&&str| exported.iter().any(|known| known == **name);
    if let Some(missing) = REQUIRED.iter().find(|name| !has(name)) {
        return Err(Error::failed(action(), format!("it exports no {missing}"))
            .remedy("export pdl_launch and pdl_memory as include/pdl_hook.h says, with PDL_HOOK"));
    }
    let exports = REQUIRED.iter().chain(&OPTIONAL).filter(has).map(|&name| name.to_owned());
    let kernels = machine_code::scan(&bytes).into_iter().map(|((arch, name), counts)| HookKernel {
        name: short_name(&name),
        arch,
        syncs: counts.syncs,
        triggers: counts.triggers,
    });
    let mut kernels: Vec<HookKernel> = kernels.collect();
    kernels.sort_unstable();
    Ok(HookFile { exports: exports.collect(), kernels })
}

/// Names of what a shared library defines for others.
fn exports(bytes: &[u8]) -> std::result::Result<Vec<String>, object::read::Error> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let symbols = header.sections(endian, bytes)?.symbols(endian, bytes, SHT_DYNSYM)?;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(endian));
    let names = defined.filter_map(|symbol| symbol.name(endian, symbols.strings()).ok());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
