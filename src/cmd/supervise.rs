//! A child process under a watchdog: its lines as they come, and an end in any case.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// How often the watchdog looks whether the user asked to stop.
const STEP: Duration = Duration::from_millis(100);
/// Longest wait for a killed child to be gone: a driver may hold it while it tears down.
const REAP: Duration = Duration::from_secs(10);
/// Of what a child writes to stderr, so much is kept.
const STDERR_BYTES: u64 = 16 << 10;

/// How a child ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, or by a signal.
    Exited {
        /// Status.
        status: ExitStatus,
        /// What it wrote to stderr.
        stderr: String,
    },
    /// It was silent for too long and was killed.
    Silent,
}

/// Runs `command`, hands over each line of its stdout, and kills it after `silence` without one.
///
/// # Errors
/// A child that cannot be started, or an interruption; the child is gone then.
pub fn supervise(
    command: &mut Command,
    silence: Duration,
    mut on_line: impl FnMut(&str),
) -> Result<Ended> {
    let fail = |error: std::io::Error| Error::failed("start a process of its own", error);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(fail)?;
    let lines = lines_of(&mut child);
    let stderr = child.stderr.take().expect("stderr is piped");
    let stderr = std::thread::spawn(move || {
        let mut stderr = stderr;
        let mut text = Vec::new();
        let _ = stderr.by_ref().take(STDERR_BYTES).read_to_end(&mut text);
        // The rest is read too: a child must not block on a full pipe.
        let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut heard = Instant::now();
    loop {
        match lines.recv_timeout(STEP) {
            Ok(line) => {
                heard = Instant::now();
                on_line(&line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt::asked() {
            end(&mut child);
            return Err(Error::new(Kind::Interrupted, "go on", "interrupted"));
        }
        if heard.elapsed() > silence {
            end(&mut child);
            return Ok(Ended::Silent);
        }
    }
    // Stdout is closed; a child that hangs in its own teardown is silent too.
    while heard.elapsed() <= silence {
        if let Some(status) = child.try_wait().map_err(fail)? {
            let stderr = stderr.join().unwrap_or_default();
            return Ok(Ended::Exited { status, stderr });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    end(&mut child);
    Ok(Ended::Silent)
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(|line| line.ok()) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Kills and reaps, but never waits for ever.
fn end(child: &mut Child) {
    let _ = child.kill();
    let since = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && since.elapsed() < REAP {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How a process ended, in words.
pub fn manner(status: &ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(status) {
        return format!("by signal {signal}");
    }
    format!("with code {}", status.code().unwrap_or(-1))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str, silence_ms: u64) -> (Ended, Vec<String>) {
        let mut lines = Vec::new();
        let silence = Duration::from_millis(silence_ms);
        let ended = supervise(&mut shell(script), silence, |line| lines.push(line.to_owned()));
        (ended.unwrap(), lines)
    }

    #[test]
    fn lines_status_and_stderr_come_back() {
        let (ended, lines) = run("echo a; echo b; echo why >&2; exit 3", 5000);
        let Ended::Exited { status, stderr } = ended else { panic!("{ended:?}") };
        assert_eq!((status.code(), stderr.as_str()), (Some(3), "why\n"));
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn a_silent_child_is_killed_and_a_slow_one_is_not() {
        let since = Instant::now();
        let (ended, lines) = run("echo a; exec sleep 60", 300);
        assert!(matches!(ended, Ended::Silent), "{ended:?}");
        assert_eq!(lines, ["a"]);
        assert!(since.elapsed() < Duration::from_secs(10));
        let (ended, lines) = run("for i in 1 2 3 4; do echo $i; sleep 0.3; done", 2000);
        assert!(matches!(ended, Ended::Exited { status, .. } if status.success()), "{ended:?}");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn a_child_that_closes_its_output_and_stays_is_killed() {
        let (ended, _) = run("exec >&- 2>&-; exec sleep 60", 300);
        assert!(matches!(ended, Ended::Silent), "{ended:?}");
    }

    #[test]
    fn a_signal_and_a_flood_of_stderr_are_survived() {
        let (ended, _) = run("kill -SEGV $$", 5000);
        let Ended::Exited { status, .. } = ended else { panic!("{ended:?}") };
        assert_eq!(status.signal(), Some(11));
        let (ended, _) = run("head -c 1000000 /dev/zero >&2", 5000);
        let Ended::Exited { status, stderr } = ended else { panic!("{ended:?}") };
        assert!(status.success());
        assert_eq!(stderr.len() as u64, STDERR_BYTES);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let gone = supervise(&mut Command::new("/nonexistent"), STEP, |_| {});
        assert_eq!(gone.unwrap_err().kind(), Kind::Failed);
    }
}
