//! The two programs of the CUDA toolkit that read machine code.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::{Error, Result};

/// Where cuobjdump (unpacks files) and nvdisasm (disassembles) are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// Unpacks cubins and PTX from files that hold them.
    pub cuobjdump: PathBuf,
    /// Disassembles one cubin.
    pub nvdisasm: PathBuf,
}

impl Tools {
    /// Looks where `CUOBJDUMP` and `NVDISASM` point, in `PATH`, where this program was built, in
    /// `.toolchain` of the working directory, in `CUDA_HOME` and in the usual places.
    ///
    /// # Errors
    /// Names the missing program and how to get it.
    pub fn find() -> Result<Tools> {
        let built = [option_env!("PDL_CUOBJDUMP"), option_env!("PDL_NVDISASM")];
        Ok(Tools {
            cuobjdump: locate("cuobjdump", "CUOBJDUMP", built[0])?,
            nvdisasm: locate("nvdisasm", "NVDISASM", built[1])?,
        })
    }

    /// Runs cuobjdump in `folder`.
    pub(super) fn cuobjdump(&self, folder: &Path, arguments: &[&OsStr]) -> Result<Output> {
        run(&self.cuobjdump, folder, arguments)
    }

    /// Runs nvdisasm in `folder`.
    pub(super) fn nvdisasm(&self, folder: &Path, arguments: &[&OsStr]) -> Result<Output> {
        run(&self.nvdisasm, folder, arguments)
    }
}

fn locate(name: &str, variable: &str, built: Option<&str>) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(given);
        if path.is_file() {
            return Ok(path);
        }
        let cause = format!("{variable} is {}, which is no file", path.display());
        return Err(Error::failed("disassemble", cause).remedy(remedy(variable)));
    }
    let found = folders().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let built = built.map(PathBuf::from).filter(|path| path.is_file());
    found.or(built).ok_or_else(|| {
        Error::failed("disassemble", format!("{name} was not found")).remedy(remedy(variable))
    })
}

fn remedy(variable: &str) -> String {
    format!(
        "install the CUDA toolkit, or run script/toolkit in a checkout, or set {variable} to the \
         program"
    )
}

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(std::env::var_os(variable).map(|home| PathBuf::from(home).join("bin")));
    }
    folders.push(".toolchain/disassembler/nvidia/cu13/bin".into());
    folders.push("/usr/local/cuda/bin".into());
    folders.push("/opt/cuda/bin".into());
    folders.retain(|folder| !folder.as_os_str().is_empty());
    folders
}

fn run(program: &Path, folder: &Path, arguments: &[&OsStr]) -> Result<Output> {
    // A relative program is relative to this process, not to the folder.
    let program = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
    Command::new(&program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| Error::failed(format!("run {}", program.display()), error))
}

/// What a failed program said, one line, without its name.
pub(super) fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("fatal") || line.contains("error"));
    let line = line.or_else(|| text.lines().find(|line| !line.trim().is_empty()));
    match line.map(|line| line.split_once(": ").map_or(line, |(_, cause)| cause).trim()) {
        Some(cause) if !cause.is_empty() => cause.to_owned(),
        _ => format!("it ended with {}", output.status),
    }
}
