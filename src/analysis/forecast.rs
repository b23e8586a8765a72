//! A model's prediction beside what was measured: the error of every row, and how far it is off.

use std::collections::HashMap;

use serde::Serialize;

use super::Summary;
use crate::chain::Arm;
use crate::profile::Model;
use crate::record::{Manifest, Prediction, SummaryRow, Verdict};
use crate::stats::{median, quantile};
use crate::units::{percent, signed_percent};

/// How far a prediction is off over a run. Errors are parts of the measured period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Model.
    pub model: Model,
    /// Name of its profile and where the constants come from.
    pub constants: String,
    /// How the constants were found.
    pub provenance: String,
    /// Program whose model it is.
    pub program: String,
    /// What the prediction is called wherever it is drawn.
    pub label: String,
    /// Rows with a measured period, and those of them that the model covers.
    pub rows: usize,
    /// Rows that are predicted and measured.
    pub covered: usize,
    /// Median of the errors' sizes; `None` where nothing is covered.
    pub median: Option<f64>,
    /// Their 95th percentile.
    pub p95: Option<f64>,
    /// The largest error, with its sign.
    pub largest: Option<f64>,
    /// Where it is.
    pub largest_at: String,
    /// Verdicts `helps` and `hurts` that were predicted, and how many of them with the other sign.
    pub effects: usize,
    /// Of these, those with the wrong sign.
    pub wrong_sign: usize,
    /// Reasons for what is not covered, with their rows.
    pub not_covered: Vec<(String, usize)>,
    /// All of it in words.
    pub sentence: String,
}

impl Summary {
    /// Puts `prediction` beside the rows that it is of.
    pub fn with_prediction(&mut self, prediction: &Prediction, manifest: &Manifest) {
        let said: HashMap<(&str, Arm), _> =
            prediction.rows.iter().map(|row| ((row.point.as_str(), row.arm), row)).collect();
        for row in self.rows.iter_mut().filter(|row| row.arm != Arm::Sentinel) {
            let Some(found) = said.get(&(row.point.as_str(), row.arm)) else {
                row.not_predicted = "it was measured after the prediction".to_owned();
                continue;
            };
            row.predicted_ns = found.period_ns.filter(|ns| ns.is_finite());
            if row.predicted_ns.is_none() {
                let cause = found.not_covered.clone();
                row.not_predicted = cause.unwrap_or_else(|| "no reason is given".to_owned());
            }
        }
        gains(&mut self.rows, manifest);
        self.forecast = Some(Forecast::of(prediction, &self.rows, manifest));
    }
}

/// Errors, and what the model says is saved against each row's baseline.
fn gains(rows: &mut [SummaryRow], manifest: &Manifest) {
    let groups: HashMap<&str, u32> =
        manifest.plan.points.iter().map(|p| (p.point.as_str(), p.group)).collect();
    let mut baselines: HashMap<(u32, Arm), f64> = HashMap::new();
    for row in rows.iter().filter(|row| matches!(row.arm, Arm::Stream | Arm::Graph)) {
        let group = groups.get(row.point.as_str());
        if let Some((group, ns)) = group.zip(row.predicted_ns) {
            baselines.insert((*group, row.arm), ns);
        }
    }
    for row in rows {
        let Some(predicted_ns) = row.predicted_ns else { continue };
        row.error_pct = row.period_ns.map(|measured| (predicted_ns / measured - 1.0) * 100.0);
        let group = groups.get(row.point.as_str());
        let base = group.zip(row.baseline).and_then(|(group, arm)| baselines.get(&(*group, arm)));
        let (nodes, hops) = (f64::from(row.nodes), f64::from(row.nodes.saturating_sub(1).max(1)));
        row.predicted_saved_ns = base.map(|base| (base - predicted_ns) * nodes / hops);
    }
}

impl Forecast {
    fn of(prediction: &Prediction, rows: &[SummaryRow], manifest: &Manifest) -> Forecast {
        let measured = || rows.iter().filter(|r| r.arm != Arm::Sentinel && r.period_ns.is_some());
        let mut errors: Vec<(f64, &SummaryRow)> =
            measured().filter_map(|row| Some((row.error_pct? / 100.0, row))).collect();
        errors.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
        let established =
            |row: &&SummaryRow| matches!(row.verdict, Some(Verdict::Helps | Verdict::Hurts));
        let signs: Vec<bool> = measured()
            .filter(established)
            .filter_map(|row| Some(row.saved_ns? * row.predicted_saved_ns? > 0.0))
            .collect();
        let mut not_covered: Vec<(String, usize)> = Vec::new();
        for row in rows.iter().filter(|row| !row.not_predicted.is_empty()) {
            match not_covered.iter_mut().find(|(reason, _)| *reason == row.not_predicted) {
                Some((_, count)) => *count += 1,
                None => not_covered.push((row.not_predicted.clone(), 1)),
            }
        }
        let mut forecast = Forecast {
            model: prediction.model,
            constants: prediction.origin.of(&prediction.profile),
            provenance: prediction.provenance.clone(),
            program: prediction.program.clone(),
            label: format!("model: {}, SIMULATED", prediction.model.name()),
            rows: measured().count(),
            covered: errors.len(),
            median: median(&sizes),
            p95: quantile(&sizes, 0.95),
            largest: errors.last().map(|(error, _)| *error),
            largest_at: errors.last().map_or_else(String::new, |(_, row)| place(row, manifest)),
            effects: signs.len(),
            wrong_sign: signs.iter().filter(|right| !**right).count(),
            not_covered,
            sentence: String::new(),
        };
        forecast.sentence = forecast.in_words();
        forecast
    }

    fn in_words(&self) -> String {
        let who = format!("{} over {}", self.label, self.constants);
        let off = match (self.median, self.p95, self.largest) {
            (Some(median), Some(p95), Some(largest)) => format!(
                "off the measured period by {} (median), {} (95th percentile) over {} of {} rows; \
                 most at {}: {}",
                percent(median),
                percent(p95),
                self.covered,
                self.rows,
                self.largest_at,
                signed_percent(largest)
            ),
            _ => format!("none of {} rows is covered", self.rows),
        };
        let signs = match (self.effects, self.wrong_sign) {
            (0, _) => String::new(),
            (all, wrong) => format!("; sign of the effect right in {} of {all}", all - wrong),
        };
        let reasons: Vec<String> =
            self.not_covered.iter().map(|(why, rows)| format!("{why} ({rows} rows)")).collect();
        let not = match reasons.is_empty() {
            true => String::new(),
            false => format!("; not covered: {}", reasons.join("; ")),
        };
        format!("{who}: {off}{signs}{not}")
    }
}

/// `graph-pdl 4/8, body fma`: where a row stands in its run.
fn place(row: &SummaryRow, manifest: &Manifest) -> String {
    let trigger = row.trigger.filter(|_| row.arm.sweeps_trigger());
    let trigger = trigger.map_or_else(String::new, |trigger| format!(" {trigger}"));
    let groups = super::group_names(manifest);
    let group = manifest.plan.points.iter().find(|point| point.point == row.point);
    let name = group.and_then(|point| groups.iter().find(|(id, _)| **id == point.group));
    let name = name.map_or_else(String::new, |(_, name)| format!(", {name}"));
    format!("{}{trigger}{name}", row.arm)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::summarise;
    use super::*;
    use crate::chain::Trigger;
    use crate::profile::Origin;
    use crate::record::{PREDICTION_SCHEMA, PredictedRow};

    fn fixture() -> (Fixture, Summary) {
        let saves = |arm: Arm, _: Option<Trigger>| f64::from(arm == Arm::GraphPdl) * 600.0;
        let triggers = [Trigger::AtEntry, Trigger::Implicit];
        let fixture = Fixture::new(&triggers, 12, 1.0, &saves);
        let summary = summarise(&fixture.manifest, &fixture.points, &fixture.samples);
        (fixture, summary)
    }

    fn prediction(rows: &[(&str, Arm, Option<f64>)]) -> Prediction {
        let row = |&(point, arm, period_ns): &(&str, Arm, Option<f64>)| PredictedRow {
            point: point.to_owned(),
            arm,
            period_ns,
            not_covered: period_ns.is_none().then(|| "it fits no SM".to_owned()),
        };
        Prediction {
            schema: PREDICTION_SCHEMA.to_owned(),
            program: "0.1.0".to_owned(),
            model: Model::Events,
            profile: "h200".to_owned(),
            origin: Origin::Measured,
            provenance: "by hand".to_owned(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn every_row_has_its_error_and_the_run_its_largest() {
        let (fixture, mut summary) = fixture();
        let measured = |summary: &Summary, point: &str, arm| {
            summary.row(point, arm).unwrap().period_ns.unwrap()
        };
        let base = measured(&summary, "p000", Arm::Graph);
        let subject = measured(&summary, "p001", Arm::GraphPdl);
        let rows = [
            ("p000", Arm::Graph, Some(base * 1.01)),
            ("p001", Arm::GraphPdl, Some(subject * 0.9)),
            // Says that what saves 600 ns costs time.
            ("p002", Arm::GraphPdl, Some(base * 1.05)),
            ("p001", Arm::GraphFull, None),
        ];
        summary.with_prediction(&prediction(&rows), &fixture.manifest);
        let row = |point, arm| summary.row(point, arm).unwrap();
        assert!((row("p000", Arm::Graph).error_pct.unwrap() - 1.0).abs() < 1e-9);
        assert!((row("p001", Arm::GraphPdl).error_pct.unwrap() + 10.0).abs() < 1e-9);
        let saved = (base * 1.01 - subject * 0.9) * 51.0 / 50.0;
        let said = row("p001", Arm::GraphPdl).predicted_saved_ns.unwrap();
        assert!((said - saved).abs() < 1e-6);
        assert_eq!(row("p001", Arm::GraphFull).not_predicted, "it fits no SM");
        assert!(row("p002", Arm::GraphFull).not_predicted.contains("after the prediction"));
        assert_eq!(row("p000", Arm::Sentinel).not_predicted, "", "it has no chain");
        let forecast = summary.forecast.as_ref().unwrap();
        assert_eq!((forecast.covered, forecast.effects, forecast.wrong_sign), (3, 2, 1));
        assert!(forecast.largest_at.starts_with("graph-pdl implicit"), "{forecast:?}");
        for part in ["model: events, SIMULATED over h200 (measured)", "it fits no SM (1 rows)"] {
            assert!(forecast.sentence.contains(part), "{}", forecast.sentence);
        }
        assert!(forecast.sentence.contains("right in 1 of 2"), "{}", forecast.sentence);
    }

    #[test]
    fn nothing_covered_is_said_so() {
        let (fixture, mut summary) = fixture();
        summary.with_prediction(&prediction(&[]), &fixture.manifest);
        let forecast = summary.forecast.unwrap();
        assert_eq!((forecast.covered, forecast.median), (0, None));
        assert!(forecast.sentence.contains("none of"), "{}", forecast.sentence);
    }
}
