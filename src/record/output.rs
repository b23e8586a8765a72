//! A file that is written when a long measurement is over: whether it can be is tried before.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::disk::{try_writing, write_atomically, write_new_atomically};
use crate::error::{Error, Result};

/// The place of one file, claimed but not yet written.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    overwrite: bool,
}

impl Output {
    /// Claims `path`: its folder is made where it is missing, and written to once.
    ///
    /// # Errors
    /// Usage: a file is there and may not be replaced, or it is no regular file. A folder that
    /// cannot be made or written to.
    pub fn claim(path: &Path, overwrite: bool) -> Result<Output> {
        let refuse = |cause: &str, remedy: &str| {
            Err(Error::usage(format!("write {}", path.display()), cause).remedy(remedy))
        };
        if path.file_name().is_none() {
            return refuse("it names no file", "name a file with --out");
        }
        match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => {
                return refuse("it exists and is no regular file", "name another file with --out");
            }
            Ok(_) if !overwrite => {
                return refuse("it exists", "name another file with --out, or use --overwrite");
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(path, &error)),
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| cannot(path, &error))?;
        }
        try_writing(path).map_err(|error| cannot(path, &error))?;
        Ok(Output { path: path.to_owned(), overwrite })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file as a whole or not at all.
    ///
    /// # Errors
    /// A disk that fails; a file that came to be there meanwhile.
    pub fn write(self, bytes: &[u8]) -> Result<()> {
        match self.overwrite {
            true => write_atomically(&self.path, bytes),
            false => write_new_atomically(&self.path, bytes),
        }
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Error {
    Error::failed(format!("write {}", path.display()), error)
        .remedy("choose a file that you may write to with --out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_place_is_claimed_before_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/profile.toml");
        let output = Output::claim(&path, false).unwrap();
        assert!(path.parent().unwrap().is_dir() && !path.exists());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        output.write(b"a = 1\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a = 1\n");
        // Only on request is it replaced.
        let error = Output::claim(&path, false).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        assert!(error.to_string().contains("--overwrite"), "{error}");
        Output::claim(&path, true).unwrap().write(b"b = 2\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"b = 2\n");
    }

    #[test]
    fn what_is_no_place_for_a_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let cases = [
            (dir.path().to_owned(), Kind::Usage),
            (PathBuf::from("/"), Kind::Usage),
            (PathBuf::from(""), Kind::Usage),
            (PathBuf::from("/dev/null"), Kind::Usage),
            (link, Kind::Usage),
            (file.join("below"), Kind::Failed),
        ];
        for (path, kind) in cases {
            for overwrite in [false, true] {
                let error = Output::claim(&path, overwrite).unwrap_err();
                assert_eq!(error.kind(), kind, "{}: {error}", path.display());
            }
        }
        let proc = Output::claim(Path::new("/proc/self/profile.toml"), false).unwrap_err();
        assert_eq!(proc.kind(), Kind::Failed, "{proc}");
    }

    #[test]
    fn a_file_that_appeared_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("profile.toml");
        let output = Output::claim(&path, false).unwrap();
        fs::write(&path, "someone else's").unwrap();
        let error = output.write(b"ours").unwrap_err();
        assert!(error.to_string().contains("exists"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"someone else's");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
