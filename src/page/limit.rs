//! The limit, what the exposed time is made of, and a model's prediction.

use serde::Serialize;

use super::Group;
use crate::analysis::{Forecast, Summary};
use crate::cells::Cells;
use crate::chain::Arm;
use crate::record::{Cause, ExposedBy, Run, SummaryRow};
use crate::units::{fixed, or_absent, signed, us_number};

/// Limit, parts and prediction.
#[derive(Serialize)]
pub(super) struct View {
    /// Profile that the constants are of; empty without one.
    constants: String,
    /// One a group and submission.
    sentences: Vec<String>,
    parts: Cells,
    forecast: Option<ForecastView>,
}

/// A prediction beside what was measured.
#[derive(Serialize)]
struct ForecastView {
    label: String,
    sentence: String,
    constants: String,
    provenance: String,
    program: String,
    errors: Cells,
    not_covered: Cells,
}

pub(super) fn view(summary: &Summary, run: &Run, groups: &[Group]) -> View {
    let constants = summary.rows.iter().map(|row| &row.constants).find(|name| !name.is_empty());
    let many = groups.len() > 1;
    let mut sentences = Vec::new();
    for group in groups {
        let named = |text: String| if many { format!("{}: {text}", group.name) } else { text };
        sentences.extend(summary.limits_of(group.id, &run.manifest).into_iter().map(named));
    }
    let name = |row: &SummaryRow| {
        let point = run.manifest.plan.points.iter().find(|point| point.point == row.point);
        let group = point.and_then(|point| groups.iter().find(|group| group.id == point.group));
        group.map_or_else(String::new, |group| group.name.clone())
    };
    View {
        constants: constants.cloned().unwrap_or_default(),
        sentences,
        parts: parts(summary, &name),
        forecast: summary.forecast.as_ref().map(|forecast| forecast_view(forecast, summary, &name)),
    }
}

/// The trigger of an arm that has one.
fn trigger(row: &SummaryRow) -> String {
    let trigger = row.trigger.filter(|_| row.arm.sweeps_trigger());
    trigger.map_or_else(String::new, |trigger| trigger.to_string())
}

fn parts(summary: &Summary, name: &dyn Fn(&SummaryRow) -> String) -> Cells {
    let mut header = vec!["group", "arm", "trigger", "µs a node", "limit", "set by", "exposed"];
    header.extend(Cause::ALL.map(Cause::name));
    header.push("parts by");
    let rows = summary.rows.iter().filter(|row| row.exposed_ns.is_some());
    let row = |row: &SummaryRow| {
        let mut cells = vec![
            name(row),
            row.arm.to_string(),
            trigger(row),
            or_absent(row.period_ns, us_number),
            or_absent(row.limit_ns, us_number),
            row.limit_by.map_or_else(String::new, |by| by.name().to_owned()),
            or_absent(row.exposed_ns, us_number),
        ];
        cells.extend(Cause::ALL.map(|cause| or_absent(row.exposed(cause), us_number)));
        let by = row.exposed_by.map_or("", |by| match by {
            ExposedBy::Stamps => "stamps",
            ExposedBy::Profile => "profile",
        });
        cells.push(by.to_owned());
        cells
    };
    let numbers: Vec<usize> = [3, 4].into_iter().chain(6..7 + Cause::ALL.len()).collect();
    Cells::new(&header, rows.map(row).collect(), &numbers)
}

fn forecast_view(
    forecast: &Forecast,
    summary: &Summary,
    name: &dyn Fn(&SummaryRow) -> String,
) -> ForecastView {
    let header = [
        "group",
        "arm",
        "trigger",
        "measured, µs a node",
        "predicted",
        "off, %",
        "saved, µs a hop",
        "predicted",
    ];
    let rows = summary.rows.iter().filter(|row| row.arm != Arm::Sentinel);
    let row = |row: &SummaryRow| {
        let said = or_absent(row.predicted_ns, us_number);
        vec![
            name(row),
            row.arm.to_string(),
            trigger(row),
            or_absent(row.period_ns, us_number),
            if row.not_predicted.is_empty() { said } else { "not covered".to_owned() },
            or_absent(row.error_pct, |error| signed(error, 1)),
            or_absent(row.saved_ns, |ns| signed(ns / 1e3, 3)),
            or_absent(row.predicted_saved_ns, |ns| signed(ns / 1e3, 3)),
        ]
    };
    let reason = |(why, rows): &(String, usize)| vec![why.clone(), fixed(*rows as f64, 0)];
    ForecastView {
        label: forecast.label.clone(),
        sentence: forecast.sentence.clone(),
        constants: forecast.constants.clone(),
        provenance: forecast.provenance.clone(),
        program: forecast.program.clone(),
        errors: Cells::new(&header, rows.map(row).collect(), &[3, 4, 5, 6, 7]),
        not_covered: Cells::new(
            &["why", "rows"],
            forecast.not_covered.iter().map(reason).collect(),
            &[1],
        ),
    }
}
