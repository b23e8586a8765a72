//! One group of points: same work, same shape, every trigger and arm, interleaved.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Sink;
use super::calibrate::{Calibrated, calibrate, measure_work};
use super::plan::{LONG_FACTOR, Plan};
use super::resume::Begun;
use super::stopping::{Ending, Stopping};
use crate::chain::{Arm, MAX_NODES, Mode};
use crate::device::{Device, Flag, Health, Prepared, Proof, Verification, range};
use crate::error::{Error, Kind, Result};
use crate::interrupt;
use crate::record::{PlanPoint, PointRecord, SampleRow};
use crate::stats;

/// One arm of one point, ready at the point's length and, isolated, at the long one.
pub(super) struct Entry<'d> {
    pub(super) point: Arc<str>,
    pub(super) arm: Arm,
    /// What profilers call its samples.
    label: String,
    pub(super) nodes: u32,
    short: Box<dyn Prepared + 'd>,
    long: Option<Box<dyn Prepared + 'd>>,
    /// Durations by round; `None` where a flag left the sample out.
    pub(super) durations: Vec<Option<f64>>,
}

/// Whose turn it is in a round.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Round, from 0.
    pub(super) round: u32,
    /// Place in it, from 0.
    pub(super) order: u32,
    /// The long chain in place of the short one.
    pub(super) long: bool,
    /// Whether the run was taken up again.
    pub(super) resumed: bool,
}

impl Entry<'_> {
    /// Takes a sample, and keeps the duration of a short chain unless a flag leaves it out. `before`
    /// is the state of the device when the round began.
    pub(super) fn sample(
        &mut self,
        device: &dyn Device,
        turn: Turn,
        before: &Health,
    ) -> Result<SampleRow> {
        let (prepared, nodes) = match &mut self.long {
            Some(long) if turn.long => (long, self.nodes * LONG_FACTOR),
            _ => (&mut self.short, self.nodes),
        };
        let sample = {
            let _range = range(device, &self.label);
            let named = |error: Error| error.at(&format!("{} {}", self.point, self.arm));
            prepared.sample().map_err(named)?
        };
        let excluded = sample.flags.iter().any(|flag| flag.excludes());
        if !turn.long {
            self.durations.push((!excluded).then_some(sample.duration_ns));
        }
        let mut flags = sample.flags;
        flags.extend(health_flags(before));
        if turn.resumed {
            flags.push(Flag::Resumed);
        }
        Ok(SampleRow {
            point: self.point.clone(),
            arm: self.arm,
            nodes,
            round: turn.round,
            order: turn.order,
            duration_ns: sample.duration_ns,
            sm_mhz: before.sm_mhz,
            flags,
        })
    }

    /// Duration of the short chain's last sample, ns; `None` where a flag left it out.
    pub(super) fn last_ns(&self) -> Option<f64> {
        self.durations.last().copied().flatten()
    }
}

/// Measures one group, or the rest of one that was `begun`; what it finds goes to `sink` as it
/// comes.
///
/// # Errors
/// A fault of the device, an interruption, or an error of the sink. A point that this device
/// cannot run is a skipped record, not an error.
pub fn measure_group(
    device: &dyn Device,
    plan: &Plan,
    points: &[PlanPoint],
    begun: Option<&Begun>,
    sink: &mut dyn Sink,
) -> Result<Ending> {
    let began = device.now();
    let chain = &points[0].chain;
    let calibrated = match begun.and_then(|begun| begun.calibrated) {
        // The samples that are there belong to these amounts of work.
        Some(calibrated) => Ok(calibrated),
        None if chain.has_amounts() => measure_work(device, chain),
        None => calibrate(device, chain),
    };
    let calibrated = match calibrated {
        Ok(calibrated) => calibrated,
        Err(error) if error.kind() == Kind::Unsupported => {
            skip_all(points, &error, sink)?;
            return Ok(Ending::Skipped);
        }
        Err(error) => return Err(error),
    };
    let mut entries = prepare_all(device, plan, points, &calibrated, sink)?;
    if entries.is_empty() {
        return Ok(Ending::Skipped);
    }
    for entry in &mut entries {
        let key = (entry.point.to_string(), entry.arm);
        entry.durations = begun.and_then(|b| b.durations.get(&key)).cloned().unwrap_or_default();
        entry.durations.resize(begun.map_or(0, |begun| begun.first_round as usize), None);
    }
    warm_up(device, plan, points[0].group, &mut entries)?;
    Rounds { device, plan, group: points[0].group, began, begun, sink }.run(&mut entries)
}

pub(super) fn skip_all(points: &[PlanPoint], error: &Error, sink: &mut dyn Sink) -> Result<()> {
    let nothing = Calibrated { chain: points[0].chain, body_ns: None, preamble_ns: None };
    for point in points {
        for &arm in &point.arms {
            let skipped = Some(error.to_string().replace('\n', ";"));
            sink.point(PointRecord { skipped, ..record(point, arm, &nothing) })?;
        }
    }
    Ok(())
}

fn record(point: &PlanPoint, arm: Arm, calibrated: &Calibrated) -> PointRecord {
    let trigger = point.trigger.or(arm.fixed_trigger());
    let chain = calibrated.chain;
    PointRecord {
        point: point.point.clone(),
        group: point.group,
        arm,
        trigger,
        chain: trigger.map_or(chain, |trigger| chain.with_trigger(trigger)),
        body_ns: calibrated.body_ns,
        preamble_ns: calibrated.preamble_ns,
        proof: Proof::default(),
        verification: Verification::default(),
        stamps: None,
        skipped: None,
    }
}

pub(super) fn prepare_all<'d>(
    device: &'d dyn Device,
    plan: &Plan,
    points: &[PlanPoint],
    calibrated: &Calibrated,
    sink: &mut dyn Sink,
) -> Result<Vec<Entry<'d>>> {
    let total = points.iter().map(|point| point.arms.len()).sum::<usize>() as f64;
    let mut entries = Vec::new();
    let mut seen = 0.0;
    for point in points {
        for &arm in &point.arms {
            interrupt::check("prepare the chain")?;
            sink.progress("preparing", seen / total);
            seen += 1.0;
            let record = record(point, arm, calibrated);
            let (record, entry) = prepare(device, plan, record)?;
            sink.point(record)?;
            entries.extend(entry);
        }
    }
    Ok(entries)
}

/// Prepares, verifies and stamps one arm. A wrong result is recorded and not timed.
fn prepare<'d>(
    device: &'d dyn Device,
    plan: &Plan,
    mut record: PointRecord,
) -> Result<(PointRecord, Option<Entry<'d>>)> {
    let label = label(&record);
    let _range = range(device, &format!("prepare {label}"));
    let named = |error: Error| error.at(&format!("{} {}", record.point, record.arm));
    let mut short = match device.prepare(&record.chain, record.arm) {
        Ok(prepared) => prepared,
        Err(error) if error.kind() == Kind::Unsupported => {
            record.skipped = Some(error.to_string().replace('\n', ";"));
            return Ok((record, None));
        }
        Err(error) => return Err(named(error)),
    };
    record.proof = short.proof().clone();
    record.verification = short.verify().map_err(named)?;
    if record.verification.mismatches > 0 {
        return Ok((record, None));
    }
    let stamps = short.stamps(plan.stopping.stamp_repetitions).map_err(named)?;
    record.stamps = stamps.map(|stamps| stamps.reduce());
    let long_nodes = record.chain.nodes.saturating_mul(LONG_FACTOR);
    // Past the longest chain there is none, and no marginal period.
    let long = match record.chain.mode {
        Mode::Isolated if plan.stopping.long_rounds > 0 && long_nodes <= MAX_NODES => {
            // A long chain that the device cannot hold leaves the marginal period blank too.
            match device.prepare(&record.chain.with_nodes(long_nodes), record.arm) {
                Ok(prepared) => Some(prepared),
                Err(error) if error.kind() == Kind::Unsupported => None,
                Err(error) => return Err(named(error)),
            }
        }
        _ => None,
    };
    let entry = Entry {
        point: record.point.as_str().into(),
        arm: record.arm,
        label,
        nodes: record.chain.nodes,
        short,
        long,
        durations: Vec::new(),
    };
    Ok((record, Some(entry)))
}

/// Point, arm and trigger.
fn label(record: &PointRecord) -> String {
    match record.trigger {
        Some(trigger) => format!("{} {} {trigger}", record.point, record.arm),
        None => format!("{} {}", record.point, record.arm),
    }
}

/// Runs samples and throws them away until clocks and lazy loading have settled.
pub(super) fn warm_up(
    device: &dyn Device,
    plan: &Plan,
    group: u32,
    entries: &mut [Entry],
) -> Result<()> {
    let _range = range(device, "warm up");
    let whole = plan.stopping.warm_up;
    let time = if group == 0 { whole } else { whole / 10 };
    let began = device.now();
    // Every chain once, long ones too: a first launch is never like the second.
    for entry in entries.iter_mut() {
        entry.short.sample()?;
        if let Some(long) = &mut entry.long {
            long.sample()?;
        }
    }
    while device.now() - began < time {
        for entry in entries.iter_mut() {
            entry.short.sample()?;
        }
    }
    Ok(())
}

struct Rounds<'a> {
    device: &'a dyn Device,
    plan: &'a Plan,
    group: u32,
    began: Duration,
    begun: Option<&'a Begun>,
    sink: &'a mut dyn Sink,
}

impl Rounds<'_> {
    fn run(mut self, entries: &mut [Entry]) -> Result<Ending> {
        let stopping = self.plan.stopping;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        // One stream a group: a resumed or repeated group is shuffled alike.
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed ^ u64::from(self.group) << 32);
        // Every so many rounds one of long chains, so that both see the same drift.
        let spacing = (stopping.rounds_min / stopping.long_rounds.max(1)).max(1);
        let mut long_rounds = self.begun.map_or(0, |begun| begun.first_long_round);
        let first_round = self.begun.map_or(0, |begun| begun.first_round);
        for _ in 0..first_round {
            order.shuffle(&mut rng);
        }
        let mut unready = 0;
        if first_round > 0
            && let Some(ending) = self.ending(entries, first_round, &mut unready)
        {
            return Ok(ending); // It was killed between its last round and its end.
        }
        for round in first_round..stopping.rounds_max {
            order.shuffle(&mut rng);
            let spent = self.device.now() - self.began;
            self.sink.progress("measuring", part(round, spent, self.plan));
            self.round(entries, &order, round, false)?;
            if round % spacing == 0 && long_rounds < stopping.long_rounds {
                self.round(entries, &order, long_rounds, true)?;
                long_rounds += 1;
            }
            if let Some(ending) = self.ending(entries, round + 1, &mut unready) {
                return Ok(ending);
            }
        }
        Ok(Ending::Rounds)
    }

    /// Whether the group ends after `rounds` rounds. `unready` is the entry that was not precise
    /// at the last look: looked at first, it spares the look at all others.
    fn ending(&self, entries: &[Entry], rounds: u32, unready: &mut usize) -> Option<Ending> {
        let spent = self.device.now() - self.began;
        let stopping = &self.plan.stopping;
        stopping.ending(rounds, spent, || {
            if !precise(&entries[*unready], entries, stopping) {
                return false;
            }
            match entries.iter().position(|entry| !precise(entry, entries, stopping)) {
                Some(at) => {
                    *unready = at;
                    false
                }
                None => true,
            }
        })
    }

    fn round(
        &mut self,
        entries: &mut [Entry],
        order: &[usize],
        round: u32,
        long: bool,
    ) -> Result<()> {
        let before = self.device.health();
        let resumed = self.begun.is_some();
        for (place, &index) in order.iter().enumerate() {
            let entry = &mut entries[index];
            if long && entry.long.is_none() {
                continue;
            }
            interrupt::check("go on measuring")?;
            let turn = Turn { round, order: place as u32, long, resumed };
            let row = entry.sample(self.device, turn, &before)?;
            self.sink.sample(row)?;
        }
        Ok(())
    }
}

fn part(round: u32, spent: Duration, plan: &Plan) -> f64 {
    let stopping = &plan.stopping;
    let by_round = f64::from(round) / (1.5 * f64::from(stopping.rounds_min));
    by_round.max(spent.as_secs_f64() / stopping.group_budget.as_secs_f64()).min(1.0)
}

/// Flags that the state of the device before a round puts on its samples.
fn health_flags(before: &Health) -> Vec<Flag> {
    let mut flags = Vec::new();
    if !before.throttle.is_empty() {
        flags.push(Flag::Throttled);
    }
    if before.other_processes.is_some_and(|others| others > 0) {
        flags.push(Flag::CoTenant);
    }
    flags
}

/// Whether the effect of `entry` against its baseline is known well enough.
fn precise(entry: &Entry, entries: &[Entry], stopping: &Stopping) -> bool {
    let Some(baseline) = entry.arm.baseline() else { return true };
    let Some(base) = entries.iter().find(|other| other.arm == baseline) else { return true };
    let hops = f64::from(entry.nodes - 1);
    let pairs = base.durations.iter().zip(&entry.durations);
    let effect: Vec<f64> = pairs.filter_map(|(b, a)| Some(((*b)? - (*a)?) / hops)).collect();
    let base: Vec<f64> = base.durations.iter().flatten().copied().collect();
    let Some(period) = stats::median(&base).map(|ns| ns / f64::from(entry.nodes)) else {
        return false;
    };
    stopping.is_precise(&effect, stopping.margin_ns(period))
}
