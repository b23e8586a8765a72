//! Why a trigger hurts, as far as stamps prove it.

use super::run::Run;
use crate::chain::{Arm, Trigger};
use crate::record::PointRecord;
use crate::stamps::Reduced;
use crate::units::us;

/// A body is called slowed when it takes this part longer than in the full control.
const SLOWED: f64 = 0.05;

/// What the stamps of `arm` at `trigger` show beside those of its full control; `None` when they
/// show no cause.
pub(super) fn cause(run: &Run, group: u32, arm: Arm, trigger: Trigger) -> Option<String> {
    let stamps = |arm: Arm| -> Option<Reduced> {
        let found = |record: &&PointRecord| {
            record.group == group && record.arm == arm && record.trigger == Some(trigger)
        };
        run.entries.iter().map(|entry| entry.record).find(found)?.stamps
    };
    let (here, control) = (stamps(arm)?, stamps(arm.full_control()?)?);
    let mut causes = Vec::new();
    causes.extend(packing(&here, &control));
    causes.extend(contention(&here, &control));
    (!causes.is_empty()).then(|| causes.join(" and "))
}

/// Blocks of one node packed on few SMs, while others stay idle. One SM with two blocks is enough:
/// the next node waits for the last.
fn packing(here: &Reduced, control: &Reduced) -> Option<String> {
    let (usual, worst_usual) = (control.sm_blocks_max?, control.sm_blocks_worst?);
    let (most, worst) = (here.sm_blocks_max?, here.sm_blocks_worst?);
    let shared = match (most > usual, worst > worst_usual) {
        (true, _) => format!("up to {most:.0} blocks of a node share an SM in the median hop"),
        (false, true) => format!("up to {worst:.0} blocks of a node share an SM in some hops"),
        (false, false) => return None,
    };
    let (used, all) = (here.sms_used?, control.sms_used?);
    let (span, alone) = (here.body_span_ns?, control.body_span_ns?);
    Some(format!(
        "{shared} ({usual:.0} over full dependencies), {used:.0} SMs are used in place of \
         {all:.0}, and a node takes {} from its first release to its last end in place of {}",
        us(span),
        us(alone)
    ))
}

/// Bodies slowed by what shares their SM.
fn contention(here: &Reduced, control: &Reduced) -> Option<String> {
    let (body, alone) = (here.body_ns?, control.body_ns?);
    (body > alone * (1.0 + SLOWED))
        .then(|| format!("bodies take {} in place of {}", us(body), us(alone)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(body_ns: f64, sm_blocks_max: f64, sms_used: f64) -> Reduced {
        Reduced {
            body_ns: Some(body_ns),
            body_span_ns: Some(body_ns),
            sm_blocks_max: Some(sm_blocks_max),
            sm_blocks_worst: Some(sm_blocks_max),
            sms_used: Some(sms_used),
            ..Reduced::default()
        }
    }

    #[test]
    fn only_what_differs_from_the_control_is_a_cause() {
        let control = reduced(4000.0, 1.0, 132.0);
        assert_eq!(packing(&control, &control), None);
        assert_eq!(contention(&reduced(4100.0, 1.0, 132.0), &control), None);
        let packed = packing(&reduced(4000.0, 2.0, 90.0), &control).unwrap();
        assert!(packed.contains("up to 2 blocks") && packed.contains("90 SMs"), "{packed}");
        let slowed = contention(&reduced(5500.0, 1.0, 132.0), &control).unwrap();
        assert!(slowed.contains("5.500") && slowed.contains("4.000"), "{slowed}");
    }
}
