//! `--predict`: a model's word beside what was measured.

use std::path::Path;

use super::constants::{constants, known};
use super::outputs::Attachments;
use crate::analysis::foreign;
use crate::cli::SimulatedArgs;
use crate::device::{Backend, Facts};
use crate::error::{Error, Kind, Result};
use crate::profile::{self, Model, Profile};
use crate::record::{CALIBRATION, PREDICTION, PROFILE, Run, read_calibration, read_run};
use crate::sim::forecast;

const ACTION: &str = "predict the run";

/// A sweep on the device with `facts` can be predicted: it is real, and there is a profile of it.
///
/// # Errors
/// Usage, where the prediction would be compared with itself; refused, where there is no profile or
/// it is of another device.
pub fn demand_possible(
    asked: &SimulatedArgs,
    calibration: Option<&Path>,
    facts: &Facts,
) -> Result<()> {
    if facts.backend == Backend::Sim {
        return Err(Error::usage(
            "predict this sweep",
            "the device is simulated: a model would be compared with itself",
        )
        .remedy(
            "predict a sweep of a GPU, or pdl report RUN --predict --model closed holds the other \
             model against a simulated run",
        ));
    }
    if let Some(path) = &asked.profile {
        return demand_own(&profile::read(path)?, facts);
    }
    let calibration = calibration.map(profile::read).transpose()?;
    known(calibration.as_ref(), facts).map(drop).ok_or_else(|| nothing_known(facts))
}

fn demand_own(profile: &Profile, facts: &Facts) -> Result<()> {
    match foreign(profile, facts) {
        Some(cause) => Err(Error::new(Kind::Refused, ACTION, cause)
            .remedy("give the profile of the run's device: pdl calibrate makes one")),
        None => Ok(()),
    }
}

/// A model or a profile says nothing to a report that predicts nothing.
///
/// # Errors
/// Usage.
pub fn demand_unused(asked: &SimulatedArgs) -> Result<()> {
    let flag = match (&asked.profile, asked.model == Model::default()) {
        (Some(path), _) => format!("--profile {}", path.display()),
        (None, false) => "--model".to_owned(),
        (None, true) => return Ok(()),
    };
    Err(Error::usage(format!("use {flag}"), "it is what a prediction is made with")
        .remedy("add --predict"))
}

/// The prediction of the run in `path`, and the profile where one was given, to lie beside it.
///
/// # Errors
/// A run or a profile that cannot be read, a profile of another device, none at all, or a model
/// that would be compared with itself.
pub fn attachments(path: &Path, asked: &SimulatedArgs) -> Result<Attachments> {
    let run = read_run(path)?;
    let given = match &asked.profile {
        Some(path) => {
            let bytes = std::fs::read(path)
                .map_err(|cause| Error::failed(format!("read {}", path.display()), cause))?;
            Some((profile::read(path)?, bytes))
        }
        None => None,
    };
    let profile = match &given {
        Some((profile, _)) => {
            demand_own(profile, &run.manifest.facts)?;
            profile.clone()
        }
        None => chosen(path, &run)?,
    };
    demand_another(&run, &profile, asked.model)?;
    let prediction = forecast(&profile, asked.model, &run.manifest, &run.points);
    let bytes = serde_json::to_vec_pretty(&prediction)
        .map_err(|error| Error::failed("write the prediction as JSON", error))?;
    let mut attachments = vec![(PREDICTION, bytes)];
    attachments.extend(given.map(|(_, bytes)| (PROFILE, bytes)));
    Ok(attachments)
}

/// The profile whose constants hold for the run where none is given.
fn chosen(path: &Path, run: &Run) -> Result<Profile> {
    let calibration = read_calibration(path)?.and_then(|text| text.parse().ok());
    let found = constants(path, calibration.as_ref(), run)?;
    found.ok_or_else(|| nothing_known(&run.manifest.facts))
}

fn nothing_known(facts: &Facts) -> Error {
    let cause = format!(
        "there is no profile of {} with {} SMs, neither built in nor beside it",
        facts.label(),
        facts.sm_count
    );
    Error::new(Kind::Refused, ACTION, cause).remedy(format!(
        "pdl calibrate on that device makes one: give it to --profile ({CALIBRATION} beside the \
         run is read too)"
    ))
}

/// A simulated run that the same model made over the same constants would be compared with itself.
fn demand_another(run: &Run, profile: &Profile, model: Model) -> Result<()> {
    let Some(simulation) = &run.manifest.facts.simulation else { return Ok(()) };
    if (simulation.model, &simulation.profile) != (model, &profile.name) {
        return Ok(());
    }
    let cause = format!(
        "it was simulated by the same model over {}: its error would be that of the noise alone",
        profile.name
    );
    Err(Error::usage(ACTION, cause).remedy("predict a run of a GPU, or choose the other --model"))
}
