//! Everything that was found: what the table, the page and the JSON object are made of.

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::stats::Interval;

/// The device that the cases run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Product name.
    pub name: String,
    /// Driver, as NVML prints it; empty when unknown.
    pub driver: String,
    /// CUDA version that the driver serves, 1000 × major + 10 × minor.
    pub driver_cuda: u32,
    /// CUDA version of the runtime.
    pub runtime_cuda: u32,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Step of the global timer, ns.
    pub timer_step_ns: u64,
    /// Its largest offset between SMs, ns; `None` when unknown.
    pub timer_skew_ns: Option<u64>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The device.
    pub device: DeviceFacts,
    /// Version of this program.
    pub version: String,
    /// Revision of its sources.
    pub revision: String,
    /// Seed of sleeps and orders.
    pub seed: u64,
    /// How long primaries sleep, µs.
    pub sleep_us: Vec<f64>,
    /// Cases of correct kernels.
    pub correct: Vec<Row>,
    /// Cases of mutants.
    pub mutants: Vec<Row>,
}

/// An outcome with what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Share of repetitions that go wrong, 95 %.
    pub rate: Option<Interval>,
    /// Where none did: the share is below this, 95 %.
    pub rate_below: Option<f64>,
}

impl Findings {
    /// From the outcomes of all cases.
    pub fn new(device: DeviceFacts, seed: u64, sleep_us: &[f64], outcomes: &[Outcome]) -> Findings {
        let row = |outcome: &Outcome| {
            let measured = outcome.measured.as_ref();
            let never = measured.filter(|m| m.wrong == 0 && m.co_resident > 0);
            Row {
                rate: measured.filter(|m| m.wrong > 0).and_then(|m| m.rate()),
                rate_below: never.map(|m| m.bound()),
                outcome: outcome.clone(),
            }
        };
        let (mutants, correct): (Vec<_>, Vec<_>) =
            outcomes.iter().map(row).partition(|row| row.outcome.mutant.is_some());
        Findings {
            device,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: env!("PDL_REVISION").to_owned(),
            seed,
            sleep_us: sleep_us.to_vec(),
            correct,
            mutants,
        }
    }

    /// Every outcome, correct kernels first.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.correct.iter().chain(&self.mutants).map(|row| row.outcome.clone()).collect()
    }
}
