//! Why a trigger hurts, as far as stamps prove it.

use super::run::Run;
use crate::chain::{Arm, Trigger};
use crate::record::{PointRecord, SummaryRow};
use crate::stamps::Reduced;
use crate::units::{percent, us};

/// A body, or a node, is called slowed when it takes this part longer than in the full control.
const SLOWED: f64 = 0.05;

/// What the stamps of `arm` at `trigger` show beside those of its full control; `None` when they
/// show no cause, or when the stamped run took another course than the timed ones, whose period is
/// `period_ns`.
pub(super) fn cause(
    run: &Run,
    group: u32,
    arm: Arm,
    trigger: Trigger,
    period_ns: Option<f64>,
) -> Option<String> {
    let stamps = |arm: Arm| -> Option<Reduced> {
        let found = |record: &&PointRecord| {
            record.group == group && record.arm == arm && record.trigger == Some(trigger)
        };
        run.entries.iter().map(|entry| entry.record).find(found)?.stamps
    };
    let (here, control) = (stamps(arm)?, stamps(arm.full_control()?)?);
    if outlasts(&here, period_ns) {
        return None;
    }
    // The stamped run must show the harm that it is to explain.
    let slower = here.period_ns.zip(control.period_ns).is_some_and(|(h, c)| h > c);
    if !slower {
        return None;
    }
    let mut causes = Vec::new();
    causes.extend(packing(&here, &control));
    causes.extend(contention(&here, &control));
    (!causes.is_empty()).then(|| causes.join(" and "))
}

/// Whether a node of the stamped run is clearly longer than one of the timed runs. Where kernels
/// sync, bodies wait for the last block of the node before, so both cannot be true of one run: the
/// stamps tell of another course. Both are medians, and stamps cost time: a part is let pass.
pub fn outlasts(stamps: &Reduced, period_ns: Option<f64>) -> bool {
    stamps.body_span_ns.zip(period_ns).is_some_and(|(span, period)| span > period * (1.0 + SLOWED))
}

/// Most blocks of a node that shared an SM, and SMs used, by the stamps of a row: `1 on 132`, and
/// `1 to 8 on 1 to 132` where a chain of several kernels has some with fewer and some with more. A `?`
/// marks where the stamped run took another course than the timed ones. `None` without stamps.
pub fn placement(row: &SummaryRow, stamps: Option<Reduced>) -> Option<String> {
    let stamps = stamps?;
    let (most, used) = stamps.sm_blocks_max.zip(stamps.sms_used)?;
    let synced = matches!(row.arm, Arm::StreamPdl | Arm::GraphPdl);
    let other = if synced && outlasts(&stamps, row.period_ns) { "?" } else { "" };
    let blocks = from_to(stamps.sm_blocks_least, most);
    Some(format!("{blocks} on {}{other}", from_to(stamps.sms_least, used)))
}

/// `1 to 8`, or `8` where both are one or the least is not known.
pub fn from_to(least: Option<f64>, most: f64) -> String {
    match least.map(|least| format!("{least:.0}")) {
        Some(least) if least != format!("{most:.0}") => format!("{least} to {most:.0}"),
        _ => format!("{most:.0}"),
    }
}

/// Blocks of one node packed on few SMs, while others stay idle. One SM with two blocks is enough:
/// the next node waits for the last. Sharing that makes nodes no longer is no cause.
fn packing(here: &Reduced, control: &Reduced) -> Option<String> {
    let (worst, usual) = (here.sm_blocks_worst?, control.sm_blocks_worst?);
    let (share, span, alone) =
        (here.packed_share?, here.body_span_mean_ns?, control.body_span_mean_ns?);
    (worst > usual && share > 0.0 && span > alone * (1.0 + SLOWED)).then(|| {
        format!(
            "in {} of the hops up to {worst:.0} blocks of a node share an SM ({usual:.0} over full \
             dependencies), and a node takes {} on average from its first release to its last end \
             in place of {}",
            percent(share),
            us(span),
            us(alone)
        )
    })
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
            body_span_mean_ns: Some(body_ns),
            packed_share: Some(if sm_blocks_max > 1.0 { 0.4 } else { 0.0 }),
            sm_blocks_max: Some(sm_blocks_max),
            sm_blocks_worst: Some(sm_blocks_max),
            sms_used: Some(sms_used),
            ..Reduced::default()
        }
    }

    #[test]
    fn several_kernels_have_a_range() {
        for (least, most, expected) in
            [(None, 2.0, "2"), (Some(1.0), 8.0, "1 to 8"), (Some(2.0), 2.0, "2")]
        {
            assert_eq!(from_to(least, most), expected);
        }
    }

    #[test]
    fn only_what_differs_from_the_control_is_a_cause() {
        let control = reduced(4000.0, 1.0, 132.0);
        assert_eq!(packing(&control, &control), None);
        assert_eq!(contention(&reduced(4100.0, 1.0, 132.0), &control), None);
        let packed = packing(&reduced(8000.0, 2.0, 90.0), &control).unwrap();
        assert!(
            packed.contains("up to 2 blocks") && packed.contains("in 40.0 % of the hops"),
            "{packed}"
        );
        // Shared SMs, and yet no node that takes longer: they explain nothing.
        assert_eq!(packing(&reduced(4100.0, 2.0, 132.0), &control), None);
        let slowed = contention(&reduced(5500.0, 1.0, 132.0), &control).unwrap();
        assert!(slowed.contains("5.500") && slowed.contains("4.000"), "{slowed}");
    }

    #[test]
    fn stamps_of_a_longer_run_than_the_timed_ones_explain_nothing() {
        let stamps = reduced(10_000.0, 2.0, 130.0);
        let cases =
            [(Some(6500.0), true), (Some(9700.0), false), (Some(11_000.0), false), (None, false)];
        for (period_ns, expected) in cases {
            assert_eq!(outlasts(&stamps, period_ns), expected, "{period_ns:?}");
        }
        assert!(!outlasts(&Reduced::default(), Some(1.0)));
    }
}
