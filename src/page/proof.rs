//! What was armed, and what the stamps show, per point and arm.

use serde::Serialize;

use super::words;
use crate::analysis::{Summary, from_to};
use crate::cells::Cells;
use crate::chain::Arm;
use crate::device::Paths;
use crate::inspect::short_name;
use crate::record::{PointRecord, Run, SummaryRow};
use crate::units::{ABSENT, fixed, or_absent, percent, us_number};

/// Proof of every point × arm.
#[derive(Serialize)]
pub(super) struct View {
    /// Read back from the device: edges, code, values compared.
    armed: Cells,
    /// Stamps, reduced.
    stamps: Cells,
}

pub(super) fn view(run: &Run, summary: &Summary) -> View {
    let latest = run.latest();
    let records: Vec<(&PointRecord, &SummaryRow)> = summary
        .rows
        .iter()
        .filter_map(|row| Some((*latest.get(&(row.point.as_str(), row.arm))?, row)))
        .collect();
    View {
        armed: Cells::new(
            &[
                "point",
                "arm",
                "trigger",
                "proof",
                "edges",
                "kernel",
                "PTX",
                "binary",
                "syncs",
                "triggers",
                "around the sync",
                "registers",
                "local bytes",
                "blocks an SM",
                "values",
                "wrong",
            ],
            records.iter().map(|(record, row)| armed(record, row)).collect(),
            &[6, 7, 8, 9, 11, 12, 13, 14, 15],
        ),
        stamps: Cells::new(
            &[
                "point",
                "arm",
                "trigger",
                "launch gap",
                "hop latency",
                "useful",
                "parked",
                "preamble",
                "body",
                "node",
                "blocks an SM",
                "worst hop",
                "SMs used",
                "packed hops",
            ],
            records.iter().filter_map(|(record, _)| stamps(record)).collect(),
            &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
        ),
    }
}

fn head(record: &PointRecord) -> Vec<String> {
    let trigger = record.trigger.filter(|_| record.arm != Arm::Sentinel);
    vec![
        record.point.clone(),
        record.arm.to_string(),
        trigger.map_or_else(|| ABSENT.to_owned(), |trigger| trigger.to_string()),
    ]
}

fn armed(record: &PointRecord, row: &SummaryRow) -> Vec<String> {
    let number = |value: Option<u32>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    let proof = &record.proof;
    let mut cells = head(record);
    if let Some(reason) = &record.skipped {
        cells.push("skipped".into());
        cells.push(reason.clone());
        cells.resize(16, ABSENT.to_owned());
        return cells;
    }
    let edges = words::edges(&proof.edges);
    let wrong = match &record.verification.first {
        Some(first) => format!(
            "{} (first: node {}, block {}: {:#x} in place of {:#x})",
            record.verification.mismatches, first.node, first.block, first.found, first.expected
        ),
        None => record.verification.mismatches.to_string(),
    };
    cells.extend([
        row.proof.map_or(ABSENT.to_owned(), |proof| words::proof(proof).word.to_owned()),
        if edges.is_empty() { ABSENT.to_owned() } else { edges },
        short_name(&proof.kernel),
        number(proof.ptx_version),
        number(proof.binary_version),
        number(proof.syncs),
        number(proof.triggers),
        proof.paths.map_or(ABSENT.to_owned(), around),
        number(proof.registers),
        number(proof.local_bytes),
        number(proof.blocks_per_sm),
        record.verification.checked.to_string(),
        wrong,
    ]);
    cells
}

/// What can execute around the sync, as far as there is any of it.
fn around(paths: Paths) -> String {
    let parts = [
        (paths.exits_before, "returns before"),
        (paths.loads_before, "loads before"),
        (paths.stores_before, "stores before"),
        (paths.triggers_before, "triggers before"),
        (paths.nc_loads_after, "non-coherent loads after"),
    ];
    let mut told: Vec<String> = Vec::new();
    if !paths.sync_reached {
        told.push("NOT REACHED".to_owned());
    }
    told.extend(parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

fn stamps(record: &PointRecord) -> Option<Vec<String>> {
    let stamps = record.stamps?;
    let us = |value: Option<f64>| or_absent(value, us_number);
    let count = |value: Option<f64>| or_absent(value, |value| fixed(value, 0));
    let mut cells = head(record);
    cells.extend([
        us(stamps.launch_gap_ns),
        us(stamps.hop_latency_ns),
        us(stamps.useful_ns),
        us(stamps.parked_ns),
        us(stamps.preamble_ns),
        us(stamps.body_ns),
        us(stamps.body_span_ns),
        or_absent(stamps.sm_blocks_max, |most| from_to(stamps.sm_blocks_least, most)),
        count(stamps.sm_blocks_worst),
        or_absent(stamps.sms_used, |used| from_to(stamps.sms_least, used)),
        or_absent(stamps.packed_share, percent),
    ]);
    Some(cells)
}
