//! On a GPU: the documented rules hold, every rule was put to the test, and in time. Skips with a
//! reason where there is no GPU; `PDL_REQUIRE=gpu` makes that a failure.
#![cfg(feature = "cuda")]

use std::time::Instant;

use assert_cmd::Command;
use pdl_lab::conform::{Findings, Form, Kind, Verdict, rules};

/// Exit code, findings, seconds, stderr; `None` without a GPU.
fn conform(arguments: &[&str]) -> Option<(i32, Findings, f64, String)> {
    let mut command = Command::cargo_bin("pdl").unwrap();
    let since = Instant::now();
    let output = command.args(["conform", "--format", "json"]).args(arguments).output().unwrap();
    let seconds = since.elapsed().as_secs_f64();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap();
    if code == 3 {
        let required = std::env::var("PDL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|r| r == "gpu"), "PDL_REQUIRE=gpu: {stderr}");
        eprintln!("skipped: {stderr}");
        return None;
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let findings =
        serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}"));
    Some((code, findings, seconds, stderr))
}

/// Quick first, then all: one test, since they share the device.
#[test]
fn documented_rules_hold_and_every_rule_was_put_to_the_test() {
    let Some((code, quick, seconds, stderr)) = conform(&["--quick"]) else { return };
    assert_eq!((code, quick.rules.len()), (0, 5), "{stderr}");
    assert!(seconds < 5.0, "{seconds} s");
    for rule in &quick.rules {
        for form in &rule.forms {
            assert_ne!(form.verdict, Verdict::NotTested, "{} {:?}", rule.id, form.form);
        }
    }

    let (code, all, seconds, stderr) = conform(&[]).expect("there was a GPU");
    assert_eq!((code, all.rules.len()), (0, rules().len()), "{stderr}");
    assert!(seconds < 60.0, "{seconds} s");
    for rule in &all.rules {
        assert_ne!(rule.verdict(), Verdict::NotTested, "{}", rule.id);
        for (form, outcome) in rule.outcomes() {
            let place =
                format!("{} ({}): {}: {}", rule.id, form.name(), outcome.case, outcome.claim);
            assert_ne!(outcome.verdict, Verdict::Violated, "{place}: {outcome:?}");
            let law = outcome.kind == Kind::Law && outcome.case.find("cuBLAS").is_none();
            let refused = !outcome.reason.is_empty() && outcome.repetitions == 0;
            // With two prerequisites the secondary may never begin before the longer one ended.
            let behind = outcome.reason.contains("never ran ahead");
            assert!(!law || refused || behind || outcome.tested > 0, "{place}: {outcome:?}");
        }
    }
    // Without these the method itself would be in doubt.
    for id in ["runs-ahead", "sync-at-completion", "first-thread"] {
        let rule = all.rules.iter().find(|rule| rule.id == id).unwrap();
        for form in [Form::Stream, Form::Graph] {
            let found = rule.forms.iter().find(|found| found.form == form).unwrap();
            assert_eq!(found.verdict, Verdict::Holds, "{id} {form:?}");
        }
    }
}
