//! The parent: a child for all rules, and after a rule that hung or faulted another for the rest.

use std::io::IsTerminal;
use std::process::Command;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line::Line;
use crate::cli::ConformArgs;
use crate::cmd::supervise::{Ended, manner, supervise};
use crate::conform::{DeviceFacts, Findings, Rule, RuleFinding, Unfinished};
use crate::error::{Error, Kind, Result};

/// What the parent heard from one child.
#[derive(Default)]
struct Heard {
    device: Option<DeviceFacts>,
    no_gpu: Option<String>,
    done: Vec<RuleFinding>,
    /// The rule that began and has not ended.
    open: Option<String>,
    failed: Option<String>,
}

/// What was found, and what stopped it.
///
/// # Errors
/// No GPU, or a device that cannot be opened, before anything was found.
pub fn run(args: &ConformArgs, rules: &[Rule]) -> Result<(Findings, Option<Error>)> {
    let since = Instant::now();
    let mut findings = Findings {
        device: DeviceFacts::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("PDL_REVISION").to_owned(),
        seed: args.seed,
        quick: args.quick,
        wall_s: 0.0,
        rules: Vec::new(),
        unfinished: Vec::new(),
    };
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
    let silence = Duration::from_secs(args.deadline_s);
    let stopped = test_all(&mut findings, &ids, silence, |left| command(args, left))?;
    findings.wall_s = since.elapsed().as_secs_f64();
    Ok((findings, stopped))
}

/// Tests `rules` in children that `command` makes; what stopped it is `Some` where some are left.
fn test_all(
    findings: &mut Findings,
    rules: &[&str],
    silence: Duration,
    command: impl Fn(&[&str]) -> Result<Command>,
) -> Result<Option<Error>> {
    let bar = progress(rules.len() as u64);
    let mut left = rules.to_vec();
    let mut stopped = None;
    while !left.is_empty() {
        let mut heard = Heard::default();
        let ended = supervise(&mut command(&left)?, silence, |line| {
            heard.hear(line);
            if let Some(id) = &heard.open {
                bar.set_message(id.clone());
            }
            bar.set_position((findings.rules.len() + heard.done.len()) as u64);
        });
        let opened = heard.device.take();
        let never = opened.is_none();
        if findings.rules.is_empty() {
            findings.device = opened.unwrap_or_default();
        }
        left.drain(..heard.done.len());
        findings.rules.append(&mut heard.done);
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                stopped = Some(error);
                break;
            }
        };
        if let Some(error) = heard.outcome(&ended, never, silence) {
            if findings.rules.is_empty() && findings.unfinished.is_empty() {
                return Err(error);
            }
            stopped = Some(error);
            break;
        }
        if left.is_empty() {
            break;
        }
        let reason = heard.epitaph(&ended, silence);
        findings.unfinished.push(Unfinished { id: left.remove(0).to_owned(), reason });
    }
    bar.finish_and_clear();
    Ok(stopped)
}

fn command(args: &ConformArgs, rules: &[&str]) -> Result<Command> {
    let program = std::env::current_exe()
        .map_err(|error| Error::failed("find this program to start it again", error))?;
    let mut command = Command::new(program);
    command.args(["conform", "--child", "--only", &rules.join(",")]);
    command.args(["--seed", &args.seed.to_string()]);
    // What the parent decided is not for variables to decide again.
    for name in ["PDL_FROM", "PDL_ONLY", "PDL_QUICK"] {
        command.env_remove(name);
    }
    if args.quick {
        command.arg("--quick");
    }
    Ok(command)
}

impl Heard {
    /// Takes in one line. Lines of others, such as tools that write to stdout, are passed over.
    fn hear(&mut self, line: &str) {
        match serde_json::from_str::<Line>(line) {
            Ok(Line::Device { facts }) => self.device = Some(facts),
            Ok(Line::NoGpu { reason }) => self.no_gpu = Some(reason),
            Ok(Line::Begin { id }) => self.open = Some(id),
            Ok(Line::Done { finding }) => {
                self.open = None;
                self.done.push(finding);
            }
            Ok(Line::Failed { reason }) => self.failed = Some(reason),
            Err(_) => {}
        }
    }

    /// What ends the whole test, not only a rule.
    fn outcome(&self, ended: &Ended, never: bool, silence: Duration) -> Option<Error> {
        if let Some(reason) = &self.no_gpu {
            return Some(super::no_gpu(reason.clone()));
        }
        // The terminal interrupts the child too, and it may be the first to notice.
        if matches!(ended, Ended::Exited { status, .. } if status.code() == Some(130)) {
            return Some(Error::new(Kind::Interrupted, "go on testing", "interrupted"));
        }
        never.then(|| {
            Error::failed("open the GPU in a process of its own", self.epitaph(ended, silence))
                .remedy("check nvidia-smi and the driver, and that the GPU is not in exclusive use")
        })
    }

    /// What is said of a rule whose child ended without a finding.
    fn epitaph(&self, ended: &Ended, silence: Duration) -> String {
        match (ended, &self.failed) {
            (_, Some(reason)) => reason.clone(),
            (Ended::Silent, None) => format!("no answer for {} s", silence.as_secs()),
            (Ended::Exited { status, stderr }, None) => {
                let said = stderr.lines().rfind(|line| !line.trim().is_empty());
                let said = said.map_or(String::new(), |line| format!(": {}", line.trim()));
                format!("the process ended {}{said}", manner(status))
            }
        }
    }
}

fn progress(rules: u64) -> ProgressBar {
    let bar = ProgressBar::new(rules);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

#[cfg(all(test, unix))]
mod tests;
