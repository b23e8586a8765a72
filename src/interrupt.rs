//! Whether the user asked to stop. Set by the signal handler, read between samples.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Kind, Result};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Installs the handler: the first signal asks to stop, the second ends the process with 130.
pub fn install() {
    // A second handler in one process is refused; the first one stands.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// An error of its own kind once the user asked to stop.
///
/// # Errors
/// [`Kind::Interrupted`].
pub fn check(action: &str) -> Result<()> {
    if asked() {
        return Err(Error::new(Kind::Interrupted, action, "interrupted"));
    }
    Ok(())
}
