//! Devices whose microseconds must not be compared.

use super::fixture::{Made, compare};
use crate::chain::{Arm, Submission, Trigger};
use crate::compare::{Carried, Side, compare_across};
use crate::record::{Run, Verdict};

/// The run on a device of 114 SMs whose every time is `factor` as long, with `added` ns a hop.
fn elsewhere(factor: f64, added: super::fixture::Added) -> Side {
    let mut run = Made { seed: 2, added, ..Made::default() }.run();
    run.manifest.facts.name = "another".into();
    run.manifest.facts.sm_count = 114;
    let shrink = |run: &mut Run| {
        run.manifest.plan.points.iter_mut().for_each(|p| p.chain.shape.grid_blocks = 114);
        run.points.iter_mut().for_each(|r| r.chain.shape.grid_blocks = 114);
    };
    shrink(&mut run);
    run.samples.iter_mut().for_each(|sample| sample.duration_ns *= factor);
    Side::of(run)
}

#[test]
fn signs_and_places_carry_over_and_microseconds_are_not_compared() {
    let a = Made::default().side();
    let b = elsewhere(1.7, &|_, _| 0.0);
    assert_eq!(compare(&a, &b).unwrap_err().code(), 6);
    let across = compare_across(("A", &a), ("B", &b)).unwrap();
    assert_eq!(across.rows.len(), 2, "a graph and a stream");
    assert_eq!(across.carried, Carried::Holds);
    let four = Some(Trigger::Segment { at: 4, of: 8 });
    for row in &across.rows {
        assert_eq!((row.a.recommended, row.b.recommended), (four, four));
        assert_eq!((row.a.verdict, row.kept), (Verdict::Helps, Some(1.0)));
        assert_eq!(row.newly_hurting, []);
    }
}

#[test]
fn a_trigger_that_moved_and_a_sign_that_turned_are_told() {
    let a = Made::default().side();
    // There 4/8 hurts in a graph and implicit saves as before.
    let moved = |arm: Arm, trigger: Option<Trigger>| {
        let here = arm == Arm::GraphPdl && trigger == Some(Trigger::Segment { at: 4, of: 8 });
        if here { 1500.0 } else { 0.0 }
    };
    let across = compare_across(("A", &a), ("B", &elsewhere(1.0, &moved))).unwrap();
    let row = |submission| across.rows.iter().find(|row| row.submission == submission).unwrap();
    let graph = row(Submission::Graph);
    assert_eq!((graph.sign, graph.trigger), (Carried::Holds, Some(Carried::Moved)));
    assert_eq!(graph.plateau, Some(Carried::Moved));
    assert!(graph.kept.unwrap() < 0.0);
    assert_eq!(graph.newly_hurting, [Trigger::Segment { at: 4, of: 8 }]);
    assert_eq!(row(Submission::Stream).trigger, Some(Carried::Holds));
    assert_eq!(across.carried, Carried::Moved);

    let all_hurt = |arm: Arm, _: Option<Trigger>| if arm == Arm::GraphPdl { 1500.0 } else { 0.0 };
    let across = compare_across(("A", &a), ("B", &elsewhere(1.0, &all_hurt))).unwrap();
    let graph = across.rows.iter().find(|row| row.submission == Submission::Graph).unwrap();
    assert_eq!((graph.sign, graph.b.verdict), (Carried::Moved, Verdict::Hurts));
    assert_eq!((graph.b.recommended, graph.plateau), (None, Some(Carried::Unknown)));
}

#[test]
fn no_group_in_common_is_an_error() {
    let mut run = Made::default().run();
    run.manifest.plan.points.iter_mut().for_each(|point| point.chain.nodes = 9);
    let error = compare_across(("A", &Made::default().side()), ("B", &Side::of(run))).unwrap_err();
    assert!(error.to_string().contains("no group of points in common"), "{error}");
}
