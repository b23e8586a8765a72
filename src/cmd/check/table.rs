//! The findings as a person reads them.

use super::super::findings::draw;
use crate::check::{Findings, tables};

/// Both tables and what follows from them.
pub fn render(findings: &Findings, markdown: bool) -> String {
    let title = if markdown { "### " } else { "" };
    let device = &findings.device;
    let driver = match device.driver.as_str() {
        "" => String::new(),
        driver => format!(", driver {driver}"),
    };
    let skew = device.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    let mut text = format!(
        "{title}{}{driver}: sleeps {} µs, seed {}; timer step {} ns, skew {skew}\n\n",
        device.name,
        range(&findings.sleep_us),
        findings.seed,
        device.timer_step_ns,
    );
    if !findings.correct.is_empty() {
        text += &draw(&tables::correct(&findings.correct), markdown);
        text += &(tables::remarks(&findings.correct).join("\n") + "\n\n");
    }
    text += &draw(&tables::mutants(&findings.mutants), markdown);
    text + LEGEND
}

const LEGEND: &str = "\
co-resident: repetitions in which the node that could go wrong began before the node it could \
harm had ended, by the stamps.\nwent right: the documentation leaves open that this goes wrong, and here it never did.\nWithout any, the verdict is `not tested`. below: upper bound of \
the share of repetitions that go wrong, 95 %, of the co-resident ones.\n";

fn range(values: &[f64]) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    if lowest == highest { lowest.to_string() } else { format!("{lowest} to {highest}") }
}

#[cfg(test)]
mod tests;
