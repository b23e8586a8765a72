//! The child: opens the device, tests rules, prints a line for each step.

use super::line::Line;
use crate::cli::ConformArgs;
use crate::cmd::terminal;
use crate::conform::Rule;
use crate::error::Result;

/// Tests `rules` in their order.
///
/// # Errors
/// Those of the device, after they were told to the parent.
pub fn run(args: &ConformArgs, rules: &[Rule]) -> Result<()> {
    on_gpu::run(args, rules)
}

/// A line for the parent. It may have gone away, and then nobody needs the line.
fn say(line: &Line) {
    let text = serde_json::to_string(line).expect("a line is plain data");
    let _ = terminal::line(text);
}

#[cfg(feature = "cuda")]
mod on_gpu {
    use std::time::Duration;

    use super::{Line, say};
    use crate::cli::ConformArgs;
    use crate::conform::Rule;
    use crate::error::{Kind, Result};
    use crate::gpu::conform::{Bench, Effort};
    use crate::gpu::{Absence, open};

    /// 126 cases and forms of this, a million launches and opening the device take 50 s.
    const FULL: Effort = Effort {
        seed: 0,
        case_budget: Duration::from_millis(250),
        repetitions: 1000,
        launches: 1_000_000,
        launches_budget: Duration::from_secs(12),
    };
    /// 26 cases and forms of this take 2 s.
    const QUICK: Effort = Effort {
        case_budget: Duration::from_millis(60),
        repetitions: 300,
        launches: 20_000,
        launches_budget: Duration::from_millis(500),
        ..FULL
    };

    pub fn run(args: &ConformArgs, rules: &[Rule]) -> Result<()> {
        let gpu = match open() {
            Ok(Ok(gpu)) => gpu,
            Ok(Err(Absence::None(reason) | Absence::Old(reason))) => {
                say(&Line::NoGpu { reason: reason.clone() });
                return Err(super::super::no_gpu(reason));
            }
            Err(error) if error.kind() == Kind::NoGpu => {
                say(&Line::NoGpu { reason: error.cause().to_owned() });
                return Err(error);
            }
            Err(error) => return failed(error),
        };
        let effort = Effort { seed: args.seed, ..if args.quick { QUICK } else { FULL } };
        let mut bench = match Bench::new(&gpu, effort) {
            Ok(bench) => bench,
            Err(error) => return failed(error),
        };
        say(&Line::Device { facts: bench.device() });
        for rule in rules {
            say(&Line::Begin { id: rule.id.to_owned() });
            match bench.run(rule) {
                Ok(finding) => say(&Line::Done { finding }),
                Err(error) if error.kind() == Kind::Interrupted => return Err(error),
                Err(error) => return failed(error),
            }
        }
        Ok(())
    }

    /// Told before the device is let go of, which may block.
    fn failed(error: crate::error::Error) -> Result<()> {
        say(&Line::Failed { reason: error.cause().to_owned() });
        Err(error)
    }
}

#[cfg(not(feature = "cuda"))]
mod on_gpu {
    use super::{Line, say};
    use crate::cli::ConformArgs;
    use crate::conform::Rule;
    use crate::error::Result;

    pub fn run(_: &ConformArgs, _: &[Rule]) -> Result<()> {
        let reason = "this program was built without the cuda feature";
        say(&Line::NoGpu { reason: reason.into() });
        Err(super::super::no_gpu(reason.into()))
    }
}
