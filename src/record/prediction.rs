//! `prediction.json`: what a model says of the rows of a run, kept beside it.

use serde::{Deserialize, Serialize};

use crate::chain::Arm;
use crate::profile::{Model, Origin};

/// The prediction beside a run.
pub const PREDICTION: &str = "prediction.json";
/// Version of its schema: a reader takes this one.
pub const PREDICTION_SCHEMA: &str = "1.0";

/// What one model says of a run's rows. Every period of it is SIMULATED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// `"1.0"`.
    pub schema: String,
    /// Version and revision of the program whose model it is.
    pub program: String,
    /// Model.
    pub model: Model,
    /// Name of the profile that the constants are of.
    pub profile: String,
    /// Where they come from.
    pub origin: Origin,
    /// How and when they were found, in words.
    pub provenance: String,
    /// One a row of the run.
    pub rows: Vec<PredictedRow>,
}

/// What a model says of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedRow {
    /// Point of the run.
    pub point: String,
    /// Arm.
    pub arm: Arm,
    /// Period: chain duration ÷ nodes, ns; `None` for what the model does not cover.
    pub period_ns: Option<f64>,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<String>,
}
