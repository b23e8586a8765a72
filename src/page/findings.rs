//! What `pdl conform`, `pdl check` and `pdl calibrate` found, where that is attached to the run.

use serde::Serialize;
use toml::Value;

use super::Inputs;
use crate::cells::Cells;
use crate::device::Facts;
use crate::units::plain;
use crate::{check, conform};

/// Attached findings.
#[derive(Serialize)]
pub(super) struct View {
    conform: Option<Conform>,
    check: Option<Check>,
    calibration: Vec<Section>,
}

/// The rules.
#[derive(Serialize)]
struct Conform {
    title: String,
    /// Said when it was found on another device or driver than the run's.
    elsewhere: Option<String>,
    violations: Vec<String>,
    /// Rules whose test hung or faulted, and how.
    unfinished: Vec<String>,
    rules: Cells,
    left_open: Cells,
    /// Rule, statement, source.
    statements: Vec<(String, String, String)>,
}

/// The races.
#[derive(Serialize)]
struct Check {
    title: String,
    /// Said when it was found on another device or driver than the run's.
    elsewhere: Option<String>,
    races: usize,
    correct: Cells,
    remarks: Vec<String>,
    mutants: Cells,
}

/// A table of a device profile.
#[derive(Debug, PartialEq, Serialize)]
struct Section {
    name: String,
    cells: Cells,
}

pub(super) fn view(inputs: &Inputs) -> View {
    let facts = &inputs.run.manifest.facts;
    View {
        conform: inputs.conform.map(|findings| conform_view(findings, facts)),
        check: inputs.check.map(|findings| check_view(findings, facts)),
        // A profile is plain data: it has a table for certain.
        calibration: inputs
            .profile
            .and_then(|profile| toml::Table::try_from(profile).ok())
            .map_or_else(Vec::new, |table| sections(&table)),
    }
}

fn elsewhere(facts: &Facts, name: &str, driver: &str) -> Option<String> {
    ((name, driver) != (&facts.name, &facts.driver)).then(|| {
        let of = |name: &str, driver: &str| match driver {
            "" => name.to_owned(),
            driver => format!("{name} with driver {driver}"),
        };
        format!(
            "Found on {}; this run is of {}.",
            of(name, driver),
            of(&facts.label(), &facts.driver)
        )
    })
}

fn title(name: &str, driver: &str, version: &str, seed: u64) -> String {
    let driver = if driver.is_empty() { String::new() } else { format!(", driver {driver}") };
    format!("{name}{driver}, pdl {version}, seed {seed}")
}

fn conform_view(findings: &conform::Findings, facts: &Facts) -> Conform {
    let device = &findings.device;
    let violation =
        |(rule, form, outcome): (&conform::RuleFinding, conform::Form, &conform::Outcome)| {
            format!(
                "{} ({}): {}: not so in {} of {} repetitions",
                rule.id,
                form.name(),
                outcome.claim,
                outcome.seen,
                outcome.tested
            )
        };
    let statement = |rule: &conform::RuleFinding| {
        (rule.id.clone(), rule.statement.clone(), rule.source.clone())
    };
    Conform {
        title: title(&device.name, &device.driver, &findings.version, findings.seed),
        elsewhere: elsewhere(facts, &device.name, &device.driver),
        violations: findings.violations().map(violation).collect(),
        unfinished: findings
            .unfinished
            .iter()
            .map(|rule| format!("{}: {}", rule.id, rule.reason))
            .collect(),
        rules: conform::tables::rules(findings),
        left_open: conform::tables::left_open(findings),
        statements: findings.rules.iter().map(statement).collect(),
    }
}

fn check_view(findings: &check::Findings, facts: &Facts) -> Check {
    let device = &findings.device;
    let race = |row: &&check::Row| row.outcome.verdict == check::Verdict::Race;
    Check {
        title: title(&device.name, &device.driver, &findings.version, findings.seed),
        elsewhere: elsewhere(facts, &device.name, &device.driver),
        races: findings.correct.iter().filter(race).count(),
        correct: check::tables::correct(&findings.correct),
        remarks: check::tables::remarks(&findings.correct),
        mutants: check::tables::mutants(&findings.mutants),
    }
}

/// A profile as tables, whatever its keys are.
fn sections(profile: &toml::Table) -> Vec<Section> {
    let mut sections = Vec::new();
    section("", profile, &mut sections);
    sections
}

fn section(name: &str, table: &toml::Table, sections: &mut Vec<Section>) {
    let inner = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    let row = |(key, value): (&String, &Value)| match (constant(value), value) {
        (Some([value, interval, how]), _) => Some(vec![key.clone(), value, interval, how]),
        (None, Value::Table(_)) => None,
        (None, value) if rows_of(value).is_some() => None,
        (None, value) => Some(vec![key.clone(), text(value), String::new(), String::new()]),
    };
    let rows: Vec<Vec<String>> = table.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let header = ["quantity", "value", "95 %", "how it is known"];
        let cells = Cells::new(&header, rows, &[1, 2]);
        sections.push(Section { name: name.to_owned(), cells });
    }
    for (key, value) in table.iter().filter(|(_, value)| constant(value).is_none()) {
        match (value, rows_of(value)) {
            (Value::Table(table), _) => section(&inner(key), table, sections),
            (_, Some(rows)) => sections.push(Section { name: inner(key), cells: cells(&rows) }),
            _ => {}
        }
    }
}

/// Value, interval and origin of a table that is one number.
fn constant(value: &Value) -> Option<[String; 3]> {
    let table = value.as_table()?;
    let number = |key: &str| {
        let value = table.get(key)?;
        value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
    };
    let interval = number("lo").zip(number("hi"));
    let assumed = table.get("assumed").and_then(Value::as_bool).unwrap_or(false);
    let how = table.get("experiment").and_then(Value::as_str)?;
    Some([
        plain(number("value")?),
        interval.map_or_else(String::new, |(lo, hi)| format!("{} to {}", plain(lo), plain(hi))),
        if assumed { format!("assumed: {how}") } else { how.to_owned() },
    ])
}

/// The tables of an array that holds nothing else.
fn rows_of(value: &Value) -> Option<Vec<&toml::Table>> {
    let array = value.as_array().filter(|array| !array.is_empty())?;
    array.iter().map(Value::as_table).collect()
}

/// Rows under the keys that any of them has, in order of first appearance.
fn cells(rows: &[&toml::Table]) -> Cells {
    let mut header: Vec<&str> = Vec::new();
    for key in rows.iter().flat_map(|row| row.keys()) {
        if !header.contains(&key.as_str()) {
            header.push(key);
        }
    }
    let is_number = |key: &str| {
        rows.iter()
            .filter_map(|row| row.get(key))
            .all(|value| value.is_float() || value.is_integer() || constant(value).is_some())
    };
    let numbers: Vec<usize> = (0..header.len()).filter(|&at| is_number(header[at])).collect();
    let row = |row: &&toml::Table| {
        header.iter().map(|&key| row.get(key).map_or_else(String::new, text)).collect()
    };
    Cells::new(&header, rows.iter().map(row).collect(), &numbers)
}

fn text(value: &Value) -> String {
    match (constant(value), value) {
        (Some([value, interval, _]), _) if interval.is_empty() => value,
        (Some([value, interval, _]), _) => format!("{value} ({interval})"),
        (None, Value::String(text)) => text.clone(),
        (None, Value::Array(values)) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        (None, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_profile_becomes_tables() {
        let profile: toml::Table = "device = 'H200'\nstep_ns = 32\n\
                                    [hop.gap_ns]\nvalue = 812.5\nlo = 810\nhi = 815\n\
                                    experiment = 'hops'\n\
                                    [hop.code_ns]\nvalue = 9\nexperiment = 'a guess'\n\
                                    assumed = true\n\
                                    [[arm]]\nname = 'a'\nns = 1\n\
                                    [[arm]]\nname = 'b'\nnew = [1, 2]\n\
                                    ns = { value = 2, lo = 1, hi = 3, experiment = 'x' }"
            .parse()
            .unwrap();
        let found = sections(&profile);
        let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["", "arm", "hop"]);
        assert_eq!(found[0].cells.rows, [["device", "H200", "", ""], ["step_ns", "32", "", ""]]);
        assert_eq!(found[1].cells.header, ["name", "ns", "new"]);
        assert_eq!(found[1].cells.rows, [["a", "1", ""], ["b", "2 (1 to 3)", "1, 2"]]);
        assert_eq!(found[1].cells.numbers, [1]);
        assert_eq!(
            found[2].cells.rows,
            [["code_ns", "9", "", "assumed: a guess"], ["gap_ns", "812.5", "810 to 815", "hops"]]
        );
    }
}
