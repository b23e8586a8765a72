//! Both models held against measured sweeps of a GPU: the error at every point.

mod again;
mod command;
mod file;
mod regret;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

pub use again::Again;
pub use command::own_command;
pub use regret::{Regret, regret, regrets};
pub use sweep::{Measured, Provenance, Sweep};
pub use table::{report, section};

use super::predict;
use crate::chain::Arm;
use crate::error::{Error, Result};
use crate::profile::{Model, Profile};
use crate::record::Verdict;
use crate::stats::quantile;

/// A measured row beside what the models say of it. Periods in ns.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The row.
    pub row: Measured,
    /// Period by the closed form; `None` where it says nothing.
    pub closed_ns: Option<f64>,
    /// Period by the event-driven model.
    pub events_ns: Option<f64>,
}

impl Compared {
    /// What `model` says.
    pub fn by(&self, model: Model) -> Option<f64> {
        match model {
            Model::Closed => self.closed_ns,
            Model::Events => self.events_ns,
        }
    }

    /// How far that is off, a part of the measured period, with its sign.
    pub fn error(&self, model: Model) -> Option<f64> {
        Some(self.by(model)? / self.row.period_ns - 1.0)
    }
}

/// Compares rows with both models over `profile`, in their order. A model gets what stands in the
/// plan once the amounts of work are set: the shape, the trigger, multiply-adds a thread, bytes a
/// block, deadlines. It gets no time that was measured in the run.
pub fn compare(profile: &Profile, rows: &[Measured]) -> Vec<Compared> {
    let of = |row: &Measured| {
        let by = |model| predict(profile, model, &row.chain, row.arm).ok();
        Compared { row: row.clone(), closed_ns: by(Model::Closed), events_ns: by(Model::Events) }
    };
    spread(rows, of)
}

/// `of` every item, on all cores; results in the order of the items.
pub(super) fn spread<I: Sync, T: Send>(items: &[I], of: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Neighbours are alike: dealt in turn, the cores end together.
    let turn =
        |core: usize| -> Vec<T> { items.iter().skip(core).step_by(cores).map(&of).collect() };
    let mut dealt: Vec<std::vec::IntoIter<T>> = std::thread::scope(|scope| {
        let turn = &turn;
        let others: Vec<_> = (1..cores).map(|core| scope.spawn(move || turn(core))).collect();
        let own = turn(0);
        let joined = others.into_iter().map(|one| match one.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(own).chain(joined).map(Vec::into_iter).collect()
    });
    (0..items.len()).filter_map(|at| dealt[at % cores].next()).collect()
}

/// Refuses a sweep of another device than the profile's.
///
/// # Errors
/// Product or number of SMs differ.
pub fn same_device(profile: &Profile, sweep: &Sweep) -> Result<()> {
    let device = &profile.device;
    let (found, wanted) = (
        (sweep.provenance.device.as_str(), sweep.provenance.sm_count),
        (device.product.as_str(), device.sm_count),
    );
    if found == wanted {
        return Ok(());
    }
    let cause = format!(
        "it was measured on {} with {} SMs, and the profile {} is of {} with {}",
        found.0, found.1, profile.name, wanted.0, wanted.1
    );
    Err(Error::failed(format!("hold the profile against {}", sweep.name), cause)
        .remedy("name the profile of that device with --profile"))
}

/// How far a model is off over some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Rows that the model says something of.
    pub rows: usize,
    /// Median of the relative errors' sizes.
    pub median: f64,
    /// Their 95th percentile.
    pub p95: f64,
    /// The largest.
    pub most: f64,
}

/// The errors of `model` over `rows`; `None` where it says nothing of any.
pub fn errors<'a>(rows: impl Iterator<Item = &'a Compared>, model: Model) -> Option<Errors> {
    let sizes: Vec<f64> = rows.filter_map(|row| row.error(model).map(f64::abs)).collect();
    let at = |level| quantile(&sizes, level);
    Some(Errors { rows: sizes.len(), median: at(0.5)?, p95: at(0.95)?, most: at(1.0)? })
}

/// Effects against their baselines: how many the measurement decides (it helps or hurts) and the
/// model covers, and how many of these have the right sign by `model`.
pub fn signs(rows: &[Compared], model: Model) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for row in rows {
        let helps = match row.row.verdict {
            Some(Verdict::Helps) => true,
            Some(Verdict::Hurts) => false,
            _ => continue,
        };
        let baseline = (row.row.group, row.row.arm.baseline());
        let same = |other: &&Compared| (other.row.group, Some(other.row.arm)) == baseline;
        let base = rows.iter().find(same).and_then(|base| base.by(model));
        let (Some(base_ns), Some(row_ns)) = (base, row.by(model)) else { continue };
        all += 1;
        right += usize::from((row_ns < base_ns) == helps);
    }
    (all, right)
}

/// The rows of one subject over its triggers: a group and a programmatic arm each, in order.
pub fn lanes(rows: &[Compared]) -> Vec<Vec<&Compared>> {
    let mut lanes: std::collections::BTreeMap<(u32, Arm), Vec<&Compared>> = Default::default();
    for row in rows.iter().filter(|row| matches!(row.row.arm, Arm::StreamPdl | Arm::GraphPdl)) {
        lanes.entry((row.row.group, row.row.arm)).or_default().push(row);
    }
    lanes.into_values().collect()
}

/// Groups and arms with a measured plateau that the model covers: how many there are, and in how
/// many the model's best trigger is in it.
pub fn best_triggers(rows: &[Compared], model: Model) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for lane in lanes(rows) {
        let chosen = lane.iter().filter_map(|row| Some((row.by(model)?, row.row.in_plateau?)));
        let Some((_, inside)) = chosen.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        all += 1;
        right += usize::from(inside);
    }
    (all, right)
}
