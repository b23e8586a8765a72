//! The calls that change what is on disk. All writing passes here, so that tests can make any of
//! them fail.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::lines::MAX_LINE_BYTES;
use crate::error::{Error, Result};

/// Faults for tests: the n-th call finds the disk full, or gone, and so do all after it.
#[cfg(test)]
pub(crate) mod fault {
    use std::cell::Cell;
    use std::io::{self, ErrorKind};

    /// How a disk fails.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Fault {
        /// The failing write takes half of its bytes, later ones take none. Other calls work, and
        /// are not counted.
        Full,
        /// The failing write takes half of its bytes; no later call of any kind works.
        Gone,
    }

    thread_local! {
        static PLAN: Cell<Option<(u32, Fault)>> = const { Cell::new(None) };
    }

    /// Makes the `n`-th call of this thread from now on fail, counted from 1.
    pub(crate) fn at(n: u32, fault: Fault) {
        PLAN.set(Some((n, fault)));
    }

    /// All is well again; tells whether a fault was met.
    pub(crate) fn heal() -> bool {
        matches!(PLAN.take(), Some((0, _)))
    }

    /// How many of `bytes` the next write may take.
    pub(super) fn write(bytes: usize) -> io::Result<usize> {
        match PLAN.get() {
            None => Ok(bytes),
            Some((0, _)) => Err(ErrorKind::StorageFull.into()),
            Some((1, fault)) => {
                PLAN.set(Some((0, fault)));
                if bytes < 2 { Err(ErrorKind::StorageFull.into()) } else { Ok(bytes / 2) }
            }
            Some((calls, fault)) => {
                PLAN.set(Some((calls - 1, fault)));
                Ok(bytes)
            }
        }
    }

    /// Whether a call other than a write works.
    pub(super) fn change() -> io::Result<()> {
        match PLAN.get() {
            Some((0 | 1, Fault::Gone)) => {
                PLAN.set(Some((0, Fault::Gone)));
                Err(io::Error::other("input/output error"))
            }
            Some((calls, Fault::Gone)) => {
                PLAN.set(Some((calls - 1, Fault::Gone)));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(not(test))]
mod fault {
    pub(super) fn write(bytes: usize) -> std::io::Result<usize> {
        Ok(bytes)
    }

    pub(super) fn change() -> std::io::Result<()> {
        Ok(())
    }
}

/// One call of write where the system takes all bytes at once, as it does for a line; more only
/// when it takes fewer.
fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let allowed = fault::write(bytes.len())?;
        match io::Write::write(file, &bytes[..allowed]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn sync(file: &File) -> io::Result<()> {
    fault::change()?;
    file.sync_all()
}

/// An error of writing `path`, with what to do about it.
pub(super) fn write_error(path: &Path, error: &io::Error) -> Error {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free space there; what was recorded is whole, and --resume continues the run"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "choose a directory that you may write to with --out"
        }
        _ => "what was recorded before is kept; --resume continues the run",
    };
    Error::failed(format!("write {}", path.display()), error).remedy(remedy)
}

/// A file that grows by whole lines: whatever fails, it ends with the last whole one.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    whole_bytes: u64,
    torn: bool,
}

impl Log {
    /// Creates the file, which must not exist.
    pub(super) fn create(path: PathBuf) -> Result<Log> {
        let file = fault::change()
            .and_then(|()| OpenOptions::new().append(true).create_new(true).open(&path))
            .map_err(|error| write_error(&path, &error))?;
        Ok(Log { path, file, whole_bytes: 0, torn: false })
    }

    /// Opens the file to go on after its first `whole_bytes`; what follows them is cut off at the
    /// first append. `target` is where `path` really leads.
    pub(super) fn open(path: PathBuf, target: &Path) -> Result<Log> {
        let file = OpenOptions::new().append(true).open(target);
        let file = file.map_err(|error| write_error(&path, &error))?;
        Ok(Log { path, file, whole_bytes: 0, torn: false })
    }

    /// Cuts the file after `whole_bytes`.
    pub(super) fn cut(&mut self, whole_bytes: u64) -> Result<()> {
        self.whole_bytes = whole_bytes;
        self.torn = true;
        self.mend().map_err(|error| write_error(&self.path, &error))
    }

    /// Takes the file for this process alone, until it is dropped.
    pub(super) fn lock(&self) -> Result<()> {
        match self.file.try_lock() {
            // A file system without locks cannot tell: then nothing is lost but the check.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Error::failed(
                format!("write {}", self.path.display()),
                "another process is writing this run",
            )
            .remedy("wait until it ends")),
        }
    }

    /// Appends one line, which ends with its line feed.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<()> {
        debug_assert!(line.ends_with(b"\n"));
        if line.len() > MAX_LINE_BYTES {
            let cause = format!("a line of {} bytes could not be read back", line.len());
            return Err(Error::failed(format!("write {}", self.path.display()), cause));
        }
        self.try_append(line).map_err(|error| write_error(&self.path, &error))
    }

    fn try_append(&mut self, line: &[u8]) -> io::Result<()> {
        self.mend()?;
        if let Err(error) = write_all(&mut self.file, line) {
            self.torn = true;
            // The cause is the failed write; if mending fails too, the next append tries again,
            // and a reader drops the torn line.
            let _ = self.mend();
            return Err(error);
        }
        self.whole_bytes += line.len() as u64;
        Ok(())
    }

    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            fault::change()?;
            self.file.set_len(self.whole_bytes)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Makes what was appended outlast a power failure.
    pub(super) fn sync(&self) -> Result<()> {
        sync(&self.file).map_err(|error| write_error(&self.path, &error))
    }
}

/// Writes a file so that it is there as a whole or not at all, through a temporary file beside it
/// that is synced and renamed. A file of that name is replaced.
///
/// # Errors
/// The directory is missing or cannot be written, or the disk is full; nothing is left behind.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary(path);
    let written = write_new(&temporary, bytes).and_then(|()| rename(&temporary, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        write_error(path, &error)
    })
}

/// The same for a file that must not be there yet: one that is stays as it is.
///
/// # Errors
/// Those of [`write_atomically`], and a file of that name.
pub fn write_new_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary(path);
    let placed = write_new(&temporary, bytes).and_then(|()| link(&temporary, path));
    let _ = std::fs::remove_file(&temporary);
    placed.map_err(|error| write_error(path, &error))
}

/// Gives a file a second name, which must be free. File systems without links rename.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fault::change()?;
    match std::fs::hard_link(from, to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        Err(_) if to.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => rename(from, to),
        Ok(()) => Ok(()),
    }
}

/// Whether a file could be written in the folder of `path`; leaves nothing.
pub(super) fn try_writing(path: &Path) -> io::Result<()> {
    let temporary = temporary(path);
    write_new(&temporary, b"pdl")?;
    std::fs::remove_file(&temporary)
}

/// A name beside `path` for the time before the file is whole.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fault::change()?;
    // Left by a killed process that had the same number.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    write_all(&mut file, bytes)?;
    sync(&file)
}

/// Renames, and makes the directory remember it where its file system can.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault::change()?;
    std::fs::rename(from, to)?;
    if let Some(Ok(parent)) = to.parent().map(File::open) {
        let _ = parent.sync_all();
    }
    Ok(())
}
