//! Findings of other commands that a run carries beside its own files, for its page to show.

use std::fs::File;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::read::{exists, json_error, read_bounded, run_file};
use crate::error::{Error, Result};

/// What `pdl conform --format json` printed.
pub const CONFORM: &str = "conform.json";
/// What `pdl check --format json` printed.
pub const CHECK: &str = "check.json";
/// What `pdl tune` found, in its own run.
pub const TUNE: &str = "tune.json";

/// Reads a JSON file from anywhere, to attach it: its bytes, and what they say.
///
/// # Errors
/// A file that cannot be read, is too large, or is no such JSON (named with line and column).
pub fn read_findings<T: DeserializeOwned>(path: &Path) -> Result<(Vec<u8>, T)> {
    let file = File::open(path)
        .map_err(|error| Error::failed(format!("read {}", path.display()), error))?;
    parse(path, file)
}

/// Reads what is attached to the run in `dir` under this name; `None` when nothing is.
///
/// # Errors
/// Those of [`read_findings`], and a file that is no regular one of the run.
pub fn read_attached<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>> {
    if !exists(dir, name) {
        return Ok(None);
    }
    let (path, file) = run_file(dir, name)?;
    Ok(Some(parse(&path, file)?.1))
}

fn parse<T: DeserializeOwned>(path: &Path, file: File) -> Result<(Vec<u8>, T)> {
    let bytes = read_bounded(path, file)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| json_error(path, 0, &error))?;
    Ok((bytes, value))
}
