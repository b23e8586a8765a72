//! What is not compared, and what is said instead.

use super::fixture::{Made, compare, options};
use crate::chain::{Arm, BodyKind, Target};
use crate::compare::{Options, Side, compare_runs};
use crate::device::{Backend, Flag};
use crate::error::Kind;
use crate::record::Run;

#[test]
fn runs_of_two_kinds_are_refused_until_a_reason_is_given() {
    type Edit = fn(&mut Run);
    let cases: [(&str, Edit); 14] = [
        ("backend", |r| r.manifest.facts.backend = Backend::Sim),
        ("device", |r| r.manifest.facts.name = "NVIDIA B200".into()),
        ("sm-count", |r| r.manifest.facts.sm_count = 148),
        ("driver", |r| r.manifest.facts.driver = "590.1".into()),
        ("toolkit", |r| r.manifest.facts.runtime_cuda = 13_010),
        ("ecc", |r| r.manifest.facts.ecc = None),
        ("mig", |r| r.manifest.facts.mig = Some(true)),
        ("mps", |r| r.manifest.facts.mps = Some(true)),
        ("clocks-locked", |r| r.manifest.facts.clocks_locked = Some(true)),
        ("sm-clock", |r| r.samples.iter_mut().for_each(|s| s.sm_mhz = Some(1755))),
        ("memory-clock", |r| r.manifest.health.memory_mhz = Some(3201)),
        ("plan-warm-up", |r| r.manifest.plan.warm_up_s = 0.1),
        ("gate", |r| r.manifest.facts.no_gate = Some("--no-gate".into())),
        ("conditioning", |r| r.manifest.argv = vec!["pdl".into(), "--no-conditioning".into()]),
    ];
    let a = Made::default().side();
    for (code, edit) in cases {
        let mut run = Made { seed: 2, ..Made::default() }.run();
        edit(&mut run);
        let b = Side::of(run);
        let error = compare(&a, &b).unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::Refused, 6), "{code}");
        assert!(error.to_string().contains(&format!("differ: {code} (")), "{code}: {error}");
        assert!(error.to_string().contains("--accept-mismatch"), "{error}");
        let accepted = Options { accept_mismatch: Some("a new driver".into()), ..options() };
        let comparison = compare_runs(("A", &a), ("B", &b), &accepted).unwrap();
        assert_eq!(comparison.accepted_mismatch.as_deref(), Some("a new driver"));
        let codes: Vec<&str> = comparison.mismatches.iter().map(|m| m.code.as_str()).collect();
        assert_eq!(codes, [code]);
    }
}

#[test]
fn the_seed_the_program_and_which_gpu_of_one_model_refuse_nothing() {
    let mut run = Made { seed: 2, ..Made::default() }.run();
    run.manifest.seed = 99;
    run.manifest.facts.uuid = "GPU-1".into();
    run.manifest.revision = "abc".into();
    run.manifest.plan.rounds_max = 7;
    run.samples[0].flags.push(Flag::Resumed);
    let accepted = Options { accept_mismatch: Some("why".into()), ..options() };
    let (a, b) = (Made::default().side(), Side::of(run));
    let comparison = compare_runs(("A", &a), ("B", &b), &accepted).unwrap();
    assert_eq!(comparison.accepted_mismatch, None, "nothing had to be accepted");
    let codes = comparison.notes.iter().map(|note| note.split(':').next().unwrap());
    assert_eq!(codes.collect::<Vec<_>>(), ["resumed", "other-gpu", "other-program"]);
    assert!(comparison.b.resumed && !comparison.a.resumed);
}

#[test]
fn points_of_one_run_alone_are_listed_and_none_in_common_is_an_error() {
    let a = Made::default().run();
    let mut b = Made { seed: 2, ..Made::default() }.run();
    let last = b.points.pop().unwrap();
    b.points.iter_mut().filter(|record| record.arm == Arm::GraphAa).for_each(|record| {
        record.chain.body.target = Target::Ns(4080.0);
    });
    let comparison = compare(&Side::of(a.clone()), &Side::of(b.clone())).unwrap();
    assert_eq!(comparison.rows.len(), 13);
    let label = |name: &str, us: &str| {
        format!("{name} of fma {us} µs behind alu 2.000 µs, 132 × 128 threads, 51 nodes")
    };
    assert_eq!(last.arm, Arm::GraphPdl);
    assert_eq!(
        comparison.only_a,
        [label("graph-aa", "4.000"), label("graph-pdl implicit", "4.000")]
    );
    assert_eq!(comparison.only_b, [label("graph-aa", "4.080")]);
    b.points.iter_mut().for_each(|record| record.chain.body.kind = BodyKind::Spin);
    let error = compare(&Side::of(a), &Side::of(b)).unwrap_err();
    assert_eq!(error.code(), 1);
    let text = error.to_string();
    assert!(text.contains("no point in common: the first has stream of fma 4.000 µs"), "{text}");
    assert!(
        text.contains("the second stream of spin 4.000 µs") && text.contains("--repeat"),
        "{text}"
    );
}
