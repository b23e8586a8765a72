//! How far apart two runs of the same thing may be.
//!
//! An interval is about the rounds of one process. Another process on the same device places
//! graphs, queues and memory anew, and its times differ by more than the intervals say. What was
//! seen between runs of one definition and the same amounts of work (three processes on H200s,
//! driver 580.159.04, up to 120 rounds; the fixed kernel of both runs within 0.02 µs a hop), against
//! the least of the three references of [`views`](super::views):
//!
//! | arms | settled arms, at most | unsettled, at most |
//! | --- | --- | --- |
//! | graph | 0.006 µs a hop | 0.08 µs, where rounds spread by 0.14 µs |
//! | stream, programmatic | 0.061 | 0.34, where rounds spread by 0.65 |
//! | stream, full | 0.122 | – |
//!
//! Against a single reference graphs differed by up to 0.025 µs. Hence the margin of 0.03 µs, the
//! allowances for stream launches, and the rule that rounds which spread make the allowance
//! as wide as they spread: a chain that takes one course in some rounds and another in the rest
//! may take them in other proportions in another process.

use serde::Serialize;

use crate::chain::{Arm, BodyKind, Dependency, Submission};

/// Default margin between two runs, µs a hop.
pub const MARGIN_US: f64 = 0.03;
/// The same as a part of the period; the larger of the two holds.
pub const MARGIN_RATIO: f64 = 0.005;
/// Plain stream launches have modes that last for a process: two of them were seen to differ by up
/// to 0.16 µs a hop; a quarter is added, for there may be rarer ones.
pub const STREAM_MODES_US: f64 = 0.2;
/// The same of programmatic stream launches that nothing hides because the trigger comes at the end
/// of the primary: two runs of one process differed by up to 0.061 µs a hop; half is added.
pub const STREAM_PDL_MODES_US: f64 = 0.1;
/// Bodies that stream depend on where a process got its memory: the same bytes were calibrated to
/// take 4 µs in one process and 1.8 % more in another.
pub const STREAMING_RATIO: f64 = 0.02;

/// How far apart two runs may be at one point, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// A change within this is no change, ns a hop.
    pub margin_ns: f64,
    /// A change must exceed this to be one, ns a hop: at least the margin.
    pub allowance_ns: f64,
    /// What the allowance comes from: `margin`, `stream-modes`, `streaming-body`, `floor`,
    /// `unsettled`.
    pub source: &'static str,
}

/// What is known of a point in both runs. Times in ns a hop but for the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) arm: Arm,
    pub(super) body_kind: BodyKind,
    /// Whether dependents are launched only at the end of their primary.
    pub(super) at_end: bool,
    /// Period in the first run, ns.
    pub(super) period_ns: f64,
    /// Body as measured, ns.
    pub(super) body_ns: Option<f64>,
    /// Far ends of both A/A intervals, added.
    pub(super) floors_ns: f64,
    /// Distance between the quartiles of the rounds, the larger of the two runs.
    pub(super) spread_ns: f64,
}

/// The allowance of one point. `margin_us` and `margin_ratio` as the user has them.
pub(super) fn allowance(known: &Known, margin_us: f64, margin_ratio: f64) -> Allowance {
    let margin_ns = (margin_us * 1e3).max(margin_ratio * known.period_ns);
    let modes_us = match (known.arm.submission(), known.arm.dependency()) {
        (Submission::Stream, Dependency::Full) => STREAM_MODES_US,
        (Submission::Stream, _) if known.at_end => STREAM_PDL_MODES_US,
        _ => 0.0,
    };
    let streams = known.body_kind.streams().then(|| STREAMING_RATIO * known.body_ns.unwrap_or(0.0));
    let candidates = [
        ("margin", margin_ns),
        ("stream-modes", modes_us * 1e3),
        ("streaming-body", streams.unwrap_or(0.0)),
        ("floor", known.floors_ns),
        ("unsettled", known.spread_ns),
    ];
    let mut widest = candidates[0];
    for candidate in candidates {
        if candidate.1 > widest.1 {
            widest = candidate;
        }
    }
    Allowance { margin_ns, allowance_ns: widest.1, source: widest.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_reason_holds_and_is_named() {
        let settled = Known {
            arm: Arm::GraphPdl,
            body_kind: BodyKind::Fma,
            at_end: false,
            period_ns: 4000.0,
            body_ns: Some(2000.0),
            floors_ns: 9.0,
            spread_ns: 12.0,
        };
        let cases = [
            (settled, 30.0, 30.0, "margin"),
            (Known { period_ns: 10_000.0, ..settled }, 50.0, 50.0, "margin"),
            (Known { arm: Arm::StreamFull, ..settled }, 30.0, 200.0, "stream-modes"),
            (Known { at_end: true, ..settled }, 30.0, 30.0, "margin"),
            (Known { arm: Arm::StreamPdl, ..settled }, 30.0, 30.0, "margin"),
            (Known { arm: Arm::StreamPdl, at_end: true, ..settled }, 30.0, 100.0, "stream-modes"),
            (Known { body_kind: BodyKind::Hbm, ..settled }, 30.0, 40.0, "streaming-body"),
            (Known { floors_ns: 44.0, ..settled }, 30.0, 44.0, "floor"),
            (Known { spread_ns: 300.0, ..settled }, 30.0, 300.0, "unsettled"),
            (Known { arm: Arm::Stream, spread_ns: 300.0, ..settled }, 30.0, 300.0, "unsettled"),
        ];
        for (known, margin_ns, allowance_ns, source) in cases {
            let found = allowance(&known, 0.03, 0.005);
            assert_eq!(found, Allowance { margin_ns, allowance_ns, source }, "{known:?}");
        }
    }
}
