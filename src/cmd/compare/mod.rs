//! `pdl compare`: verdicts on two runs, or on two arms of one, for people and for CI.

mod across;
mod junit;
mod table;
mod text;

use std::path::Path;

use super::{outputs, terminal};
use crate::chain::Arm;
use crate::cli::{CompareArgs, CompareFormat, FailOn};
use crate::compare::{
    Across, Change, Comparison, Options, Side, compare_across, compare_arms, compare_runs,
};
use crate::error::{Error, Kind, Result};
use crate::record::{read_run, standing};

/// Compares, prints, and fails where `--fail-on` says so.
pub fn compare(args: &CompareArgs) -> Result<()> {
    let Some(path) = &args.b else {
        let (first, second) = two_arms(&args.arm)?;
        let name = args.a.display().to_string();
        return finish(args, &compare_arms(&name, &side(&args.a)?, first, second)?);
    };
    // Reading is most of the time.
    let (a, b) = std::thread::scope(|scope| {
        let b = scope.spawn(|| side(path));
        (side(&args.a), b.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (a, b) = (a?, b?);
    let names = (args.a.display().to_string(), path.display().to_string());
    let (a, b) = ((names.0.as_str(), &a), (names.1.as_str(), &b));
    if args.across_devices {
        let across = compare_across(a, b)?;
        terminal::print(&render_across(&across, args)?)?;
        return demand_across(&across, args);
    }
    let options = Options {
        margin_us: args.margin_us,
        margin_ratio: args.margin_ratio,
        arms: args.arm.clone(),
        accept_mismatch: args.accept_mismatch.clone(),
    };
    finish(args, &compare_runs(a, b, &options)?)
}

/// Reads a run, which is never changed by being compared.
fn side(path: &Path) -> Result<Side> {
    let mut side = Side::of(read_run(path)?);
    // Nothing is taken from summary.csv; a run that contradicts itself is no evidence all the same.
    let calibration = outputs::calibration(path).ok().flatten();
    let Side { summary, manifest, points, .. } = &mut side;
    outputs::beside(path, summary, manifest, points, calibration.as_ref());
    let standing = standing(path, &side.summary.rows, side.end.is_some())?;
    side.notes.extend(standing.notes());
    Ok(side)
}

fn two_arms(arms: &[Arm]) -> Result<(Arm, Arm)> {
    match arms {
        [first, second] if first != second => Ok((*first, *second)),
        _ => Err(Error::usage("compare arms of one run", "--arm names two of them")
            .remedy("for example --arm graph-full,graph-pdl; name a second run to compare runs")),
    }
}

fn finish(args: &CompareArgs, comparison: &Comparison) -> Result<()> {
    terminal::print(&render(comparison, args)?)?;
    demand(comparison, args)
}

fn render(comparison: &Comparison, args: &CompareArgs) -> Result<String> {
    match args.format {
        CompareFormat::Table => Ok(table::plain(comparison, args.all)),
        CompareFormat::Markdown => Ok(table::markdown(comparison)),
        CompareFormat::Json => json(comparison),
        CompareFormat::Junit => junit::render(comparison, &args.fail_on),
    }
}

fn render_across(across: &Across, args: &CompareArgs) -> Result<String> {
    match args.format {
        CompareFormat::Table => Ok(across::plain(across)),
        CompareFormat::Markdown => Ok(across::markdown(across)),
        CompareFormat::Json => json(across),
        CompareFormat::Junit => junit::render_across(across, &args.fail_on),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| Error::failed("write the comparison as JSON", error))? + "\n")
}

/// What is asked of the verdicts, the gravest first.
const DEMANDS: [(FailOn, Change, Kind); 3] = [
    (FailOn::Wrong, Change::Wrong, Kind::Wrong),
    (FailOn::Regression, Change::Regression, Kind::Regression),
    (FailOn::Inconclusive, Change::Inconclusive, Kind::Refused),
];

fn demand(comparison: &Comparison, args: &CompareArgs) -> Result<()> {
    for (on, change, kind) in DEMANDS {
        let count = comparison.count(change);
        if !args.fail_on.contains(&on) || count == 0 {
            continue;
        }
        let worst = comparison.rows.iter().filter(|row| row.verdict == change).max_by(|a, b| {
            let slower = |row: &crate::compare::Row| row.change_ns.unwrap_or(f64::MIN);
            slower(a).total_cmp(&slower(b))
        });
        let worst = worst.map_or_else(String::new, text::short);
        let what = match change {
            Change::Wrong => "wrong",
            Change::Regression => "slower than in A",
            _ => "without a verdict",
        };
        let cause = format!("{count} of {} rows are {what}: {worst}", comparison.rows.len());
        return Err(Error::new(
            kind,
            format!("accept {}", text::harmless(&comparison.b.name)),
            cause,
        )
        .remedy("--fail-on says what makes a comparison fail"));
    }
    Ok(())
}

fn demand_across(across: &Across, args: &CompareArgs) -> Result<()> {
    for (on, change, kind) in DEMANDS {
        if args.fail_on.contains(&on) && across.has(change) {
            let cause = match change {
                Change::Wrong => "some of its results are wrong",
                _ => "whether everything carries over cannot be said",
            };
            let action = format!("accept {}", text::harmless(&across.b.name));
            return Err(Error::new(kind, action, cause));
        }
    }
    Ok(())
}
