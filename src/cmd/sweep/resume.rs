//! A run that was cut short, taken up again.

use std::path::Path;

use super::super::{device, terminal};
use super::*;

/// Goes on with a run that was cut short, on the same device, with the plan that it has.
pub(super) fn resume(args: &SweepArgs, path: &Path) -> Result<Finished> {
    let (run, found) = RunDir::resume(path)?;
    for note in &found.notes {
        terminal::note(format_args!("note: {note}"));
    }
    let manifest = &found.manifest;
    if manifest.kernel.is_some() {
        let cause = "it is of your own kernels, which may have changed since";
        return Err(Error::usage(format!("resume {}", path.display()), cause)
            .remedy("pdl kernel FILE --resume goes on where they have not"));
    }
    let backend = match manifest.facts.backend {
        Backend::Gpu => BackendChoice::Gpu,
        Backend::Sim => BackendChoice::Sim,
    };
    let opened = device::open_for(&SweepArgs { backend, seed: manifest.seed, ..args.clone() })?;
    let device = opened.device.as_ref();
    same_device(path, manifest, device)?;
    same_program(path, manifest, device)?;
    if args.predict {
        let calibration = Some(path.join(CALIBRATION)).filter(|file| file.exists());
        predict::demand_possible(&args.simulated, calibration.as_deref(), device.facts())?;
    }
    let plan = Plan::from_record(&manifest.plan, manifest.seed)?;
    let recorder = Recorder::new(run, left(&plan, &found));
    measure(args.format, device, &plan, recorder, predicted(args))
}

/// How far each group of a run that is taken up again is.
fn left(plan: &Plan, found: &Run) -> Vec<Progress> {
    let groups = plan.groups();
    let progress = groups.iter().map(|points| match measure::progress(found, points) {
        // What is measured from here on is marked as resumed, in a new group too.
        Progress::Untouched => Progress::Begun(Box::default()),
        other => other,
    });
    progress.collect()
}

/// The run in `path` on the device that it was begun on: what it is, its plan, and what goes on
/// with it.
///
/// # Errors
/// It cannot be resumed, or not here.
pub(in crate::cmd) fn taken_up(
    path: &Path,
    device: &dyn Device,
) -> Result<(Manifest, Plan, Recorder)> {
    let (run, found) = RunDir::resume(path)?;
    for note in &found.notes {
        terminal::note(format_args!("note: {note}"));
    }
    let manifest = found.manifest.clone();
    same_device(path, &manifest, device)?;
    same_program(path, &manifest, device)?;
    let plan = Plan::from_record(&manifest.plan, manifest.seed)?;
    let recorder = Recorder::new(run, left(&plan, &found));
    Ok((manifest, plan, recorder))
}

/// Samples of two devices do not mix.
fn same_device(path: &Path, manifest: &Manifest, device: &dyn Device) -> Result<()> {
    if device.facts().uuid != manifest.facts.uuid || device.facts().driver != manifest.facts.driver
    {
        let (here, there) = (device.facts(), &manifest.facts);
        return Err(Error::new(
            Kind::Refused,
            format!("resume {}", path.display()),
            format!(
                "it was measured on {} {} with driver {}, this is {} {} with driver {}",
                there.name, there.uuid, there.driver, here.name, here.uuid, here.driver
            ),
        )
        .remedy("start a new run: samples of two devices or drivers do not mix"));
    }
    Ok(())
}

/// Samples of two builds, or with and without the gate, do not mix in one arm.
fn same_program(path: &Path, manifest: &Manifest, device: &dyn Device) -> Result<()> {
    let program = (env!("CARGO_PKG_VERSION"), env!("PDL_REVISION"));
    let here = (program.0, program.1, &device.facts().no_gate, &device.facts().simulation);
    let facts = &manifest.facts;
    let there = (&*manifest.version, &*manifest.revision, &facts.no_gate, &facts.simulation);
    if here == there {
        return Ok(());
    }
    Err(Error::new(
        Kind::Refused,
        format!("resume {}", path.display()),
        format!("it was measured by another build or without a gate: {there:?}, this is {here:?}"),
    )
    .remedy("start a new run, or resume with the build and flags that began it"))
}
