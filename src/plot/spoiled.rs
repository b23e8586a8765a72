//! Sweeps that a chart must survive: missing, wrong and skipped rows, absurd values, long texts.

use crate::chain::{Arm, BodyKind, Trigger};
use crate::record::Verdict;

use super::fixture::{
    ARMS, Fixture, chain, default_sweep, divided, divided_of, row_mut, spoil, sweep,
};

fn at(at: u32, of: u32) -> Trigger {
    Trigger::Segment { at, of }
}

fn scale_all(fixture: &mut Fixture, to: impl Fn(f64) -> f64) {
    for row in &mut fixture.rows {
        let values = [
            &mut row.period_ns,
            &mut row.period_lo_ns,
            &mut row.period_hi_ns,
            &mut row.saved_ns,
            &mut row.saved_lo_ns,
            &mut row.saved_hi_ns,
            &mut row.primary_slowed_ns,
            &mut row.useful_ns,
            &mut row.parked_ns,
            &mut row.limit_ns,
            &mut row.body_ns,
            &mut row.exposed_ns,
            &mut row.exposed_contention_ns,
            &mut row.exposed_launch_ns,
            &mut row.exposed_preamble_ns,
            &mut row.exposed_unexplained_ns,
            &mut row.predicted_ns,
            &mut row.predicted_saved_ns,
        ];
        values.into_iter().for_each(|v| *v = v.map(&to));
    }
    for sample in &mut fixture.samples {
        sample.duration_ns = to(sample.duration_ns);
    }
}

/// Sweeps that a chart must survive, by name.
pub(super) fn sweeps() -> Vec<(&'static str, Fixture)> {
    let all = Trigger::defaults();
    let mut spoiled = default_sweep();
    spoil(row_mut(&mut spoiled, 0, Arm::GraphPdl, at(3, 8)), Verdict::Wrong, "wrong");
    spoil(row_mut(&mut spoiled, 0, Arm::GraphFull, at(5, 8)), Verdict::Skipped, "no room");
    spoil(row_mut(&mut spoiled, 0, Arm::GraphPdl, Trigger::AtEntry), Verdict::Skipped, "no room");
    let missing = row_mut(&mut spoiled, 0, Arm::GraphPdl, at(6, 8));
    (missing.saved_ns, missing.period_ns) = (None, Some(f64::NAN));
    row_mut(&mut spoiled, 1, Arm::GraphPdl, at(2, 8)).saved_hi_ns = Some(f64::INFINITY);

    let many: Vec<_> =
        (0..=37).map(|k| at(k, 37)).chain([Trigger::AtEntry, Trigger::Implicit]).collect();
    let mut more_arms = ARMS.to_vec();
    more_arms.extend([Arm::GraphCompletion, Arm::Flags, Arm::Persistent, Arm::Sentinel]);
    let lengths: Vec<_> = [0.5, 1.0, 2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        .iter()
        .map(|&us| chain(BodyKind::Hbm, us))
        .collect();

    let mut huge = divided();
    scale_all(&mut huge, |v| v * 1e7);
    let mut tiny = divided();
    scale_all(&mut tiny, |v| v * 1e-7);
    let mut absurd = divided();
    scale_all(&mut absurd, |v| v * 1e300);
    let mut negative = default_sweep();
    for row in &mut negative.rows {
        let flip = |v: Option<f64>| v.map(|v| -v.abs() - 40.0);
        (row.saved_lo_ns, row.saved_hi_ns) = (flip(row.saved_hi_ns), flip(row.saved_lo_ns));
        row.saved_ns = flip(row.saved_ns);
        row.verdict = row.saved_ns.map(|_| Verdict::Hurts);
        row.speedup = row.speedup.map(|s| 1.0 / s.max(1.0));
    }
    let mut long = divided();
    long.ctx.caption = "NVIDIA <H200> & \"friends\" NVL 141GB HBM3e ".repeat(20);
    long.ctx.simulated = true;
    let mut wrong = default_sweep();
    wrong.rows.iter_mut().for_each(|row| spoil(row, Verdict::Wrong, "wrong"));
    let mut empty = default_sweep();
    empty.rows.iter_mut().for_each(|row| spoil(row, Verdict::Skipped, "no room"));
    vec![
        ("default", default_sweep()),
        ("divided", divided()),
        ("spoiled", spoiled),
        ("one-trigger", sweep(&[chain(BodyKind::Fma, 4.0)], &[at(4, 8)], &ARMS)),
        ("implicit", sweep(&[chain(BodyKind::Fma, 4.0)], &[Trigger::Implicit], &ARMS)),
        (
            "many-triggers",
            divided_of(sweep(
                &[chain(BodyKind::Fma, 4.0), chain(BodyKind::Hbm, 4.0)],
                &many,
                &ARMS,
            )),
        ),
        ("all-arms", sweep(&[chain(BodyKind::Fma, 4.0)], &all, &more_arms)),
        ("lengths", sweep(&lengths, &all, &ARMS)),
        ("baselines", sweep(&[chain(BodyKind::Fma, 4.0)], &all, &[Arm::Graph, Arm::GraphAa])),
        ("no-baseline", sweep(&[chain(BodyKind::Fma, 4.0)], &all, &[Arm::GraphPdl])),
        ("huge", huge),
        ("tiny", tiny),
        ("absurd", absurd),
        ("negative", negative),
        ("long", long),
        ("wrong", wrong),
        ("empty", empty),
    ]
}
