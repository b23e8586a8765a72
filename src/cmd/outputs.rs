//! Everything that is derived from the raw files of a run.

use std::collections::BTreeMap;
use std::path::Path;

use super::constants::constants;
use super::{attached, table};
use crate::analysis::{Summary, summarise};
use crate::chain::{Mode, Submission};
use crate::cli::Format;
use crate::device::Backend;
use crate::error::{Error, Kind, Result};
use crate::kernel::Policy;
use crate::page;
use crate::plot::{self, Chosen, Context};
use crate::profile::Profile;
use crate::record::{
    CALIBRATION, CHECK, CONFORM, Manifest, PREDICTION, PREDICTION_SCHEMA, PROFILE, PlanPoint,
    Prediction, Run, Standing, Verdict, read_attached, read_calibration, read_run, standing,
    write_derived, write_summary,
};

/// Files to attach to a run: their names in it, and their bytes, which were found to be what they
/// should be.
pub type Attachments = Vec<(&'static str, Vec<u8>)>;

/// Rebuilds summary.csv, the charts and the page of the run in `path` from its raw files and what
/// is attached to it, whatever is there in their place.
///
/// # Errors
/// A run that cannot be read, or a disk that cannot be written.
pub fn rebuild(path: &Path) -> Result<(Summary, Run)> {
    let derived = derive(path)?;
    write(path, &derived, &Standing::default())?;
    Ok((derived.summary, derived.run))
}

/// The same where a summary.csv may be there that this program did not just write: columns of
/// somebody else are kept, and one that contradicts the samples is not replaced. First, these files
/// are attached to the run.
///
/// # Errors
/// Those of [`rebuild`], and a contradiction, with its place; then nothing is attached.
pub fn rebuild_beside(path: &Path, attachments: &Attachments) -> Result<(Summary, Run)> {
    let mut derived = derive(path)?;
    let standing = standing(path, &derived.summary.rows, derived.run.end.is_some())?;
    for (name, bytes) in attachments {
        write_derived(path, name, bytes)?;
    }
    if !attachments.is_empty() {
        // What is attached may be a part of the rows.
        derived = derive(path)?;
    }
    write(path, &derived, &standing)?;
    derived.run.notes.extend(standing.notes());
    Ok((derived.summary, derived.run))
}

/// A run and what follows from it.
struct Derived {
    summary: Summary,
    run: Run,
    /// The device profile that lies beside it.
    profile: Option<Profile>,
}

fn derive(path: &Path) -> Result<Derived> {
    let mut run = read_run(path)?;
    let mut summary = summarise(&run.manifest, &run.points, &run.samples);
    let profile = match calibration(path) {
        Ok(profile) => profile,
        // The run is worth its tables without it. The page is the same wherever the run lies.
        Err(error) => {
            run.notes.push(format!("{CALIBRATION}: {}", error.cause()));
            None
        }
    };
    if let Some(profile) = &profile {
        summary.bound(profile, &run.manifest);
    }
    match constants(path, profile.as_ref(), &run) {
        Ok(Some(constants)) => summary.with_constants(&constants, &run),
        Ok(None) => {}
        Err(error) => run.notes.push(format!("{PROFILE}: {}", error.cause())),
    }
    match prediction(path) {
        Ok(Some(prediction)) => summary.with_prediction(&prediction, &run.manifest),
        Ok(None) => {}
        Err(error) => run.notes.push(format!("{PREDICTION}: {}", error.cause())),
    }
    Ok(Derived { summary, run, profile })
}

/// The prediction that lies beside the run.
fn prediction(path: &Path) -> Result<Option<Prediction>> {
    let Some(prediction) = read_attached::<Prediction>(path, PREDICTION)? else {
        return Ok(None);
    };
    match prediction.schema == PREDICTION_SCHEMA {
        true => Ok(Some(prediction)),
        false => Err(Error::failed(
            format!("read {PREDICTION}"),
            format!("schema {} is not {PREDICTION_SCHEMA}", prediction.schema),
        )),
    }
}

fn write(path: &Path, derived: &Derived, standing: &Standing) -> Result<()> {
    let Derived { summary, run, profile } = derived;
    write_derived(path, "summary.csv", &standing.write(&summary.rows))?;
    if let Some(policy) = Policy::of(&run.manifest, summary) {
        let json = serde_json::to_vec_pretty(&policy)
            .map_err(|error| Error::failed("write the policy as JSON", error))?;
        write_derived(path, "policy.json", &json)?;
    }
    if let Some(report) = attached::report(path, run)? {
        return attached::write(
            path,
            &report,
            plot::edges(&report, &context(&run.manifest, summary)).as_deref(),
        );
    }
    let charts = plot::render_all(&summary.rows, &run.samples, &context(&run.manifest, summary));
    for (name, svg) in &charts {
        write_derived(path, &format!("charts/{name}"), svg.as_bytes())?;
    }
    let (conform, check) = (read_attached(path, CONFORM)?, read_attached(path, CHECK)?);
    let page = page::render(&page::Inputs {
        summary,
        run,
        charts: &charts,
        conform: conform.as_ref(),
        check: check.as_ref(),
        profile: profile.as_ref(),
    })?;
    write_derived(path, "report.html", page.as_bytes())
}

/// The calibration that lies beside the run.
fn calibration(path: &Path) -> Result<Option<Profile>> {
    let Some(text) = read_calibration(path)? else { return Ok(None) };
    let file = path.join(CALIBRATION);
    let profile = text.parse::<Profile>();
    profile.map(Some).map_err(|cause| Error::failed(format!("read {}", file.display()), cause))
}

/// What the charts need besides rows and samples.
fn context(manifest: &Manifest, summary: &Summary) -> Context {
    let facts = &manifest.facts;
    let driver = if facts.driver.is_empty() { "none" } else { &facts.driver };
    let revision = if manifest.revision.is_empty() { "unknown" } else { &manifest.revision };
    let both = [Submission::Graph, Submission::Stream];
    let all = manifest.plan.points.iter().map(|point| point.group);
    let floors_us: BTreeMap<(u32, Submission), f64> = all
        .flat_map(|group| both.map(|submission| (group, submission)))
        .filter_map(|at| Some((at, summary.floor.of(at.0, at.1)? / 1e3)))
        .collect();
    let chosen = summary.answers.iter().filter_map(|answer| {
        let plateau = answer.plateau.as_ref()?;
        let trigger = Some(plateau.recommended.trigger);
        Some(Chosen { group: answer.group, arm: answer.arm, trigger })
    });
    let unsafe_no_sync = manifest.kernel.as_ref().is_some_and(|kernel| kernel.unsafe_no_sync);
    Context {
        caption: format!(
            "{}{}, driver {driver}, pdl {} revision {revision}",
            if unsafe_no_sync { "UNSAFE, kernels without a sync: " } else { "" },
            facts.label(),
            manifest.version
        ),
        simulated: facts.backend == Backend::Sim,
        points: manifest.plan.points.clone(),
        own: own_groups(manifest),
        floors_us,
        predicted: summary.forecast.as_ref().map(|forecast| forecast.label.clone()),
        chosen: chosen.collect(),
    }
}

/// What the groups of the user's own kernels run.
fn own_groups(manifest: &Manifest) -> BTreeMap<u32, String> {
    let Some(kernel) = &manifest.kernel else { return BTreeMap::new() };
    let text = |point: &PlanPoint| {
        let axes = kernel.variant(&point.chain)?.axes_text();
        let axes = if axes.is_empty() { String::new() } else { format!(", {axes}") };
        let mode = match point.chain.mode {
            Mode::Isolated => "",
            Mode::Pipelined => ", pipelined",
        };
        Some((point.group, format!("{}{axes}{mode}", kernel.name)))
    };
    manifest.plan.points.iter().filter_map(text).collect()
}

/// The summary in the format that was asked for.
///
/// # Errors
/// A summary that is no JSON: none.
pub fn render(summary: &Summary, run: &Run, format: Format) -> Result<String> {
    Ok(match format {
        Format::Table => table::summary(summary, run) + &policy_text(summary, run),
        Format::Markdown => table::markdown(summary, run) + &policy_text(summary, run),
        Format::Csv => String::from_utf8_lossy(&write_summary(&summary.rows)).into_owned(),
        Format::Json => {
            let document = serde_json::json!({ "manifest": run.manifest, "summary": summary });
            serde_json::to_string_pretty(&document)
                .map_err(|error| Error::failed("write the summary as JSON", error))?
                + "\n"
        }
        Format::Junit => super::junit::render(summary, run)?,
    })
}

/// The policy of a run of the user's own kernels; nothing for another run.
fn policy_text(summary: &Summary, run: &Run) -> String {
    Policy::of(&run.manifest, summary)
        .map_or_else(String::new, |policy| format!("\n{}", policy.text()))
}

/// A wrong result anywhere is exit code 4; a run in which every row was skipped is 1.
///
/// # Errors
/// Says which row was wrong first.
pub fn demand_right_results(summary: &Summary) -> Result<()> {
    let rows = &summary.rows;
    if let Some(wrong) = rows.iter().find(|row| row.verdict == Some(Verdict::Wrong)) {
        let cause = format!("{} {} computed wrong values", wrong.point, wrong.arm);
        return Err(Error::new(Kind::Wrong, "trust the run", cause)
            .remedy("points.jsonl names node, block and value of the first"));
    }
    if !rows.is_empty() && rows.iter().all(|row| row.verdict == Some(Verdict::Skipped)) {
        let reason = rows[0].reason.clone();
        return Err(Error::failed("measure anything: this device can run no point", reason));
    }
    Ok(())
}
