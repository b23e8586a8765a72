//! From what an attribution found to its report.

use super::attribute::Attribution;
use super::choice::admitted;
use super::ledger::Handle;
use super::listing::Edge;
use super::report::{EdgeAdvice, EdgeRow, Effect, KindRow, Origin, Report, SCHEMA};
use crate::record::Verdict;
use crate::stats::median;

/// Composes the report; all effects are corrected as one family.
pub(super) fn compose(found: Attribution<'_>, origin: &Origin, elapsed_s: f64) -> Report {
    let effects = found.ledger.effects();
    let effect = |handle: Option<&Handle>| handle.map(|handle| effects[handle.place()].clone());
    let kinds = found.units.iter().map(|unit| KindRow {
        kind: unit.kind,
        edges: unit.edges.clone(),
        alone: effect(found.alone.get(&unit.kind)),
        in_all: effect(found.in_all.get(&unit.kind)),
        in_chosen: effect(found.unit_in_chosen.get(&unit.kind)),
        chosen: unit.edges.iter().any(|edge| found.chosen_flips.edges().contains(edge)),
    });
    let kinds: Vec<KindRow> = kinds.collect();
    let edges = found.listing.edges.iter().map(|edge| {
        let kind = kinds.iter().find(|row| row.edges.contains(&edge.index));
        // A kind of one edge was measured as a kind.
        let single = kind.filter(|kind| kind.edges.len() == 1).and_then(|k| k.in_chosen.clone());
        let own = effect(found.edge_in_chosen.get(&edge.index)).or(single);
        let (advice, why) = advice(&found, edge, own.as_ref(), kind);
        let race = found.races.get(&edge.index).cloned();
        EdgeRow { edge: edge.index, advice, why, in_chosen: own, race }
    });
    let edges: Vec<EdgeRow> = edges.collect();
    let warnings = warnings(&found, origin);
    Report {
        schema: SCHEMA.into(),
        origin: origin.clone(),
        options: found.options.clone(),
        listing: found.listing.clone(),
        baseline_ns: median(&found.baseline_ns),
        floor_ns: found.ledger.floor_ns,
        all: effect(found.all.as_ref()),
        chosen: effect(found.chosen.as_ref()),
        chosen_edges: found.chosen_flips.edges().iter().copied().collect(),
        kinds,
        edges,
        warnings,
        stopped: if found.out_of_budget { "budget" } else { "done" }.into(),
        elapsed_s,
    }
}

fn advice(
    found: &Attribution<'_>,
    edge: &Edge,
    own: Option<&Effect>,
    kind: Option<&KindRow>,
) -> (EdgeAdvice, String) {
    if let Err(refused) = admitted(edge, found.races.get(&edge.index), found.options) {
        return refused;
    }
    if let Some(why) = edge.kind.and_then(|kind| found.wrong.get(&kind)) {
        return (EdgeAdvice::Refused, why.clone());
    }
    if found.wrong_edges.contains(&edge.index) {
        return (EdgeAdvice::Refused, "outputs differ in timed runs when it is flipped".into());
    }
    let kind = kind.and_then(|kind| kind.in_chosen.as_ref().or(kind.alone.as_ref()));
    if found.chosen_flips.edges().contains(&edge.index) {
        let why = match own.map(|effect| effect.verdict) {
            Some(Verdict::Helps) => "it saves time by itself",
            _ => "its kind saves time",
        };
        return (EdgeAdvice::Flip, why.into());
    }
    let why = match own.or(kind).map(|effect| effect.verdict) {
        Some(Verdict::Hurts) => "flipped, it costs time",
        Some(Verdict::Helps) => "it saves time by itself, but the chosen set is no faster for it",
        Some(Verdict::Equivalent) => "flipped, it makes no difference",
        Some(_) => "no difference was seen",
        None => "it was not timed: the budget left no room",
    };
    (EdgeAdvice::Keep, why.into())
}

fn warnings(found: &Attribution<'_>, origin: &Origin) -> Vec<String> {
    let mut all = found.warnings.clone();
    if found.options.unsafe_no_sync {
        all.push(
            "UNSAFE: edges were flipped although their secondaries have no sync, or none that was \
             seen; a right result proves nothing"
                .into(),
        );
    }
    if !origin.no_gate.is_empty() {
        all.push(format!(
            "measured without a gate ({}): durations hold the host's launch cost",
            origin.no_gate
        ));
    }
    if found.out_of_budget {
        all.push("the budget ended the search: some comparisons were left out".into());
    }
    let untested = found.chosen_flips.edges().iter().filter(|edge| {
        let race = found.races.get(edge);
        race.is_none_or(|race| race.verdict != super::race::RaceVerdict::Clean)
    });
    let untested = untested.count();
    if untested > 0 {
        all.push(format!(
            "{untested} of the chosen edges rest on the sync in the machine code alone: the race \
             check proved nothing about them"
        ));
    }
    all
}
