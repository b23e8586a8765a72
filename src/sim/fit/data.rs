//! The rows of a stage: which are taken, what their residuals are, and their resampling.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use super::plan::{Against, Stage};
use crate::profile::{Model, Profile};
use crate::sim::predict::predict_over;
use crate::sim::validation::{Measured, Sweep, spread};

/// Runs of the event-driven model that a prediction is the mean of.
const RUNS: u64 = 2;
/// What a residual counts at most: rows that the model does not get right for other reasons move
/// nothing.
const CAP: f64 = 0.3;
/// Fewest groups that are resampled as such; of fewer the rows are.
const GROUPS: usize = 8;
/// Two-sided 95 % of a normal distribution, in standard deviations.
const SPAN_95: f64 = 2.0 * 1.96;

/// Rows that a stage is fitted to, and where they come from.
pub(super) struct Data<'a> {
    against: Against,
    /// Rows to be predicted: those of the stage, then their baselines.
    rows: Vec<&'a Measured>,
    /// Rows of the stage.
    pub(super) count: usize,
    /// Place of each row's baseline among the rows.
    baselines: Vec<usize>,
    /// What is resampled: rows that belong together.
    units: Vec<Vec<usize>>,
    /// How many groups of sweeps the rows belong to.
    pub(super) groups: usize,
    /// Names of the sweeps.
    pub(super) sweeps: Vec<&'a str>,
}

/// A resample: how often each row counts, and how far its measured period is moved, ln.
pub(super) struct Draw {
    pub(super) weights: Vec<f64>,
    pub(super) moved: Vec<f64>,
}

impl<'a> Data<'a> {
    /// At most `most` rows of the stage, as many of each group as there are, drawn by `rng`.
    pub(super) fn of(
        stage: &Stage,
        profile: &Profile,
        sweeps: &'a [Sweep],
        most: usize,
        rng: &mut ChaCha8Rng,
    ) -> Data<'a> {
        let mut groups: BTreeMap<u32, Vec<&'a Measured>> = BTreeMap::new();
        for row in sweeps.iter().flat_map(|sweep| &sweep.rows) {
            let paired = stage.against == Against::Nothing || baseline(sweeps, row).is_some();
            if paired && stage.takes(&profile.device, row) && covered(profile, row) {
                groups.entry(row.group).or_default().push(row);
            }
        }
        let rows = dealt(groups.into_values().collect(), most, rng);
        let count = rows.len();
        let mut units: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        rows.iter().enumerate().for_each(|(at, row)| units.entry(row.group).or_default().push(at));
        let groups = units.len();
        let units = match groups >= GROUPS {
            true => units.into_values().collect(),
            false => (0..count).map(|row| vec![row]).collect(),
        };
        let of = |sweep: &&Sweep| {
            let group = |row: &Measured| rows.iter().any(|taken| taken.group == row.group);
            sweep.rows.iter().any(group)
        };
        let names = sweeps.iter().filter(of).map(|sweep| sweep.name.as_str()).collect();
        let (rows, baselines) = match stage.against {
            Against::Nothing => (rows, Vec::new()),
            Against::Baseline => with_baselines(rows, sweeps),
        };
        Data { against: stage.against, rows, count, baselines, units, groups, sweeps: names }
    }

    /// What is resampled, in words.
    pub(super) fn unit(&self) -> &'static str {
        if self.groups >= GROUPS { "groups" } else { "rows" }
    }

    /// ln of period by the model ÷ measured of every row, for every profile; infinite where the
    /// model says nothing.
    pub(super) fn residuals(&self, profiles: &[Profile]) -> Vec<Vec<f64>> {
        let tasks: Vec<(&Profile, &Measured)> =
            profiles.iter().flat_map(|p| self.rows.iter().map(move |row| (p, *row))).collect();
        let residual = |(profile, row): &(&Profile, &Measured)| {
            let said = predict_over(profile, Model::Events, &row.chain, row.arm, RUNS);
            said.map_or(f64::INFINITY, |said| (said / row.period_ns).ln())
        };
        let all = spread(&tasks, residual);
        let each = all.chunks(self.rows.len().max(1)).take(profiles.len());
        each.map(|rows| self.paired(rows)).collect()
    }

    /// Residuals of the stage's own rows.
    fn paired(&self, rows: &[f64]) -> Vec<f64> {
        let own = rows[..self.count].iter();
        match self.against {
            Against::Nothing => own.copied().collect(),
            Against::Baseline => {
                own.zip(&self.baselines).map(|(own, baseline)| own - rows[*baseline]).collect()
            }
        }
    }

    /// Draws what is resampled with replacement, and each measured period within its interval.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> Draw {
        let mut weights = vec![0.0; self.count];
        for _ in 0..self.units.len() {
            let unit = &self.units[rng.random_range(0..self.units.len())];
            unit.iter().for_each(|row| weights[*row] += 1.0);
        }
        let moved = self.rows[..self.count].iter().map(|row| spread_of(row) * normal(rng));
        Draw { weights, moved: moved.collect() }
    }
}

/// Mean size of residuals, each capped.
pub(super) fn loss(residuals: &[f64]) -> f64 {
    let sum: f64 = residuals.iter().copied().map(size).sum();
    sum / residuals.len().max(1) as f64
}

/// What a residual counts.
pub(super) fn size(residual: f64) -> f64 {
    // What is not a number is as bad as can be.
    if residual.abs() < CAP { residual.abs() } else { CAP }
}

/// As many of each group as there are, at most `most`, in the order of groups.
fn dealt<'a>(
    mut groups: Vec<Vec<&'a Measured>>,
    most: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<&'a Measured> {
    groups.iter_mut().for_each(|rows| rows.shuffle(rng));
    groups.shuffle(rng);
    let deepest = groups.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..deepest).flat_map(|turn| groups.iter().filter_map(move |rows| rows.get(turn)));
    let mut taken: Vec<&Measured> = turns.take(most).copied().collect();
    taken.sort_by(|a, b| (a.group, &a.point, a.arm).cmp(&(b.group, &b.point, b.arm)));
    taken
}

fn covered(profile: &Profile, row: &Measured) -> bool {
    predict_over(profile, Model::Events, &row.chain.with_nodes(2), row.arm, 1).is_ok()
}

fn baseline<'a>(sweeps: &'a [Sweep], row: &Measured) -> Option<&'a Measured> {
    let arm = row.arm.baseline()?;
    let mut rows = sweeps.iter().flat_map(|sweep| &sweep.rows);
    rows.find(|other| (other.group, other.arm) == (row.group, arm))
}

/// The rows with their baselines behind them, and where each row's is.
fn with_baselines<'a>(
    mut rows: Vec<&'a Measured>,
    sweeps: &'a [Sweep],
) -> (Vec<&'a Measured>, Vec<usize>) {
    let mut places: BTreeMap<(u32, Option<crate::chain::Arm>), usize> = BTreeMap::new();
    let mut at = Vec::with_capacity(rows.len());
    for row in rows.clone() {
        let place = *places.entry((row.group, row.arm.baseline())).or_insert_with(|| {
            rows.extend(baseline(sweeps, row));
            rows.len() - 1
        });
        at.push(place);
    }
    (rows, at)
}

/// Standard deviation of the ln of a measured median, from its interval.
fn spread_of(row: &Measured) -> f64 {
    match (row.period_lo_ns, row.period_hi_ns) {
        (Some(lo), Some(hi)) if 0.0 < lo && lo < hi => (hi / lo).ln() / SPAN_95,
        _ => 0.0,
    }
}

/// A standard normal deviate (Box and Muller, Annals of Mathematical Statistics 29, 1958).
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
