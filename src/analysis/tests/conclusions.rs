//! What is said of a run as a whole: the best arm, the line for a pull request.

use super::*;
use crate::device::Backend;

/// The run with the arms of streams beside those of graphs: `slower_ns` a hop behind, all of them.
fn with_streams(graph: Fixture, slower_ns: f64) -> Fixture {
    let twin = |arm: Arm| match arm {
        Arm::Graph => Some(Arm::Stream),
        Arm::GraphFull => Some(Arm::StreamFull),
        Arm::GraphPdl => Some(Arm::StreamPdl),
        _ => None,
    };
    let mut both = graph.clone();
    for point in &mut both.manifest.plan.points {
        let arms: Vec<Arm> = point.arms.iter().filter_map(|&arm| twin(arm)).collect();
        point.arms.extend(arms);
    }
    both.points.extend(graph.points.iter().filter_map(|record| {
        twin(record.arm).map(|arm| crate::record::PointRecord { arm, ..record.clone() })
    }));
    both.samples.extend(graph.samples.iter().filter_map(|sample| {
        twin(sample.arm).map(|arm| SampleRow {
            arm,
            // An arm of the same round, and yet not the same noise.
            duration_ns: sample.duration_ns
                + slower_ns * f64::from(sample.nodes - 1)
                + f64::from(sample.round % 5) * 20.0,
            ..sample.clone()
        })
    }));
    both
}

#[test]
fn the_best_arm_is_told_over_submissions_with_what_comes_next() {
    let cases = [
        (300.0, Standing::Behind, "; next is stream-pdl at 4/8, +0.30"),
        (4.0, Standing::Level, "; stream-pdl at 4/8 is as fast: +0.00"),
    ];
    for (slower_ns, standing, words) in cases {
        let summary = of(&with_streams(Fixture::new(&triggers(), 40, 50.0, &truth), slower_ns));
        let [best] = summary.bests.as_slice() else { panic!("{:?}", summary.bests) };
        assert_eq!((best.arm, best.trigger), (Arm::GraphPdl, Some(at(4))));
        let next = best.next.as_ref().unwrap();
        assert_eq!((next.arm, next.standing), (Arm::StreamPdl, standing), "{next:?}");
        near(Some(next.behind_ns), slower_ns, 4.0);
        assert!(best.sentence.contains(words), "{}", best.sentence);
    }
}

#[test]
fn where_nothing_helps_the_best_is_a_baseline() {
    let harm = |arm: Arm, _| if arm == Arm::GraphPdl { -700.0 } else { 0.0 };
    let summary = of(&with_streams(Fixture::new(&triggers(), 40, 50.0, &harm), 500.0));
    let best = &summary.bests[0];
    assert_eq!((best.arm, best.trigger), (Arm::Graph, None));
    assert!(best.sentence.starts_with("Best arm: graph, 6.000 µs a node; next is stream, +0.5"));
}

#[test]
fn an_arm_without_a_verdict_is_named_with_its_want_of_one() {
    // Too few rounds for any verdict, and yet 1.17 µs a hop faster.
    let summary = of(&Fixture::new(&triggers(), 4, 50.0, &truth));
    assert_eq!(summary.answers[0].verdict, Verdict::Inconclusive);
    let best = &summary.bests[0];
    assert_eq!((best.arm, best.verdict), (Arm::GraphPdl, Some(Verdict::Inconclusive)));
    let next = best.next.as_ref().unwrap();
    assert_eq!((next.arm, next.standing), (Arm::Graph, Standing::Open));
    assert!(
        best.sentence.ends_with("no verdict yet, which takes more rounds."),
        "{}",
        best.sentence
    );
}

#[test]
fn one_line_for_a_pull_request_says_gain_harm_and_no_difference_alike() {
    let paste =
        |truth: super::super::fixture::Truth| of(&Fixture::new(&triggers(), 40, 50.0, truth)).paste;
    let gain = paste(&truth);
    assert!(
        gain.starts_with("PDL on NVIDIA H200, 51 nodes, 132 × 128 threads, preamble alu 2 µs, "),
        "{gain}"
    );
    assert!(gain.contains("body fma 4 µs: graph-pdl at 4/8 saves 1.1"), "{gain}");
    assert!(gain.contains(" µs a hop (95 % +1.1") && gain.contains("A/A floor 0.0"), "{gain}");
    let none = paste(&|_, _| 0.0);
    assert!(none.contains(": graph-pdl makes no difference ("), "{none}");
    let harm = paste(&|arm, _| if arm == Arm::GraphPdl { -700.0 } else { 0.0 });
    assert!(harm.contains(": graph-pdl hurts at every trigger ("), "{harm}");
    let mixed = paste(&|arm, trigger| match (arm, trigger) {
        (Arm::GraphPdl, Some(Trigger::Implicit)) => -700.0,
        (arm, trigger) => truth(arm, trigger),
    });
    assert!(mixed.contains(" but hurts at: implicit"), "{mixed}");
}

#[test]
fn the_line_stays_one_line_and_says_simulated() {
    let mut run = fixture();
    run.manifest.facts.name = "a\nb\r\n\u{1b}[31mc".into();
    run.manifest.facts.backend = Backend::Sim;
    run.manifest.argv = vec!["pdl".into(), "sweep".into(), "--out".into(), "x\ny".into()];
    let paste = of(&run).paste;
    assert!(!paste.contains(char::is_control), "{paste:?}");
    assert!(paste.starts_with("SIMULATED, no GPU was measured: PDL on a b"), "{paste}");
    assert!(paste.ends_with(": pdl sweep)"), "{paste}");
}

#[test]
fn wrong_results_are_in_the_line_and_have_no_speed() {
    let mut run = fixture();
    let first = Mismatch { node: 1, block: 0, found: 1, expected: 2 };
    run.record_mut(Arm::GraphPdl, Some(at(0))).verification.mismatches = 1;
    run.record_mut(Arm::GraphPdl, Some(at(0))).verification.first = Some(first);
    let paste = of(&run).paste;
    assert!(paste.contains(", WRONG results at: 0/8"), "{paste}");
    for record in run.points.iter_mut().filter(|record| record.arm == Arm::GraphPdl) {
        record.verification.mismatches = 1;
    }
    let paste = of(&run).paste;
    assert!(paste.contains("graph-pdl computes WRONG results") && !paste.contains("saves"));
}
