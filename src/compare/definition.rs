//! What makes a point of one run the same as a point of another.

use std::fmt::Write;

use crate::chain::{Arm, Chain, L2, Mode, Target, Trigger, TriggerBy};
use crate::record::PointRecord;
use crate::units::us;

/// The definition of a point × arm: what was asked for, without what calibration made of it and
/// without its name in the plan.
pub(super) fn key(record: &PointRecord) -> String {
    let trigger = record.trigger.map_or_else(|| "-".to_owned(), |trigger| trigger.to_string());
    format!("{} {trigger} {}", record.arm, group_key(&record.chain))
}

/// The definition of a group: a chain without trigger and amounts.
pub(super) fn group_key(chain: &Chain) -> String {
    serde_json::to_string(&asked(chain)).expect("a chain is plain data with text for keys")
}

/// The same on a device with another number of SMs: blocks count by the SM.
pub(super) fn group_key_by_sm(chain: &Chain, sm_count: u32) -> String {
    let per_sm = f64::from(chain.shape.grid_blocks) / f64::from(sm_count.max(1));
    let mut chain = asked(chain);
    chain.shape.grid_blocks = 0;
    format!("{per_sm:.3} {}", group_key(&chain))
}

fn asked(chain: &Chain) -> Chain {
    let mut chain = chain.with_trigger(Trigger::Implicit);
    (chain.preamble.units, chain.body.units) = (0, 0);
    chain
}

/// Time by which the work of two points differs, though they were asked for the same, ns a node:
/// the difference of the calibrated amounts at the speed that one of them was measured to have.
/// Infinite where an amount stands against none, or where no time was measured.
pub(super) fn work_difference_ns(a: &PointRecord, b: &PointRecord) -> f64 {
    let part = |a_units: u64, b_units: u64, measured_ns: Option<f64>| match (a_units, b_units) {
        (a_units, b_units) if a_units == b_units => 0.0,
        (0, _) | (_, 0) => f64::INFINITY,
        (a_units, b_units) => {
            let ratio = b_units as f64 / a_units as f64 - 1.0;
            measured_ns.map_or(f64::INFINITY, |ns| (ns * ratio).abs())
        }
    };
    let body = part(a.chain.body.units, b.chain.body.units, a.body_ns.or(b.body_ns));
    let preamble =
        part(a.chain.preamble.units, b.chain.preamble.units, a.preamble_ns.or(b.preamble_ns));
    body + preamble
}

/// What every node of a group does, in one line: `fma 4.000 µs behind alu 2.000 µs, 132 × 128
/// threads, 50 nodes`.
pub(super) fn group_label(chain: &Chain) -> String {
    let body = match chain.body.target {
        Target::Ns(ns) => us(ns),
        Target::Bytes(bytes) => format!("{bytes} B"),
    };
    let shape = chain.shape;
    let mut text = format!(
        "{} {body} behind {} {}, {} × {} threads, {} nodes",
        chain.body.kind,
        chain.preamble.kind,
        us(chain.preamble.target_ns),
        shape.grid_blocks,
        shape.block_threads,
        chain.nodes
    );
    if shape.shared_bytes > 0 {
        let _ = write!(text, ", {} KiB shared", shape.shared_bytes / 1024);
    }
    if shape.cluster_blocks > 1 {
        let _ = write!(text, ", clusters of {}", shape.cluster_blocks);
    }
    if chain.trigger_by != TriggerBy::Thread {
        let _ = write!(text, ", triggered by {}", chain.trigger_by);
    }
    if chain.l2 != L2::Hot {
        let _ = write!(text, ", L2 {}", chain.l2);
    }
    if chain.mode != Mode::Isolated {
        let _ = write!(text, ", {}", chain.mode);
    }
    text
}

/// A point × arm that only one run has: `graph-pdl 4/8 of fma 4.000 µs …`.
pub(super) fn label(record: &PointRecord) -> String {
    format!("{} of {}", arm_label(record.arm, record.trigger), group_label(&record.chain))
}

/// An arm and its trigger: `graph-pdl 4/8`.
pub(super) fn arm_label(arm: Arm, trigger: Option<Trigger>) -> String {
    trigger.map_or_else(|| arm.to_string(), |trigger| format!("{arm} {trigger}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::fixture::record;

    #[test]
    fn amounts_and_names_are_no_part_of_a_definition_and_all_else_is() {
        let one = record("p000", Arm::GraphPdl, Some(Trigger::AtEntry));
        let mut same = record("p099", Arm::GraphPdl, Some(Trigger::AtEntry));
        same.group = 7;
        (same.chain.body.units, same.chain.preamble.units) = (1, 2);
        assert_eq!(key(&one), key(&same));
        let changed: [fn(&mut PointRecord); 8] = [
            |r| r.arm = Arm::StreamPdl,
            |r| r.trigger = Some(Trigger::Implicit),
            |r| r.chain.nodes = 7,
            |r| r.chain.shape.grid_blocks = 66,
            |r| r.chain.body.target = Target::Ns(4080.0),
            |r| r.chain.preamble.target_ns = 1.0,
            |r| r.chain.l2 = L2::Rotated,
            |r| r.chain.mode = Mode::Pipelined,
        ];
        for (at, change) in changed.into_iter().enumerate() {
            let mut other = one.clone();
            change(&mut other);
            assert_ne!(key(&one), key(&other), "change {at}");
        }
    }

    #[test]
    fn a_grid_of_one_block_an_sm_is_the_same_on_devices_of_another_size() {
        let mut chain = record("p000", Arm::Graph, None).chain;
        let here = group_key_by_sm(&chain, 132);
        chain.shape.grid_blocks = 114;
        assert_eq!(here, group_key_by_sm(&chain, 114));
        assert_ne!(here, group_key_by_sm(&chain, 132));
    }

    #[test]
    fn work_differs_by_what_its_amounts_take() {
        let with = |body: u64, preamble: u64, body_ns: Option<f64>| {
            let mut record = record("p000", Arm::Graph, None);
            (record.chain.body.units, record.chain.preamble.units) = (body, preamble);
            (record.body_ns, record.preamble_ns) = (body_ns, Some(2000.0));
            record
        };
        let cases = [
            ((1000, 500), (1000, 500), Some(4000.0), 0.0),
            ((1000, 500), (1020, 500), Some(4000.0), 80.0),
            ((1000, 500), (990, 495), Some(4000.0), 60.0),
            ((1000, 500), (1001, 500), None, f64::INFINITY),
            ((0, 500), (1000, 500), Some(4000.0), f64::INFINITY),
            ((0, 0), (0, 0), None, 0.0),
        ];
        for ((body_a, preamble_a), (body_b, preamble_b), body_ns, expected) in cases {
            let (a, b) = (with(body_a, preamble_a, body_ns), with(body_b, preamble_b, body_ns));
            let found = work_difference_ns(&a, &b);
            let close = (found - expected).abs() < 1e-6 || found == expected;
            assert!(close, "{body_a} {body_b}: {found}, not {expected}");
        }
    }
}
