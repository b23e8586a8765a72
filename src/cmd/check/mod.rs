//! `pdl check`: races. The parent plans, starts a child process a group of cases, and reports; only
//! children touch the device, so that a fault or a hang ends one of them and nothing else.

mod child;
mod group;
mod line;
mod table;

use std::io::IsTerminal;

use self::group::Group;
use super::terminal;
use crate::check::{Case, DeviceFacts, Findings, Outcome, Plan, Sleeps, exit_kind, trouble};
use crate::cli::{BackendChoice, CheckArgs, FindingsFormat};
use crate::error::{Error, Kind, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Repetitions of all correct kernels together.
const REPETITIONS: u64 = 100_000;
const REPETITIONS_QUICK: u64 = 10_000;
/// Repetitions of a mutant's case; it goes on while nothing was wrong.
const MUTANT_REPETITIONS: u64 = 1_000;

/// Runs the plan, prints what was found.
///
/// # Errors
/// Bad arguments, no GPU, an interruption; a race in a correct kernel or a mutant that was not
/// caught (exit 4); a hang or a fault (exit 1).
pub fn check(args: &CheckArgs) -> Result<()> {
    let plan = Plan::new(args.quick, args.only.as_deref())?;
    let sleeps = Sleeps::new(&args.sleep_us)?;
    if args.backend == BackendChoice::Sim {
        return Err(Error::usage(
            "check for races with --backend sim",
            "simulated kernels cannot race",
        )
        .remedy("use a GPU of compute capability 9.0 or newer"));
    }
    if let Some(name) = &args.child {
        return child::run(args, &plan, sleeps, name);
    }
    let (device, outcomes) = run_all(args, &plan)?;
    let findings = Findings::new(device, args.seed, &args.sleep_us, &outcomes);
    terminal::print(&render(&findings, args.format)?)?;
    conclude(&outcomes)
}

/// Every group in its own child.
fn run_all(args: &CheckArgs, plan: &Plan) -> Result<(DeviceFacts, Vec<Outcome>)> {
    let groups = groups(plan);
    let bar = progress(groups.iter().map(|group| group.cases.len() as u64).sum());
    let mut outcomes = Vec::new();
    let mut device = None;
    for group in &groups {
        let mut on_case = |case: &str| {
            bar.set_message(format!("{} {case}", group.name()));
            bar.inc(1);
        };
        outcomes.extend(group.run(args, &mut device, &mut on_case)?);
    }
    bar.finish_and_clear();
    Ok((device.unwrap_or_default(), outcomes))
}

/// The correct kernels as one group, and each mutant as one.
fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let correct = Group { mutant: None, cases: &plan.correct };
    let mutants =
        plan.mutants.iter().map(|(mutant, cases)| Group { mutant: Some(mutant.name), cases });
    let all = std::iter::once(correct).chain(mutants);
    all.filter(|group| !group.cases.is_empty()).collect()
}

/// Repetitions of each of `cases` of a group.
fn repetitions(args: &CheckArgs, correct: bool, cases: &[Case]) -> u64 {
    if !correct {
        return args.repetitions.unwrap_or(MUTANT_REPETITIONS).min(MUTANT_REPETITIONS);
    }
    let default = if args.quick { REPETITIONS_QUICK } else { REPETITIONS };
    args.repetitions.unwrap_or(default).div_ceil(cases.len() as u64)
}

fn progress(cases: u64) -> ProgressBar {
    let bar = ProgressBar::new(cases);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

/// The findings in the format that was asked for.
fn render(findings: &Findings, format: FindingsFormat) -> Result<String> {
    Ok(match format {
        FindingsFormat::Table => table::render(findings, false),
        FindingsFormat::Markdown => table::render(findings, true),
        FindingsFormat::Json => {
            serde_json::to_string_pretty(findings)
                .map_err(|error| Error::failed("write the findings", error))?
                + "\n"
        }
    })
}

fn conclude(outcomes: &[Outcome]) -> Result<()> {
    let Some(kind) = exit_kind(outcomes) else { return Ok(()) };
    let bad: Vec<String> = outcomes
        .iter()
        .filter(|outcome| trouble(outcome, outcomes) == Some(kind))
        .map(|outcome| {
            let who = outcome.mutant.as_deref().unwrap_or("correct kernel");
            format!("{who} {}: {}", outcome.case, outcome.verdict.name())
        })
        .collect();
    let more = if bad.len() > 1 { format!(" and {} more", bad.len() - 1) } else { String::new() };
    let cause = format!("{}{more}", bad.first().map_or("unknown", String::as_str));
    let remedy = match kind {
        Kind::Wrong => {
            "a correct kernel that races, or a mutant that does not, is our error or the driver's: report it with --format json"
        }
        _ => "the other findings stand; run the case again with --only",
    };
    Err(Error::new(kind, "vouch for this GPU and driver", cause).remedy(remedy))
}
