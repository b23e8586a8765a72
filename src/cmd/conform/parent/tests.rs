use super::*;
use crate::conform::rules;

/// Findings and what stopped them, of children that are shell scripts: `script(first rule left)`.
fn test(script: impl Fn(&str) -> String, silence_ms: u64) -> Result<(Findings, Option<Error>)> {
    let mut findings = Findings {
        device: DeviceFacts::default(),
        version: String::new(),
        revision: String::new(),
        seed: 1,
        quick: false,
        wall_s: 0.0,
        rules: Vec::new(),
        unfinished: Vec::new(),
    };
    let ids: Vec<&str> = rules().iter().take(3).map(|rule| rule.id).collect();
    let child = |left: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", &script(left[0])]);
        Ok(command)
    };
    let stopped = test_all(&mut findings, &ids, Duration::from_millis(silence_ms), child)?;
    Ok((findings, stopped))
}

fn echo(line: &Line) -> String {
    format!("echo '{}';", serde_json::to_string(line).unwrap().replace('\'', "'\\''"))
}

fn opened() -> String {
    echo(&Line::Device { facts: DeviceFacts { name: "a GPU".into(), ..Default::default() } })
}

fn begun(index: usize) -> String {
    echo(&Line::Begin { id: rules()[index].id.into() })
}

fn done(index: usize) -> String {
    begun(index) + &echo(&Line::Done { finding: RuleFinding::new(&rules()[index], []) })
}

fn ids(findings: &Findings) -> Vec<&str> {
    findings.rules.iter().map(|rule| rule.id.as_str()).collect()
}

#[test]
fn a_rule_that_ends_the_child_costs_itself_only() {
    let all = rules();
    for (end, reason) in [
        ("kill -SEGV $$", "the process ended by signal 11"),
        ("exec sleep 60", "no answer for 0 s"),
        ("echo 'pdl: boom' >&2; exit 1", "the process ended with code 1: pdl: boom"),
    ] {
        let script = |first: &str| match first {
            id if id == all[0].id => opened() + &done(0) + &begun(1) + end,
            _ => opened() + &done(2),
        };
        let (findings, stopped) = test(script, 500).unwrap();
        assert!(stopped.is_none(), "{stopped:?}");
        assert_eq!(ids(&findings), [all[0].id, all[2].id], "{end}");
        let [lost] = &findings.unfinished[..] else { panic!("{:?}", findings.unfinished) };
        assert_eq!((lost.id.as_str(), lost.reason.as_str()), (all[1].id, reason));
        assert_eq!(findings.device.name, "a GPU");
    }
}

#[test]
fn a_reported_failure_is_told_in_the_words_of_the_device() {
    let failed = echo(&Line::Failed { reason: "an illegal address".into() });
    let script = |first: &str| match first {
        id if id == rules()[0].id => opened() + &begun(0) + &failed + "exit 1",
        _ => opened() + &done(1) + &done(2),
    };
    let (findings, _) = test(script, 5000).unwrap();
    assert_eq!(findings.unfinished[0].reason, "an illegal address");
    assert_eq!(findings.rules.len(), 2);
}

#[test]
fn a_device_that_cannot_be_opened_ends_the_test() {
    let none = echo(&Line::NoGpu { reason: "no device".into() });
    let error = test(|_| none.clone() + "exit 3", 5000).unwrap_err();
    assert_eq!((error.kind(), error.cause()), (Kind::NoGpu, "no device"));
    let error = test(|_| "exit 9".into(), 5000).unwrap_err();
    assert_eq!(error.kind(), Kind::Failed);
    assert!(error.cause().contains("code 9"), "{error}");
    // After a finding, it stands.
    let script = |first: &str| match first {
        id if id == rules()[0].id => opened() + &done(0) + &begun(1) + "exit 1",
        _ => "exit 9".to_owned(),
    };
    let (findings, stopped) = test(script, 5000).unwrap();
    assert_eq!((findings.rules.len(), findings.unfinished.len()), (1, 1));
    assert!(stopped.unwrap().cause().contains("code 9"));
}

#[test]
fn an_interrupted_child_is_an_interruption() {
    let (findings, stopped) = test(|_| opened() + &done(0) + "exit 130", 5000).unwrap();
    assert_eq!(stopped.unwrap().kind(), Kind::Interrupted);
    assert_eq!(ids(&findings).len(), 1);
}
