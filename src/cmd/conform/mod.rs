//! `pdl conform`: a verdict with evidence for each rule. The parent plans and reports; only a child
//! process touches the device, so that a driver call that blocks costs one rule and nothing else.

mod child;
mod line;
mod parent;
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
    if args.child {
        return child::run(args, &rules);
    }
    let (findings, stopped) = parent::run(args, &rules)?;
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
    let Some((rule, form, outcome)) = violations.next() else { return unfinished(findings) };
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

/// A rule that could not be tested to its end is no clean bill.
fn unfinished(findings: &Findings) -> Result<()> {
    let Some(first) = findings.unfinished.first() else { return Ok(()) };
    let more = match findings.unfinished.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more rules"),
    };
    Err(Error::failed(
        "vouch for this GPU and driver",
        format!("{} was not tested to its end: {}{more}", first.id, first.reason),
    )
    .remedy("the other findings stand; run the rule again with --only"))
}

fn no_gpu(reason: String) -> Error {
    Error::new(Kind::NoGpu, "test conformance", reason)
        .remedy("use a GPU of compute capability 9.0 or newer; there is no other way")
}

#[cfg(test)]
mod tests;
