//! `pdl calibrate`: what this device costs where nothing is done.

mod host;
mod table;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::device::{self, Without};
use super::dry_run;
use super::terminal::{self, note};
use crate::cli::{BackendChoice, CalibrateArgs, FindingsFormat, SimulatedArgs, unread_variables};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::experiment::calibration::{Effort, calibrate as measure, expected, experiments};
use crate::profile::Profile;
use crate::record::{Output, directory};

/// Measures, writes the profile, prints what was found.
///
/// # Errors
/// No device, a file that cannot be written, a fault, an interruption, or wrong results.
pub fn calibrate(args: &CalibrateArgs) -> Result<()> {
    for name in unread_variables() {
        note(format_args!("note: {name} is no variable of pdl and changes nothing"));
    }
    // A measurement that nothing could keep is not begun.
    let named = match (&args.out, args.dry_run) {
        (Some(path), false) => Some(Output::claim(path, args.overwrite)?),
        _ => None,
    };
    // Nobody who has no GPU wants the simulated device's constants without asking for them.
    let backend = match args.backend {
        BackendChoice::Auto => BackendChoice::Gpu,
        chosen => chosen,
    };
    let opened = device::open(backend, args.seed, Without::default(), &SimulatedArgs::default())?;
    let device = opened.device.as_ref();
    let effort = effort(args, device);
    let expected = expected(&effort, device.facts());
    if args.dry_run {
        return terminal::print(&plan(device, &effort, expected, args.format)?);
    }
    let output = match named {
        Some(output) => output,
        None => {
            let folder = directory(None, "calibrate", Timestamp::now())?;
            Output::claim(&folder.join("calibration.toml"), false)?
        }
    };
    let folder = output.path().parent().map(ToOwned::to_owned);
    let profile = timed(device, &effort, expected).inspect_err(|_| {
        // Only a folder that nothing is in goes.
        if let (None, Some(folder)) = (&args.out, &folder) {
            let _ = std::fs::remove_dir(folder);
        }
    })?;
    let path = output.path().to_owned();
    output.write(profile.to_toml().as_bytes())?;
    terminal::print(&render(&profile, args.format)?)?;
    for warning in profile.calibration.iter().flat_map(|c| &c.warnings) {
        note(format_args!("warning: {warning}"));
    }
    note(path.display());
    Ok(())
}

fn effort(args: &CalibrateArgs, device: &dyn Device) -> Effort {
    let sms = device.facts().sm_count;
    match args.quick {
        true => Effort::quick(sms, args.host, args.seed),
        false => Effort::new(sms, args.host, args.seed),
    }
}

/// The experiments and the time they are expected to take.
fn plan(
    device: &dyn Device,
    effort: &Effort,
    expected: Duration,
    format: FindingsFormat,
) -> Result<String> {
    let (label, expected_s) = (device.facts().label(), expected.as_secs_f64().ceil());
    let experiments = experiments(effort, device.facts());
    match format {
        FindingsFormat::Table => {
            let mut text = format!("{label}\n");
            for (what, seconds) in experiments {
                text += &format!("  {what:<12} {seconds:>5.1} s\n");
            }
            Ok(text + &format!("expected: {expected_s:.0} s\n"))
        }
        FindingsFormat::Json => {
            let one = |(what, seconds)| serde_json::json!({ "experiment": what, "s": seconds });
            let all: Vec<_> = experiments.into_iter().map(one).collect();
            dry_run::json(&serde_json::json!({
                "device": label, "experiments": all, "expected_s": expected_s
            }))
        }
        FindingsFormat::Markdown => Err(dry_run::no_such_form()),
    }
}

/// Measures with a progress bar, and says how long it took.
fn timed(device: &dyn Device, effort: &Effort, expected: Duration) -> Result<Profile> {
    note(format_args!("about {} s", expected.as_secs_f64().ceil()));
    let bar = ProgressBar::new(1000);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  left: {eta}");
    bar.set_style(style.expect("the template is well formed"));
    let began = Instant::now();
    let measured = measure(device, effort, &mut |what, part| {
        bar.set_message(what.to_owned());
        bar.set_position((part * 1000.0) as u64);
    });
    bar.finish_and_clear();
    let mut profile = measured?;
    let wall_s = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    if let Some(calibration) = &mut profile.calibration {
        let now = Timestamp::now();
        calibration.program = program();
        calibration.ended = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
        calibration.wall_s = wall_s;
    }
    // What is written must be what a reader takes.
    profile.validate().map_err(|cause| Error::failed("make a profile of the findings", cause))?;
    Ok(profile)
}

fn program() -> String {
    let revision = match env!("PDL_REVISION") {
        "" => "unknown",
        revision => revision,
    };
    format!("pdl {} revision {revision}", env!("CARGO_PKG_VERSION"))
}

fn render(profile: &Profile, format: FindingsFormat) -> Result<String> {
    match format {
        FindingsFormat::Table => Ok(table::render(profile, false)),
        FindingsFormat::Markdown => Ok(table::render(profile, true)),
        FindingsFormat::Json => serde_json::to_string_pretty(profile)
            .map(|text| text + "\n")
            .map_err(|error| Error::failed("write the profile as JSON", error)),
    }
}
