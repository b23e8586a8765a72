//! What the user reads. Unlike `print!` and `eprintln!`, these do not panic when nobody listens:
//! `pdl report RUN | head` closes the pipe, and a log may be on a full disk.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};

use crate::error::{Error, Result};

/// Writes a result to the standard output. A reader that has gone away has seen enough.
///
/// # Errors
/// Any other failure to write: a result that is lost is an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::failed("write to the standard output", error))
        }
        _ => Ok(()),
    }
}

/// The same with a line feed at its end.
///
/// # Errors
/// Those of [`print`].
pub fn line(text: impl Display) -> Result<()> {
    print(&format!("{text}\n"))
}

/// Shows what another program said, as it is.
pub fn raw(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}

/// Says something beside the result, on the standard error; where that is gone, nobody would read
/// a complaint about it either.
pub fn note(text: impl Display) {
    let _ = writeln!(stderr(), "pdl: {text}");
}
