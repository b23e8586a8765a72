//! The findings as a person reads them.

use std::fmt::Write;

use super::super::findings::draw;
use crate::conform::{Findings, Outcome, Verdict, tables};

/// The rules, what is left open, and what could not be tested. `all_claims`: each claim of each
/// rule too.
pub fn render(findings: &Findings, markdown: bool, all_claims: bool) -> String {
    let mut text = title(findings, markdown);
    text += &draw(&tables::rules(findings), markdown);
    if all_claims {
        for rule in &findings.rules {
            text += &draw(&tables::claims(rule), markdown);
        }
    } else {
        text += &draw(&tables::left_open(findings), markdown);
    }
    text += &statements(findings, markdown);
    text += &untested(findings);
    text + LEGEND
}

const LEGEND: &str = "\
holds: documented, and no counter-example; or permitted, and seen. observed: the documentation \
leaves it open, so it is no law.\nA, B, C: kernels in the order of submission. below: upper bound \
of the share of repetitions that go wrong, 95 %, the weakest of\nthe rule's claims. Differences \
of less than step and skew of the timer prove nothing.\n";

fn title(findings: &Findings, markdown: bool) -> String {
    let device = &findings.device;
    let version = |v: u32| format!("{}.{}", v / 1000, v % 1000 / 10);
    let driver = match device.driver.as_str() {
        "" => "driver unknown".to_owned(),
        driver => format!("driver {driver}"),
    };
    let skew = device.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    format!(
        "{}{}, {driver}, CUDA {} (runtime {}): {} rules in {:.1} s, seed {}; timer step {} ns, skew \
         {skew}\n\n",
        if markdown { "### " } else { "" },
        device.name,
        version(device.driver_cuda),
        version(device.runtime_cuda),
        findings.rules.len(),
        findings.wall_s,
        findings.seed,
        device.timer_step_ns,
    )
}

/// The rules as sentences, with their sources.
fn statements(findings: &Findings, markdown: bool) -> String {
    let mut text = String::new();
    for rule in &findings.rules {
        let bullet = if markdown { "- " } else { "" };
        let _ = writeln!(text, "{bullet}{}: {} [{}]", rule.id, rule.statement, rule.source);
    }
    text + "\n"
}

/// What could not be tested and why, and remarks; the forms of one reason on one line.
fn untested(findings: &Findings) -> String {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for rule in &findings.rules {
        for (form, outcome) in rule.outcomes().filter(|(_, o)| !o.reason.is_empty()) {
            let what = match outcome.verdict {
                Verdict::NotTested => "not tested: ",
                _ => "",
            };
            let Outcome { case, claim, reason, .. } = outcome;
            let line = format!("{}: {case}: {claim}: {what}{reason}", rule.id);
            match lines.iter_mut().find(|(told, _)| *told == line) {
                Some((_, forms)) => forms.push(form.name()),
                None => lines.push((line, vec![form.name()])),
            }
        }
    }
    let mut text = String::new();
    for (line, forms) in &lines {
        let _ = writeln!(text, "{line} ({})", forms.join(" and "));
    }
    for rule in &findings.unfinished {
        let _ = writeln!(text, "{}: NOT TESTED to its end: {}", rule.id, rule.reason);
    }
    if text.is_empty() { text } else { text + "\n" }
}
