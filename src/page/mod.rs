//! The report of a run as one page: a pure function from what was recorded and derived to HTML.
//!
//! The page is one file that loads nothing. It reads without its script, which only sorts and
//! filters. Whatever a run holds of names and notes is text of strangers: the template escapes it
//! wherever it is put in, and the page's own policy lets no other script run.

mod answer;
mod charts;
mod device;
mod findings;
mod limit;
mod method;
mod proof;
mod rows;
mod words;

#[cfg(test)]
mod tests;

use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, escape_formatter};
use serde::Serialize;

use crate::analysis::{NO_CROSSOVER, Summary, exact_command, group_names};
use crate::device::Backend;
use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::record::{CALIBRATION, CHECK, CONFORM, PREDICTION, Run};
use crate::{check, conform};

/// Templates by name. The ending decides that what is put in is escaped.
const TEMPLATES: [(&str, &str); 8] = [
    ("report.html", include_str!("report.html")),
    ("cells.html", include_str!("cells.html")),
    ("answer.html", include_str!("answer.html")),
    ("rows.html", include_str!("rows.html")),
    ("limit.html", include_str!("limit.html")),
    ("proof.html", include_str!("proof.html")),
    ("findings.html", include_str!("findings.html")),
    ("about.html", include_str!("about.html")),
];
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// SHA-256 of [`SCRIPT`], base64: the page's policy names the one script that may run.
const SCRIPT_SHA256: &str = "ok6Sgos0EN7KcFerVPw/w0NSubc7E7Hk7JhkOZKV0yQ=";

/// What a page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// What was derived.
    pub summary: &'a Summary,
    /// What was recorded.
    pub run: &'a Run,
    /// Charts by the name of their file under `charts/`.
    pub charts: &'a [(String, String)],
    /// What `pdl conform` found, where it is attached to the run.
    pub conform: Option<&'a conform::Findings>,
    /// What `pdl check` found, where it is attached to the run.
    pub check: Option<&'a check::Findings>,
    /// The device profile of `pdl calibrate`, where one lies beside the run.
    pub profile: Option<&'a Profile>,
}

/// One group of the plan, as the page names it.
#[derive(Clone, Debug, Serialize)]
struct Group {
    /// Number in the plan.
    id: u32,
    /// The body, and what else tells it from other groups.
    name: String,
}

/// What the template shows.
#[derive(Serialize)]
struct Page<'a> {
    style: Value,
    script: Value,
    script_sha256: &'static str,
    simulated: bool,
    /// Whether the kernels are the user's own, and whether they may be trusted.
    own: bool,
    unsafe_no_sync: bool,
    device: String,
    started: &'a str,
    ended: device::Ended,
    groups: &'a [Group],
    answer: answer::View,
    charts: charts::View,
    table: rows::View,
    notes: &'a [String],
    limit: limit::View,
    method: method::View,
    proof: proof::View,
    findings: findings::View,
    facts: device::View,
    command: String,
    no_crossover: &'static str,
    files: Vec<&'static str>,
}

/// The page, the same bytes for the same inputs.
///
/// # Errors
/// A template that does not fit its values: none, as tests render all of it.
pub fn render(inputs: &Inputs) -> Result<String> {
    let (summary, run) = (inputs.summary, inputs.run);
    let groups = groups(run);
    let page = Page {
        style: Value::from_safe_string(STYLE.to_owned()),
        script: Value::from_safe_string(SCRIPT.to_owned()),
        script_sha256: SCRIPT_SHA256,
        simulated: run.manifest.facts.backend == Backend::Sim,
        own: run.manifest.kernel.is_some(),
        unsafe_no_sync: run.manifest.kernel.as_ref().is_some_and(|own| own.unsafe_no_sync),
        device: run.manifest.facts.label(),
        started: &run.manifest.started,
        ended: device::ended(run),
        groups: &groups,
        answer: answer::view(summary, run, &groups),
        charts: charts::view(inputs.charts),
        table: rows::view(summary, run, &groups),
        notes: &run.notes,
        limit: limit::view(summary, run, &groups),
        method: method::view(summary, run, &groups),
        proof: proof::view(run, summary),
        findings: findings::view(inputs),
        facts: device::view(run),
        command: exact_command(&run.manifest),
        no_crossover: NO_CROSSOVER,
        files: files(inputs),
    };
    let failed = |error: minijinja::Error| Error::failed("render report.html", error);
    let environment = environment().map_err(failed)?;
    let template = environment.get_template(TEMPLATES[0].0).map_err(failed)?;
    template.render(page).map_err(failed)
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_formatter(|out, state, value| match value.as_str() {
        // A control character is no text of a page.
        Some(text) if !value.is_safe() && text.chars().any(unprintable) => {
            let shown = text.chars().map(|c| if unprintable(c) { '\u{fffd}' } else { c });
            escape_formatter(out, state, &Value::from(shown.collect::<String>()))
        }
        _ => escape_formatter(out, state, value),
    });
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Control characters, and those that turn the direction of the text around them.
fn unprintable(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}

/// The groups of the plan with their names.
fn groups(run: &Run) -> Vec<Group> {
    let names = group_names(&run.manifest).into_iter();
    names.map(|(id, name)| Group { id, name }).collect()
}

/// The name of a group.
fn group_name(groups: &[Group], id: u32) -> String {
    let found = groups.iter().find(|group| group.id == id);
    found.map_or_else(String::new, |group| group.name.clone())
}

/// Files that lie beside the page.
fn files(inputs: &Inputs) -> Vec<&'static str> {
    let mut files = vec!["manifest.json", "points.jsonl", "samples.csv", "summary.csv"];
    let others = [
        ("end.json", inputs.run.end.is_some()),
        (CONFORM, inputs.conform.is_some()),
        (CHECK, inputs.check.is_some()),
        (CALIBRATION, inputs.profile.is_some()),
        (PREDICTION, inputs.summary.forecast.is_some()),
    ];
    files.extend(others.into_iter().filter(|(_, there)| *there).map(|(name, _)| name));
    files
}
