//! What a user came for: where the trigger should go, what it saves, and what it obliges to.

use serde::{Deserialize, Serialize};

use super::cause::cause;
use super::contamination::Contamination;
use super::plateau::{Candidate, Choice, Plateau, plateau};
use super::run::Run;
use crate::chain::{Arm, Mode, Submission, Trigger};
use crate::device::Backend;
use crate::record::{SummaryRow, Verdict};
use crate::stats::median;
use crate::units::{format_interval, signed_us, speedup, us};

/// The answer for one group and submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Group of the plan.
    pub group: u32,
    /// Stream or graph.
    pub submission: Submission,
    /// The subject.
    pub arm: Arm,
    /// `helps` when a trigger does; `hurts` when every trigger does; `equivalent` when none helps
    /// and each is equivalent or hurts; `wrong` or `skipped` when nothing else was measured; else
    /// `inconclusive`.
    pub verdict: Verdict,
    /// Best, equals and recommendation; `None` unless a trigger helps.
    pub plateau: Option<Plateau>,
    /// Triggers that hurt, in order of time.
    pub hurting: Vec<Trigger>,
    /// Triggers whose results were wrong, in order of time.
    pub wrong: Vec<Trigger>,
    /// Measured body of the group, median over its points, ns.
    pub body_ns: Option<f64>,
    /// What the recommended trigger obliges to; empty without one.
    pub obligation: String,
    /// The answer in a sentence.
    pub headline: String,
    /// What else is to be said, a sentence each: the split, the plateau, harm and its cause, wrong
    /// results, contamination.
    pub details: Vec<String>,
    /// Headline and details.
    pub sentence: String,
}

/// Answers in order of groups, stream before graph.
pub(super) fn answers(
    run: &Run,
    rows: &[SummaryRow],
    contamination: &[Contamination],
) -> Vec<Answer> {
    let mut candidates: std::collections::BTreeMap<(u32, Arm), Vec<Candidate>> = Default::default();
    if run.manifest.attached.is_some() {
        // Its answer is about edges: attach::replay.
        return Vec::new();
    }
    for (entry, row) in run.entries.iter().zip(rows) {
        if matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl) {
            candidates.entry((entry.record.group, row.arm)).or_default().push((entry, row));
        }
    }
    let answer = |((group, arm), rows): ((u32, Arm), Vec<Candidate>)| {
        answer(run, (group, arm), &rows, contamination)
    };
    candidates.into_iter().map(answer).collect()
}

fn answer(
    run: &Run,
    (group, arm): (u32, Arm),
    candidates: &[Candidate],
    contamination: &[Contamination],
) -> Answer {
    let with = |verdict: Verdict| -> Vec<Candidate> {
        candidates.iter().copied().filter(|(_, row)| row.verdict == Some(verdict)).collect()
    };
    let plateau = plateau(run, &with(Verdict::Helps));
    let bodies: Vec<f64> = candidates.iter().filter_map(|(_, row)| row.body_ns).collect();
    let mut answer = Answer {
        group,
        submission: arm.submission(),
        arm,
        verdict: overall(candidates),
        obligation: plateau
            .as_ref()
            .map_or_else(String::new, |plateau| obligation(plateau.recommended.trigger).to_owned()),
        plateau,
        hurting: triggers(&with(Verdict::Hurts)),
        wrong: triggers(&with(Verdict::Wrong)),
        body_ns: median(&bodies),
        headline: String::new(),
        details: Vec::new(),
        sentence: String::new(),
    };
    answer.headline = headline(run, &answer, candidates);
    answer.details = details(run, &answer, candidates);
    let pipelined = |one: &&Contamination| {
        let place = answer.plateau.as_ref().map(|plateau| plateau.recommended.point.as_str());
        one.arm == arm && Some(one.pipelined.as_str()) == place
    };
    answer.details.extend(contamination.iter().find(pipelined).map(|one| capital(&one.sentence())));
    answer.sentence = [answer.headline.as_str()]
        .into_iter()
        .chain(answer.details.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    answer
}

/// The verdict of a group from those of its triggers.
fn overall(candidates: &[Candidate]) -> Verdict {
    let count = |verdict: Verdict| {
        candidates.iter().filter(|(_, row)| row.verdict == Some(verdict)).count()
    };
    let (wrong, skipped) = (count(Verdict::Wrong), count(Verdict::Skipped));
    let measured = candidates.len() - wrong - skipped;
    let (hurts, equivalent) = (count(Verdict::Hurts), count(Verdict::Equivalent));
    match measured {
        0 if wrong > 0 => Verdict::Wrong,
        0 => Verdict::Skipped,
        _ if count(Verdict::Helps) > 0 => Verdict::Helps,
        _ if hurts == measured => Verdict::Hurts,
        _ if hurts + equivalent == measured => Verdict::Equivalent,
        _ => Verdict::Inconclusive,
    }
}

fn triggers(candidates: &[Candidate]) -> Vec<Trigger> {
    let mut triggers: Vec<Trigger> = candidates.iter().filter_map(|(_, row)| row.trigger).collect();
    triggers.sort_by(|a, b| a.order().total_cmp(&b.order()));
    triggers
}

/// What code that uses a trigger must keep to. A trigger says when dependents may launch, never
/// that data is visible: only the sync does.
pub fn obligation(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::AtEntry => {
            "at entry: nothing before the sync may read what a kernel in flight writes, nor write \
             what one reads; kernels further back than the primary may still run"
        }
        Trigger::Site(_) => {
            "nothing before the sync may read what the primary writes, nor write what it reads; where \
             the site stands before the kernel's own sync, neither of any kernel further back"
        }
        Trigger::Segment { .. } | Trigger::After => {
            "nothing before the sync may read what the primary writes, nor write what it reads; \
             the trigger must stay behind the kernel's own sync"
        }
        Trigger::Implicit => {
            "nothing before the sync may read what the primary writes, nor write what it reads: \
             its blocks have exited, but only the sync makes their writes visible"
        }
    }
}

/// What the group says of the arm, in one sentence.
fn headline(run: &Run, answer: &Answer, candidates: &[Candidate]) -> String {
    let mut text = match run.manifest.facts.backend {
        Backend::Sim => "SIMULATED: ".to_owned(),
        Backend::Gpu => String::new(),
    };
    let pipelined = candidates.iter().any(|(_, row)| row.mode == Mode::Pipelined);
    text += match (pipelined, answer.submission) {
        (false, Submission::Stream) => "In a stream, ",
        (false, Submission::Graph) => "In a graph, ",
        (true, Submission::Stream) => "Pipelined, in a stream, ",
        (true, Submission::Graph) => "Pipelined, in a graph, ",
    };
    text + &match (&answer.plateau, answer.verdict) {
        (Some(plateau), Verdict::Helps) => helps(&plateau.recommended, pipelined),
        (_, Verdict::Hurts) => format!("every trigger hurts: {}.", range(candidates)),
        (_, Verdict::Equivalent) => {
            format!("no trigger makes a difference worth having: {}.", range(candidates))
        }
        (_, Verdict::Wrong) => "every result was wrong: no speed is given.".to_owned(),
        (_, Verdict::Skipped) => "no point could be run on this device.".to_owned(),
        _ => format!("no trigger can be called better at this precision: {}.", range(candidates)),
    }
}

fn details(run: &Run, answer: &Answer, candidates: &[Candidate]) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(plateau) = &answer.plateau {
        details.extend(split(&plateau.recommended));
        details.push(match plateau.triggers.as_slice() {
            [_] => "No other trigger is as good.".to_owned(),
            equals => {
                format!("It is the latest of {} that are as good: {}.", equals.len(), list(equals))
            }
        });
    }
    if !answer.hurting.is_empty() && answer.verdict != Verdict::Hurts {
        details.push(format!("It hurts at: {}.", list(&answer.hurting)));
    }
    details.extend(worst(candidates).and_then(|worst| harm(run, answer, worst)));
    if !answer.wrong.is_empty() && answer.verdict != Verdict::Wrong {
        details.push(format!(
            "Results were wrong at: {}; a race there may be one elsewhere too.",
            list(&answer.wrong)
        ));
    }
    details
}

/// The row that hurts most.
fn worst<'r>(candidates: &[Candidate<'r, '_>]) -> Option<&'r SummaryRow> {
    let hurting = candidates.iter().map(|(_, row)| *row);
    let hurting = hurting.filter(|row| row.verdict == Some(Verdict::Hurts));
    hurting.min_by(|a, b| {
        let saved = |row: &SummaryRow| row.saved_ns.unwrap_or(f64::MAX);
        saved(a).total_cmp(&saved(b))
    })
}

/// How much the worst trigger hurts, and why, as far as stamps prove it.
fn harm(run: &Run, answer: &Answer, worst: &SummaryRow) -> Option<String> {
    let (trigger, saved) = (worst.trigger?, worst.saved_ns?);
    let slower = worst.speedup.map_or_else(String::new, |ratio| {
        format!(", {} the baseline's time", speedup(1.0 / ratio))
    });
    let cause = cause(run, answer.group, answer.arm, trigger, worst.period_ns);
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    Some(format!("The worst is {trigger}, {} a hop{slower}{cause}.", signed_us(saved)))
}

/// Where a trigger is, in a sentence.
fn place(trigger: Trigger) -> String {
    match trigger {
        Trigger::AtEntry => "at entry".to_owned(),
        Trigger::Implicit => "at block exit (implicit)".to_owned(),
        Trigger::After => "after the last store".to_owned(),
        Trigger::Segment { .. } | Trigger::Site(_) => format!("at {trigger}"),
    }
}

/// What pipelined chains show is not the hop's alone.
fn helps(choice: &Choice, pipelined: bool) -> String {
    let interval = choice
        .saved_interval_ns
        .map_or_else(String::new, |i| format!(" (95 %: {} µs)", format_interval(i.lo, i.hi)));
    let ratio = choice.speedup.map_or_else(String::new, |ratio| format!(", {}", speedup(ratio)));
    format!(
        "the trigger {} {} {} a hop{interval}{ratio}.",
        place(choice.trigger),
        if pipelined { "seems to save" } else { "saves" },
        us(choice.saved_ns)
    )
}

/// What the saved time is made of.
fn split(choice: &Choice) -> Option<String> {
    let (code, dependency) = (choice.code_cost_ns?, choice.dependency_saved_ns?);
    Some(format!(
        "The programmatic dependency saves {} and the added instructions cost {}.",
        signed_us(dependency),
        signed_us(code)
    ))
}

/// Smallest and largest median saved time of the candidates that were measured.
fn range(candidates: &[Candidate]) -> String {
    let saved = || candidates.iter().filter_map(|(_, row)| row.saved_ns);
    match (saved().reduce(f64::min), saved().reduce(f64::max)) {
        (Some(least), Some(most)) => {
            format!("median saved from {} to {} a hop", signed_us(least), signed_us(most))
        }
        _ => "nothing could be compared".to_owned(),
    }
}

fn list(triggers: &[Trigger]) -> String {
    triggers.iter().map(Trigger::to_string).collect::<Vec<_>>().join(", ")
}

/// A sentence begins with a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
