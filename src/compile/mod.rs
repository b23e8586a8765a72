//! nvcc: sources of kernels to cubins, in parallel, kept by what they are made of.
//!
//! A cubin is named by a hash of everything that it depends on: the compiler's version, every flag,
//! and the content of the source and of every file that it includes. Arguments go to the compiler
//! as a list, never through a shell.

mod cache;
mod flags;
mod nvcc;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use cache::Cache;
pub use flags::{check_flag, check_folder};
pub use nvcc::{INSTANCE_FILE, Nvcc};

use crate::error::{Error, Result};
use crate::inspect::{cubin, demangle, pool, short_name};

/// The header of the marks, which every source may include as `pdl_site.cuh`.
pub const SITE_HEADER: &str = include_str!("../../cuda/pdl_site.cuh");

/// One source, compiled in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// .cu, .ptx or .cubin; absolute.
    pub source: PathBuf,
    /// `sm_90`, `sm_90a`.
    pub arch: String,
    /// Flags, each one argument.
    pub flags: Vec<String>,
    /// Folders of headers, absolute.
    pub include: Vec<PathBuf>,
    /// Template instances to make, as C++ writes them.
    pub instances: Vec<String>,
}

/// A kernel of a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCode {
    /// As the compiler mangled it.
    pub name: String,
    /// As the source writes it, without parameters: `gemv<128>`.
    pub short: String,
    /// The same with parameters.
    pub demangled: String,
    /// Offsets of its syncs.
    pub syncs: Vec<u64>,
    /// Offsets of its triggers.
    pub triggers: Vec<u64>,
    /// Offset and size of each parameter, bytes; empty where the cubin does not say.
    pub parameters: Vec<(u32, u32)>,
    /// Registers a thread, where the cubin says.
    pub registers: Option<u32>,
    /// Static shared memory a block, bytes.
    pub shared_bytes: u32,
}

/// What a job made.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The cubin.
    pub bytes: Vec<u8>,
    /// 90 for sm_90 and sm_90a.
    pub arch: u32,
    /// Its kernels, in its order.
    pub kernels: Vec<KernelCode>,
    /// Whether it has variables in global memory, by which its kernels may hand values on.
    pub variables: bool,
    /// Whether it was there already.
    pub cached: bool,
    /// What the compiler said, as it is.
    pub said: String,
}

impl Compiled {
    fn new(bytes: Vec<u8>, source: &Path, cached: bool, said: String) -> Result<Compiled> {
        let cubin = cubin::read(&bytes)
            .map_err(|cause| Error::failed(format!("use {}", source.display()), cause))?;
        let (arch, variables) = (cubin.arch, cubin.variables);
        let kernels = cubin.functions.into_iter().filter(|function| function.kernel);
        let kernels = kernels.map(|function| KernelCode {
            short: short_name(&function.name),
            demangled: demangle(&function.name),
            syncs: function.positions.syncs,
            triggers: function.positions.triggers,
            parameters: function.parameters,
            registers: function.registers,
            shared_bytes: function.shared_bytes,
            name: function.name,
        });
        Ok(Compiled { arch, kernels: kernels.collect(), variables, bytes, cached, said })
    }

    /// The kernel that a node names: mangled, or as C++ writes it.
    pub fn kernel(&self, name: &str) -> Option<&KernelCode> {
        let spelled = spelling(name);
        self.kernels.iter().find(|kernel| kernel.name == name).or_else(|| {
            self.kernels.iter().find(|kernel| {
                spelling(&kernel.short) == spelled || spelling(&kernel.demangled) == spelled
            })
        })
    }
}

/// What is left of a name when spaces and the ways to write a template argument do not count:
/// `gemv<(int)128, true>` is `gemv<128,true>`.
fn spelling(name: &str) -> String {
    let mut text: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    for cast in ["(int)", "(unsignedint)", "(bool)", "(long)", "(unsignedlong)", "(char)"] {
        text = text.replace(cast, "");
    }
    // Suffixes of literals.
    let mut out = String::with_capacity(text.len());
    let mut digits = false;
    for c in text.chars() {
        if digits && matches!(c, 'u' | 'U' | 'l' | 'L') {
            continue;
        }
        digits = c.is_ascii_digit()
            && (digits || !out.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        out.push(c);
    }
    out
}

/// What a compiler that failed said, to be shown as it is.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which source, and how the compiler ended.
    pub error: Error,
    /// What it said.
    pub said: String,
    /// Template instances that it was to make: of [`INSTANCE_FILE`], the second line names the first
    /// of them, and so on.
    pub instances: Box<[String]>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, said: String::new(), instances: Box::default() }
    }
}

/// Compiles all jobs, as many at once as this machine has processors.
///
/// # Errors
/// The first failure, with what the compiler said.
pub fn compile_all(
    nvcc: Option<&Nvcc>,
    cache: &Cache,
    jobs: &[Job],
) -> Result<Vec<Compiled>, Failure> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let one = |job: &Job| Ok(compile(nvcc, cache, job));
    let results = pool::each(workers, jobs, one, |_| ())?;
    results.into_iter().collect()
}

fn compile(nvcc: Option<&Nvcc>, cache: &Cache, job: &Job) -> Result<Compiled, Failure> {
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| Error::failed(format!("read {}", path.display()), error))
    };
    if job.source.extension().is_some_and(|extension| extension == "cubin") {
        return Ok(Compiled::new(read(&job.source)?, &job.source, true, String::new())?);
    }
    let nvcc = nvcc.ok_or_else(|| {
        Error::failed(format!("compile {}", job.source.display()), "nvcc was not found")
            .remedy("install the CUDA toolkit, or set NVCC to the compiler")
    })?;
    if let Some(bytes) = cache.find(nvcc, job) {
        return Ok(Compiled::new(bytes, &job.source, true, String::new())?);
    }
    let made = nvcc.run(cache, job)?;
    cache.keep(nvcc, job, &made)?;
    Ok(Compiled::new(made.bytes, &job.source, false, made.said)?)
}
