//! Finding the compiler and running it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flags::{check_flag, check_folder};
use super::{Cache, Failure, Job};
use crate::error::{Error, Result};

/// Name of the file around a source: its first line includes that, each other names an instance.
pub const INSTANCE_FILE: &str = "input.cu";

/// The compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// Where it is.
    pub path: PathBuf,
    /// What it says of itself.
    pub version: String,
}

/// What a run of the compiler made.
pub(super) struct Made {
    /// The cubin.
    pub bytes: Vec<u8>,
    /// Files that it was made of, as the compiler lists them.
    pub inputs: Vec<PathBuf>,
    /// What the compiler said.
    pub said: String,
}

impl Nvcc {
    /// Looks where `NVCC` points, in `PATH`, in `CUDA_HOME` and `CUDA_PATH`, in `.toolchain` of the
    /// working directory, where this program was built with one, and in the usual places.
    ///
    /// # Errors
    /// None was found, or it does not run.
    pub fn find() -> Result<Nvcc> {
        if let Some(given) = std::env::var_os("NVCC").filter(|value| !value.is_empty()) {
            return Nvcc::at(PathBuf::from(given));
        }
        let mut places: Vec<PathBuf> = std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).map(|folder| folder.join("nvcc")).collect())
            .unwrap_or_default();
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            places.extend(std::env::var_os(variable).map(|h| PathBuf::from(h).join("bin/nvcc")));
        }
        places.push(".toolchain/cuda/nvidia/cu13/bin/nvcc".into());
        places.extend(option_env!("PDL_NVCC").filter(|path| !path.is_empty()).map(PathBuf::from));
        places.push("/usr/local/cuda/bin/nvcc".into());
        places.push("/opt/cuda/bin/nvcc".into());
        let found = places.into_iter().find(|path| path.is_file());
        found.map_or_else(
            || {
                Err(Error::failed("compile", "nvcc was not found")
                    .remedy("install the CUDA toolkit, or set NVCC to the compiler"))
            },
            Nvcc::at,
        )
    }

    fn at(path: PathBuf) -> Result<Nvcc> {
        // The compiler runs in other folders than this program.
        let path = std::path::absolute(&path).unwrap_or(path);
        let output = Command::new(&path).arg("--version").output();
        match output {
            Ok(output) if output.status.success() => {
                let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                Ok(Nvcc { path, version })
            }
            Ok(output) => {
                let cause = format!("it ends with {}", output.status);
                Err(Error::failed(format!("run {}", path.display()), cause))
            }
            Err(error) => Err(Error::failed(format!("run {}", path.display()), error)),
        }
    }

    /// The folder of the toolkit: its headers are what its version says.
    pub(super) fn home(&self) -> Option<&Path> {
        self.path.parent()?.parent()
    }

    /// The arguments of a job, without input and output.
    pub(super) fn arguments(&self, cache: &Cache, job: &Job) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec!["-cubin".into(), format!("-arch={}", job.arch).into()];
        all.extend(job.flags.iter().map(OsString::from));
        for folder in job.include.iter().map(PathBuf::as_path).chain([cache.headers()]) {
            all.push("-I".into());
            all.push(folder.into());
        }
        all
    }

    pub(super) fn run(&self, cache: &Cache, job: &Job) -> Result<Made, Failure> {
        let cannot = |cause: &dyn std::fmt::Display| {
            Error::failed(format!("compile {}", job.source.display()), cause)
        };
        let folder = tempfile::tempdir().map_err(|error| cannot(&error))?;
        let (cubin, listing) = (folder.path().join("made.cubin"), folder.path().join("made.d"));
        check(job).map_err(|cause| cannot(&cause))?;
        let input = self.input(folder.path(), job).map_err(|error| cannot(&error))?;
        let mut command = Command::new(&self.path);
        command.args(self.arguments(cache, job));
        let lists = job.source.extension().is_some_and(|extension| extension == "cu");
        if lists {
            command.args(["-MD", "-MF"]).arg(&listing);
        }
        command.arg("-o").arg(&cubin).arg(&input).current_dir(folder.path());
        let output = command.output().map_err(|error| cannot(&error))?;
        let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
        said += &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let error = cannot(&format!("nvcc ended with {}", output.status))
                .remedy("what the compiler said stands above, with file and line");
            return Err(Failure { error, said, instances: job.instances.as_slice().into() });
        }
        let bytes = std::fs::read(&cubin).map_err(|error| cannot(&error))?;
        let mut inputs = match lists {
            true => {
                let text = std::fs::read(&listing).map_err(|error| cannot(&error))?;
                listed(&String::from_utf8_lossy(&text))
            }
            false => vec![job.source.clone()],
        };
        // The file around the source lies in a folder that is gone; its text is in the job.
        inputs.retain(|path| !path.starts_with(folder.path()));
        inputs.sort();
        inputs.dedup();
        Ok(Made { bytes, inputs, said })
    }

    /// What is compiled: never the source's own path, which nvcc would hand to a shell, but a file
    /// around it or, of PTX, a copy. The address of a kernel makes an instance of a template.
    fn input(&self, folder: &Path, job: &Job) -> std::io::Result<PathBuf> {
        if job.source.extension().is_some_and(|extension| extension == "ptx") {
            let path = folder.join("input.ptx");
            std::fs::copy(&job.source, &path)?;
            return Ok(path);
        }
        let path = folder.join(INSTANCE_FILE);
        let mut text = format!("#include \"{}\"\n", job.source.display());
        for (at, instance) in job.instances.iter().enumerate() {
            text += &format!("void* pdl_instance_{at} = (void*)(&{instance});\n");
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

/// Whatever made the job, nothing in it may mean anything to a shell.
fn check(job: &Job) -> std::result::Result<(), String> {
    check_flag(&job.arch)?;
    job.flags.iter().try_for_each(|flag| check_flag(flag))?;
    job.include.iter().try_for_each(|folder| check_folder(&folder.display().to_string()))?;
    match job.source.to_str() {
        Some(text) if !text.contains(['"', '\n']) => Ok(()),
        _ => Err("its name cannot stand in an #include".into()),
    }
}

/// The files of a rule of make: `a.o : b.cu \` and so on; spaces in names are escaped.
fn listed(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.split_once(" : ").or_else(|| text.split_once(": ")) else {
        return Vec::new();
    };
    let joined = files.replace("\\\n", " ").replace("\\ ", "\0");
    let plain = |file: &str| file.replace('\0', " ").replace("$$", "$").replace("\\#", "#");
    joined.split_whitespace().map(|file| PathBuf::from(plain(file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_make_is_read() {
        let text = "made.cubin : /a/b.cu \\\n    /a/with\\ space.h \\\n    /usr/include/x.h\n";
        let expected = ["/a/b.cu", "/a/with space.h", "/usr/include/x.h"].map(PathBuf::from);
        assert_eq!(listed(text), expected);
        assert_eq!(listed("nothing"), Vec::<PathBuf>::new());
    }
}
