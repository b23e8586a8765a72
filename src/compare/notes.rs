//! What a reader of a comparison should know of the two runs.

use super::Side;
use super::outcome::Party;
use crate::record::End;

/// How a run is named in outputs.
pub(super) fn party(name: &str, side: &Side) -> Party {
    let manifest = &side.manifest;
    let revision = if manifest.revision.is_empty() { "unknown" } else { &manifest.revision };
    Party {
        name: name.to_owned(),
        device: manifest.facts.label(),
        driver: manifest.facts.driver.clone(),
        program: format!("pdl {} revision {revision}", manifest.version),
        started: manifest.started.clone(),
        seed: manifest.seed,
        resumed: side.resumed(),
    }
}

/// One line each, in a fixed order.
pub(super) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side) in [("A", a), ("B", b)] {
        notes.extend(of_side(name, side));
    }
    let (left, right) = (&a.manifest, &b.manifest);
    if left.facts.uuid != right.facts.uuid && left.facts.name == right.facts.name {
        notes.push(format!(
            "other-gpu: A and B ran on two GPUs of one model ({} and {})",
            left.facts.uuid, right.facts.uuid
        ));
    }
    if (&left.version, &left.revision) != (&right.version, &right.revision) {
        notes.push(format!(
            "other-program: A was measured by pdl {} revision {}, B by {} revision {}; what differs \
             between the programs is part of what is compared",
            left.version, left.revision, right.version, right.revision
        ));
    }
    notes
}

/// The same of one run.
pub(super) fn of_side(name: &str, side: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    match &side.end {
        None => notes.push(format!("unfinished: {name} was killed or still goes on")),
        Some(end) if end.reason != End::DONE => {
            notes.push(format!("unfinished: {name} ended early: {}", end.reason));
        }
        Some(_) => {}
    }
    // What every run without a lock says would be said of every comparison.
    let warnings = side.summary.warnings.iter().filter(|w| w.code != "clocks-not-locked");
    notes.extend(warnings.map(|warning| format!("{}: {name}: {}", warning.code, warning.cause)));
    notes.extend(side.notes.iter().map(|note| format!("files: {name}: {note}")));
    notes
}
