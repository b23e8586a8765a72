//! What a model says of a chain before anybody measures it.

use super::covered;
use super::demand;
use super::events::{self, Outcome};
use super::load::Load;
use super::recorded::Recorded;
use crate::chain::{Arm, Chain};
use crate::error::Result;
use crate::profile::{Model, Profile};

/// Runs of the event-driven model whose mean is the prediction; the closed form needs one.
const RUNS: u64 = 4;

/// One run of the event-driven model over `chain` in `arm`, and what it took.
///
/// # Errors
/// Those of [`predict`].
pub fn simulate(profile: &Profile, chain: &Chain, arm: Arm, seed: u64) -> Result<Outcome> {
    chain.validate()?;
    let load = Load::of(profile, chain, arm)?;
    let work = demand::work(chain, arm, &load);
    Ok(events::run(&work, chain.nodes, seed, &mut |_, _| {}))
}

/// Period of `chain` in `arm` on the device of `profile`: chain duration ÷ nodes, ns. The chain's
/// amounts of work are set, for this device.
///
/// # Errors
/// Unsupported where the device cannot hold or launch the chain, or the event-driven model does not
/// cover it; usage where none could.
pub fn predict(profile: &Profile, model: Model, chain: &Chain, arm: Arm) -> Result<f64> {
    let runs = match model {
        Model::Closed => 1,
        Model::Events => RUNS,
    };
    predict_over(profile, model, chain, arm, runs)
}

/// The same as the mean of so many runs of the model.
pub(super) fn predict_over(
    profile: &Profile,
    model: Model,
    chain: &Chain,
    arm: Arm,
    runs: u64,
) -> Result<f64> {
    chain.validate()?;
    let load = Load::of(profile, chain, arm)?;
    if model == Model::Events {
        covered::check(profile, chain)?;
    }
    let duration_ns = |seed| Recorded { chain, arm, load: &load, model, seed }.duration_ns();
    let sum_ns: f64 = (0..runs).map(duration_ns).sum();
    Ok(sum_ns / runs as f64 / f64::from(chain.nodes))
}
