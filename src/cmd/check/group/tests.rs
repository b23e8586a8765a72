use clap::Parser;

use super::*;
use crate::check::{Code, DeviceFacts, Plan};
use crate::cli::{Cli, Command as CliCommand};

fn measured(wrong: u64) -> Measured {
    Measured {
        repetitions: 10,
        wrong,
        co_resident: 10,
        mismatches: wrong,
        values: 4,
        overlap_ns: Some(5000),
        margin_ns: 64,
        seconds: 0.5,
        first: None,
        code: Code { kernel: "k".into(), syncs: None, same_as_correct: None },
    }
}

fn said(line: &Line) -> String {
    serde_json::to_string(line).unwrap()
}

/// What a group of the correct kernels hears.
fn hear(lines: &[String]) -> (Heard, Plan) {
    let plan = Plan::new(true, Some("correct")).unwrap();
    let group = Group { mutant: None, cases: &plan.correct };
    let mut heard = Heard::default();
    for line in lines {
        group.hear(&mut heard, line, &mut |_| {});
    }
    (heard, plan)
}

#[test]
fn cases_end_in_the_order_they_began() {
    let (heard, plan) = hear(&[
        "a tool says hello".into(),
        said(&Line::Device(DeviceFacts { name: "GPU".into(), ..DeviceFacts::default() })),
        said(&Line::Begin { index: 0 }),
        said(&Line::Done { measured: measured(0) }),
        said(&Line::Begin { index: 1 }),
        said(&Line::Skipped { reason: "too large".into() }),
        said(&Line::Begin { index: 2 }),
        said(&Line::Done { measured: measured(3) }),
        said(&Line::Begin { index: 3 }),
    ]);
    let verdicts: Vec<Verdict> = heard.outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert_eq!(verdicts, [Verdict::Clean, Verdict::NotTested, Verdict::Race]);
    assert_eq!(heard.outcomes[1].reason, "too large");
    assert_eq!(heard.outcomes[2].case, plan.correct[2].to_string());
    assert_eq!(heard.outcomes[2].measured, Some(measured(3)));
    assert_eq!(heard.open, Some(3));
    assert!(!heard.failed && heard.device.is_some());
}

#[test]
fn a_failure_costs_the_case_that_was_running() {
    let failed = said(&Line::Failed { reason: "illegal address".into() });
    let (heard, _) = hear(&[said(&Line::Begin { index: 0 }), failed.clone()]);
    assert!(heard.failed && heard.open.is_none());
    assert_eq!(heard.outcomes[0].verdict, Verdict::Fault);
    assert_eq!(heard.outcomes[0].reason, "illegal address");
    let (heard, _) = hear(&[failed]);
    assert!(!heard.failed && heard.outcomes.is_empty());
    assert_eq!(heard.closed.as_deref(), Some("illegal address"));
}

#[test]
fn a_case_that_never_was_is_passed_over() {
    let (heard, _) = hear(&[
        said(&Line::Begin { index: 99_999 }),
        said(&Line::Done { measured: measured(1) }),
        "{\"line\":\"begin\"".into(),
    ]);
    assert!(heard.outcomes.is_empty() && heard.open.is_none());
}

#[test]
fn silence_is_a_hang_that_names_the_point() {
    let plan = Plan::new(true, Some("hang")).unwrap();
    let (mutant, cases) = &plan.mutants[0];
    let group = Group { mutant: Some(mutant.name), cases };
    let silence = Duration::from_secs(7);
    let (verdict, reason) = group.epitaph(&Ended::Silent, Some(0), silence).unwrap();
    assert_eq!(verdict, Verdict::Hang);
    assert!(reason.contains("7 s") && reason.contains(&cases[0].to_string()), "{reason}");
}

#[test]
fn a_child_is_asked_for_the_same_plan() {
    let line = ["pdl", "check", "--quick", "--seed", "9", "--sleep-us", "0,2.5", "--only", "waw"];
    let CliCommand::Check(args) = Cli::parse_from(line).command else { panic!("not a check") };
    let plan = Plan::new(args.quick, args.only.as_deref()).unwrap();
    let group = Group { mutant: Some("no-sync"), cases: &plan.mutants[0].1 };
    let command = group.command(&args, 1).unwrap();
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let line: Vec<String> = std::iter::once("pdl".to_owned()).chain(words).collect();
    let CliCommand::Check(child) = Cli::parse_from(line).command else { panic!("not a check") };
    assert_eq!((child.child.as_deref(), child.from), (Some("no-sync"), 1));
    assert_eq!((child.seed, child.sleep_us, child.quick), (9, vec![0.0, 2.5], true));
    assert_eq!(child.only.as_deref(), Some("waw"));
    assert_eq!(child.repetitions, args.repetitions);
}
