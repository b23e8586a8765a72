//! Files that are rebuilt from a run: the raw ones are never touched by it.

use std::fs;
use std::path::{Component, Path};

use super::disk::{write_atomically, write_error};
use super::read::{CALIBRATION, END, MANIFEST, POINTS};
use super::samples;
use super::user_graph::TRIALS;
use crate::error::{Error, Result};

/// Writes a file that is derived from a run (`summary.csv`, `charts/x.svg`) or attached to it into
/// its directory, replacing the one before as a whole; a missing folder is made.
///
/// # Errors
/// A name of a raw file, or that leads out of `dir`; a disk that fails.
pub fn write_derived(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(name);
    let failed = |cause: &dyn std::fmt::Display| {
        Err(Error::failed(format!("write {}", path.display()), cause))
    };
    let raw = [MANIFEST, POINTS, samples::FILE, END, CALIBRATION, TRIALS].contains(&name);
    let plain = |part| matches!(part, Component::Normal(_));
    if raw || name.is_empty() || !Path::new(name).components().all(plain) {
        return failed(&format!("'{name}' is no derived file of a run"));
    }
    let folder = path.parent().unwrap_or(dir);
    if let Err(error) = fs::create_dir_all(folder) {
        return Err(write_error(folder, &error));
    }
    match (folder.canonicalize(), dir.canonicalize()) {
        (Ok(folder), Ok(root)) if folder.starts_with(&root) => write_atomically(&path, bytes),
        (Ok(_), Ok(_)) => failed(&"its folder is a link that leads out of the run directory"),
        (Err(error), _) | (_, Err(error)) => Err(write_error(folder, &error)),
    }
}
