//! `pdl conform`: a verdict with evidence for each rule.

mod table;

use std::path::Path;

use super::terminal;
use crate::cli::{BackendChoice, ConformArgs, FindingsFormat};
use crate::conform::{Findings, RULES_OF_QUICK, Rule, rules};
use crate::error::{Error, Kind, Result};

/// Tests the rules that were asked for and prints what was found.
///
/// # Errors
/// A rule that does not exist; no GPU (exit 3); a documented rule that is violated (exit 4); a fault
/// or a hang of the device, or an interruption, after what was found until then was printed.
pub fn conform(args: &ConformArgs) -> Result<()> {
    if let Some(file) = &args.from {
        let findings = read(file)?;
        terminal::print(&render(&findings, args)?)?;
        return conclude(&findings);
    }
    let rules = chosen(args)?;
    if args.backend == BackendChoice::Sim {
        return Err(Error::usage(
            "test conformance with --backend sim",
            "the simulated device keeps the rules by construction",
        )
        .remedy("use a GPU of compute capability 9.0 or newer"));
    }
    let (findings, stopped) = on_gpu::run(args, &rules)?;
    terminal::print(&render(&findings, args)?)?;
    match stopped {
        Some(error) => Err(error),
        None => conclude(&findings),
    }
}

/// What an earlier run found.
fn read(file: &Path) -> Result<Findings> {
    let action = || format!("read findings from {}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| Error::failed(action(), error))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::failed(action(), error).remedy("it takes what `pdl conform --format json` printed")
    })
}

/// The rules that `--quick` and `--only` leave.
fn chosen(args: &ConformArgs) -> Result<Vec<Rule>> {
    let mut all = rules();
    if !args.only.is_empty() {
        let known: Vec<&str> = all.iter().map(|rule| rule.id).collect();
        if let Some(unknown) = args.only.iter().find(|name| !known.contains(&name.trim())) {
            return Err(Error::usage(
                format!("test the rule '{}'", unknown.trim()),
                "there is no such rule",
            )
            .remedy(format!("the rules are {}", known.join(", "))));
        }
        all.retain(|rule| args.only.iter().any(|name| name.trim() == rule.id));
    } else if args.quick {
        all.retain(|rule| RULES_OF_QUICK.contains(&rule.id));
    }
    Ok(all)
}

fn render(findings: &Findings, args: &ConformArgs) -> Result<String> {
    let all_claims = !args.only.is_empty();
    Ok(match args.format {
        FindingsFormat::Table => table::render(findings, false, all_claims),
        FindingsFormat::Markdown => table::render(findings, true, all_claims),
        FindingsFormat::Json => {
            serde_json::to_string_pretty(findings)
                .map_err(|error| Error::failed("write the findings", error))?
                + "\n"
        }
    })
}

fn conclude(findings: &Findings) -> Result<()> {
    let mut violations = findings.violations();
    let Some((rule, form, outcome)) = violations.next() else { return Ok(()) };
    let more = match violations.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let cause = format!(
        "{} is violated ({}): {}: not so in {} of {} repetitions{more}",
        rule.id,
        form.name(),
        outcome.claim,
        outcome.seen,
        outcome.tested
    );
    Err(Error::new(Kind::Wrong, "vouch for this GPU and driver", cause).remedy(format!(
        "run it again with --only {} --format json, and report it with the driver's version",
        rule.id
    )))
}

#[cfg(feature = "cuda")]
mod on_gpu {
    use std::io::IsTerminal;
    use std::time::{Duration, Instant};

    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

    use crate::cli::ConformArgs;
    use crate::conform::{Findings, Rule};
    use crate::error::{Error, Kind, Result};
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

    /// What was found, and what stopped it.
    pub fn run(args: &ConformArgs, rules: &[Rule]) -> Result<(Findings, Option<Error>)> {
        let since = Instant::now();
        let gpu = match open()? {
            Ok(gpu) => gpu,
            Err(Absence::None(reason) | Absence::Old(reason)) => {
                return Err(super::no_gpu(reason));
            }
        };
        let effort = Effort { seed: args.seed, ..if args.quick { QUICK } else { FULL } };
        let mut bench = Bench::new(&gpu, effort)?;
        let mut findings = Findings {
            device: bench.device(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: env!("PDL_REVISION").to_owned(),
            seed: args.seed,
            quick: args.quick,
            wall_s: 0.0,
            rules: Vec::new(),
        };
        let bar = progress(rules.len() as u64);
        let mut stopped = None;
        for rule in rules {
            bar.set_message(rule.id);
            match bench.run(rule) {
                Ok(finding) => findings.rules.push(finding),
                Err(error) => {
                    stopped = Some(match error.kind() {
                        Kind::Interrupted => error,
                        _ => error
                            .remedy("the rules above stand; run the rest one by one with --only"),
                    });
                    break;
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        findings.wall_s = since.elapsed().as_secs_f64();
        Ok((findings, stopped))
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
}

#[cfg(not(feature = "cuda"))]
mod on_gpu {
    use crate::cli::ConformArgs;
    use crate::conform::{Findings, Rule};
    use crate::error::{Error, Result};

    pub fn run(_: &ConformArgs, _: &[Rule]) -> Result<(Findings, Option<Error>)> {
        Err(super::no_gpu("this program was built without the cuda feature".into()))
    }
}

fn no_gpu(reason: String) -> Error {
    Error::new(Kind::NoGpu, "test conformance", reason)
        .remedy("use a GPU of compute capability 9.0 or newer; there is no other way")
}

#[cfg(test)]
mod tests;
