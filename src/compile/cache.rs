//! Cubins by what they are made of.
//!
//! Two files a job: `JOB.inputs` lists the files that its last compilation read, with the hash of
//! each; `ALL.cubin` is named by the hash of the job and of all these. A job whose inputs all have
//! their hashes has its cubin, without the compiler being started.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::nvcc::Made;
use super::{Job, Nvcc, SITE_HEADER};
use crate::error::{Error, Result};
use crate::record::write_atomically;

/// A folder of cubins.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    headers: PathBuf,
}

impl Cache {
    /// The folder that was given, or `pdl` in the user's folder for caches.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(given: Option<&Path>) -> Result<Cache> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = given.map(Path::to_owned).unwrap_or_else(|| {
            let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
            let base = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
            base.unwrap_or_else(std::env::temp_dir).join("pdl")
        });
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let fail = |error: std::io::Error| {
            Error::failed(format!("use {} as a cache", folder.display()), error)
                .remedy("name another with --cache")
        };
        // By content: two versions of this program may share the folder.
        let headers = folder.join(format!("include-{}", &hash(SITE_HEADER.as_bytes())[..16]));
        std::fs::create_dir_all(&headers).map_err(fail)?;
        let header = headers.join("pdl_site.cuh");
        if std::fs::read(&header).ok().as_deref() != Some(SITE_HEADER.as_bytes()) {
            write_atomically(&header, SITE_HEADER.as_bytes())?;
        }
        Ok(Cache { folder, headers })
    }

    /// The folder of `pdl_site.cuh`.
    pub fn headers(&self) -> &Path {
        &self.headers
    }

    /// The cubin of a job, if everything that it was made of is as it was.
    pub(super) fn find(&self, nvcc: &Nvcc, job: &Job) -> Option<Vec<u8>> {
        let key = self.job_key(nvcc, job);
        let listing = std::fs::read_to_string(self.folder.join(format!("{key}.inputs"))).ok()?;
        for line in listing.lines() {
            let (expected, path) = line.split_once(' ')?;
            if hash(&std::fs::read(path).ok()?) != expected {
                return None;
            }
        }
        let whole = hash(format!("{key}\n{listing}").as_bytes());
        std::fs::read(self.folder.join(format!("{whole}.cubin"))).ok()
    }

    /// Keeps what a job made.
    pub(super) fn keep(&self, nvcc: &Nvcc, job: &Job, made: &Made) -> Result<()> {
        let key = self.job_key(nvcc, job);
        let mut listing = String::new();
        for path in &made.inputs {
            // What lies in the toolkit is what its version says.
            if nvcc.home().is_some_and(|home| path.starts_with(home)) {
                continue;
            }
            let Ok(bytes) = std::fs::read(path) else { return Ok(()) };
            let Some(text) = path.to_str().filter(|text| !text.contains('\n')) else {
                return Ok(());
            };
            listing += &format!("{} {text}\n", hash(&bytes));
        }
        let whole = hash(format!("{key}\n{listing}").as_bytes());
        write_atomically(&self.folder.join(format!("{whole}.cubin")), &made.bytes)?;
        write_atomically(&self.folder.join(format!("{key}.inputs")), listing.as_bytes())
    }

    fn job_key(&self, nvcc: &Nvcc, job: &Job) -> String {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(nvcc.version.as_bytes());
        part(nvcc.path.as_os_str().as_encoded_bytes());
        part(job.source.as_os_str().as_encoded_bytes());
        for argument in nvcc.arguments(self, job) {
            part(argument.as_encoded_bytes());
        }
        for instance in &job.instances {
            part(instance.as_bytes());
        }
        hex(&hasher.finalize())
    }
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
