//! The findings as tables.

use super::{Findings, Form, Kind, Outcome, RuleFinding, Verdict};
use crate::cells::Cells;
use crate::device::EdgeCount;
use crate::units::{ABSENT, signed_us};

/// The verdict as a table shows it: what contradicts the documentation is loud.
fn loud(verdict: Verdict) -> String {
    match verdict {
        Verdict::Violated => "VIOLATED".into(),
        other => other.name().into(),
    }
}

fn verdict_in(rule: &RuleFinding, form: Form) -> String {
    let found = rule.forms.iter().find(|found| found.form == form);
    found.map_or_else(|| ABSENT.into(), |found| loud(found.verdict))
}

/// A row a rule: its verdicts, and the evidence of what is documented.
pub fn rules(findings: &Findings) -> Cells {
    let row = |rule: &RuleFinding| {
        let laws = || rule.outcomes().filter(|(_, o)| o.kind == Kind::Law && o.tested > 0);
        let counter_examples: u64 = laws().map(|(_, outcome)| outcome.seen).sum();
        let bound = laws().filter_map(|(_, outcome)| outcome.below).reduce(f64::max);
        let has_laws = laws().next().is_some();
        vec![
            rule.id.clone(),
            verdict_in(rule, Form::Stream),
            verdict_in(rule, Form::Graph),
            repetitions(rule).to_string(),
            if has_laws { counter_examples.to_string() } else { ABSENT.into() },
            match bound {
                Some(bound) if counter_examples == 0 => format!("{bound:.1e}"),
                _ => ABSENT.into(),
            },
            tightest(rule),
        ]
    };
    let header =
        ["rule", "stream", "graph", "repetitions", "counter-examples", "below", "tightest"];
    Cells::new(&header, findings.rules.iter().map(row).collect(), &[3, 4, 5])
}

/// Repetitions of all cases: claims of one case share theirs.
fn repetitions(rule: &RuleFinding) -> u64 {
    let mut total = 0;
    for form in &rule.forms {
        let mut last = "";
        for outcome in &form.outcomes {
            if outcome.case != last {
                total += outcome.repetitions;
            }
            last = &outcome.case;
        }
    }
    total
}

/// The promised difference that came closest to being broken, over all repetitions.
fn tightest(rule: &RuleFinding) -> String {
    let laws = rule.outcomes().filter(|(_, outcome)| outcome.kind == Kind::Law);
    let spreads = laws.filter_map(|(_, o)| Some((o.measure.as_str(), o.spread?)));
    match spreads.min_by(|a, b| a.1.min_ns.total_cmp(&b.1.min_ns)) {
        Some((measure, spread)) => format!("{measure} ≥ {}", signed_us(spread.min_ns)),
        None => ABSENT.into(),
    }
}

/// Claims that no documentation promises, the forms beside each other.
pub fn left_open(findings: &Findings) -> Cells {
    let mut rows = Vec::new();
    for rule in &findings.rules {
        let mut told: Vec<(&str, &str)> = Vec::new();
        for (_, outcome) in rule.outcomes().filter(|(_, o)| o.kind != Kind::Law) {
            let key = (outcome.case.as_str(), outcome.claim.as_str());
            if told.contains(&key) {
                continue;
            }
            told.push(key);
            let of = |form: Form| {
                let mut outcomes = rule.outcomes().filter(|(found, _)| *found == form);
                outcomes.find(|(_, o)| (o.case.as_str(), o.claim.as_str()) == key).map(|(_, o)| o)
            };
            let (stream, graph) = (of(Form::Stream), of(Form::Graph));
            rows.push(vec![
                rule.id.clone(),
                outcome.case.clone(),
                outcome.claim.clone(),
                stream.map_or_else(|| ABSENT.into(), share),
                graph.map_or_else(|| ABSENT.into(), share),
                stream.or(graph).map_or_else(|| ABSENT.into(), median),
            ]);
        }
    }
    let header =
        ["permitted or open", "case", "seen", "stream", "graph", "median (stream, else graph)"];
    Cells::new(&header, rows, &[3, 4])
}

fn share(outcome: &Outcome) -> String {
    match outcome.tested {
        0 => outcome.verdict.name().into(),
        tested => format!("{} of {tested}", outcome.seen),
    }
}

fn median(outcome: &Outcome) -> String {
    outcome.spread.map_or_else(
        || ABSENT.into(),
        |spread| format!("{} {}", outcome.measure, signed_us(spread.median_ns)),
    )
}

/// Every claim of one rule.
pub fn claims(rule: &RuleFinding) -> Cells {
    let rows = rule.outcomes().map(|(form, outcome)| {
        let kind = match outcome.kind {
            Kind::Law => "promised",
            Kind::Permitted => "permitted",
            Kind::Open => "open",
        };
        vec![
            form.name().to_owned(),
            outcome.case.clone(),
            outcome.claim.clone(),
            kind.to_owned(),
            loud(outcome.verdict),
            share(outcome),
            interval(outcome),
            median(outcome),
            range(outcome),
            edges(&outcome.edges),
        ]
    });
    let header = [
        rule.id.as_str(),
        "case",
        "claim",
        "is",
        "verdict",
        "against (promised) or for",
        "share, 95 %",
        "median",
        "range",
        "edges",
    ];
    Cells::new(&header, rows.collect(), &[])
}

fn interval(outcome: &Outcome) -> String {
    match (outcome.below, outcome.share) {
        (Some(below), _) => format!("below {below:.1e}"),
        (None, Some(share)) => format!("{:.4} to {:.4}", share.lo, share.hi),
        (None, None) => ABSENT.into(),
    }
}

fn range(outcome: &Outcome) -> String {
    outcome.spread.map_or_else(
        || ABSENT.into(),
        |spread| format!("{} to {}", signed_us(spread.min_ns), signed_us(spread.max_ns)),
    )
}

/// `2 programmatic from launch-completion, 1 default`.
fn edges(edges: &[EdgeCount]) -> String {
    let one = |edge: &EdgeCount| match (edge.edge_type.as_str(), edge.from_port.as_str()) {
        ("default", "default") => format!("{} full", edge.count),
        ("programmatic", "programmatic") => format!("{} programmatic", edge.count),
        (edge_type, port) => format!("{} {edge_type} from {port}", edge.count),
    };
    match edges {
        [] => ABSENT.into(),
        _ => edges.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}
