//! Which points two runs have in common.

use std::collections::{HashMap, HashSet};

use super::definition::{key, label};
use crate::analysis::{Entry, Indexed};
use crate::chain::Arm;

/// Entries of both runs by definition.
pub(super) struct Matched<'r, 'a> {
    /// Those of both, in the order of the first.
    pub(super) both: Vec<(&'r Entry<'a>, &'r Entry<'a>)>,
    /// What only the first has, in words.
    pub(super) only_a: Vec<String>,
    /// What only the second has.
    pub(super) only_b: Vec<String>,
}

/// Matches all but the sentinels, which stand for the state of the device. Of two points of one
/// definition in a run the first is taken.
pub(super) fn matched<'r, 'a>(
    left: &'r Indexed<'a>,
    right: &'r Indexed<'a>,
    arms: &[Arm],
) -> Matched<'r, 'a> {
    let entries = |run: &'r Indexed<'a>| {
        let asked = |arm: Arm| arms.is_empty() || arms.contains(&arm);
        let rows = run.entries.iter().filter(|entry| entry.record.arm != Arm::Sentinel);
        rows.filter(move |entry| asked(entry.record.arm))
    };
    let mut of_b: HashMap<String, &Entry> = HashMap::new();
    for entry in entries(right) {
        of_b.entry(key(right.manifest, entry.record)).or_insert(entry);
    }
    let mut matched = Matched { both: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    let mut seen = HashSet::new();
    for entry in entries(left) {
        let key = key(left.manifest, entry.record);
        match of_b.remove(&key) {
            Some(other) => matched.both.push((entry, other)),
            None if seen.contains(&key) => {}
            None => matched.only_a.push(label(left.manifest, entry.record)),
        }
        seen.insert(key);
    }
    let left_over = entries(right).filter(|entry| {
        of_b.get(&key(right.manifest, entry.record))
            .is_some_and(|other| std::ptr::eq(*other, *entry))
    });
    matched.only_b = left_over.map(|entry| label(right.manifest, entry.record)).collect();
    matched
}
