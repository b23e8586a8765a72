//! Findings of other commands that a run carries beside its own files, for its page to show.

use std::fs::File;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::read::{exists, json_error, read_bounded, read_error, run_file};
use crate::error::{Error, Result};

/// What `pdl conform --format json` printed.
pub const CONFORM: &str = "conform.json";
/// What `pdl check --format json` printed.
pub const CHECK: &str = "check.json";
/// The device profile of `pdl calibrate`.
pub const CALIBRATION: &str = "calibration.toml";

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

/// Reads the device profile that is attached to the run in `dir`; `None` when there is none.
///
/// # Errors
/// A file that cannot be read, is too large, is no regular one of the run, or is no TOML (named
/// with line and column).
pub fn read_calibration(dir: &Path) -> Result<Option<toml::Table>> {
    if !exists(dir, CALIBRATION) {
        return Ok(None);
    }
    let (path, file) = run_file(dir, CALIBRATION)?;
    let bytes = read_bounded(&path, file)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        read_error(&path, line as u64 + 1, "it is not UTF-8")
    })?;
    let table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Error::failed(format!("read {}:{line}:{column}", path.display()), error.message())
    })?;
    Ok(Some(table))
}
