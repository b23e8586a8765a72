//! Where a run goes: a directory that nothing else is in, made for it or given empty.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::read::POINTS;
use super::samples;
use crate::error::{Error, Result};

/// Where runs go when `--out` does not say.
pub(super) const RESULTS: &str = "results";

/// A directory for files that are no run's: the one that `--out` names, which is made or empty, or
/// a new `results/<utc>-<what>`.
///
/// # Errors
/// It is a file or is not empty (usage), or cannot be made.
pub fn directory(path: Option<&Path>, what: &str, now: Timestamp) -> Result<PathBuf> {
    match path {
        Some(path) => Ok(claim(path)?.0),
        None => fresh(Path::new(RESULTS), what, now),
    }
}

/// Takes the directory that `--out` names; tells whether it was made.
pub(super) fn claim(path: &Path) -> Result<(PathBuf, bool)> {
    let taken = |cause: &str| {
        Error::usage(format!("use --out {}", path.display()), cause).remedy(format!(
            "choose another directory, or continue that run with --resume {}",
            path.display()
        ))
    };
    match fs::read_dir(path) {
        Ok(mut entries) => match entries.next() {
            None => Ok((path.to_owned(), false)),
            Some(_) if clear_unbegun(path) => Ok((path.to_owned(), false)),
            Some(_) => Err(taken("it exists and is not empty")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(|error| create_error(path, &error))?;
            Ok((path.to_owned(), true))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory && path.exists() => {
            Err(Error::usage(format!("use --out {}", path.display()), "it is a file")
                .remedy("choose another directory"))
        }
        Err(error) => Err(create_error(path, &error)),
    }
}

/// Removes what a run leaves that was killed before its manifest was there: files without a row.
/// Tells whether the directory is empty now; one that holds anything else, or that another process
/// is beginning a run in, is left as it is.
fn clear_unbegun(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    let mut left = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name();
        let bytes = entry.metadata().ok().filter(|found| found.is_file()).map(|found| found.len());
        let ours = match (name.to_str(), bytes) {
            (Some(samples::FILE), Some(bytes)) => {
                let header = samples::header_line();
                bytes as usize <= header.len()
                    && fs::read(entry.path()).is_ok_and(|text| header.as_bytes().starts_with(&text))
                    && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
            }
            (Some(POINTS), Some(0)) => true,
            (Some(name), Some(_)) => name.starts_with(".manifest.json.") && name.ends_with(".tmp"),
            _ => false,
        };
        if !ours {
            return false;
        }
        left.push(entry.path());
    }
    // Without samples.csv it is no directory that a run began in: it goes last, lest a kill in here
    // leaves one that nobody knows.
    left.sort_by_key(|file| file.ends_with(samples::FILE));
    left.iter().any(|file| file.ends_with(samples::FILE))
        && left.iter().all(|file| fs::remove_file(file).is_ok())
}

/// Makes `<results>/<utc>-<what>`, or the first free of `-2`, `-3` …
pub(super) fn fresh(results: &Path, what: &str, now: Timestamp) -> Result<PathBuf> {
    fs::create_dir_all(results).map_err(|error| create_error(results, &error))?;
    let name = format!("{}-{what}", now.strftime("%Y%m%dT%H%M%SZ"));
    for n in 1u32.. {
        let path = match n {
            1 => results.join(&name),
            _ => results.join(format!("{name}-{n}")),
        };
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(create_error(&path, &error)),
        }
    }
    unreachable!("a directory holds fewer than 2^32 entries")
}

fn create_error(path: &Path, error: &std::io::Error) -> Error {
    Error::failed(format!("create the run directory {}", path.display()), error)
        .remedy("choose a directory that you may write to with --out")
}
