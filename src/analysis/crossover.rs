//! From which body on it stops paying: answers of groups that differ in body alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::run::Run;
use crate::chain::{Submission, Target, Trigger};
use crate::record::Verdict;

/// Where, along the body, one submission stops paying.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Stream or graph.
    pub submission: Submission,
    /// Groups that differ in body alone, by measured body.
    pub groups: Vec<u32>,
    /// The longest measured body with which a trigger still helps, ns; `None` when none does.
    pub pays_to_body_ns: Option<f64>,
    /// The shortest measured body beyond that, where none was seen to help, ns; `None` when it
    /// pays to the end of what was measured.
    pub stops_by_body_ns: Option<f64>,
    /// Whether every body shorter than `pays_to_body_ns` pays too: else there is no one crossover.
    pub monotone: bool,
}

/// One for each submission and family of at least two bodies.
pub(super) fn crossovers(run: &Run, answers: &[Answer]) -> Vec<Crossover> {
    let mut chains: BTreeMap<u32, String> = BTreeMap::new();
    for point in &run.manifest.plan.points {
        let mut chain = point.chain;
        chain.trigger = Trigger::Implicit;
        (chain.body.target, chain.body.units) = (Target::Ns(0.0), 0);
        chains.entry(point.group).or_insert_with(|| format!("{chain:?}"));
    }
    let mut families: BTreeMap<(&str, &'static str), Vec<(f64, &Answer)>> = BTreeMap::new();
    for answer in answers {
        let unknown = matches!(answer.verdict, Verdict::Wrong | Verdict::Skipped);
        let (Some(chain), Some(body_ns), false) =
            (chains.get(&answer.group), answer.body_ns, unknown)
        else {
            continue;
        };
        families.entry((chain, answer.submission.name())).or_default().push((body_ns, answer));
    }
    families.into_values().filter_map(crossover).collect()
}

fn crossover(mut family: Vec<(f64, &Answer)>) -> Option<Crossover> {
    if family.len() < 2 {
        return None;
    }
    family.sort_by(|a, b| a.0.total_cmp(&b.0));
    let helps: Vec<bool> =
        family.iter().map(|(_, answer)| answer.verdict == Verdict::Helps).collect();
    let paying = helps.iter().rposition(|&helps| helps);
    let beyond = paying.map_or(0, |last| last + 1);
    Some(Crossover {
        submission: family[0].1.submission,
        groups: family.iter().map(|(_, answer)| answer.group).collect(),
        pays_to_body_ns: paying.map(|at| family[at].0),
        stops_by_body_ns: family.get(beyond).map(|(body_ns, _)| *body_ns),
        monotone: helps[..beyond].iter().all(|&helps| helps),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Arm;

    fn answer(group: u32, verdict: Verdict) -> Answer {
        Answer {
            group,
            submission: Submission::Graph,
            arm: Arm::GraphPdl,
            verdict,
            plateau: None,
            hurting: Vec::new(),
            wrong: Vec::new(),
            body_ns: None,
            obligation: String::new(),
            sentence: String::new(),
        }
    }

    #[test]
    fn the_crossover_lies_between_the_last_that_pays_and_the_next() {
        use Verdict::{Equivalent, Helps, Hurts};
        // Verdicts at bodies of 1, 2, 3 µs, and (pays to, stops by, monotone).
        let cases = [
            ([Helps, Helps, Equivalent], (Some(2e3), Some(3e3), true)),
            ([Helps, Helps, Helps], (Some(3e3), None, true)),
            ([Hurts, Hurts, Equivalent], (None, Some(1e3), true)),
            ([Helps, Hurts, Helps], (Some(3e3), None, false)),
        ];
        for (verdicts, expected) in cases {
            let answers: Vec<Answer> =
                verdicts.iter().zip(0..).map(|(&verdict, group)| answer(group, verdict)).collect();
            // Out of order: the body decides.
            let family = [2, 0, 1].map(|at| (1e3 * (at as f64 + 1.0), &answers[at]));
            let found = crossover(family.to_vec()).unwrap();
            let ends = (found.pays_to_body_ns, found.stops_by_body_ns, found.monotone);
            assert_eq!(ends, expected, "{verdicts:?}");
            assert_eq!(found.groups, [0, 1, 2]);
        }
        assert_eq!(crossover(vec![(1.0, &answer(0, Helps))]), None);
    }
}
