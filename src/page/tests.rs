use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::*;
use crate::analysis::fixture::Fixture;
use crate::analysis::summarise;
use crate::chain::{Arm, Trigger};
use crate::device::Mismatch;
use crate::profile::BUILT_IN;
use crate::record::{End, KernelRun, KernelVariant};

fn at(at: u32) -> Trigger {
    Trigger::Segment { at, of: 8 }
}

/// 4/8 saves 1 µs a hop, the other triggers nothing.
fn fixture() -> Fixture {
    let truth = |arm: Arm, trigger: Option<Trigger>| match (arm, trigger) {
        (Arm::GraphPdl, Some(trigger)) if trigger == at(4) => 1000.0,
        _ => 0.0,
    };
    Fixture::new(&[at(0), at(4), Trigger::Implicit], 30, 50.0, &truth)
}

fn run(fixture: Fixture) -> Run {
    let Fixture { manifest, points, samples } = fixture;
    Run { manifest, points, samples, end: None, notes: Vec::new() }
}

fn page(run: &Run) -> String {
    with(run, None, None, None)
}

fn with(
    run: &Run,
    conform: Option<&conform::Findings>,
    check: Option<&check::Findings>,
    profile: Option<&Profile>,
) -> String {
    let summary = summarise(&run.manifest, &run.points, &run.samples);
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>".to_owned();
    let charts = [("gain-g0-fma-graph.svg".to_owned(), svg)];
    let inputs = Inputs { summary: &summary, run, charts: &charts, conform, check, profile };
    render(&inputs).unwrap()
}

#[test]
fn the_policy_names_the_script_of_the_page() {
    let digest = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    assert_eq!(digest, SCRIPT_SHA256, "src/page/script.js was changed: SCRIPT_SHA256 is {digest}");
    let page = page(&run(fixture()));
    assert!(page.contains(&format!("<script>{SCRIPT}</script>")), "and nothing is added to it");
    // In an attribute a slash is spelt otherwise.
    assert!(page.contains(&digest.replace('/', "&#x2f;")));
}

#[test]
fn the_answer_stands_first_and_nothing_is_fetched() {
    let page = page(&run(fixture()));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no '{text}'"));
    let order = [
        "In a graph, the trigger at 4&#x2f;8 saves ",
        "<pre class=\"paste\"",
        "id=\"reading\"",
        "<svg xmlns",
        "id=\"rows\"",
        "id=\"warnings\"",
        "id=\"calibration\"",
        "id=\"proof\"",
        "id=\"rules\"",
        "id=\"fingerprint\"",
        "The exact command",
        "<b>Holm</b>",
        "What this cannot tell",
    ];
    assert!(order.is_sorted_by_key(|text| place(text)), "{:?}", order.map(place));
    let body = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!body.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("SIMULATED"));
}

#[test]
fn text_of_strangers_is_escaped_wherever_it_stands() {
    let mut hostile = run(fixture());
    let text = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*191 }}".to_owned();
    let manifest = &mut hostile.manifest;
    let facts = &mut manifest.facts;
    for field in [&mut facts.name, &mut facts.uuid, &mut facts.driver] {
        field.clone_from(&text);
    }
    facts.no_gate = Some(text.clone());
    for field in [&mut manifest.version, &mut manifest.revision, &mut manifest.started] {
        field.clone_from(&text);
    }
    manifest.argv = vec!["pdl".into(), "--out".into(), text.clone()];
    manifest.environment = vec![("PDL_NODES".into(), text.clone())];
    hostile.notes = vec![text.clone()];
    for record in &mut hostile.points {
        record.proof.kernel.clone_from(&text);
        if record.trigger == Some(at(0)) {
            record.skipped = Some(text.clone());
        }
    }
    let found = page(&hostile);
    assert_eq!(found.matches("<script").count(), 1);
    assert!(!found.contains("<img") && !found.contains("1337"));
    // Seven fields, the command, a note, and rows of the points.
    assert!(found.matches("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;").count() > 10);
}

#[test]
fn a_run_that_was_killed_or_found_nothing_still_has_a_page() {
    let killed = run(fixture());
    assert!(page(&killed).contains("This run did not end by itself"));
    assert!(!page(&killed).contains("href=\"end.json\""));
    let empty = Run { points: Vec::new(), samples: Vec::new(), ..killed };
    let found = page(&empty);
    assert!(found.contains("nothing to recommend") && found.contains("no programmatic arm"));
    assert!(found.contains("A/A floor is") || found.contains("the smallest effect"));
}

#[test]
fn wrong_results_are_loud_and_have_no_speed() {
    let mut wrong = fixture();
    let record = wrong.record_mut(Arm::GraphPdl, Some(at(4)));
    record.verification.mismatches = 3;
    record.verification.first = Some(Mismatch { node: 7, block: 2, found: 17, expected: 34 });
    let found = page(&run(wrong));
    assert!(found.contains("WRONG RESULT") && found.contains("wrong-values"));
    assert!(found.contains("3 (first: node 7, block 2: 0x11 in place of 0x22)"));
    assert!(found.contains("wrong values: no speed is given"));
}

#[test]
fn what_is_attached_is_shown_and_told_apart_when_it_is_of_another_device() {
    let here = run(fixture());
    let device = |name: &str| conform::DeviceFacts {
        name: name.into(),
        driver: here.manifest.facts.driver.clone(),
        ..conform::DeviceFacts::default()
    };
    let rule = &conform::rules()[0];
    let law = |seen| {
        let counts = (300, 300, seen);
        conform::Outcome::counted("A spins", "B waits".into(), conform::Kind::Law, counts)
    };
    let findings = |name: &str, seen| conform::Findings {
        device: device(name),
        version: "1".into(),
        revision: String::new(),
        seed: 1,
        quick: false,
        wall_s: 1.0,
        rules: vec![conform::RuleFinding::new(rule, [(conform::Form::Graph, vec![law(seen)])])],
        unfinished: vec![conform::Unfinished { id: "between".into(), reason: "it hung".into() }],
    };
    let name = here.manifest.facts.name.clone();
    let held = with(&here, Some(&findings(&name, 0)), None, None);
    assert!(held.contains("No counter-example") && held.contains(rule.id));
    assert!(held.contains("between: it hung"));
    assert!(held.contains("href=\"conform.json\"") && !held.contains("Found on"));
    assert!(held.contains("pdl report RUN --check"), "what is not attached says how");
    let broken = with(&here, Some(&findings("Other GPU", 2)), None, None);
    assert!(broken.contains("A documented rule was violated."));
    assert!(broken.contains("B waits: not so in 2 of 300 repetitions"));
    assert!(broken.contains("Found on Other GPU; this run is of NVIDIA H200."));
    let profiled = with(&here, None, None, Some(&BUILT_IN));
    assert!(
        profiled.contains("hbm_bytes_per_ns") && profiled.contains("href=\"calibration.toml\"")
    );
    assert!(!page(&here).contains("Device profile"));
}

#[test]
fn the_end_and_the_flags_of_a_run_are_told() {
    let mut ended = fixture();
    ended.flag(crate::device::Flag::GateTimeout, |sample| sample.round == 3);
    let mut run = run(ended);
    run.end = Some(End {
        ended: "2026-11-29T23:18:19Z".into(),
        wall_s: 3.9,
        reason: End::DONE.into(),
        groups: vec!["budget".into()],
        sm_mhz_min: Some(1965),
        sm_mhz_max: Some(1980),
        throttle: vec!["sw-power-cap".into()],
        health: Default::default(),
    });
    let found = page(&run);
    for text in [
        "took 3.9 s",
        "its time budget was used up",
        "1965 to 1980 MHz",
        "sw-power-cap",
        "<td>gate-timeout</td><td class=\"number\">18</td><td>left out</td>",
    ] {
        assert!(found.contains(text), "{text}");
    }
    assert!(!found.contains("did not end by itself"));
}

#[test]
fn a_user_s_own_kernels_are_told_from_this_program_s() {
    let synthetic = page(&run(fixture()));
    assert!(synthetic.contains("The kernels are synthetic") && !synthetic.contains("UNSAFE"));
    let mut own = run(fixture());
    own.manifest.kernel = Some(KernelRun {
        name: "decode<b>".into(),
        policy: None,
        variants: vec![KernelVariant { axes: Default::default(), nodes: Vec::new(), repeat: 51 }],
        compiler: String::new(),
        unsafe_no_sync: true,
        sha256: String::new(),
    });
    let found = page(&own);
    assert!(!found.contains("synthetic") && found.contains("<strong>UNSAFE</strong>"));
    assert!(found.contains("the stream arm") && found.contains("decode&lt;b&gt;"));
}

/// Every code that a row of a recorded run carries has words.
#[test]
fn reason_codes_have_words() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut codes = 0;
    for run in ["plots/body-length-h200", "plots/trigger-sweep-h200", "tests/fixtures/sim-run"] {
        // A package comes without its plots.
        let Ok(rows) = crate::record::read_summary(&root.join(run).join("summary.csv")) else {
            continue;
        };
        for reason in rows.iter().filter(|row| row.verdict.is_some()).map(|row| &row.reason) {
            for code in reason.split('|').filter(|code| !code.is_empty()) {
                assert_ne!(words::reasons(code), [code]);
                codes += 1;
            }
        }
    }
    assert!(codes > 3, "{codes} codes were looked at");
}
