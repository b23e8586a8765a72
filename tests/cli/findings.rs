//! Findings of other commands that `report` attaches to a run, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pdl_lab::{check, conform};

use crate::program::{names, pdl, run, small_copy, succeed};

fn rules() -> String {
    let rules = conform::rules();
    let counts = (300, 300, 0);
    let law = conform::Outcome::counted("A spins", "B waits".into(), conform::Kind::Law, counts);
    let finding = conform::RuleFinding::new(&rules[0], [(conform::Form::Graph, vec![law])]);
    let findings = conform::Findings {
        device: conform::DeviceFacts { name: "Some GPU".into(), ..Default::default() },
        version: "1".into(),
        revision: String::new(),
        seed: 1,
        quick: true,
        wall_s: 1.0,
        rules: vec![finding],
        unfinished: Vec::new(),
    };
    serde_json::to_string_pretty(&findings).unwrap() + "\n"
}

fn races() -> String {
    let outcome = |mutant: Option<&str>| check::Outcome {
        mutant: mutant.map(str::to_owned),
        case: "raw-2/at-entry/small/graph/isolated".into(),
        test: "raw-2".into(),
        verdict: check::Verdict::NotTested,
        measured: None,
        reason: "no room on this device".into(),
    };
    let outcomes = [outcome(None), outcome(Some("no-sync"))];
    let findings = check::Findings::new(Default::default(), 1, &[1.0], &outcomes);
    serde_json::to_string_pretty(&findings).unwrap() + "\n"
}

/// Every file of the run, by its name.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = names(run).into_iter().filter(|name| run.join(name).is_file());
    files.map(|name| (name.clone(), fs::read(run.join(name)).unwrap())).collect()
}

#[test]
fn findings_are_attached_as_they_are_and_shown_from_then_on() {
    let dir = small_copy();
    let path = dir.path().join("run");
    fs::write(dir.path().join("rules.json"), rules()).unwrap();
    fs::write(dir.path().join("races.json"), races()).unwrap();
    let before = files(&path);
    let arguments = ["report", "run", "--conform", "rules.json", "--check", "races.json"];
    succeed(&mut pdl(dir.path(), arguments));
    let after = files(&path);
    assert_eq!(after["conform.json"], rules().as_bytes());
    assert_eq!(after["check.json"], races().as_bytes());
    let page = String::from_utf8(after["report.html"].clone()).unwrap();
    for text in ["No counter-example", "Found on Some GPU", "no room on this device", "no-sync"] {
        assert!(page.contains(text), "{text}");
    }
    for (name, bytes) in before.iter().filter(|(name, _)| *name != "report.html") {
        assert!(*bytes == after[name], "{name} is as it was");
    }
    succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(files(&path) == after, "what is attached stays, and the page says so again");
}

#[test]
fn what_is_no_such_file_is_refused_with_its_place_and_changes_nothing() {
    let dir = small_copy();
    let path = dir.path().join("run");
    let broken = rules().replacen("\"seed\": 1", "\"seed\": -1", 1);
    let cut = &rules()[..rules().len() / 2];
    fs::write(dir.path().join("good.json"), rules()).unwrap();
    let before = files(&path);
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("--conform", Vec::new(), "cannot read bad.json:1:0: EOF"),
        ("--conform", b"\x7fELF\0\0".to_vec(), "cannot read bad.json:1:1: expected value"),
        ("--conform", races().into(), "cannot read bad.json:"),
        ("--check", rules().into(), "cannot read bad.json:"),
        ("--conform", cut.into(), "cannot read bad.json:"),
        ("--conform", broken.into(), "cannot read bad.json:"),
    ];
    for (flag, bytes, expected) in cases {
        fs::write(dir.path().join("bad.json"), bytes).unwrap();
        // A good file beside a bad one is not attached either.
        let other = if flag == "--check" { "--conform" } else { "--check" };
        let good = if flag == "--check" { "good.json" } else { "races.json" };
        fs::write(dir.path().join("races.json"), races()).unwrap();
        let said = run(&mut pdl(dir.path(), ["report", "run", flag, "bad.json", other, good]));
        assert_eq!(said.code, Some(1), "{said:?}");
        let lines: Vec<&str> = said.stderr.lines().collect();
        assert!(lines[0].starts_with(&format!("pdl: {expected}")), "{said:?}");
        assert!(lines.len() == 2 && lines[1].contains("--format json"), "{said:?}");
        assert!(files(&path) == before, "{flag}: nothing is written");
    }
    let said = run(&mut pdl(dir.path(), ["report", "run", "--check", "missing.json"]));
    assert!(said.stderr.starts_with("pdl: cannot read missing.json: "), "{said:?}");
}

#[test]
fn nothing_is_attached_to_what_is_no_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rules.json"), rules()).unwrap();
    fs::create_dir(dir.path().join("other")).unwrap();
    let said = run(&mut pdl(dir.path(), ["report", "other", "--conform", "rules.json"]));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("not a run directory"), "{said:?}");
    assert_eq!(names(&dir.path().join("other")), [""; 0]);
}

#[test]
fn a_profile_beside_the_run_is_shown_and_a_broken_one_is_told() {
    let dir = small_copy();
    let path = dir.path().join("run");
    let page = || fs::read_to_string(path.join("report.html")).unwrap();
    assert!(!page().contains("Device profile"));
    fs::write(path.join("calibration.toml"), pdl_lab::profile::BUILT_IN.to_toml()).unwrap();
    succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(page().contains("Device profile") && page().contains("hbm_bytes_per_ns"));
    fs::write(path.join("calibration.toml"), "[hops]\nx = \n").unwrap();
    let said = succeed(&mut pdl(dir.path(), ["report", "run"]));
    assert!(said.stderr.starts_with("pdl: note: calibration.toml: "), "{said:?}");
    assert!(!page().contains("Device profile") && page().contains("calibration.toml: "));
    let here = page();
    // The page is the same from wherever it is made.
    succeed(&mut pdl(Path::new("/"), ["report".as_ref(), path.as_os_str()]));
    assert!(page() == here);
}

#[cfg(unix)]
#[test]
fn what_is_attached_by_a_link_out_of_the_run_is_refused() {
    let dir = small_copy();
    let outside = dir.path().join("outside.json");
    fs::write(&outside, rules()).unwrap();
    std::os::unix::fs::symlink(&outside, dir.path().join("run/conform.json")).unwrap();
    let said = run(&mut pdl(dir.path(), ["report", "run"]));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("it is a link that leads out of the run directory"));
}
