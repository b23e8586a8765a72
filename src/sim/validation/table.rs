//! The committed table: how far both models are off, as Markdown.

use std::collections::BTreeMap;

use super::{Again, Compared, Sweep, best_triggers, errors, regret, signs};
use crate::profile::{Model, Profile};

const MODELS: [Model; 2] = [Model::Closed, Model::Events];

/// The table of every sweep with its rows, under what it was made of and how, and what second
/// measurements come to. `command` is the
/// command that makes it, `chart` the file of the chart beside it.
pub fn report(
    profile: &Profile,
    command: &str,
    chart: Option<&str>,
    sweeps: &[(&Sweep, &[Compared])],
    again: &[Again],
) -> String {
    let device = sweeps.first().map_or("", |(sweep, _)| sweep.provenance.device.as_str());
    let mut text = format!(
        "# The models against measured sweeps of an {device}\n\n\
         The profile `{}` ({}) in both models, against periods that `pdl sweep` measured. A model \
         is given shape, trigger and amounts of work, and no time of the sweep \
         (docs/simulator.md). Errors are |period by the model ÷ measured − 1|. Regret is, for each \
         group and programmatic arm, the measured period at the trigger that the model calls best \
         ÷ the measured best − 1.\n\n    {command}\n",
        profile.name,
        profile.provenance.replace('\n', " "),
    );
    if let Some(chart) = chart {
        text += &format!(
            "\n![Periods by the event-driven model against measured ones, the distribution of \
             errors and of regret]({chart})\n"
        );
    }
    for (sweep, rows) in sweeps {
        let provenance = &sweep.provenance;
        text += &format!("\n## {}\n\n", sweep.name);
        if !provenance.note.is_empty() {
            text += &format!("{}\n\n", provenance.note);
        }
        text += &format!(
            "Measured {} on {}, driver {}, pdl {}:\n\n    {}\n\n",
            provenance.date,
            provenance.uuid,
            provenance.driver,
            provenance.program,
            provenance.command
        );
        text += &section(rows);
    }
    again.iter().for_each(|again| text += &again.section());
    text
}

/// The tables of some rows: errors by part, then what they come to.
pub fn section(rows: &[Compared]) -> String {
    let mut text = String::new();
    for model in MODELS {
        let (effects, right) = signs(rows, model);
        let (lanes, best) = best_triggers(rows, model);
        let uncovered = rows.iter().filter(|row| row.by(model).is_none()).count();
        text += &format!(
            "{}: {uncovered} of {} rows are not covered. Of the effects that the measurement \
             decides {right} of {effects} have the right sign; the best trigger is in the measured \
             plateau in {best} of {lanes} sweeps that have one.",
            model.name(),
            rows.len()
        );
        if let Some(found) = regret(rows, model) {
            let [half, two, five] = found.within.map(percent);
            text += &format!(
                " Regret over {} groups and arms: median {}, 90 % {}, largest {}; at most 0.5 % in \
                 {half}, 2 % in {two}, 5 % in {five}.",
                found.lanes,
                percent(found.median),
                percent(found.p90),
                percent(found.most)
            );
        }
        text += "\n\n";
    }
    text += "| rows | model | n | median | 95 % | largest |\n";
    text += "|------|-------|---|--------|------|---------|\n";
    for (part, rows) in parts(rows) {
        for model in MODELS {
            let Some(found) = errors(rows.iter().copied(), model) else { continue };
            text += &format!(
                "| {part} | {} | {} | {} | {} | {} |\n",
                model.name(),
                found.rows,
                percent(found.median),
                percent(found.p95),
                percent(found.most)
            );
        }
    }
    text
}

/// Rows by what they have in common.
fn parts(rows: &[Compared]) -> BTreeMap<String, Vec<&Compared>> {
    let mut parts: BTreeMap<String, Vec<&Compared>> = BTreeMap::new();
    for compared in rows {
        let row = &compared.row;
        let trigger = row.trigger.map_or("no trigger".to_owned(), |trigger| trigger.to_string());
        let keys = [
            "all".to_owned(),
            format!("arm {}", row.arm),
            format!("body {}", row.chain.body.kind),
            format!("body {}, {trigger}", row.chain.body.kind),
            format!("block {}", row.chain.shape.block_threads),
            format!("grid {}", row.chain.shape.grid_blocks),
        ];
        keys.into_iter().for_each(|key| parts.entry(key).or_default().push(compared));
    }
    parts
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
