//! One group of points: same work, same shape, every trigger and arm, interleaved.

use std::sync::Arc;

use super::Sink;
use super::calibrate::{Calibrated, calibrate, measure_work};
use super::plan::{LONG_FACTOR, Plan};
use super::resume::Begun;
use super::rounds::Rounds;
use super::stopping::Ending;
use super::watch::Watch;
use crate::chain::{Arm, MAX_NODES, Mode};
use crate::device::{Device, Flag, Prepared, Proof, Verification, range};
use crate::error::{Error, Kind, Result};
use crate::interrupt;
use crate::record::{PlanPoint, PointRecord, SampleRow};

/// One arm of one point, ready at the point's length and, isolated, at the long one.
pub(super) struct Entry<'d> {
    pub(super) point: Arc<str>,
    pub(super) arm: Arm,
    /// What profilers call its samples.
    label: String,
    pub(super) nodes: u32,
    short: Box<dyn Prepared + 'd>,
    pub(super) long: Option<Box<dyn Prepared + 'd>>,
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
    /// Takes a sample, and keeps the duration of a short chain unless a flag leaves it out. `watch`
    /// knows the round.
    pub(super) fn sample(
        &mut self,
        device: &dyn Device,
        turn: Turn,
        watch: &mut Watch,
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
        let sm_mhz = device.sm_mhz();
        if self.arm == Arm::Sentinel && !turn.long {
            watch.sentinel(sample.duration_ns);
        }
        let excluded = sample.flags.iter().any(|flag| flag.excludes());
        if !turn.long {
            self.durations.push((!excluded).then_some(sample.duration_ns));
        }
        let mut flags = sample.flags;
        flags.extend(watch.flags(sm_mhz));
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
            sm_mhz,
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
    let watch = Watch::default();
    Rounds { device, plan, group: points[0].group, began, begun, sink, watch }.run(&mut entries)
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
