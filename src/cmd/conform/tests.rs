use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};
use crate::conform::{DeviceFacts, Form, Kind as ClaimKind, Outcome, RuleFinding, Spread};

fn args(line: &str) -> ConformArgs {
    let words = ["pdl", "conform"].into_iter().chain(line.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Conform(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn quick_and_only_choose_rules_in_their_order() {
    let ids = |line: &str| -> Vec<&str> {
        chosen(&args(line)).unwrap().iter().map(|rule| rule.id).collect()
    };
    assert_eq!(ids("").len(), rules().len());
    assert_eq!(ids("--quick").len(), 5);
    assert_eq!(ids("--only between,runs-ahead"), ["runs-ahead", "between"]);
    assert_eq!(ids("--quick --only between"), ["between"]);
    let error = chosen(&args("--only betwen")).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
    assert!(error.to_string().contains("runs-ahead, "), "{error}");
}

#[test]
fn the_simulated_device_is_refused() {
    assert_eq!(conform(&args("--backend sim")).unwrap_err().kind(), Kind::Usage);
}

fn outcome(case: &str, claim: &str, kind: ClaimKind, counts: (u64, u64, u64)) -> Outcome {
    Outcome {
        measure: "first release − last end".into(),
        spread: Some(Spread { median_ns: 1200.0, min_ns: 800.0, max_ns: 1600.0 }),
        ..Outcome::counted(case, claim.into(), kind, counts)
    }
}

fn findings(counter_examples: u64) -> Findings {
    let all = rules();
    let law = outcome("A spins", "B waits", ClaimKind::Law, (300, 300, counter_examples));
    let open = |seen| outcome("A spins", "B is early", ClaimKind::Open, (300, 300, seen));
    let missing = Outcome::not_tested("cuBLAS", "B is early".into(), ClaimKind::Open, "not there");
    Findings {
        device: DeviceFacts {
            name: "NVIDIA H200".into(),
            driver_cuda: 13000,
            runtime_cuda: 13000,
            ..DeviceFacts::default()
        },
        version: "1".into(),
        revision: String::new(),
        seed: 1,
        quick: false,
        wall_s: 12.0,
        unfinished: Vec::new(),
        rules: vec![RuleFinding::new(
            &all[0],
            [
                (Form::Stream, vec![law.clone(), open(7), missing.clone()]),
                (Form::Graph, vec![law, open(300), missing]),
            ],
        )],
    }
}

/// The line that begins with `start`, its words one space apart.
fn line(text: &str, start: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.into_iter().find(|line| line.starts_with(start)).unwrap_or_default()
}

#[test]
fn the_table_has_rules_what_is_open_and_what_is_missing() {
    let text = table::render(&findings(0), false, false);
    let found = line(&text, "sync-at-completion holds");
    // 1 − 0.05^(1/300); claims of one case share their repetitions.
    let expected =
        "sync-at-completion holds holds 600 0 9.9e-3 first release − last end ≥ +0.800 µs";
    assert_eq!(found, expected);
    assert!(text.contains("7 of 300") && text.contains("300 of 300"), "{text}");
    let missing =
        "sync-at-completion: cuBLAS: B is early: not tested: not there (stream and graph)";
    assert!(text.lines().any(|line| line == missing), "{text}");
    assert!(!text.contains("VIOLATED"), "{text}");

    let text = table::render(&findings(2), false, false);
    let found = line(&text, "sync-at-completion VIOLATED");
    assert!(found.starts_with("sync-at-completion VIOLATED VIOLATED 600 4 –"), "{found}");
    let claims = table::render(&findings(2), false, true);
    assert!(claims.contains("2 of 300") && claims.contains("promised"), "{claims}");
}

#[test]
fn a_violation_is_exit_4_and_says_which() {
    assert!(conclude(&findings(0)).is_ok());
    let error = conclude(&findings(2)).unwrap_err();
    assert_eq!(error.kind(), Kind::Wrong);
    let expected = "cannot vouch for this GPU and driver: sync-at-completion is violated (stream): \
                    B waits: not so in 2 of 300 repetitions and 1 more";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn markdown_is_a_table_and_json_comes_back() {
    let mut args = args("--format markdown");
    let text = render(&findings(0), &args).unwrap();
    assert!(text.starts_with("### NVIDIA H200"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("| sync-at-completion")), "{text}");
    args.format = FindingsFormat::Json;
    let json = render(&findings(0), &args).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), findings(0));
}

#[test]
fn findings_are_read_back_from_a_file_and_judged_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("findings.json");
    let from = ConformArgs { from: Some(file.clone()), ..args("") };
    for (written, expected) in [
        (serde_json::to_string(&findings(0)).unwrap(), None),
        (serde_json::to_string(&findings(1)).unwrap(), Some(Kind::Wrong)),
        ("{\"device\": 1}".to_owned(), Some(Kind::Failed)),
        (String::new(), Some(Kind::Failed)),
    ] {
        std::fs::write(&file, &written).unwrap();
        assert_eq!(conform(&from).err().map(|error| error.kind()), expected, "{written}");
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(conform(&from).unwrap_err().kind(), Kind::Failed);
}
