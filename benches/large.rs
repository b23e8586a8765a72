//! `pdl report` and `pdl compare` on runs of 10⁶ samples: wall time, processor time and peak memory
//! of each, best of three, and a failure where a limit is exceeded. The limit of time is held
//! against processor time, which other programs of the machine stretch less. The runs are
//! simulated; no GPU is needed.

mod argv;
mod simulated;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use argv::{Argv, Task};
use pdl_lab::error::{Error, Result};
use simulated::{simulated, write};

/// Samples of each run.
const ROWS: usize = 1_000_000;
/// The longest that either command may take.
const LONGEST: Duration = Duration::from_secs(3);
/// The most memory that either may use, MB.
const MOST_MB: f64 = 300.0;
const TRIES: u32 = 3;

fn main() -> ExitCode {
    argv::run(bench)
}

fn bench(argv: &Argv) -> Result<()> {
    let commands =
        [("large/report", &["report", "a"][..]), ("large/compare", &["compare", "a", "b"])];
    let asked: Vec<_> = commands.into_iter().filter(|(id, _)| argv.matches(id)).collect();
    if argv.task == Task::List {
        asked.iter().for_each(|(id, _)| println!("{id}: benchmark"));
        return Ok(());
    }
    if asked.is_empty() {
        return Ok(());
    }
    let measures = argv.task == Task::Measure;
    let rows = if measures { ROWS } else { ROWS / 1000 };
    let scratch = tempfile::tempdir().map_err(|error| Error::failed("make a directory", error))?;
    for (name, seed) in [("a", 1), ("b", 2)] {
        write(&scratch.path().join(name), &simulated(rows, seed)?)?;
    }
    for (id, arguments) in asked {
        let tries = (0..if measures { TRIES } else { 1 }).map(|_| run(scratch.path(), arguments));
        let tries = tries.collect::<Result<Vec<_>>>()?;
        let wall = tries.iter().map(|used| used.wall).min().unwrap_or_default();
        let processor = tries.iter().map(|used| used.processor).min().unwrap_or_default();
        let peak_mb = tries.iter().map(|used| used.peak_mb).fold(0.0, f64::max);
        println!(
            "{id}: {rows} samples a run: {:.2} s, {:.2} s of a processor, {peak_mb:.0} MB (limits {} s, \
             {MOST_MB} MB)",
            wall.as_secs_f64(),
            processor.as_secs_f64(),
            LONGEST.as_secs()
        );
        if measures && (processor > LONGEST || peak_mb > MOST_MB) {
            return Err(Error::failed(format!("keep {id} within its limits"), "see above"));
        }
    }
    Ok(())
}

/// What a command used.
struct Used {
    wall: Duration,
    processor: Duration,
    peak_mb: f64,
}

fn run(dir: &Path, arguments: &[&str]) -> Result<Used> {
    let action = || format!("run pdl {}", arguments.join(" "));
    let began = Instant::now();
    let mut child = Command::new(program())
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| Error::failed(action(), error))?;
    let (mut peak_mb, mut processor) = (0.0_f64, Duration::ZERO);
    let status = loop {
        peak_mb = peak_mb.max(peak(&child).unwrap_or(0.0));
        processor = processor.max(used(&child).unwrap_or_default());
        match child.try_wait().map_err(|error| Error::failed(action(), error))? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    if !status.success() {
        return Err(Error::failed(action(), status));
    }
    Ok(Used { wall: began.elapsed(), processor, peak_mb })
}

/// Peak resident memory of a process that runs, MB, as Linux tells it.
fn peak(child: &Child) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// Time that processors have spent on a process that runs, as Linux tells it: fields 14 and 15 of
/// its stat, in hundredths of a second on every architecture that is served.
fn used(child: &Child) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name of the program stands in brackets and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// Where the program is: as cargo says, else beside this bench. Not the compile-time path: a bench
/// that travels would carry it along.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("CARGO_BIN_EXE_pdl") {
        return path.into();
    }
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).map(|dir| dir.join("pdl")).unwrap_or_default()
}
