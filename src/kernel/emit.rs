//! What a run gives back to the source: a header that chooses, and the line to change.

use std::fmt::Write;
use std::path::Path;

use super::{Decision, Policy};
use crate::chain::{Sites, Submission, Trigger};
use crate::chain_file::Mark;

/// A C header with one function a submission: for a value of the policy's axis the trigger sites as
/// bits, 0 for programmatic edges without a trigger, or −1 for off. Between two measured values the
/// lower one's decision holds, and below the lowest the lowest's.
pub fn header(policy: &Policy) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = policy.name.chars().map(plain).collect();
    let guard = format!("PDL_POLICY_{}_H", name.to_ascii_uppercase());
    let mut text = format!(
        "/* Made by pdl kernel from measurements on {}. */\n#ifndef {guard}\n#define {guard}\n\n",
        policy.device
    );
    if policy.unsafe_no_sync {
        text +=
            "#error \"UNSAFE: kernels without a sync were measured behind programmatic edges\"\n";
    }
    text += "/* Trigger sites as bits (PDL_TRIGGER_SITES); 0: programmatic edges and no trigger; -1: \
             off. */\n";
    for submission in [Submission::Graph, Submission::Stream] {
        let argument = policy.axis.as_deref().unwrap_or("unused");
        let _ = writeln!(
            text,
            "static inline long pdl_policy_{name}_{}(long {argument}) {{",
            submission.name()
        );
        let mut steps: Vec<(i64, Decision)> = Vec::new();
        for row in policy.rows.iter().filter(|row| row.submission == submission) {
            let at = policy.axis.as_ref().and_then(|axis| row.axes.get(axis)).copied().unwrap_or(0);
            // Of several other axes the first stands for all: who sweeps two decides over one.
            if !steps.iter().any(|(known, _)| *known == at) {
                steps.push((at, row.decision));
            }
        }
        steps.sort_by_key(|(at, _)| *at);
        steps.dedup_by(|later, earlier| later.1 == earlier.1);
        if policy.axis.is_none() {
            let _ = writeln!(text, "  (void)unused;");
        }
        for (at, decision) in steps.iter().skip(1).rev() {
            let _ = writeln!(text, "  if ({argument} >= {at}) return {};", bits(*decision));
        }
        let first = steps.first().map_or(-1, |(_, decision)| bits(*decision));
        let _ = writeln!(text, "  return {first};\n}}");
    }
    let _ = writeln!(text, "\n#endif /* {guard} */");
    text
}

fn bits(decision: Decision) -> i64 {
    match decision {
        Decision::Off => -1,
        Decision::On(trigger) => i64::from(trigger.sites().triggers),
    }
}

/// The lines that make a decision the default of the source: the chosen trigger sites become
/// triggers, for `patch -p1` in `folder`. Empty where there is nothing to change.
pub fn patch(marks: &[Mark], trigger: Trigger, folder: &Path) -> String {
    let Sites { triggers, .. } = trigger.sites();
    let mut text = String::new();
    for mark in marks.iter().filter(|mark| mark.trigger && triggers >> mark.site & 1 == 1) {
        let Ok(source) = std::fs::read_to_string(&mark.path) else { continue };
        let lines: Vec<&str> = source.lines().collect();
        let Some(line) = lines.get(mark.line - 1) else { continue };
        let path = mark.path.strip_prefix(folder).unwrap_or(&mark.path).display();
        let (before, after) = (mark.line.checked_sub(2), mark.line);
        let context = |at: Option<usize>| at.and_then(|at| lines.get(at).copied());
        let (before, after) = (context(before), context(Some(after)));
        let first = mark.line - usize::from(before.is_some());
        let count = 1 + usize::from(before.is_some()) + usize::from(after.is_some());
        let _ =
            writeln!(text, "--- a/{path}\n+++ b/{path}\n@@ -{first},{count} +{first},{count} @@");
        let changed = change(line, mark.site);
        let all = [
            before.map(|l| (' ', l.to_owned())),
            Some(('-', (*line).to_owned())),
            Some(('+', changed)),
            after.map(|l| (' ', l.to_owned())),
        ];
        for (sign, line) in all.into_iter().flatten() {
            let _ = writeln!(text, "{sign}{line}");
        }
    }
    text
}

/// `PDL_TRIGGER_SITE(2)` becomes a trigger, whatever the flags.
fn change(line: &str, site: u32) -> String {
    let trigger = "cudaTriggerProgrammaticLaunchCompletion()";
    let compact: String = line.to_owned();
    let Some(at) = compact.find("PDL_TRIGGER_SITE") else { return compact };
    let mut from = at;
    while let Some(open) = compact[from..].find('(').map(|open| from + open) {
        let Some(close) = compact[open..].find(')').map(|close| open + close) else { break };
        if compact[open + 1..close].trim() == site.to_string() {
            let begin = compact[..open].rfind("PDL_TRIGGER_SITE").unwrap_or(at);
            return format!("{}{trigger}{}", &compact[..begin], &compact[close + 1..]);
        }
        from = close;
    }
    compact
}
