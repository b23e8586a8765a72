//! What of criterion's command line a bench must know before it hands over to criterion: whether
//! to measure at all, and which names. Criterion keeps both to itself.

#![allow(dead_code)] // Each bench uses its part.

use std::process::ExitCode;

use pdl_lab::cmd::note;
use pdl_lab::error::{Error, Kind, Result};
use regex::Regex;

/// What cargo and the user ask of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// `cargo bench`.
    Measure,
    /// `cargo bench -- --test` and `cargo test --benches`: run everything once, measure nothing.
    Test,
    /// `--list`: print the names.
    List,
    /// `--profile-time`: run for a while, measure nothing.
    Profile,
}

/// Which names were asked for.
enum Filter {
    All,
    Nothing,
    Exactly(String),
    Pattern(Regex),
}

/// The parts of the command line.
pub struct Argv {
    /// What is asked for.
    pub task: Task,
    filter: Filter,
}

/// Criterion's flags that take a value; what stands alone beside them is the filter.
const WITH_VALUE: [&str; 19] = [
    "--color",
    "--colour",
    "-c",
    "--save-baseline",
    "-s",
    "--baseline",
    "-b",
    "--load-baseline",
    "--format",
    "--profile-time",
    "--sample-size",
    "--warm-up-time",
    "--measurement-time",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
    "--plotting-backend",
    "--output-format",
];

impl Argv {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// A usage error for a filter that is no regular expression.
    pub fn of_process() -> Result<Argv> {
        let mut arguments = std::env::args().skip(1);
        let (mut bench, mut test, mut list, mut profile) = (false, false, false, false);
        let (mut exact, mut ignored, mut pattern) = (false, false, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => bench = true,
                "--test" => test = true,
                "--list" => list = true,
                "--exact" => exact = true,
                "--ignored" => ignored = true,
                flag if WITH_VALUE.contains(&flag) => {
                    profile |= flag == "--profile-time";
                    arguments.next();
                }
                flag if flag.starts_with('-') => profile |= flag.starts_with("--profile-time="),
                _ => pattern = Some(argument),
            }
        }
        let task = match (list, test || !bench, profile) {
            (true, _, _) => Task::List,
            (_, true, _) => Task::Test,
            (_, _, true) => Task::Profile,
            _ => Task::Measure,
        };
        let filter = match pattern {
            _ if ignored => Filter::Nothing,
            None => Filter::All,
            Some(name) if exact => Filter::Exactly(name),
            Some(pattern) => match Regex::new(&pattern) {
                Ok(regex) => Filter::Pattern(regex),
                Err(_) => {
                    let cause = "it is no regular expression";
                    return Err(Error::usage(format!("filter by '{pattern}'"), cause)
                        .remedy("add --exact for a name as it is"));
                }
            },
        };
        Ok(Argv { task, filter })
    }

    /// Whether there is a filter.
    pub fn filters(&self) -> bool {
        !matches!(self.filter, Filter::All)
    }

    /// Whether criterion would run `id`.
    pub fn matches(&self, id: &str) -> bool {
        match &self.filter {
            Filter::All => true,
            Filter::Nothing => false,
            Filter::Exactly(name) => id == name,
            Filter::Pattern(pattern) => pattern.is_match(id),
        }
    }
}

/// A bench, from its command line to its exit code.
pub fn run(bench: impl FnOnce(&Argv) -> Result<()>) -> ExitCode {
    match Argv::of_process().and_then(|argv| bench(&argv)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&error);
            error.exit_code()
        }
    }
}

/// Without a GPU there is nothing to `measure`: said in a line by `bench`, or an error for
/// `PDL_REQUIRE=gpu`.
pub fn skip(bench: &str, measure: &str, reason: &str) -> Result<()> {
    if std::env::var("PDL_REQUIRE").is_ok_and(|all| all.split(',').any(|name| name == "gpu")) {
        return Err(Error::new(Kind::NoGpu, measure, reason).remedy("PDL_REQUIRE=gpu asks for one"));
    }
    println!("{bench}: skipped: {reason}");
    Ok(())
}
