//! The findings as a person reads them.

use std::fmt::Write;

use super::super::findings::table;
use crate::conform::{Findings, Form, Kind, Outcome, RuleFinding, Verdict};
use crate::device::EdgeCount;
use crate::units::{ABSENT, signed_us};

/// The rules, what is left open, and what could not be tested. `all_claims`: each claim of each
/// rule too.
pub fn render(findings: &Findings, markdown: bool, all_claims: bool) -> String {
    let mut text = title(findings, markdown);
    text += &rules(findings, markdown);
    if all_claims {
        for rule in &findings.rules {
            text += &claims(rule, markdown);
        }
    } else {
        text += &left_open(findings, markdown);
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

fn rules(findings: &Findings, markdown: bool) -> String {
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
    table(&header, findings.rules.iter().map(row).collect(), &[3, 4, 5], markdown)
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
fn left_open(findings: &Findings, markdown: bool) -> String {
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
    if rows.is_empty() {
        return String::new();
    }
    let header =
        ["permitted or open", "case", "seen", "stream", "graph", "median (stream, else graph)"];
    table(&header, rows, &[3, 4], markdown)
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
fn claims(rule: &RuleFinding, markdown: bool) -> String {
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
    table(&header, rows.collect(), &[], markdown)
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
