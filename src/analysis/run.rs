//! The records of a run, joined: plan, points and samples.

use std::collections::{BTreeSet, HashMap};

use super::index::{Index, Series};
use crate::chain::{Arm, Trigger};
use crate::record::{Manifest, PointRecord};

/// One point × arm.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub record: &'a PointRecord,
    /// Place of the point in the plan.
    pub place: u32,
    /// Nodes of the chains whose period is reported.
    pub nodes: u32,
    /// Hops that its effect is divided by: those of the chain, or the edges of a user's graph that it
    /// makes programmatic.
    pub hops: u32,
    /// Whether any value was wrong, when verified or in a sample of any length.
    pub wrong: bool,
}

/// A run, indexed. It borrows its samples sorted into series, so that the raw ones may be given up.
pub(crate) struct Run<'a> {
    pub manifest: &'a Manifest,
    /// In the order of the plan.
    pub entries: Vec<Entry<'a>>,
    pub index: &'a Index,
    /// Records whose point is not in the plan.
    pub unplanned_records: usize,
    places: HashMap<(u32, Arm, Option<Trigger>), usize>,
}

impl<'a> Run<'a> {
    pub fn new(manifest: &'a Manifest, points: &'a [PointRecord], index: &'a Index) -> Run<'a> {
        let mut latest: HashMap<(&str, Arm), (&PointRecord, bool)> = HashMap::new();
        for record in points {
            let wrong = record.verification.mismatches > 0;
            let entry =
                latest.entry((record.point.as_str(), record.arm)).or_insert((record, false));
            // A resumed run prepares a point again; what was wrong once stays wrong.
            *entry = (record, entry.1 || wrong);
        }
        let mut entries = Vec::with_capacity(latest.len());
        for (point, place) in manifest.plan.points.iter().zip(0..) {
            for &arm in &point.arms {
                let Some((record, wrong)) = latest.remove(&(point.point.as_str(), arm)) else {
                    continue;
                };
                let flips =
                    manifest.attached.as_ref().map_or(0, |a| a.flips_of(&point.point).len());
                entries.push(entry(index, record, place, wrong, flips as u32));
            }
        }
        let places = entries.iter().zip(0..).map(|(entry, at)| (key(entry.record), at)).collect();
        Run { manifest, entries, index, unplanned_records: latest.len(), places }
    }

    /// Groups that have a record, in increasing order.
    pub fn groups(&self) -> BTreeSet<u32> {
        self.entries.iter().map(|entry| entry.record.group).collect()
    }

    /// The entry of an arm of a group: at `trigger` for an arm that sweeps it.
    pub fn find(&self, group: u32, arm: Arm, trigger: Option<Trigger>) -> Option<&Entry<'a>> {
        let trigger = if arm.sweeps_trigger() { trigger } else { None };
        self.places.get(&(group, arm, trigger)).map(|&at| &self.entries[at])
    }

    /// The entry that `of` is compared with, as [`Arm::baseline`] names it.
    pub fn baseline(&self, of: &Entry<'a>) -> Option<&Entry<'a>> {
        self.find(of.record.group, of.record.arm.baseline()?, None)
    }

    /// The full control of `of`: the same machine code, at the same trigger.
    pub fn full_control(&self, of: &Entry<'a>) -> Option<&Entry<'a>> {
        let trigger = of.record.trigger.or(of.record.arm.fixed_trigger());
        self.find(of.record.group, of.record.arm.full_control()?, trigger)
    }

    /// The samples that an entry's period and effects come from; `None` for one that was skipped,
    /// not measured, or wrong.
    pub fn series(&self, of: &Entry) -> Option<&Series> {
        if of.wrong || of.record.skipped.is_some() {
            return None;
        }
        self.index.series(of.place, of.record.arm, of.nodes).filter(|series| series.len() > 0)
    }

    /// Both series of two entries and the hops of the second; `None` when one is missing or they differ in
    /// nodes.
    pub fn both(&self, one: &Entry, other: &Entry) -> Option<(&Series, &Series, u32)> {
        if one.nodes != other.nodes {
            return None;
        }
        Some((self.series(one)?, self.series(other)?, other.hops))
    }

    /// Durations of the rounds that two entries share, and their hops.
    pub fn pairs(&self, one: &Entry, other: &Entry) -> Option<(Vec<(f64, f64)>, u32)> {
        let (one, other, hops) = self.both(one, other)?;
        Some((one.paired_ns(other), hops))
    }
}

fn key(record: &PointRecord) -> (u32, Arm, Option<Trigger>) {
    let trigger = if record.arm.sweeps_trigger() { record.trigger } else { None };
    (record.group, record.arm, trigger)
}

fn entry<'a>(
    index: &Index,
    record: &'a PointRecord,
    place: u32,
    wrong: bool,
    flips: u32,
) -> Entry<'a> {
    let lengths = index.lengths(place, record.arm);
    // The sentinel is one fixed kernel whatever the chain: its own length is the only one it has.
    let nodes = match lengths.contains(&record.chain.nodes) {
        true => record.chain.nodes,
        false => lengths.first().copied().unwrap_or(record.chain.nodes),
    };
    let wrong_sample = lengths
        .iter()
        .filter_map(|&nodes| index.series(place, record.arm, nodes))
        .any(|series| series.wrong);
    let hops = if flips > 0 { flips } else { nodes.saturating_sub(1).max(1) };
    Entry { record, place, nodes, hops, wrong: wrong || wrong_sample }
}
