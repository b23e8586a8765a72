//! The child: opens the device, runs the cases of one group, prints a line for each step.

use super::line::Line;
use crate::check::{Plan, Sleeps};
use crate::cli::CheckArgs;
use crate::cmd::terminal;
use crate::error::{Error, Result};

/// Runs the group called `name` from case `args.from` on.
///
/// # Errors
/// Those of the device, after they were told to the parent.
pub fn run(args: &CheckArgs, plan: &Plan, sleeps: Sleeps, name: &str) -> Result<()> {
    let groups = super::groups(plan);
    let group = groups.iter().find(|group| group.name() == name).ok_or_else(|| {
        Error::usage(format!("check the group '{name}'"), "the plan has no such group")
    })?;
    let repetitions = super::repetitions(args, group.mutant.is_none(), group.cases);
    on_gpu::run(args, group, sleeps, repetitions)
}

/// A line for the parent. It may have gone away, and then nobody needs the line.
fn say(line: &Line) {
    let text = serde_json::to_string(line).expect("a line is plain data");
    let _ = terminal::line(text);
}

#[cfg(feature = "cuda")]
mod on_gpu {
    use std::time::Duration;

    use super::super::group::Group;
    use super::{Line, Sleeps, say};
    use crate::check::DeviceFacts;
    use crate::cli::CheckArgs;
    use crate::device::{Device, Facts};
    use crate::error::{Error, Kind, Result};
    use crate::gpu::check::{Effort, run_case};
    use crate::gpu::{Absence, open};

    /// A mutant must be caught within this.
    const INSIST: Duration = Duration::from_secs(10);

    pub fn run(
        args: &CheckArgs,
        group: &Group<'_>,
        sleeps: Sleeps,
        repetitions: u64,
    ) -> Result<()> {
        let gpu = match open() {
            Ok(Ok(gpu)) => gpu,
            Ok(Err(Absence::None(reason) | Absence::Old(reason))) => return no_gpu(reason),
            Err(error) if error.kind() == Kind::NoGpu => return no_gpu(error.cause().to_owned()),
            Err(error) => {
                say(&Line::Failed { reason: error.cause().to_owned() });
                return Err(error);
            }
        };
        say(&Line::Device(device(gpu.facts())));
        let correct = group.mutant.is_none();
        let effort = Effort {
            seed: args.seed,
            sleeps,
            repetitions,
            insist: if correct { Duration::ZERO } else { INSIST },
        };
        for (index, case) in group.cases.iter().enumerate().skip(args.from) {
            say(&Line::Begin { index });
            match run_case(&gpu, case, &effort) {
                Ok(measured) => say(&Line::Done { measured }),
                Err(error) if error.kind() == Kind::Unsupported => {
                    say(&Line::Skipped { reason: error.cause().to_owned() });
                }
                Err(error) if error.kind() == Kind::Interrupted => return Err(error),
                Err(error) => {
                    say(&Line::Failed { reason: error.cause().to_owned() });
                    return Err(error.at(&case.to_string()));
                }
            }
        }
        Ok(())
    }

    fn no_gpu(reason: String) -> Result<()> {
        say(&Line::NoGpu { reason: reason.clone() });
        Err(Error::new(Kind::NoGpu, "use the GPU", reason))
    }

    fn device(facts: &Facts) -> DeviceFacts {
        DeviceFacts {
            name: facts.name.clone(),
            driver: facts.driver.clone(),
            driver_cuda: facts.driver_cuda,
            runtime_cuda: facts.runtime_cuda,
            sm_count: facts.sm_count,
            timer_step_ns: facts.timer_step_ns,
            timer_skew_ns: facts.timer_skew_ns,
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod on_gpu {
    use super::super::group::Group;
    use super::{Line, Sleeps, say};
    use crate::cli::CheckArgs;
    use crate::error::{Error, Kind, Result};

    pub fn run(_: &CheckArgs, _: &Group<'_>, _: Sleeps, _: u64) -> Result<()> {
        let reason = "this program was built without the cuda feature";
        say(&Line::NoGpu { reason: reason.into() });
        Err(Error::new(Kind::NoGpu, "use the GPU", reason))
    }
}
