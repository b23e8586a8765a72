//! Which edges may be flipped at all, and why the others may not.

use std::collections::BTreeMap;

use super::listing::{Edge, Listing, Standing};
use super::options::Options;
use super::race::{Race, RaceVerdict};
use super::report::EdgeAdvice;

/// Edges that are flipped together: of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Index of the kind in the listing.
    pub kind: u32,
    /// Those of its edges that may be flipped.
    pub edges: Vec<u32>,
}

/// Whether an edge may be flipped: `Err` with what is said of it where it may not.
pub fn admitted(
    edge: &Edge,
    race: Option<&Race>,
    options: &Options,
) -> Result<(), (EdgeAdvice, String)> {
    let caught = race
        .filter(|race| matches!(race.verdict, RaceVerdict::ReadsEarly | RaceVerdict::WritesEarly));
    let clean = race.is_some_and(|race| race.verdict == RaceVerdict::Clean);
    match (&edge.standing, caught) {
        (Standing::LeftAlone { reason }, _) => Err((EdgeAdvice::LeftAlone, reason.clone())),
        _ if options.unsafe_no_sync => Ok(()),
        (_, Some(race)) => Err((EdgeAdvice::Refused, race.reason.clone())),
        (Standing::Refused { reason }, None) => Err((EdgeAdvice::Refused, reason.clone())),
        (Standing::Unknown { reason }, None) if !clean => {
            let why = match race {
                Some(race) => format!("{reason}; race check: {}", race.reason),
                None => format!("{reason}; no race check was run"),
            };
            Err((EdgeAdvice::Unknown, why))
        }
        (Standing::Eligible | Standing::Unknown { .. }, None) => Ok(()),
    }
}

/// The edges that may be flipped, by kind.
pub fn units(listing: &Listing, races: &BTreeMap<u32, Race>, options: &Options) -> Vec<Unit> {
    let may = |&index: &u32| {
        let edge = &listing.edges[index as usize];
        admitted(edge, races.get(&index), options).is_ok()
    };
    let units = listing.kinds.iter().map(|kind| Unit {
        kind: kind.index,
        edges: kind.edges.iter().copied().filter(may).collect(),
    });
    units.filter(|unit| !unit.edges.is_empty()).collect()
}
