//! A group of cases that share a child, and what became of each.

use std::process::Command;
use std::time::Duration;

use super::line::Line;
use crate::check::{Case, DeviceFacts, Measured, Outcome, Verdict, verdict};
use crate::cli::CheckArgs;
use crate::cmd::supervise::{Ended, manner, supervise};
use crate::error::{Error, Kind, Result};

/// Cases that run in one child: those of all correct kernels, or of one mutant.
pub struct Group<'a> {
    /// The mutant; `None` for the correct kernels.
    pub mutant: Option<&'static str>,
    /// Its cases.
    pub cases: &'a [Case],
}

/// What the parent heard from one child.
#[derive(Default)]
struct Heard {
    /// Outcomes of the cases that ended, in order.
    outcomes: Vec<Outcome>,
    /// The case that began and has not ended.
    open: Option<usize>,
    device: Option<DeviceFacts>,
    no_gpu: Option<String>,
    /// The child reported a failure of a case, and ends.
    failed: bool,
    /// The child could not open the device.
    closed: Option<String>,
}

impl Group<'_> {
    /// The name by which a child is asked for the group.
    pub fn name(&self) -> &'static str {
        self.mutant.unwrap_or("correct")
    }

    /// Runs all cases. A child that faults or hangs costs the case that was running; the rest run
    /// in the next one.
    ///
    /// # Errors
    /// No GPU, a child that cannot be started, or an interruption.
    pub fn run(
        &self,
        args: &CheckArgs,
        device: &mut Option<DeviceFacts>,
        on_case: &mut dyn FnMut(&str),
    ) -> Result<Vec<Outcome>> {
        let mut outcomes: Vec<Outcome> = Vec::new();
        while outcomes.len() < self.cases.len() {
            let first = outcomes.len();
            let mut heard = Heard::default();
            let silence = Duration::from_secs(args.deadline_s);
            let ended = supervise(&mut self.command(args, first)?, silence, |line| {
                self.hear(&mut heard, line, on_case);
            })?;
            if let Some(reason) = heard.no_gpu {
                return Err(Error::new(Kind::NoGpu, "check for races", reason).remedy(
                    "use a GPU of compute capability 9.0 or newer; there is no other way",
                ));
            }
            let opened = heard.device.take();
            if opened.is_none() {
                let reason = match heard.closed {
                    Some(reason) => reason,
                    None => self.epitaph(&ended, None, silence)?.1,
                };
                return Err(Error::failed("open the GPU in a process of its own", reason).remedy(
                    "check nvidia-smi and the driver, and that the GPU is not in exclusive use",
                ));
            }
            *device = device.take().or(opened);
            let done = first + heard.outcomes.len();
            outcomes.append(&mut heard.outcomes);
            if heard.failed || done == self.cases.len() {
                continue;
            }
            // The child ended without a word on this case.
            let (verdict, reason) = self.epitaph(&ended, heard.open, silence)?;
            outcomes.push(self.outcome(done, verdict, None, reason));
        }
        Ok(outcomes)
    }

    fn command(&self, args: &CheckArgs, from: usize) -> Result<Command> {
        let program = std::env::current_exe()
            .map_err(|error| Error::failed("find this program to start it again", error))?;
        let mut command = Command::new(program);
        command.arg("check").args(["--child", self.name(), "--from", &from.to_string()]);
        command.args(["--seed", &args.seed.to_string()]);
        let sleeps: Vec<String> = args.sleep_us.iter().map(f64::to_string).collect();
        command.args(["--sleep-us", &sleeps.join(",")]);
        if args.quick {
            command.arg("--quick");
        }
        if let Some(only) = &args.only {
            command.args(["--only", only]);
        }
        if let Some(repetitions) = args.repetitions {
            command.args(["--repetitions", &repetitions.to_string()]);
        }
        Ok(command)
    }

    /// Takes in one line. Lines of others, such as tools that write to stdout, are passed over.
    fn hear(&self, heard: &mut Heard, line: &str, on_case: &mut dyn FnMut(&str)) {
        let Ok(line) = serde_json::from_str::<Line>(line) else { return };
        let open = heard.open;
        let mut close = |verdict, measured: Option<Measured>, reason: String| {
            if let Some(index) = heard.open.take() {
                heard.outcomes.push(self.outcome(index, verdict, measured, reason));
            }
        };
        match line {
            Line::Device(device) => heard.device = Some(device),
            Line::NoGpu { reason } => heard.no_gpu = Some(reason),
            Line::Begin { index } => {
                if let Some(case) = self.cases.get(index) {
                    on_case(&case.to_string());
                    heard.open = Some(index);
                }
            }
            Line::Done { measured } => {
                let verdict = verdict(&measured, self.mutant.is_some());
                close(verdict, Some(measured), String::new());
            }
            Line::Skipped { reason } => close(Verdict::NotTested, None, reason),
            Line::Failed { reason } if open.is_none() => heard.closed = Some(reason),
            Line::Failed { reason } => {
                close(Verdict::Fault, None, reason);
                heard.failed = true;
            }
        }
    }

    /// What is said of a case whose child ended without a word on it.
    fn epitaph(
        &self,
        ended: &Ended,
        open: Option<usize>,
        silence: Duration,
    ) -> Result<(Verdict, String)> {
        match ended {
            Ended::Silent => {
                let place = open.map_or("between cases".into(), |i| self.cases[i].to_string());
                let reason =
                    format!("no answer for {} s, {} {place}", silence.as_secs(), self.name());
                Ok((Verdict::Hang, reason))
            }
            // The terminal interrupts the child too, and it may be the first to notice.
            Ended::Exited { status, .. } if status.code() == Some(130) => {
                Err(Error::new(Kind::Interrupted, "go on checking", "interrupted"))
            }
            Ended::Exited { status, stderr } => {
                let said = stderr.lines().rfind(|line| !line.trim().is_empty());
                let said = said.map_or(String::new(), |line| format!(": {}", line.trim()));
                Ok((Verdict::Fault, format!("the process ended {}{said}", manner(status))))
            }
        }
    }

    fn outcome(
        &self,
        index: usize,
        verdict: Verdict,
        measured: Option<Measured>,
        reason: String,
    ) -> Outcome {
        let case = &self.cases[index];
        Outcome {
            mutant: self.mutant.map(str::to_owned),
            case: case.to_string(),
            test: case.test.name().to_owned(),
            verdict,
            measured,
            reason,
        }
    }
}

#[cfg(test)]
mod tests;
