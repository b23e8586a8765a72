//! What makes a point of one run the same as a point of another.

use std::fmt::Write;

use crate::chain::{Arm, BodyKind, Chain, L2, Mode, Shape, Target, Trigger, TriggerBy};
use crate::record::{KernelRun, KernelVariant, Manifest, PointRecord};
use crate::units::us;

/// The definition of a point × arm: what was asked for, without what calibration made of it and
/// without its name in the plan.
pub(super) fn key(manifest: &Manifest, record: &PointRecord) -> String {
    let trigger = record.trigger.map_or_else(|| "-".to_owned(), |trigger| trigger.to_string());
    let flips = manifest.attached.as_ref().map(|attached| attached.flips_of(&record.point));
    let flips = flips.map_or_else(String::new, |flips| format!("{flips:?} "));
    format!("{} {trigger} {flips}{}", record.arm, group_key(manifest, &record.chain))
}

/// The definition of a group: a chain without trigger and amounts. Of the user's own kernels their
/// names, axes and number; how they are launched is part of the code that is compared.
pub(super) fn group_key(manifest: &Manifest, chain: &Chain) -> String {
    let mut chain = chain.with_trigger(Trigger::Implicit);
    let kernels = own_kernels(manifest, &chain).map(|(run, variant)| {
        let names: Vec<&str> = variant.nodes.iter().map(|node| node.kernel.as_str()).collect();
        format!("{} {} {names:?} {}", run.name, variant.axes_text(), variant.repeat)
    });
    if kernels.is_some() {
        chain.shape = Shape::default();
    }
    (chain.preamble.units, chain.body.units) = (0, 0);
    let kernels = kernels.or_else(|| manifest.attached.as_ref().map(|own| own.graph.clone()));
    let chain = serde_json::to_string(&chain).expect("a chain is plain data with text for keys");
    format!("{chain} {}", kernels.unwrap_or_default())
}

/// The same on a device with another number of SMs: blocks count by the SM.
pub(super) fn group_key_by_sm(manifest: &Manifest, chain: &Chain) -> String {
    let sm_count = manifest.facts.sm_count.max(1);
    let per_sm = match own_kernels(manifest, chain) {
        Some(_) => 0.0,
        None => f64::from(chain.shape.grid_blocks) / f64::from(sm_count),
    };
    let mut chain = *chain;
    chain.shape.grid_blocks = 0;
    format!("{per_sm:.3} {}", group_key(manifest, &chain))
}

/// The user's own kernels that a chain is made of.
fn own_kernels<'m>(
    manifest: &'m Manifest,
    chain: &Chain,
) -> Option<(&'m KernelRun, &'m KernelVariant)> {
    let run = manifest.kernel.as_ref().filter(|_| chain.body.kind == BodyKind::Kernel)?;
    Some((run, run.variants.get(usize::try_from(chain.body.units).ok()?)?))
}

/// Time by which the work of two points differs, though they were asked for the same, ns a node:
/// the difference of the calibrated amounts at the speed that one of them was measured to have.
/// Infinite where an amount stands against none, or where no time was measured.
pub(super) fn work_difference_ns(a: &PointRecord, b: &PointRecord) -> f64 {
    if a.chain.body.kind == BodyKind::Kernel {
        // The amounts are places in a list, and the definition says which.
        return 0.0;
    }
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
pub(super) fn group_label(manifest: &Manifest, chain: &Chain) -> String {
    if let Some((run, variant)) = own_kernels(manifest, chain) {
        let axes = match variant.axes_text() {
            axes if axes.is_empty() => axes,
            axes => format!(" with {axes}"),
        };
        return format!("{}{axes}: {}", run.name, variant.nodes_text());
    }
    if let Some(attached) = &manifest.attached {
        return format!("the attached graph {} of {} nodes", attached.graph, chain.nodes);
    }
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
pub(super) fn label(manifest: &Manifest, record: &PointRecord) -> String {
    let group = group_label(manifest, &record.chain);
    let flips = manifest.attached.as_ref().map_or(0, |a| a.flips_of(&record.point).len());
    let flips = if flips > 0 { format!(" with {flips} edges flipped") } else { String::new() };
    format!("{}{flips} of {group}", arm_label(record.arm, record.trigger))
}

/// An arm and its trigger: `graph-pdl 4/8`.
pub(super) fn arm_label(arm: Arm, trigger: Option<Trigger>) -> String {
    trigger.map_or_else(|| arm.to_string(), |trigger| format!("{arm} {trigger}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Body;
    use crate::compare::tests::fixture::{Made, record};
    use crate::record::KernelNode;

    fn manifest() -> Manifest {
        Made::default().run().manifest
    }

    #[test]
    fn amounts_and_names_are_no_part_of_a_definition_and_all_else_is() {
        let one = record("p000", Arm::GraphPdl, Some(Trigger::AtEntry));
        let mut same = record("p099", Arm::GraphPdl, Some(Trigger::AtEntry));
        same.group = 7;
        (same.chain.body.units, same.chain.preamble.units) = (1, 2);
        let manifest = manifest();
        let key = |record: &PointRecord| key(&manifest, record);
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
        let (mut manifest, mut chain) = (manifest(), record("p000", Arm::Graph, None).chain);
        let here = group_key_by_sm(&manifest, &chain);
        chain.shape.grid_blocks = 114;
        assert_ne!(here, group_key_by_sm(&manifest, &chain));
        manifest.facts.sm_count = 114;
        assert_eq!(here, group_key_by_sm(&manifest, &chain));
    }

    #[test]
    fn own_kernels_are_told_apart_by_name_and_axes_and_not_by_their_place() {
        let node = |kernel: &str, blocks| KernelNode {
            kernel: kernel.into(),
            grid: [blocks, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            cluster: [1, 1, 1],
        };
        let variant = |m: i64, kernel: &str, blocks| KernelVariant {
            axes: [("M".to_owned(), m)].into(),
            nodes: vec![node(kernel, blocks)],
            repeat: 12,
        };
        let with = |variants: Vec<KernelVariant>| Manifest {
            kernel: Some(KernelRun {
                name: "decode".into(),
                policy: None,
                variants,
                compiler: String::new(),
                unsafe_no_sync: false,
                sha256: String::new(),
            }),
            ..manifest()
        };
        let a = with(vec![variant(1, "gemv", 8), variant(4, "gemv", 8)]);
        // Another order, another launch; then another kernel.
        let b = with(vec![variant(4, "gemv", 64), variant(1, "gemv", 64), variant(4, "gemm", 8)]);
        let chain = |units: u64, blocks: u32| {
            let mut record = record("p000", Arm::Graph, None);
            record.chain.body = Body { kind: BodyKind::Kernel, target: Target::Ns(0.0), units };
            record.chain.shape.grid_blocks = blocks;
            record
        };
        assert_eq!(key(&a, &chain(1, 8)), key(&b, &chain(0, 64)));
        assert_eq!(key(&a, &chain(0, 8)), key(&b, &chain(1, 64)));
        assert_ne!(key(&a, &chain(0, 8)), key(&a, &chain(1, 8)));
        assert_ne!(key(&a, &chain(1, 8)), key(&b, &chain(2, 8)));
        assert_eq!(work_difference_ns(&chain(1, 8), &chain(0, 64)), 0.0);
        let label = group_label(&a, &chain(1, 8).chain);
        assert_eq!(label, "decode with M = 4: gemv 8 × 128, 12 times");
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
