//! Whether the user asked to stop. Set by the signal handler, read between samples. And the end of
//! a process whose device does not answer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

/// How long a device that was given up may take to be let go of. Freeing its memory waits for the
/// kernel that hangs.
const LET_GO: Duration = Duration::from_secs(10);

type LastWords = fn(&Error);

static LAST_WORDS: OnceLock<LastWords> = OnceLock::new();

/// How the error of a process that has to end by force is told.
pub fn install_last_words(tell: LastWords) {
    let _ = LAST_WORDS.set(tell);
}

/// Ends the process with `error`, unless it ends by itself within 10 s. For a device that hangs:
/// every call into its driver may block for ever, those of destructors too. Does nothing where no
/// last words are installed: there the process is somebody else's, who gets the error alone.
pub fn give_up(error: &Error) {
    let Some(tell) = LAST_WORDS.get() else { return };
    let error = error.clone();
    std::thread::spawn(move || {
        std::thread::sleep(LET_GO);
        tell(&error);
        std::process::exit(i32::from(error.code()));
    });
}
