//! The answer first: the best arm, the best trigger of each submission, where it stops paying.

use serde::Serialize;

use super::words::{self, Badge};
use super::{Group, group_name};
use crate::analysis::{Answer, Crossover, Step, Summary};
use crate::chain::Submission;
use crate::record::Run;
use crate::units::{format_interval, signed_us};

/// The answer of a run.
#[derive(Serialize)]
pub(super) struct View {
    groups: Vec<GroupView>,
    /// Whether each group is told in full at once: few are.
    open: bool,
    crossovers: Vec<CrossoverView>,
    paste: String,
}

/// The answers of one group.
#[derive(Serialize)]
struct GroupView {
    id: u32,
    name: String,
    /// The best arm.
    best: Option<String>,
    /// Floor and ceiling by the device profile.
    bounds: Vec<String>,
    answers: Vec<AnswerView>,
}

/// The answer of one group and submission.
#[derive(Serialize)]
struct AnswerView {
    badge: Badge,
    arm: String,
    headline: String,
    details: Vec<String>,
    obligation: String,
}

/// Where it stops paying, along one quantity.
#[derive(Serialize)]
struct CrossoverView {
    sentence: String,
    axis: String,
    caption: String,
    steps: Vec<StepView>,
}

#[derive(Serialize)]
struct StepView {
    value: String,
    badge: Badge,
    trigger: String,
    saved: String,
    interval: String,
}

/// Up to this many groups are told in full at once.
const OPEN_GROUPS: usize = 3;

pub(super) fn view(summary: &Summary, run: &Run, groups: &[Group]) -> View {
    let mut told: Vec<GroupView> = Vec::new();
    for group in groups {
        let mut answers: Vec<&Answer> =
            summary.answers.iter().filter(|answer| answer.group == group.id).collect();
        // As the tables have it.
        answers.sort_by_key(|answer| answer.submission == Submission::Stream);
        if answers.is_empty() {
            continue;
        }
        let best = summary.bests.iter().find(|best| best.group == group.id);
        told.push(GroupView {
            id: group.id,
            name: group_name(groups, group.id),
            best: best.map(|best| best.sentence.clone()),
            bounds: summary
                .bounds
                .iter()
                .filter(|bounds| bounds.group == group.id)
                .map(|bounds| bounds.sentence())
                .collect(),
            answers: answers.into_iter().map(answer).collect(),
        });
    }
    debug_assert!(run.manifest.plan.points.len() >= told.len());
    View {
        open: told.len() <= OPEN_GROUPS,
        groups: told,
        crossovers: summary.crossovers.iter().map(crossover).collect(),
        paste: summary.paste.clone(),
    }
}

fn answer(answer: &Answer) -> AnswerView {
    AnswerView {
        badge: words::verdict(answer.verdict),
        arm: answer.arm.to_string(),
        headline: answer.headline.clone(),
        details: answer.details.clone(),
        obligation: answer.obligation.clone(),
    }
}

fn crossover(crossover: &Crossover) -> CrossoverView {
    let step = |step: &Step| StepView {
        value: crossover.value_text(step),
        badge: words::verdict(step.verdict),
        trigger: step.trigger.map_or_else(String::new, |trigger| trigger.to_string()),
        saved: step.saved_ns.map_or_else(String::new, signed_us),
        interval: step
            .saved_interval_ns
            .map_or_else(String::new, |interval| format_interval(interval.lo, interval.hi)),
    };
    CrossoverView {
        sentence: crossover.sentence.clone(),
        axis: crossover.axis.clone(),
        caption: format!("{}, {}", crossover.family, crossover.submission.name()),
        steps: crossover.steps.iter().map(step).collect(),
    }
}
