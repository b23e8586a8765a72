use super::*;
use crate::device::EdgeCount;

const MARGIN_NS: u64 = 100;

/// A block that begins, triggers, is released and ends at these times, and finds `stale` words of
/// slot 0 after its sync.
fn block(begin_ns: u64, trigger_ns: u64, release_ns: u64, end_ns: u64, stale: u32) -> Block {
    Block { begin_ns, trigger_ns, release_ns, end_ns, late_stale: [stale, 0], ..Block::default() }
}

fn repetition(actors: &[&[Block]]) -> Repetition {
    Repetition { actors: actors.iter().map(|blocks| blocks.to_vec()).collect() }
}

/// A runs from 1000 to 5000 and to 6000, triggered at 1100 and 2000.
fn primary() -> [Block; 2] {
    [block(1000, 1100, 1050, 5000, 0), block(1200, 2000, 1250, 6000, 0)]
}

const COVERS: Claim = Claim::Covers { reader: 1, of: 0, slot: 0 };
const FRESH: Claim = Claim::Fresh { reader: 1, of: 0, slot: 0 };
const STALE: Claim = Claim::Stale { reader: 1, of: 0, slot: 0 };
const UNCOVERED: Claim = Claim::Uncovered { reader: 1, of: 0, slot: 0 };
const AHEAD: Claim = Claim::Ahead { actor: 1, of: 0 };

fn not_before(bound: Bound) -> Claim {
    Claim::NotBefore { actor: 1, of: 0, bound }
}

#[test]
fn a_claim_is_judged_by_the_first_block_of_the_later_and_the_last_of_the_earlier_kernel() {
    use Bound::{Begin, End, Trigger};
    // Secondary: its blocks; claim; tested, holds, difference.
    let late = block(9000, 0, 9100, 9200, 0);
    for (secondary, claim, tested, holds, measure_ns) in [
        // Waits for A's last end, not for its first.
        (block(2500, 0, 6200, 6300, 0), COVERS, true, true, 200.0),
        (block(2500, 0, 5500, 6300, 0), COVERS, true, false, -500.0),
        // Within step and skew nothing is proved.
        (block(2500, 0, 5900, 6300, 0), COVERS, true, true, -100.0),
        (block(2500, 0, 5899, 6300, 0), COVERS, true, false, -101.0),
        // One stale word is enough, whatever the times say.
        (block(2500, 0, 6200, 6300, 1), COVERS, true, false, 200.0),
        // What began after A tells nothing of waiting, but all of what it found.
        (late, COVERS, false, true, 3100.0),
        (late, FRESH, true, true, 3100.0),
        (block(9000, 0, 9100, 9200, 1), FRESH, true, false, 3100.0),
        (block(2500, 0, 5500, 6300, 0), UNCOVERED, true, true, -500.0),
        (block(2500, 0, 6200, 6300, 0), UNCOVERED, true, false, 200.0),
        (block(2500, 0, 6200, 6300, 7), UNCOVERED, true, true, 200.0),
        (block(2500, 0, 2600, 2700, 3), STALE, true, true, -3300.0),
        (block(2500, 0, 2600, 2700, 0), STALE, true, false, -3300.0),
        (block(2500, 0, 2600, 2700, 0), AHEAD, true, true, -3500.0),
        (block(5900, 0, 6200, 6300, 0), AHEAD, true, false, -100.0),
        (late, AHEAD, true, false, 3000.0),
        (block(1200, 0, 6200, 6300, 0), not_before(Begin), true, true, 0.0),
        (block(1050, 0, 6200, 6300, 0), not_before(Begin), true, false, -150.0),
        (block(2000, 0, 6200, 6300, 0), not_before(Trigger), true, true, 0.0),
        // After A's first block triggered, before its last did.
        (block(1800, 0, 6200, 6300, 0), not_before(Trigger), true, false, -200.0),
        (late, not_before(End), true, true, 3000.0),
        (block(5500, 0, 6200, 6300, 0), not_before(End), true, false, -500.0),
    ] {
        let judged = claim.judge(&repetition(&[&primary(), &[late, secondary]]), MARGIN_NS);
        let judged = match claim {
            // With `late` beside it, only the earliest block counts.
            Claim::Stale { .. } => claim.judge(&repetition(&[&primary(), &[secondary]]), MARGIN_NS),
            _ => judged,
        };
        let expected = Judged { tested, holds, measure_ns };
        assert_eq!(judged, Some(expected), "{claim:?} {secondary:?}");
    }
}

#[test]
fn a_block_that_never_triggers_counts_when_it_ends() {
    let exits = [block(1000, 1100, 1050, 9000, 0), block(1000, 0, 1050, 4000, 0)];
    for (begin_ns, holds) in [(4000, true), (3899, false)] {
        let secondary = [block(begin_ns, 0, 9100, 9200, 0)];
        let judged =
            not_before(Bound::Trigger).judge(&repetition(&[&exits, &secondary]), MARGIN_NS);
        assert_eq!(judged.map(|judged| judged.holds), Some(holds), "{begin_ns}");
    }
}

#[test]
fn blocks_that_returned_before_the_sync_are_not_asked_what_it_covered() {
    let returned = Block { returned: true, ..block(2000, 0, 0, 2100, 0) };
    let waits = block(2000, 0, 6200, 6300, 0);
    let judged = COVERS.judge(&repetition(&[&primary(), &[returned, waits]]), MARGIN_NS);
    assert_eq!(judged, Some(Judged { tested: true, holds: true, measure_ns: 200.0 }));
    assert_eq!(COVERS.judge(&repetition(&[&primary(), &[returned]]), MARGIN_NS), None);
    assert_eq!(COVERS.judge(&repetition(&[&primary()]), MARGIN_NS), None, "no such kernel");
}

fn tally(kind: Kind, claim: Claim, secondaries: &[Block]) -> Outcome {
    let mut tally = Tally::new("case", &[Asserted { kind, claim }], MARGIN_NS);
    for &secondary in secondaries {
        tally.add(&repetition(&[&primary(), &[secondary]]));
    }
    tally.outcomes(&[]).remove(0)
}

#[test]
fn verdicts_follow_from_kind_and_counts() {
    let waits = block(2500, 0, 6200, 6300, 0);
    let breaks = block(2500, 0, 3000, 6300, 1);
    let late = block(9000, 0, 9100, 9200, 0);
    let late_and_stale = block(9000, 0, 9100, 9200, 1);
    use Kind::{Law, Open, Permitted};
    use Verdict::{Holds, NotTested, Observed, Violated};
    for (kind, claim, secondaries, verdict, tested, seen) in [
        (Law, COVERS, &[waits, waits, late][..], Holds, 2, 0),
        (Law, COVERS, &[waits, breaks, waits], Violated, 3, 1),
        // Nothing ran ahead: nothing was tested, and that is no success.
        (Law, COVERS, &[late, late], NotTested, 0, 0),
        // Stale is stale, whether or not it ran ahead.
        (Law, COVERS, &[late, late_and_stale], Violated, 1, 1),
        (Law, FRESH, &[late, late], Holds, 2, 0),
        (Permitted, AHEAD, &[waits, late], Holds, 2, 1),
        (Permitted, AHEAD, &[late, late], NotTested, 2, 0),
        (Open, AHEAD, &[late, late], Observed, 2, 0),
        (Open, UNCOVERED, &[breaks, waits], Observed, 2, 1),
        (Open, AHEAD, &[], NotTested, 0, 0),
    ] {
        let outcome = tally(kind, claim, secondaries);
        let found = (outcome.verdict, outcome.tested, outcome.seen);
        assert_eq!(found, (verdict, tested, seen), "{kind:?} {claim:?} {secondaries:?}");
        assert_eq!(outcome.repetitions, secondaries.len() as u64);
        assert_eq!(outcome.verdict == NotTested, !outcome.reason.is_empty(), "{outcome:?}");
    }
}

#[test]
fn bounds_and_spreads_are_those_of_what_was_tested() {
    let waits = |release_ns| block(2500, 0, release_ns, 9000, 0);
    let outcome = tally(Kind::Law, COVERS, &[waits(6300), waits(6100), waits(7000)]);
    let spread = outcome.spread.unwrap();
    assert_eq!((spread.min_ns, spread.median_ns, spread.max_ns), (100.0, 300.0, 1000.0));
    // 1 − 0.05^(1/3).
    assert!((outcome.below.unwrap() - 0.6316).abs() < 1e-4, "{:?}", outcome.below);
    let outcome = tally(Kind::Open, AHEAD, &[waits(6300); 10]);
    // Clopper and Pearson, 10 of 10.
    assert!((outcome.share.unwrap().lo - 0.6915).abs() < 1e-4, "{:?}", outcome.share);
    assert_eq!((outcome.share.unwrap().hi, outcome.below), (1.0, None));
}

#[test]
fn one_verdict_for_several() {
    use Verdict::{Holds, NotTested, Observed, Violated};
    for (verdicts, expected) in [
        (&[Holds, Violated, Observed][..], Violated),
        (&[NotTested, Holds, Observed], Holds),
        (&[Observed, NotTested], Observed),
        (&[NotTested], NotTested),
        (&[], NotTested),
    ] {
        assert_eq!(combine(verdicts.iter().copied()), expected, "{verdicts:?}");
    }
}

#[test]
fn a_query_without_edge_data_must_be_refused_for_programmatic_edges_alone() {
    use Verdict::{Holds, Violated};
    for (programmatic, full, expected) in [
        (402, 0, [Holds, Holds]),
        (0, 0, [Violated, Holds]),
        (1, 0, [Violated, Holds]),
        (402, 402, [Holds, Violated]),
    ] {
        let verdicts: Vec<Verdict> =
            lossy_query(programmatic, full).iter().map(|outcome| outcome.verdict).collect();
        assert_eq!(verdicts, expected, "{programmatic} {full}");
    }
}

#[test]
fn many_launches_are_judged_by_their_counts() {
    use Verdict::{Holds, NotTested, Violated};
    let edges = [EdgeCount { edge_type: "x".into(), from_port: "y".into(), count: 1 }];
    for (counts, expected) in [
        ((1_000_000, 0, 1_000_000), [Holds, Holds]),
        ((1_000_000, 1, 1_000_000), [Violated, Holds]),
        ((1_000_000, 0, 0), [Holds, NotTested]),
    ] {
        let outcomes = many_launches(counts, 4.0, &edges);
        let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
        assert_eq!(verdicts, expected, "{counts:?}");
        assert!(outcomes.iter().all(|outcome| outcome.edges == edges));
    }
}

/// A wrong scene would make a rule hold, or be violated, for nothing.
#[test]
fn every_claim_is_about_actors_that_can_answer_it() {
    for rule in rules() {
        for case in rule.cases() {
            let place = format!("{}: {}", rule.id, case.name);
            let actors: Vec<&Actor> = case.scene.actors().collect();
            assert!(!case.claims.is_empty(), "{place}");
            for Asserted { kind, claim } in &case.claims {
                let (later, earlier) = claim.actors();
                assert!(earlier < later && later < actors.len(), "{place}: {claim:?}");
                let (reader, writer) = (actors[later], actors[earlier]);
                if let Some(slot) = claim.slot() {
                    assert_eq!(reader.reads.get(slot), Some(&earlier), "{place}: {claim:?}");
                    assert!(writer.roles.iter().any(|role| !role.returns), "{place}: {claim:?}");
                }
                let syncs = reader.roles.iter().any(|role| role.sync && !role.returns);
                match claim {
                    Claim::Covers { .. } | Claim::Uncovered { .. } => {
                        assert!(syncs, "{place}: {claim:?}");
                    }
                    Claim::Fresh { .. } => {
                        assert!(syncs, "{place}: {claim:?}");
                        assert_eq!(*kind, Kind::Law, "{place}");
                    }
                    Claim::Stale { .. } => {
                        assert!(!syncs, "{place}: {claim:?}");
                        assert_ne!(*kind, Kind::Law, "a race is no law: {place}");
                    }
                    Claim::Ahead { .. } => assert_ne!(*kind, Kind::Law, "{place}"),
                    Claim::NotBefore { .. } => assert_ne!(*kind, Kind::Permitted, "{place}"),
                }
            }
        }
    }
}

#[test]
fn every_scene_can_be_submitted() {
    for rule in rules() {
        for case in rule.cases() {
            let place = format!("{}: {}", rule.id, case.name);
            let actors: Vec<&Actor> = case.scene.actors().collect();
            for (index, actor) in actors.iter().enumerate() {
                assert!(actor.reads.len() <= 2, "{place}");
                assert!(actor.reads.iter().all(|&of| of < index), "{place}");
                let millis = actor.roles.iter().map(|r| r.before_ns + r.body_ns + r.after_ns);
                assert!(millis.max() < Some(1_000_000), "no kernel may spin for long: {place}");
                let plain = !actor.programmatic && actor.event.is_none() && !actor.cooperative;
                // Nodes that are added to a graph carry no attributes.
                assert!(case.scene.edges.is_empty() || plain, "{place}");
            }
            for edge in &case.scene.edges {
                assert!(edge.from < edge.to && edge.to < actors.len(), "{place}");
                assert_eq!(case.forms, Forms::GraphOnly, "streams have no edges: {place}");
            }
            let usage = case.scene.usage == Usage::Plain || case.forms == Forms::GraphOnly;
            assert!(usage, "{place}");
            let first = actors[0];
            assert!(!first.programmatic, "the first kernel waits for the gate: {place}");
            assert!(first.roles.iter().all(|role| !role.sync), "{place}");
        }
    }
}

#[test]
fn rules_have_distinct_names_and_the_quick_ones_exist() {
    let all = rules();
    let mut ids: Vec<&str> = all.iter().map(|rule| rule.id).collect();
    for id in RULES_OF_QUICK {
        assert!(ids.contains(&id), "{id}");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    for rule in &all {
        let cases = rule.cases();
        for (index, case) in cases.iter().enumerate() {
            let twice = cases[..index].iter().any(|other| other.name == case.name);
            assert!(!twice, "{}: {}", rule.id, case.name);
        }
    }
}

/// The headline rule must fail where the sync returns at the trigger, and be left undecided where
/// nothing runs ahead.
#[test]
fn a_sync_that_returned_at_the_trigger_would_be_found() {
    let rule = rules().into_iter().find(|rule| rule.id == "sync-at-completion").unwrap();
    for case in rule.cases() {
        let body_ns = u64::from(case.scene.actors().next().unwrap().roles[0].body_ns);
        // A begins at 1000 and triggers at once; B begins 1 µs later.
        let end_ns = 1500 + body_ns;
        let first = block(1000, 1000, 1000, end_ns, 0);
        let at_completion = block(2000, 0, end_ns.max(2000) + 800, end_ns + 5000, 0);
        let at_trigger = block(2000, 0, 2100, end_ns + 5000, if body_ns > 0 { 64 } else { 0 });
        let verdicts = |second: Block| {
            let mut tally = Tally::new(&case.name, &case.claims, MARGIN_NS);
            tally.add(&repetition(&[&[first], &[second]]));
            combine(tally.outcomes(&[]).iter().map(|outcome| outcome.verdict))
        };
        assert_eq!(verdicts(at_completion), Verdict::Holds, "{}", case.name);
        if body_ns > 0 {
            assert_eq!(verdicts(at_trigger), Verdict::Violated, "{}", case.name);
        }
    }
}

#[test]
fn findings_come_back_from_their_json() {
    let rule = &rules()[0];
    let outcome = tally(Kind::Law, COVERS, &[block(2500, 0, 3000, 6300, 1)]);
    let findings = Findings {
        device: DeviceFacts { name: "a GPU".into(), ..DeviceFacts::default() },
        version: "1".into(),
        revision: "2".into(),
        seed: 3,
        quick: true,
        wall_s: 4.5,
        unfinished: vec![Unfinished { id: "between".into(), reason: "hung".into() }],
        rules: vec![RuleFinding::new(
            rule,
            [(Form::Stream, Vec::new()), (Form::Graph, vec![outcome])],
        )],
    };
    let json = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), findings);
    let violations: Vec<_> =
        findings.violations().map(|(rule, form, _)| (&rule.id, form)).collect();
    assert_eq!(violations, [(&rule.id.to_owned(), Form::Graph)]);
    assert_eq!(findings.rules[0].forms.len(), 1, "a form without a case is left out");
}
