use super::*;
use crate::check::{Code, CounterExample, DeviceFacts, Found, Measured, Outcome, Record, Verdict};
use crate::cli::{CheckArgs, Cli, Command, FindingsFormat};

use clap::Parser;

fn measured(wrong: u64, co_resident: u64) -> Measured {
    let first = CounterExample {
        repetition: 3,
        node: 1,
        block: 5,
        thread: 40,
        record: Record::FirstRead,
        found: "0xdeaddeaddeaddead".into(),
        expected: "0x0000000000000001".into(),
        found_is: Found::Poison,
        overlap_ns: Some(7000),
    };
    Measured {
        repetitions: 1000,
        wrong,
        co_resident,
        mismatches: wrong,
        values: 64,
        overlap_ns: Some(9000),
        margin_ns: 96,
        seconds: 0.5,
        first: (wrong > 0).then_some(first),
        code: Code { kernel: "k".into(), syncs: Some(1), same_as_correct: Some(false) },
    }
}

fn outcome(
    mutant: Option<&'static str>,
    test: &'static str,
    verdict: Verdict,
    measured: Option<Measured>,
) -> Outcome {
    let case = format!("{test}/at-entry/small/graph/isolated");
    let (mutant, test) = (mutant.map(str::to_owned), test.to_owned());
    Outcome { mutant, case, test, verdict, measured, reason: String::new() }
}

fn outcomes() -> Vec<Outcome> {
    vec![
        outcome(None, "raw-2", Verdict::Clean, Some(measured(0, 900))),
        outcome(None, "raw-2", Verdict::NotTested, Some(measured(0, 0))),
        outcome(None, "ring", Verdict::NotTested, Some(measured(0, 0))),
        outcome(None, "war", Verdict::Race, Some(measured(2, 900))),
        outcome(Some("no-sync"), "raw-2", Verdict::Race, Some(measured(990, 900))),
        outcome(Some("no-sync"), "waw", Verdict::Clean, Some(measured(0, 900))),
        outcome(Some("two-slots"), "ring", Verdict::Clean, Some(measured(0, 900))),
        outcome(Some("restrict-load"), "loop", Verdict::SameCode, Some(measured(0, 900))),
        outcome(Some("early-return"), "idle", Verdict::Hang, None),
    ]
}

fn rendered(format: FindingsFormat) -> String {
    let Command::Check(args) = Cli::parse_from(["pdl", "check"]).command else { panic!() };
    let args: CheckArgs = args;
    let outcomes = outcomes();
    let device = DeviceFacts { name: "GPU".into(), timer_step_ns: 32, ..DeviceFacts::default() };
    let findings = Findings::new(device, args.seed, &args.sleep_us, &outcomes);
    super::super::render(&findings, format).unwrap()
}

/// The line of the table that begins with these words, blanks squeezed.
fn line(text: &str, begins: &str) -> String {
    let squeezed = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut found = squeezed.filter(|line| line.trim_start_matches("| ").starts_with(begins));
    found.next().unwrap_or_else(|| panic!("no line '{begins}' in\n{text}"))
}

#[test]
fn a_test_is_as_good_as_its_worst_case_and_says_what_was_not_tested() {
    let text = rendered(FindingsFormat::Table);
    for (begins, ends) in [
        ("raw-2 RAW", "2 2000 900 0 3.3e-3 clean; 1 not tested"),
        ("ring WAR", "1 1000 0 0 – not tested"),
        ("war WAR", "1 1000 900 2 – RACE"),
    ] {
        let line = line(&text, begins);
        assert!(line.ends_with(ends), "{line}");
    }
    let accused = line(&text, "war/at-entry");
    assert!(accused.contains("RAW at node 1, block 5: found poison"), "{accused}");
    let total = line(&text, "4000 repetitions");
    assert!(total.ends_with("2 wrong; co-resident in 1800"), "{total}");
    assert!(accused.contains("0xdeaddeaddeaddead in place of 0x0000000000000001"), "{accused}");
}

#[test]
fn a_mutant_is_caught_by_one_of_its_tests_or_not_at_all() {
    let text = rendered(FindingsFormat::Markdown);
    for (begins, has) in [
        ("no-sync | raw-2", "| caught | 3 | 990 of 1000 | 0.9817 to 0.9952 |"),
        ("no-sync | waw", "| not caught here | – | 0 of 1000 | below 3.3e-3 |"),
        ("two-slots", "| NOT CAUGHT | – | 0 of 1000 |"),
        ("restrict-load", "| same code | – |"),
        ("early-return", "| hang | – | – |"),
    ] {
        let line = line(&text, begins);
        assert!(line.contains(has), "{line}");
    }
}

#[test]
fn json_has_every_case_with_its_interval() {
    let json: serde_json::Value = serde_json::from_str(&rendered(FindingsFormat::Json)).unwrap();
    assert_eq!(json["correct"].as_array().unwrap().len(), 4);
    assert_eq!(json["mutants"].as_array().unwrap().len(), 5);
    let caught = &json["mutants"][0];
    assert_eq!(caught["verdict"], "race");
    assert!(caught["rate"]["lo"].as_f64().unwrap() > 0.98);
    assert_eq!(caught["measured"]["first"]["record"], "first-read");
    assert_eq!(caught["measured"]["first"]["found_is"]["what"], "poison");
    assert!(caught["rate_below"].is_null());
    let read: Findings = serde_json::from_str(&rendered(FindingsFormat::Json)).unwrap();
    assert_eq!(read.outcomes(), outcomes(), "what was printed reads back");
    // Where nothing was co-resident there is no bound.
    assert!(json["correct"][2]["rate_below"].is_null());
    assert!(json["correct"][0]["rate_below"].as_f64().unwrap() < 0.0034);
}
