//! What carries over from one device to another: signs and places of triggers, never microseconds.

use std::collections::HashMap;

use serde::Serialize;

use super::Side;
use super::definition::{group_key_by_sm, group_label};
use super::judge::Change;
use super::notes::{notes, party};
use super::outcome::{COMPARISON_SCHEMA, Party};
use crate::analysis::Answer;
use crate::chain::{Chain, Submission, Trigger};
use crate::error::{Error, Result};
use crate::record::Verdict;

/// A trigger that keeps this part of what the best one saves carries over.
pub const KEPT: f64 = 0.95;

/// Whether something that one run says holds in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carried {
    /// It does.
    Holds,
    /// It does not.
    Moved,
    /// One of the runs does not say.
    Unknown,
}

impl Carried {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Carried::Holds => "holds",
            Carried::Moved => "moved",
            Carried::Unknown => "unknown",
        }
    }
}

/// What one run says of a group and submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// Whether programmatic launch helps.
    pub verdict: Verdict,
    /// Best trigger; `None` unless one helps.
    pub best: Option<Trigger>,
    /// The recommended one: the latest of the plateau.
    pub recommended: Option<Trigger>,
    /// Triggers as good as the best, in order of time.
    pub plateau: Vec<Trigger>,
    /// Triggers that hurt, in order of time.
    pub hurting: Vec<Trigger>,
}

/// One group and submission in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AcrossRow {
    /// What every node of the group does, as the first run has it.
    pub group: String,
    /// Stream or graph.
    pub submission: Submission,
    /// What the first run says.
    pub a: Said,
    /// What the second says.
    pub b: Said,
    /// Whether programmatic launch helps in both, hurts in both, or makes no difference in both.
    pub sign: Carried,
    /// Whether the first run's recommended trigger serves on the second device; `None` where no
    /// trigger helps in either.
    pub trigger: Option<Carried>,
    /// Part of what the best trigger of the second run saves that the first run's recommended one
    /// keeps there.
    pub kept: Option<f64>,
    /// Whether the plateaus share a trigger; `None` where there is none in either.
    pub plateau: Option<Carried>,
    /// Triggers that hurt on the second device and not on the first.
    pub newly_hurting: Vec<Trigger>,
}

/// Two runs on devices whose microseconds must not be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Across {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// The first run.
    pub a: Party,
    /// The second run.
    pub b: Party,
    /// What a reader should know, one line each.
    pub notes: Vec<String>,
    /// Groups that both have, by submission.
    pub rows: Vec<AcrossRow>,
    /// Whether everything holds: `moved` where anything does not.
    pub carried: Carried,
    /// Whether a result of the second run is wrong.
    pub wrong: bool,
}

/// What of `a` carries over to `b`.
///
/// # Errors
/// No group in common.
pub fn compare_across(a: (&str, &Side), b: (&str, &Side)) -> Result<Across> {
    let (of_a, of_b) = (answers(a.1), answers(b.1));
    let mut in_b: HashMap<(String, Submission), &Answer> =
        of_b.iter().map(|(key, _, answer)| ((key.clone(), answer.submission), *answer)).collect();
    let mut rows = Vec::new();
    for (key, chain, answer) in &of_a {
        if let Some(other) = in_b.remove(&(key.clone(), answer.submission)) {
            rows.push(row(chain, answer, other, b.1));
        }
    }
    if rows.is_empty() {
        let cause = "they have no group of points in common";
        return Err(Error::failed(format!("compare {} with {}", a.0, b.0), cause)
            .remedy("measure the same chains on both; blocks count by the SM"));
    }
    let all = || {
        let each = |row: &AcrossRow| [Some(row.sign), row.trigger, row.plateau];
        rows.iter().flat_map(each).flatten()
    };
    let carried = if all().any(|carried| carried == Carried::Moved) {
        Carried::Moved
    } else if all().any(|carried| carried == Carried::Unknown) {
        Carried::Unknown
    } else {
        Carried::Holds
    };
    Ok(Across {
        schema: COMPARISON_SCHEMA,
        a: party(a.0, a.1),
        b: party(b.0, b.1),
        notes: notes(a.1, b.1),
        rows,
        carried,
        wrong: b.1.summary.rows.iter().any(|row| row.verdict == Some(Verdict::Wrong)),
    })
}

impl Across {
    /// What `--fail-on` is asked about: a wrong result, or that nothing can be said.
    pub fn has(&self, change: Change) -> bool {
        match change {
            Change::Wrong => self.wrong,
            Change::Inconclusive => self.carried == Carried::Unknown,
            _ => false,
        }
    }
}

/// Answers with the definition of their group.
fn answers(side: &Side) -> Vec<(String, Chain, &Answer)> {
    let sm_count = side.manifest.facts.sm_count;
    let chain = |group: u32| {
        let point = side.manifest.plan.points.iter().find(|point| point.group == group);
        point.map(|point| point.chain)
    };
    let answers = side.summary.answers.iter();
    answers
        .filter_map(|answer| {
            let chain = chain(answer.group)?;
            Some((group_key_by_sm(&chain, sm_count), chain, answer))
        })
        .collect()
}

fn said(answer: &Answer) -> Said {
    let plateau = answer.plateau.as_ref();
    Said {
        verdict: answer.verdict,
        best: plateau.map(|plateau| plateau.best.trigger),
        recommended: plateau.map(|plateau| plateau.recommended.trigger),
        plateau: plateau.map(|plateau| plateau.triggers.clone()).unwrap_or_default(),
        hurting: answer.hurting.clone(),
    }
}

fn row(chain: &Chain, answer: &Answer, other: &Answer, b: &Side) -> AcrossRow {
    let (of_a, of_b) = (said(answer), said(other));
    let kept = of_a.recommended.and_then(|trigger| kept(trigger, other, b));
    let newly = of_b.hurting.iter().filter(|trigger| !of_a.hurting.contains(trigger));
    let overlap = of_a.plateau.iter().any(|trigger| of_b.plateau.contains(trigger));
    AcrossRow {
        group: group_label(chain),
        submission: answer.submission,
        sign: sign(of_a.verdict, of_b.verdict),
        trigger: trigger(&of_a, &of_b, kept),
        kept,
        plateau: match (of_a.plateau.is_empty(), of_b.plateau.is_empty()) {
            (true, true) => None,
            (false, false) if overlap => Some(Carried::Holds),
            (false, false) => Some(Carried::Moved),
            _ => Some(Carried::Unknown),
        },
        newly_hurting: newly.copied().collect(),
        a: of_a,
        b: of_b,
    }
}

/// The first run's recommended trigger holds where it is one of the second's plateau, or keeps
/// nearly all of what the best saves there.
fn trigger(a: &Said, b: &Said, kept: Option<f64>) -> Option<Carried> {
    if a.recommended.is_none() && b.recommended.is_none() {
        return None;
    }
    Some(match (a.recommended, kept) {
        (Some(trigger), _) if b.plateau.contains(&trigger) => Carried::Holds,
        (Some(_), Some(kept)) if kept >= KEPT => Carried::Holds,
        (Some(_), Some(_)) => Carried::Moved,
        _ => Carried::Unknown,
    })
}

fn sign(a: Verdict, b: Verdict) -> Carried {
    use Verdict::{Equivalent, Helps, Hurts};
    match (a, b) {
        (Helps | Hurts | Equivalent, Helps | Hurts | Equivalent) if a == b => Carried::Holds,
        (Helps | Hurts | Equivalent, Helps | Hurts | Equivalent) => Carried::Moved,
        _ => Carried::Unknown,
    }
}

/// Part of the best trigger's saved time that `trigger` saves in the run of `answer`.
fn kept(trigger: Trigger, answer: &Answer, side: &Side) -> Option<f64> {
    let best = answer.plateau.as_ref()?.best.saved_ns;
    let points = &side.manifest.plan.points;
    let mine = |point: &str| points.iter().any(|p| p.point == point && p.group == answer.group);
    let row =
        side.summary.rows.iter().find(|row| {
            row.arm == answer.arm && row.trigger == Some(trigger) && mine(&row.point)
        })?;
    let kept = row.saved_ns? / best;
    kept.is_finite().then_some(kept)
}
