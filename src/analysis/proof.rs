//! Whether programmatic edges did anything, from what was read back and from stamps.

use crate::chain::Dependency;
use crate::device::Facts;
use crate::record::{PointRecord, ProofVerdict};

/// The proof of one record; `None` for arms whose dependencies are full, and for skipped records.
///
/// `active` is an effect that was seen: the secondary began before the primary ended, or its launch
/// gap is shorter than its full control's; either by more than `tolerance_ns`. The second counts
/// only where the edges and the code were read back as programmatic.
pub fn proof_verdict(
    record: &PointRecord,
    control: Option<&PointRecord>,
    tolerance_ns: f64,
) -> Option<ProofVerdict> {
    if record.arm.dependency() == Dependency::Full || record.skipped.is_some() {
        return None;
    }
    let gap = |record: &PointRecord| record.stamps.and_then(|stamps| stamps.launch_gap_ns);
    let own = gap(record);
    let overlaps = own.is_some_and(|own| own < -tolerance_ns);
    let armed = record.proof.armed();
    let shorter = match (own, control.and_then(gap)) {
        (Some(own), Some(full)) => full - own > tolerance_ns,
        _ => false,
    };
    Some(match (overlaps, armed, shorter) {
        (true, _, _) | (_, true, true) => ProofVerdict::Active,
        (false, true, false) => ProofVerdict::Armed,
        (false, false, _) => ProofVerdict::Inactive,
    })
}

/// What two stamps of different SMs cannot tell apart: timer step + skew, ns. An unmeasured skew
/// counts as one more step.
pub fn tolerance_ns(facts: &Facts) -> f64 {
    facts.timer_step_ns as f64 + facts.timer_skew_ns.unwrap_or(facts.timer_step_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::chain::{Arm, Trigger};
    use crate::device::{EdgeCount, Proof};
    use crate::stamps::Reduced;

    fn record(arm: Arm, armed: bool, launch_gap_ns: Option<f64>) -> PointRecord {
        let kind = if armed { "programmatic" } else { "default" };
        let edges = vec![EdgeCount { edge_type: kind.into(), from_port: kind.into(), count: 49 }];
        PointRecord {
            proof: Proof { edges, syncs: Some(1), ..Proof::default() },
            stamps: Some(Reduced { launch_gap_ns, ..Reduced::default() }),
            ..fixture::record("p001", arm, Some(Trigger::AtEntry))
        }
    }

    #[test]
    fn the_verdict_needs_an_effect_beyond_what_the_timer_can_tell() {
        use ProofVerdict::{Active, Armed, Inactive};
        let cases = [
            // (armed, own gap, gap of the full control, expected)
            (true, Some(-500.0), Some(900.0), Active),
            (true, Some(-500.0), None, Active),
            (true, Some(100.0), Some(900.0), Active),
            (true, Some(880.0), Some(900.0), Armed),
            (true, Some(-10.0), None, Armed),
            (true, None, None, Armed),
            (false, Some(100.0), Some(900.0), Inactive),
            (false, None, None, Inactive),
        ];
        for (armed, own, full, expected) in cases {
            let subject = record(Arm::GraphPdl, armed, own);
            let control = record(Arm::GraphFull, false, full);
            let found = proof_verdict(&subject, Some(&control), 64.0);
            assert_eq!(found, Some(expected), "{armed} {own:?} {full:?}");
        }
        let full = record(Arm::GraphFull, false, Some(900.0));
        assert_eq!(proof_verdict(&full, None, 64.0), None);
    }
}
