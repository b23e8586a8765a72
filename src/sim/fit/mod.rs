//! The constants of a profile from measured sweeps: which are fitted to which rows stands in
//! [`stages`], one stage after another.
//!
//! The loss is the mean of |ln(period by the event-driven model ÷ measured)|, each row's capped. A
//! stage is searched along curves of every row over every constant, by the simplex of Nelder and
//! Mead; what the curves promise is run before it is believed. An interval is a bootstrap: groups of
//! the sweeps are drawn with replacement (rows, where there are few groups), each period is drawn
//! within its own interval, and the constants of the stage are fitted anew together, along the
//! curves about the fit. It says how far other rows of such sweeps would have moved the constant. It
//! does not hold the error of the model itself, that of constants of other stages, or how far one
//! device differs from another.
//!
//! Seeded: the same data, profile and options give the same bytes.

mod calibrated;
mod constants;
mod curves;
mod data;
mod minimise;
mod plan;
mod search;
#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use self::calibrated::Calibrated;
pub use self::plan::{Against, Range, Stage, stages};

use self::calibrated::SAME;
use self::constants::Constants;
use self::data::{Data, Draw};
use self::search::{Fitted, search, worse};
use super::validation::{Sweep, same_device};
use crate::error::{Error, Result};
use crate::profile::{Constant, Profile};

/// What a fit is to do.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Constants or sections to be fitted, `issue` or `issue.elder_ratio`; empty for all.
    pub only: Vec<String>,
    /// What `pdl calibrate` measured on the device.
    pub calibration: Option<&'a Calibrated>,
    /// Most rows that a stage is fitted to.
    pub rows: usize,
    /// Resamples of an interval.
    pub resamples: usize,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { only: Vec::new(), calibration: None, rows: 96, resamples: 200, seed: 1 }
    }
}

/// What became of a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its path.
    pub path: String,
    /// Its value before.
    pub old: f64,
    /// What it is now.
    pub new: Constant,
    /// How it came to be so.
    pub outcome: Outcome,
}

/// How a constant came to be what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Fitted.
    Fitted,
    /// Fitted: what `pdl calibrate` measured makes the rows credibly worse.
    FittedAgainstCalibration,
    /// Taken from `pdl calibrate`.
    Calibrated,
    /// The rows do not determine it, for this reason: it keeps its value, which is assumed where it
    /// is not known from elsewhere.
    Undetermined(String),
}

/// What became of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageReport {
    /// What was fitted.
    pub name: String,
    /// Rows, and the groups they are of.
    pub rows: usize,
    /// The same.
    pub groups: usize,
    /// Loss before and after; `None` where there was no row.
    pub loss: Option<(f64, f64)>,
    /// Its constants.
    pub findings: Vec<Finding>,
}

/// Fits the constants of `profile` to `sweeps`; `tell` gets every stage as it ends. The last is of
/// constants that are taken from the calibration alone.
///
/// # Errors
/// A name in `only` that no constant or section has; no sweep; a sweep of another device; no row
/// for any constant.
pub fn fit(
    profile: &Profile,
    sweeps: &[Sweep],
    options: &Options,
    tell: &mut dyn FnMut(&StageReport),
) -> Result<Profile> {
    if sweeps.iter().all(|sweep| sweep.rows.is_empty()) {
        return Err(Error::failed("fit", "there is no measured row")
            .remedy("name run directories of pdl sweep, or files that validate --pack made"));
    }
    sweeps.iter().try_for_each(|sweep| same_device(profile, sweep))?;
    let stages = chosen(profile, &options.only)?;
    let mut constants = Constants::of(profile);
    let mut rows = 0;
    for stage in &stages {
        // A stage draws the same whichever others are fitted.
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let now = constants.profile();
        let data = Data::of(stage, &now, sweeps, options.rows, &mut rng);
        rows += data.count;
        let report = run(stage, &data, &mut constants, options, &mut rng);
        tell(&report);
    }
    if rows == 0 && !stages.is_empty() {
        return Err(Error::failed("fit", "no row identifies any of the constants")
            .remedy("name sweeps of the kinds of body that the constants are of"));
    }
    if let Some(calibrated) = options.calibration {
        tell(&taken(&mut constants, calibrated, profile, &options.only));
    }
    Ok(constants.profile())
}

/// The stages with the constants that are to be fitted.
fn chosen(profile: &Profile, only: &[String]) -> Result<Vec<Stage>> {
    let all = stages(profile);
    for name in only {
        let known = |stage: &Stage| stage.constants.iter().any(|range| names(name, &range.path));
        if all.iter().any(known) || SAME.iter().any(|path| names(name, path)) {
            continue;
        }
        let there = Constants::of(profile).get(name).is_some();
        let cause = match there {
            true => "no measured row is known to identify it",
            false => "the profile has no such constant or section",
        };
        return Err(Error::usage(format!("fit '{name}'"), cause).remedy(
            "name sections and constants as src/sim/fit/plan.rs has them: issue, block.tail_ns, \
             hops.graph[3]",
        ));
    }
    let wanted = |path: &str| only.is_empty() || only.iter().any(|name| names(name, path));
    let kept = all.into_iter().map(|mut stage| {
        stage.constants.retain(|range| wanted(&range.path));
        stage
    });
    Ok(kept.filter(|stage| !stage.constants.is_empty()).collect())
}

/// Whether `name` is the path, or a section of it.
fn names(name: &str, path: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Fits one stage. Then each constant that was calibrated is held at what was measured and the
/// others are fitted anew: it is taken unless that is credibly worse.
fn run(
    stage: &Stage,
    data: &Data,
    constants: &mut Constants,
    options: &Options,
    rng: &mut ChaCha8Rng,
) -> StageReport {
    let before = constants.clone();
    let draws: Vec<Draw> = (0..options.resamples).map(|_| data.draw(rng)).collect();
    let mut open: Vec<&Range> = stage.constants.iter().collect();
    let mut found = (data.count > 0).then(|| search(constants, &open, data, &draws));
    let first = found.as_ref().map(|found| found.loss.0);
    let mut taken = std::collections::BTreeMap::new();
    for range in &stage.constants {
        let path = &range.path;
        let given = options.calibration.and_then(|calibrated| calibrated.get(path));
        let (Some(given), Some(old)) = (given, constants.get(path)) else { continue };
        constants.set(path, &given);
        let others: Vec<&Range> =
            open.iter().copied().filter(|other| other.path != *path).collect();
        if let Some(now) = &found {
            let held = search(constants, &others, data, &draws);
            if worse(&held, now, &draws) {
                constants.set(path, &old);
                continue;
            }
            found = Some(held);
        }
        open = others;
        taken.insert(path.clone(), given);
    }
    let mut findings = Vec::new();
    for range in &stage.constants {
        let Some(old) = before.get(&range.path) else { continue };
        let fitted = found.as_ref().and_then(|found| found.fitted.get(&range.path).cloned());
        let given = options.calibration.and_then(|calibrated| calibrated.get(&range.path));
        let (new, outcome) = match taken.remove(&range.path) {
            Some(given) => (given, Outcome::Calibrated),
            None => settled(&old, given, fitted, range, data),
        };
        constants.set(&range.path, &new);
        findings.push(Finding { path: range.path.clone(), old: old.value, new, outcome });
    }
    let loss = first.zip(found.map(|found| found.loss.1));
    StageReport { name: stage.name.clone(), rows: data.count, groups: data.groups, loss, findings }
}

/// What a constant of a stage becomes that is not taken from a calibration; `fitted` is `None` where the stage had no row.
fn settled(
    old: &Constant,
    given: Option<Constant>,
    fitted: Option<Fitted>,
    range: &Range,
    data: &Data,
) -> (Constant, Outcome) {
    let rows =
        format!("{} rows of {} groups in {}", data.count, data.groups, data.sweeps.join(", "));
    let had_rows = fitted.is_some();
    let none = || Err("there is no row that identifies it".to_owned());
    match (fitted.unwrap_or_else(none), given) {
        (Ok((value, interval)), given) => {
            let mut experiment = format!("fit to {rows}; interval over resampled {}", data.unit());
            if value == range.lo || value == range.hi {
                experiment += "; at the bound of what was tried";
            }
            let outcome = match &given {
                Some(given) => {
                    experiment += &format!(
                        "; pdl calibrate measures {}, with which these rows are credibly worse",
                        rounded(given.value)
                    );
                    Outcome::FittedAgainstCalibration
                }
                None => Outcome::Fitted,
            };
            (known(value, interval, experiment), outcome)
        }
        // It is known from elsewhere.
        (Err(why), _) if !old.assumed => (old.clone(), Outcome::Undetermined(why)),
        (Err(why), _) => {
            let before = old.experiment.split("; not determined by").next().unwrap_or_default();
            let by = if had_rows { rows } else { "a fit".to_owned() };
            let experiment = format!("{before}; not determined by {by}: {why}");
            (Constant::assumed(old.value, experiment), Outcome::Undetermined(why))
        }
    }
}

/// Constants of the calibration that no stage fits.
fn taken(
    constants: &mut Constants,
    calibrated: &Calibrated,
    profile: &Profile,
    only: &[String],
) -> StageReport {
    let stages = stages(profile);
    let fitted =
        |path: &str| stages.iter().any(|s| s.constants.iter().any(|range| range.path == path));
    let mut findings = Vec::new();
    for path in SAME.into_iter().filter(|path| !fitted(path)) {
        let wanted = only.is_empty() || only.iter().any(|name| names(name, path));
        let (Some(old), Some(new)) = (constants.get(path), calibrated.get(path)) else { continue };
        if wanted {
            constants.set(path, &new);
            let path = path.to_owned();
            findings.push(Finding { path, old: old.value, new, outcome: Outcome::Calibrated });
        }
    }
    let name = "from pdl calibrate alone".to_owned();
    StageReport { name, rows: 0, groups: 0, loss: None, findings }
}

/// A fitted constant; digits that say nothing are dropped, and the interval holds the value.
fn known(value: f64, (lo, hi): (f64, f64), experiment: String) -> Constant {
    let value = rounded(value);
    Constant::measured(value, (rounded(lo).min(value), rounded(hi).max(value)), experiment)
}

/// Four digits: no interval of a fit is narrower than a thousandth.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
