//! From which amount on it stops paying: answers of groups that differ in one quantity alone.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::groups;
use super::run::Run;
use crate::chain::{Mode, Submission, Trigger};
use crate::coordinates::{Coordinate, families, short_names};
use crate::record::Verdict;
use crate::stats::Interval;
use crate::units::{signed_us, us};

/// What is said where no quantity varies.
pub const NO_CROSSOVER: &str = "Crossover: not measured, as no quantity varies in this run; lists \
                                such as --body-us 1,4,16 or --grid 66,132,264 show where it stops \
                                paying.";

/// One group of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Group of the plan.
    pub group: u32,
    /// Value of the quantity that varies: ns as measured for a body length, ns, bytes or a count
    /// as asked for else.
    pub value: f64,
    /// The value as it was asked for, with its unit.
    pub text: String,
    /// The verdict of the group's answer.
    pub verdict: Verdict,
    /// The recommended trigger; `None` where none helps.
    pub trigger: Option<Trigger>,
    /// What it saves, ns a hop.
    pub saved_ns: Option<f64>,
    /// 95 % interval of the same.
    pub saved_interval_ns: Option<Interval>,
}

impl Step {
    fn pays(&self) -> bool {
        self.verdict == Verdict::Helps
    }
}

/// Where along the quantity some trigger helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// At every value measured.
    Always,
    /// At none.
    Never,
    /// At small values alone.
    UpTo,
    /// At large values alone.
    From,
    /// There is no one crossover.
    Mixed,
}

/// Where, along one quantity, one submission stops paying.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// The quantity: `body length`, `body bytes`, `blocks` …
    pub axis: String,
    /// What the groups have in common, as far as other groups of the run differ in it.
    pub family: String,
    /// Stream or graph.
    pub submission: Submission,
    /// The groups, by the quantity.
    pub steps: Vec<Step>,
    /// Where it pays.
    pub course: Course,
    /// The largest value with which a trigger still helps; `None` when none does.
    pub pays_to: Option<f64>,
    /// The smallest value beyond that, where none was seen to help; `None` when it pays to the end
    /// of what was measured.
    pub stops_by: Option<f64>,
    /// The same in words.
    pub sentence: String,
}

/// One for each submission and family of at least two groups. Pipelined groups are left out: what
/// they save is not the hop's alone.
pub(super) fn crossovers(run: &Run, answers: &[Answer]) -> Vec<Crossover> {
    let manifest = run.manifest;
    let isolated = groups::chains(manifest).into_iter();
    let isolated = isolated.filter(|(_, chain)| chain.mode == Mode::Isolated);
    let (groups, places): (Vec<u32>, Vec<Vec<Coordinate>>) =
        isolated.map(|(group, chain)| (group, groups::place(manifest, chain))).unzip();
    let mut crossovers = Vec::new();
    for (axis, members) in families(&places) {
        let place = |at: usize| {
            let found = places[at].iter().find(|one| *one.axis == *axis);
            found.expect("every member of a family stands on its axis")
        };
        if !place(members[0]).quantity {
            continue;
        }
        for submission in [Submission::Graph, Submission::Stream] {
            let step = |&at: &usize| {
                let of = |a: &&Answer| a.group == groups[at] && a.submission == submission;
                let answer = answers.iter().find(of)?;
                let coordinate = place(at);
                let asked = coordinate.rank;
                let value = if axis == "body length" { answer.body_ns? } else { asked };
                let unknown = matches!(answer.verdict, Verdict::Wrong | Verdict::Skipped);
                (!unknown).then(|| step(answer, value, coordinate.text.clone()))
            };
            let family = short_names(&places, Some(&axis)).swap_remove(members[0]);
            let steps = members.iter().filter_map(step).collect();
            crossovers.extend(crossover(&axis, family, submission, steps));
        }
    }
    crossovers
}

fn step(answer: &Answer, value: f64, text: String) -> Step {
    let choice = answer.plateau.as_ref().map(|plateau| &plateau.recommended);
    Step {
        group: answer.group,
        value,
        text,
        verdict: answer.verdict,
        trigger: choice.map(|choice| choice.trigger),
        saved_ns: choice.map(|choice| choice.saved_ns),
        saved_interval_ns: choice.and_then(|choice| choice.saved_interval_ns),
    }
}

fn crossover(
    axis: &str,
    family: String,
    submission: Submission,
    mut steps: Vec<Step>,
) -> Option<Crossover> {
    if steps.len() < 2 {
        return None;
    }
    steps.sort_by(|a, b| a.value.total_cmp(&b.value));
    let last = steps.iter().rposition(Step::pays);
    let beyond = last.map_or(0, |last| last + 1);
    let mut found = Crossover {
        axis: axis.to_owned(),
        family,
        submission,
        course: course(&steps),
        pays_to: last.map(|at| steps[at].value),
        stops_by: steps.get(beyond).map(|step| step.value),
        steps,
        sentence: String::new(),
    };
    found.sentence = sentence(&found);
    Some(found)
}

fn course(steps: &[Step]) -> Course {
    let pays: Vec<bool> = steps.iter().map(Step::pays).collect();
    // Changes from one value to the next.
    let turns = pays.windows(2).filter(|pair| pair[0] != pair[1]).count();
    match (turns, pays[0]) {
        (0, true) => Course::Always,
        (0, false) => Course::Never,
        (1, true) => Course::UpTo,
        (1, false) => Course::From,
        _ => Course::Mixed,
    }
}

fn sentence(found: &Crossover) -> String {
    let steps = &found.steps;
    let (first, last) = (&steps[0], &steps[steps.len() - 1]);
    let place = match found.submission {
        Submission::Graph => "in a graph",
        Submission::Stream => "in a stream",
    };
    let texts = |pays: bool| -> Vec<&str> {
        let chosen = steps.iter().filter(|step| step.pays() == pays);
        chosen.map(|step| step.text.as_str()).collect()
    };
    let (pays, stops) = (texts(true), texts(false));
    let family = match found.family.as_str() {
        "" => String::new(),
        family => format!("{family}, "),
    };
    let mut text =
        format!("Along {} ({family}{} to {}), {place}: ", found.axis, first.text, last.text);
    let count = steps.len();
    text += &match found.course {
        Course::Always => format!(
            "some trigger helps at each of the {count} values measured, so no crossover was reached"
        ),
        Course::Never => format!("no trigger was seen to help at any of the {count} values"),
        Course::UpTo => format!("it pays {} and no longer {}", range(&pays), range(&stops)),
        Course::From => format!("it does not pay {}, and does {}", range(&stops), range(&pays)),
        Course::Mixed => format!(
            "no one crossover: it pays at {}, and not at {}",
            pays.join(", "),
            stops.join(", ")
        ),
    };
    let mut paying = steps.iter().filter(|step| step.pays());
    let ends = (paying.next(), paying.next_back());
    if let (Some(from), Some(to)) = ends {
        text += &format!("; {}, {}", best(from), best(to));
    }
    text + "."
}

/// Values that follow one another: `at 4 µs`, `from 4 µs to 16 µs`.
fn range(texts: &[&str]) -> String {
    match texts {
        [only] => format!("at {only}"),
        [first, .., last] => format!("from {first} to {last}"),
        [] => String::new(),
    }
}

/// `best at 4 µs: 6/8, +1.082 µs a hop`.
fn best(step: &Step) -> String {
    let trigger = step.trigger.map_or_else(String::new, |trigger| trigger.to_string());
    let saved = step.saved_ns.map_or_else(String::new, signed_us);
    format!("best at {}: {trigger}, {saved} a hop", step.text)
}

impl Crossover {
    /// A value of the quantity, as it was measured.
    pub fn value_text(&self, step: &Step) -> String {
        match self.axis.as_str() {
            "body length" => format!("{} (measured {})", step.text, us(step.value)),
            _ => step.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(value: f64, verdict: Verdict) -> Step {
        Step {
            group: value as u32,
            value,
            text: format!("{value} blocks"),
            verdict,
            trigger: (verdict == Verdict::Helps).then_some(Trigger::AtEntry),
            saved_ns: (verdict == Verdict::Helps).then_some(100.0),
            saved_interval_ns: None,
        }
    }

    #[test]
    fn the_crossover_lies_between_the_last_that_pays_and_the_next() {
        use Verdict::{Equivalent, Helps, Hurts, Inconclusive};
        // Verdicts at 1, 2, 3, and (pays to, stops by, course).
        let cases = [
            ([Helps, Helps, Equivalent], (Some(2.0), Some(3.0), Course::UpTo)),
            ([Helps, Helps, Helps], (Some(3.0), None, Course::Always)),
            ([Hurts, Inconclusive, Equivalent], (None, Some(1.0), Course::Never)),
            ([Hurts, Helps, Helps], (Some(3.0), None, Course::From)),
            ([Helps, Hurts, Helps], (Some(3.0), None, Course::Mixed)),
        ];
        for (verdicts, expected) in cases {
            // Out of order: the value decides.
            let steps = [2, 0, 1].map(|at| step(at as f64 + 1.0, verdicts[at])).to_vec();
            let found = crossover("blocks", "fma 4 µs".into(), Submission::Graph, steps).unwrap();
            assert_eq!((found.pays_to, found.stops_by, found.course), expected, "{verdicts:?}");
            assert_eq!(found.steps.iter().map(|s| s.group).collect::<Vec<_>>(), [1, 2, 3]);
        }
        let alone = vec![step(1.0, Helps)];
        assert_eq!(crossover("blocks", String::new(), Submission::Graph, alone), None);
    }

    #[test]
    fn the_words_name_where_it_pays_and_where_not() {
        use Verdict::{Equivalent, Helps};
        let of = |verdicts: [Verdict; 2]| {
            let steps = vec![step(1.0, verdicts[0]), step(2.0, verdicts[1])];
            crossover("blocks", "fma 4 µs".into(), Submission::Stream, steps).unwrap().sentence
        };
        assert_eq!(
            of([Helps, Equivalent]),
            "Along blocks (fma 4 µs, 1 blocks to 2 blocks), in a stream: it pays at 1 blocks and \
             no longer at 2 blocks."
        );
        assert!(
            of([Equivalent, Helps]).ends_with("it does not pay at 1 blocks, and does at 2 blocks.")
        );
        assert!(of([Equivalent, Equivalent]).contains("no trigger was seen to help at any"));
        let both = of([Helps, Helps]);
        assert!(
            both.contains("no crossover was reached; best at 1 blocks: at-entry, +0.100 µs a hop"),
            "{both}"
        );
    }
}
