//! A listing and a report as people read them.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::listing::{Listing, SyncEvidence};
use super::report::{EdgeAdvice, Effect, Report, verdict_name};
use crate::record::Verdict;
use crate::units::{ABSENT, format_interval, or_absent, signed};

/// Longest name of a kernel in a table; library kernels have names of hundreds of characters.
const NAME_CHARACTERS: usize = 40;
/// Most edges that are listed one by one.
const EDGES_SHOWN: usize = 24;

/// What the graph is made of, and what may be done with each kind of edge.
pub fn listing_table(listing: &Listing) -> String {
    let census: Vec<String> =
        listing.census().iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    let mut text = format!(
        "{} nodes ({}), {} edges\n\n",
        listing.nodes.len(),
        census.join(", "),
        listing.edges.len()
    );
    let rows = listing.kinds.iter().map(|kind| {
        let first = &listing.edges[kind.edges[0] as usize];
        let kernel = listing.kernel(first.to);
        let (sync, trigger) = code(listing, first.from, first.to);
        let shape = kernel.map_or(ABSENT.into(), |kernel| {
            format!("{:?} × {:?}", kernel.grid, kernel.block).replace(", ", ",")
        });
        vec![
            short(&kind.primary),
            short(&kind.secondary),
            kind.edges.len().to_string(),
            shape,
            sync,
            trigger,
            first.standing.name().into(),
        ]
    });
    let head =
        ["primary", "secondary", "edges", "secondary's shape", "sync", "trigger", "standing"];
    text += &table(&head, &[2], rows.collect());
    text + &left_alone(listing)
}

/// The attribution: the answer first, then kinds, then the edges that differ from their kind.
pub fn report_table(report: &Report) -> String {
    let mut text = head_and_answer(report);
    text += &kinds(report);
    text += &edges(report);
    text += &left_alone(&report.listing);
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    text + LEGEND
}

const LEGEND: &str = "\
saved: (baseline − variant) ÷ edges flipped, median of paired rounds, µs a hop. alone: only this kind flipped; in all: it \
beside all\nothers; in chosen: it beside the rest of the chosen set. verdicts are corrected by Holm over every effect of the \
report.\n";

/// What was measured, and what to do.
pub(super) fn head_and_answer(report: &Report) -> String {
    head(report) + &answer(report)
}

fn head(report: &Report) -> String {
    let listing = &report.listing;
    let floor = report.floor_ns.map_or("unknown".into(), |ns| format!("{:.3} µs", ns / 1e3));
    let baseline = report.baseline_ns.map_or(ABSENT.into(), |ns| format!("{:.3} µs", ns / 1e3));
    format!(
        "{}{}: {} nodes, {} edges; original graph {baseline}, A/A floor {floor} a graph launch; \
         {} rounds, {:.1} s ({})\n",
        if report.options.unsafe_no_sync { "UNSAFE " } else { "" },
        report.origin.device,
        listing.nodes.len(),
        listing.edges.len(),
        report.options.rounds,
        report.elapsed_s,
        report.stopped,
    )
}

fn answer(report: &Report) -> String {
    let of = |advice| report.edges.iter().filter(|row| row.advice == advice).count();
    let mut text = match (&report.chosen, report.chosen_edges.len()) {
        (Some(effect), count) if count > 0 => {
            let total_us = effect.saved_ns.unwrap_or(0.0) * f64::from(effect.hops) / 1e3;
            let speedup = report.baseline_ns.map(|ns| ns / (ns - total_us * 1e3));
            format!(
                "make {count} edges {}: saves {total_us:.3} µs a graph launch ({} µs a hop, 95 %: {}), {}\n",
                report.options.dependency.name(),
                saved(Some(effect)),
                interval(effect),
                speedup.map_or(ABSENT.into(), |speedup| format!("{speedup:.3}×")),
            )
        }
        _ => {
            "make no edge programmatic: no set of edges is faster than the original graph\n".into()
        }
    };
    text += &format!(
        "{} to flip, {} to keep, {} refused, {} unknown, {} left alone\n\n",
        of(EdgeAdvice::Flip),
        of(EdgeAdvice::Keep),
        of(EdgeAdvice::Refused),
        of(EdgeAdvice::Unknown),
        of(EdgeAdvice::LeftAlone),
    );
    text
}

fn kinds(report: &Report) -> String {
    let listing = &report.listing;
    let rows = listing.kinds.iter().map(|kind| {
        let row = report.kinds.iter().find(|row| row.kind == kind.index);
        let advice = |wanted| {
            kind.edges.iter().filter(|&&edge| report.edges[edge as usize].advice == wanted).count()
        };
        let said: Vec<String> =
            [EdgeAdvice::Flip, EdgeAdvice::Keep, EdgeAdvice::Refused, EdgeAdvice::Unknown]
                .into_iter()
                .filter(|&wanted| advice(wanted) > 0)
                .map(|wanted| format!("{} {}", advice(wanted), wanted.name()))
                .collect();
        let effect = |pick: fn(&super::report::KindRow) -> &Option<Effect>| {
            row.and_then(|row| pick(row).as_ref())
        };
        let in_chosen = effect(|row| &row.in_chosen);
        vec![
            short(&kind.primary),
            short(&kind.secondary),
            kind.edges.len().to_string(),
            saved(effect(|row| &row.alone)),
            saved(effect(|row| &row.in_all)),
            saved(in_chosen),
            in_chosen.map_or(ABSENT.into(), interval),
            in_chosen.map_or(ABSENT.into(), |effect| loud(effect.verdict)),
            said.join(", "),
        ]
    });
    let head = [
        "primary",
        "secondary",
        "edges",
        "alone",
        "in all",
        "in chosen",
        "95 %",
        "verdict",
        "advice",
    ];
    table(&head, &[2, 3, 4, 5, 6], rows.collect()) + "\n"
}

/// Edges that are refused or unknown, and those whose advice is not that of most of their kind.
fn edges(report: &Report) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for kind in &report.listing.kinds {
        let mut reasons: Vec<(EdgeAdvice, &str, Vec<u32>)> = Vec::new();
        for &edge in &kind.edges {
            let row = &report.edges[edge as usize];
            match reasons.iter_mut().find(|(a, why, _)| *a == row.advice && *why == row.why) {
                Some((_, _, edges)) => edges.push(edge),
                None => reasons.push((row.advice, &row.why, vec![edge])),
            }
        }
        if reasons.iter().all(|(advice, ..)| *advice == EdgeAdvice::Flip) {
            continue;
        }
        for (advice, why, edges) in reasons {
            shown += 1;
            if shown > EDGES_SHOWN {
                return text + "… and more in the JSON\n\n";
            }
            text += &format!(
                "{} → {}, {}: {}: {why}\n",
                short(&kind.primary),
                short(&kind.secondary),
                numbers(&edges),
                advice.name(),
            );
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn left_alone(listing: &Listing) -> String {
    let mut reasons: Vec<(&str, Vec<u32>)> = Vec::new();
    for edge in listing.edges.iter().filter(|edge| edge.kind.is_none()) {
        let why = edge.standing.reason();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, edges)) => edges.push(edge.index),
            None => reasons.push((why, vec![edge.index])),
        }
    }
    let lines =
        reasons.iter().map(|(why, edges)| format!("left alone, {}: {why}\n", numbers(edges)));
    lines.collect()
}

fn numbers(edges: &[u32]) -> String {
    const SHOWN: usize = 6;
    let some: Vec<String> = edges.iter().take(SHOWN).map(u32::to_string).collect();
    let more = edges.len().saturating_sub(SHOWN);
    let noun = if edges.len() == 1 { "edge" } else { "edges" };
    match more {
        0 => format!("{noun} {}", some.join(", ")),
        more => format!("{noun} {} and {more} more", some.join(", ")),
    }
}

fn code(listing: &Listing, from: u32, to: u32) -> (String, String) {
    let sync = match listing.kernel(to).map(|kernel| &kernel.code) {
        Some(SyncEvidence::Found { .. }) => "yes",
        Some(SyncEvidence::Absent { .. }) => "NO",
        _ => "unknown",
    };
    let trigger = match listing.kernel(from).map(|kernel| &kernel.code) {
        Some(SyncEvidence::Found { triggers, .. } | SyncEvidence::Absent { triggers, .. }) => {
            match triggers {
                0 => "implicit",
                _ => "yes",
            }
        }
        _ => "unknown",
    };
    (sync.into(), trigger.into())
}

/// µs a hop, signed.
pub(super) fn saved(effect: Option<&Effect>) -> String {
    or_absent(effect.and_then(|effect| effect.saved_ns), |ns| signed(ns / 1e3, 3))
}

/// The same, of its interval.
pub(super) fn interval(effect: &Effect) -> String {
    match (effect.saved_lo_ns, effect.saved_hi_ns) {
        (Some(lo), Some(hi)) => format_interval(lo, hi),
        _ => ABSENT.into(),
    }
}

/// A verdict, loud where it is bad.
pub(super) fn loud(verdict: Verdict) -> String {
    match verdict {
        Verdict::Hurts => "HURTS".into(),
        Verdict::Wrong => "WRONG RESULT".into(),
        other => verdict_name(other).into(),
    }
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_CHARACTERS {
        return name.to_owned();
    }
    let head: String = name.chars().take(NAME_CHARACTERS - 1).collect();
    format!("{head}…")
}

fn table(head: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(head.iter().copied());
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}
