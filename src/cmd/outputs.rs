//! Everything that is derived from the raw files of a run.

use std::collections::BTreeMap;
use std::path::Path;

use super::table;
use crate::analysis::{Summary, summarise};
use crate::cli::Format;
use crate::device::Backend;
use crate::error::{Error, Kind, Result};
use crate::plot::{self, Chosen, Context};
use crate::profile::Profile;
use crate::record::{
    Manifest, Run, Standing, Verdict, read_calibration, read_run, standing, write_derived,
    write_summary,
};

/// Rebuilds summary.csv and the charts of the run in `path` from its raw files alone, whatever is
/// there in their place.
///
/// # Errors
/// A run that cannot be read, or a disk that cannot be written.
pub fn rebuild(path: &Path) -> Result<(Summary, Run)> {
    let (summary, run) = derive(path)?;
    write(path, &summary, &run, &Standing::default())?;
    Ok((summary, run))
}

/// The same where a summary.csv may be there that this program did not just write: columns of
/// somebody else are kept, and one that contradicts the samples is not replaced.
///
/// # Errors
/// Those of [`rebuild`], and a contradiction, with its place.
pub fn rebuild_beside(path: &Path) -> Result<(Summary, Run)> {
    let (summary, mut run) = derive(path)?;
    let standing = standing(path, &summary.rows, run.end.is_some())?;
    write(path, &summary, &run, &standing)?;
    run.notes.extend(standing.notes());
    Ok((summary, run))
}

fn derive(path: &Path) -> Result<(Summary, Run)> {
    let mut run = read_run(path)?;
    let mut summary = summarise(&run.manifest, &run.points, &run.samples);
    match calibration(path) {
        Ok(Some(profile)) => summary.bound(&profile, &run.manifest),
        Ok(None) => {}
        // The run is worth its tables without it.
        Err(error) => run.notes.push(error.to_string()),
    }
    Ok((summary, run))
}

fn write(path: &Path, summary: &Summary, run: &Run, standing: &Standing) -> Result<()> {
    write_derived(path, "summary.csv", &standing.write(&summary.rows))?;
    let context = context(&run.manifest, summary);
    for (name, svg) in plot::render_all(&summary.rows, &run.samples, &context) {
        write_derived(path, &format!("charts/{name}"), svg.as_bytes())?;
    }
    Ok(())
}

/// The calibration that lies beside the run.
fn calibration(path: &Path) -> Result<Option<Profile>> {
    let Some(text) = read_calibration(path)? else { return Ok(None) };
    let file = path.join("calibration.toml");
    let profile = text.parse::<Profile>();
    profile.map(Some).map_err(|cause| Error::failed(format!("read {}", file.display()), cause))
}

/// What the charts need besides rows and samples.
fn context(manifest: &Manifest, summary: &Summary) -> Context {
    let facts = &manifest.facts;
    let driver = if facts.driver.is_empty() { "none" } else { &facts.driver };
    let revision = if manifest.revision.is_empty() { "unknown" } else { &manifest.revision };
    let floors = summary.floor.groups.iter();
    let floors_us: BTreeMap<u32, f64> =
        floors.filter_map(|floor| Some((floor.group, floor.floor_ns? / 1e3))).collect();
    let chosen = summary.answers.iter().filter_map(|answer| {
        let plateau = answer.plateau.as_ref()?;
        let trigger = Some(plateau.recommended.trigger);
        Some(Chosen { group: answer.group, arm: answer.arm, trigger })
    });
    Context {
        caption: format!(
            "{}, driver {driver}, pdl {} revision {revision}",
            facts.label(),
            manifest.version
        ),
        simulated: facts.backend == Backend::Sim,
        points: manifest.plan.points.clone(),
        floors_us,
        chosen: chosen.collect(),
    }
}

/// The summary in the format that was asked for.
///
/// # Errors
/// A summary that is no JSON: none.
pub fn render(summary: &Summary, run: &Run, format: Format) -> Result<String> {
    Ok(match format {
        Format::Table => table::summary(summary, run),
        Format::Markdown => table::markdown(summary, run),
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
