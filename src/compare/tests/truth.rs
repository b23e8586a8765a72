//! Changes that were set have to be found, and nothing else.

use super::fixture::{Made, compare, with_body};
use crate::chain::{Arm, BodyKind, Dependency, Submission, Trigger};
use crate::compare::{Change, Comparison, Row, Side, compare_arms};
use crate::device::Flag;
use crate::record::SampleRow;

/// Rows that claim a change.
fn claims(comparison: &Comparison) -> Vec<(Arm, Option<Trigger>, Change)> {
    let claims = |row: &&Row| matches!(row.verdict, Change::Regression | Change::Improvement);
    let rows = comparison.rows.iter().filter(claims);
    rows.map(|row| (row.arm, row.trigger, row.verdict)).collect()
}

fn reasons(comparison: &Comparison, of: impl Fn(&Row) -> bool) -> Vec<String> {
    let rows = comparison.rows.iter().filter(|row| of(row));
    let mut all: Vec<String> = rows.flat_map(|row| row.reasons.clone()).collect();
    all.sort();
    all.dedup();
    all
}

fn plain_stream(arm: Arm) -> bool {
    arm.submission() == Submission::Stream && arm.dependency() == Dependency::Full
}

/// Overlapping hops do not feel the state of the launch path.
fn overlaps(arm: Arm, trigger: Option<Trigger>) -> bool {
    arm.dependency() == Dependency::Programmatic && trigger != Some(Trigger::Implicit)
}

#[test]
fn two_runs_of_the_same_claim_nothing() {
    let mut claimed = 0;
    for seed in 0..200 {
        let a = Made { seed: 2 * seed + 1, ..Made::default() }.side();
        let b = Made { seed: 2 * seed + 2, ..Made::default() }.side();
        let comparison = compare(&a, &b).unwrap();
        claimed += claims(&comparison).len();
        assert_eq!(comparison.rows.len(), 15, "every arm but the sentinel");
        assert_eq!(comparison.count(Change::Equivalent), 15, "settled arms inside the margin");
        assert_eq!(comparison.verdict, Change::Equivalent);
    }
    assert_eq!(claimed, 0);
}

#[test]
fn what_differs_between_processes_is_no_regression() {
    let session = |_: Arm, _: Option<Trigger>| 24.0;
    let modes = |arm: Arm, _: Option<Trigger>| if plain_stream(arm) { 160.0 } else { 0.0 };
    let path = |arm: Arm, trigger| if overlaps(arm, trigger) { -10.0 } else { 180.0 };
    // Instances of one graph differ by up to 0.016 µs in a process.
    let instances = |arm: Arm, trigger: Option<Trigger>| {
        16.0 * f64::from((arm as u8 + trigger.map_or(0, |t| t.order() as u8)) % 3) - 16.0
    };
    let cases: [(&str, super::fixture::Added); 4] =
        [("session", &session), ("modes", &modes), ("path", &path), ("instances", &instances)];
    for (what, added) in cases {
        for sign in [1.0, -1.0] {
            let added = |arm: Arm, trigger: Option<Trigger>| sign * added(arm, trigger);
            let a = Made { seed: 3, ..Made::default() }.side();
            let b = Made { seed: 4, added: &added, ..Made::default() }.side();
            let comparison = compare(&a, &b).unwrap();
            assert_eq!(claims(&comparison), [], "{what} {sign}");
            let of = |row: &Row| row.verdict == Change::Inconclusive;
            let expected: &[&str] = match what {
                "modes" => &["stream-modes"],
                "path" => &["session-moved"],
                // Two instances at the ends of what was seen lie 0.032 µs apart.
                "instances" => &["spans-margin"],
                _ => &[],
            };
            assert_eq!(reasons(&comparison, of), expected, "{what} {sign}");
        }
    }
}

#[test]
fn a_body_that_is_two_percent_longer_in_one_arm_is_found() {
    // The A/A arm runs the baseline's kernel.
    let sets: [&[Arm]; 4] =
        [&[Arm::GraphPdl], &[Arm::StreamPdl], &[Arm::GraphFull], &[Arm::Graph, Arm::GraphAa]];
    for longer in sets {
        for (sign, verdict) in [(1.0, Change::Regression), (-1.0, Change::Improvement)] {
            // 4 µs × 2 %, on top of what a session and instances do.
            let added = |of: Arm, _: Option<Trigger>| {
                12.0 + if longer.contains(&of) { sign * 80.0 } else { 0.0 }
                    - 4.0 * f64::from(of as u8 % 3)
            };
            let a = Made { seed: 5, rounds: 30, ..Made::default() }.side();
            let b = Made { seed: 6, rounds: 60, added: &added, ..Made::default() }.side();
            let comparison = compare(&a, &b).unwrap();
            let found = claims(&comparison);
            let right = |(of, _, v): &(Arm, _, Change)| longer.contains(of) && *v == verdict;
            assert!(found.iter().all(right), "{longer:?} {found:?}");
            let hidden =
                |row: &&Row| row.arm != Arm::StreamPdl || !row.trigger.is_some_and(Trigger::at_end);
            let rows = comparison.rows.iter().filter(|row| longer.contains(&row.arm));
            let rows: Vec<_> = rows.filter(hidden).collect();
            assert!(!rows.is_empty());
            assert_eq!(found.len(), rows.len(), "{longer:?} {sign} {rows:?}");
            if sign > 0.0 {
                assert_eq!(comparison.verdict, Change::Regression, "{longer:?}");
            }
        }
    }
}

#[test]
fn bodies_that_all_grew_are_found_with_their_baseline() {
    let added = |arm: Arm, _: Option<Trigger>| if arm == Arm::Sentinel { 0.0 } else { 80.0 };
    let a = Made { seed: 7, ..Made::default() }.side();
    let b = Made { seed: 8, added: &added, ..Made::default() }.side();
    let comparison = compare(&a, &b).unwrap();
    let found = claims(&comparison);
    assert!(found.iter().all(|(_, _, verdict)| *verdict == Change::Regression), "{found:?}");
    assert!(found.contains(&(Arm::Graph, None, Change::Regression)));
    assert_eq!(
        found.len(),
        15 - 5,
        "all but streams whose launches nothing hides: their modes are larger"
    );
    let reasons = reasons(&comparison, |row| row.arm == Arm::GraphPdl);
    assert_eq!(reasons, ["with-baseline"]);
    let of = |row: &&Row| row.arm == Arm::GraphPdl;
    let change = comparison.rows.iter().find(of).unwrap().change_ns.unwrap();
    assert!((change - 80.0).abs() < 8.0, "not the reference that moved along: {change}");
}

#[test]
fn a_faster_baseline_makes_nothing_else_a_regression() {
    let added = |arm: Arm, _: Option<Trigger>| {
        if matches!(arm, Arm::Graph | Arm::GraphAa) { -80.0 } else { 0.0 }
    };
    let a = Made { seed: 9, ..Made::default() }.side();
    let b = Made { seed: 10, added: &added, ..Made::default() }.side();
    let comparison = compare(&a, &b).unwrap();
    let graph = |of: Arm| (of, None, Change::Improvement);
    assert_eq!(claims(&comparison), [graph(Arm::Graph), graph(Arm::GraphAa)]);
    let pdl = comparison.rows.iter().find(|row| row.arm == Arm::GraphPdl).unwrap();
    assert_eq!(pdl.verdict, Change::Equivalent);
    assert!(pdl.saved_b_ns.unwrap() < pdl.saved_a_ns.unwrap() - 60.0, "less is saved, and shown");
}

#[test]
fn arms_that_take_several_courses_need_more_than_they_spread() {
    // In half of the rounds of both runs another course, 0.15 µs longer; its share differs.
    let courses = |mut samples: Vec<SampleRow>, share: u32| {
        for sample in samples.iter_mut().filter(|sample| sample.arm == Arm::GraphPdl) {
            if (sample.round * 7) % 10 < share {
                sample.duration_ns += 150.0 * 50.0;
            }
        }
        samples
    };
    let side = |seed, share| {
        let mut run = Made { seed, ..Made::default() }.run();
        run.samples = courses(run.samples, share);
        Side::of(run)
    };
    let comparison = compare(&side(11, 4), &side(12, 6)).unwrap();
    assert_eq!(claims(&comparison), []);
    let of = |row: &Row| row.arm == Arm::GraphPdl;
    assert!(reasons(&comparison, of).contains(&"unsettled".to_owned()));
}

#[test]
fn streaming_bodies_are_allowed_what_memory_does() {
    let added = |arm: Arm, _: Option<Trigger>| if arm == Arm::Sentinel { 0.0 } else { 60.0 };
    for (kind, expected) in [(BodyKind::Fma, 10), (BodyKind::Hbm, 0)] {
        let a = Side::of(with_body(Made { seed: 13, ..Made::default() }.run(), kind));
        let b = Made { seed: 14, added: &added, ..Made::default() }.run();
        let comparison = compare(&a, &Side::of(with_body(b, kind))).unwrap();
        assert_eq!(claims(&comparison).len(), expected, "{kind}");
    }
}

#[test]
fn other_work_wrong_results_and_skipped_points_have_no_verdict_on_time() {
    let a = || Made { seed: 15, ..Made::default() }.run();
    let b = Made { seed: 16, added: &|_, _| 500.0, ..Made::default() }.run();
    type Edit = fn(&mut crate::record::Run);
    let cases: [(&str, Edit, Change, &str); 5] = [
        ("work", |run| run.points[8].chain.body.units += 3, Change::Inconclusive, "work-differs"),
        ("wrong", |run| run.points[8].verification.mismatches = 1, Change::Wrong, "wrong-values"),
        (
            "skipped",
            |run| run.points[8].skipped = Some("x".into()),
            Change::Inconclusive,
            "skipped-in-b",
        ),
        (
            "flag",
            |run| {
                let record = &run.points[8];
                let of = |s: &&mut SampleRow| s.arm == record.arm && *s.point == *record.point;
                run.samples.iter_mut().filter(of).take(1).for_each(|s| s.flags.push(Flag::Wrong));
            },
            Change::Wrong,
            "wrong-values",
        ),
        (
            "unmeasured",
            |run| {
                let (arm, point) = (run.points[8].arm, run.points[8].point.clone());
                run.samples.retain(|s| s.arm != arm || *s.point != *point);
            },
            Change::Inconclusive,
            "no-samples",
        ),
    ];
    for (what, edit, verdict, reason) in cases {
        let mut changed = b.clone();
        // Amounts that differ need amounts to differ from.
        changed.points.iter_mut().for_each(|record| record.chain.body.units = 100);
        let mut first = a();
        first.points.iter_mut().for_each(|record| record.chain.body.units = 100);
        let (arm, point) = (changed.points[8].arm, changed.points[8].point.clone());
        edit(&mut changed);
        let comparison = compare(&Side::of(first), &Side::of(changed)).unwrap();
        let row = comparison.rows.iter().find(|r| r.arm == arm && r.point_b == point).unwrap();
        assert_eq!((row.verdict, row.reasons.join("|").as_str()), (verdict, reason), "{what}");
    }
    let mut wrong = a();
    wrong.points[8].verification.mismatches = 1;
    let comparison = compare(&Side::of(wrong), &Side::of(a())).unwrap();
    let row = comparison.rows.iter().find(|row| row.reasons == ["wrong-in-a"]).unwrap();
    assert_eq!(row.verdict, Change::Inconclusive, "what was wrong before is no measure");
}

#[test]
fn few_rounds_and_a_run_without_a_sentinel_give_no_verdict() {
    let slow = |_: Arm, _: Option<Trigger>| 900.0;
    let a = Made { seed: 17, rounds: 5, ..Made::default() }.side();
    let b = Made { seed: 18, rounds: 5, added: &slow, ..Made::default() }.side();
    let comparison = compare(&a, &b).unwrap();
    assert_eq!(claims(&comparison), []);
    let mut run = Made { seed: 19, added: &slow, ..Made::default() }.run();
    run.samples.retain(|sample| sample.arm != Arm::Sentinel);
    let comparison = compare(&Made::default().side(), &Side::of(run)).unwrap();
    assert_eq!(reasons(&comparison, |_| true), ["no-sentinel"]);
    assert_eq!(comparison.verdict, Change::Inconclusive);
}

#[test]
fn arms_of_one_run_are_paired() {
    // 30 ns a hop under a drift of ten times as much, which all arms of a round share.
    let mut run = Made { seed: 20, added: &|_, _| 0.0, ..Made::default() }.run();
    for sample in &mut run.samples {
        sample.duration_ns += 300.0 * 50.0 * (f64::from(sample.round) / 3.0).sin();
        if sample.arm == Arm::GraphFull {
            sample.duration_ns += 40.0 * 50.0;
        }
    }
    let side = Side::of(run);
    let comparison = compare_arms("R", &side, Arm::Graph, Arm::GraphFull).unwrap();
    assert!(comparison.paired && comparison.rows.len() == 3, "every trigger against the one graph");
    assert_eq!(claims(&comparison).len(), 3);
    for row in &comparison.rows {
        assert_eq!(row.verdict, Change::Regression);
        assert!((row.change_ns.unwrap() - 40.0).abs() < 5.0, "{row:?}");
        assert!(row.change_interval_ns.unwrap().lo < row.change_ns.unwrap());
    }
    let back = compare_arms("R", &side, Arm::GraphFull, Arm::GraphPdl).unwrap();
    assert_eq!(back.rows.len(), 3, "trigger by trigger");
    let at_entry = back.rows.iter().find(|row| row.trigger == Some(Trigger::AtEntry)).unwrap();
    assert_eq!(at_entry.verdict, Change::Regression);
    assert_eq!(back.count(Change::Improvement), 2);
    let error = compare_arms("R", &side, Arm::Flags, Arm::Graph).unwrap_err();
    assert!(error.to_string().contains("no group with both flags and graph"), "{error}");
}
