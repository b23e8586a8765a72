//! Names, notes and findings of strangers are text, whatever they spell.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::chromium::Look;
use crate::run::changed;
use crate::{NARROW, OVERFLOW, PLAIN, WIDE, assert_quiet, assert_text, browser};

const SCRIPT: &str = "<script>window.pwned=1;alert(1)</script>";
const IMAGE: &str = "\"'><img src=x onerror=window.pwned=1>";
const CLOSE: &str = "</title></style></svg></script><svg onload=window.pwned=1>{{ 7*191 }}";

fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let text = fs::read_to_string(path).unwrap();
    let edited: Vec<String> = match path.extension().is_some_and(|end| end == "jsonl") {
        true => text.lines().map(|line| edited(line, &change)).collect(),
        false => vec![edited(&text, &change)],
    };
    fs::write(path, edited.join("\n") + "\n").unwrap();
}

fn edited(text: &str, change: &impl Fn(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    change(&mut value);
    value.to_string()
}

/// Every text of a run that nothing but a writer of files decides.
fn poison(run: &Path) {
    edit(&run.join("manifest.json"), |manifest| {
        manifest["facts"]["name"] = json!(format!("GPU {SCRIPT}{CLOSE}{}", "x".repeat(400)));
        manifest["facts"]["uuid"] = json!(IMAGE);
        manifest["facts"]["driver"] = json!(CLOSE);
        manifest["facts"]["no_gate"] = json!(format!("{SCRIPT}\u{202e}\u{1b}[31m"));
        manifest["version"] = json!(IMAGE);
        manifest["revision"] = json!(SCRIPT);
        manifest["started"] = json!(CLOSE);
        manifest["argv"] = json!(["pdl", "sweep", "--out", SCRIPT, IMAGE]);
        manifest["environment"] = json!([["PDL_NODES", CLOSE]]);
        manifest["health"]["throttle"] = json!([SCRIPT]);
    });
    edit(&run.join("end.json"), |end| {
        end["reason"] = json!(format!("cannot go on: {SCRIPT}"));
        end["ended"] = json!(IMAGE);
        end["groups"] = json!([CLOSE]);
        end["throttle"] = json!([IMAGE]);
    });
    edit(&run.join("points.jsonl"), |point| {
        point["proof"]["kernel"] = json!(format!("kernel{SCRIPT}"));
        point["proof"]["edges"] = json!([{ "edge_type": IMAGE, "from_port": CLOSE, "count": 9 }]);
        if point["trigger"] == "6/8" {
            point["skipped"] = json!(format!("skipped {IMAGE}"));
        }
    });
    let mut profile = pdl_lab::profile::BUILT_IN.clone();
    profile.name = SCRIPT.into();
    profile.provenance = CLOSE.into();
    profile.block.tail_ns.experiment = IMAGE.into();
    fs::write(run.join("calibration.toml"), profile.to_toml()).unwrap();
    fs::write(run.join("conform.json"), conform().to_string()).unwrap();
    fs::write(run.join("check.json"), check().to_string()).unwrap();
}

fn conform() -> Value {
    let outcome = |kind: &str, verdict: &str| {
        json!({
            "case": SCRIPT, "claim": IMAGE, "kind": kind, "verdict": verdict, "repetitions": 10,
            "tested": 10, "seen": 1, "share": null, "below": null, "measure": CLOSE,
            "spread": { "median_ns": 1.0, "min_ns": 0.0, "max_ns": 2.0 }, "edges": [],
            "reason": SCRIPT,
        })
    };
    json!({
        "device": {
            "name": SCRIPT, "capability": [9, 0], "sm_count": 132, "driver": IMAGE,
            "driver_cuda": 13000, "runtime_cuda": 13000, "timer_step_ns": 32,
            "timer_skew_ns": null, "margin_ns": 64,
        },
        "version": CLOSE, "revision": "", "seed": 1, "quick": true, "wall_s": 1.0,
        "rules": [{
            "id": IMAGE, "statement": SCRIPT, "source": CLOSE,
            "forms": [{
                "form": "stream", "verdict": "violated",
                "outcomes": [outcome("law", "violated"), outcome("open", "observed")],
            }],
        }],
    })
}

fn check() -> Value {
    let row = |mutant: Value| {
        json!({
            "mutant": mutant, "case": SCRIPT, "test": "raw-2", "verdict": "fault",
            "measured": null, "reason": IMAGE, "rate": null, "rate_below": null,
        })
    };
    json!({
        "device": {
            "name": CLOSE, "driver": SCRIPT, "driver_cuda": 13000, "runtime_cuda": 13000,
            "sm_count": 132, "timer_step_ns": 32, "timer_skew_ns": null,
        },
        "version": IMAGE, "revision": "", "seed": 1, "sleep_us": [1.0],
        "correct": [row(Value::Null)], "mutants": [row(json!(SCRIPT))],
    })
}

#[test]
fn names_of_strangers_are_shown_and_never_run() {
    let Some(mut browser) = browser() else { return };
    let report = changed("tests/fixtures/sim-run", poison);
    for (script, width) in [(true, WIDE), (false, NARROW)] {
        browser.open(&report.page, Look { script, width, ..PLAIN });
        assert_quiet(&browser, "hostile");
        let found = browser.evaluate(OVERFLOW);
        assert_eq!(found["wide"], json!([]), "a name of 400 letters breaks");
        assert!(found["scroll"].as_f64() <= found["client"].as_f64(), "{found}");
        assert_eq!(browser.evaluate("typeof window.pwned"), "undefined");
        for (what, count) in [("script", 1), ("img, iframe, object, embed", 0), ("base", 0)] {
            let found = format!("document.querySelectorAll('{what}').length");
            assert_eq!(browser.evaluate(&found), count, "{what}");
        }
        let handlers = "[...document.querySelectorAll('*')].filter((one) =>
            [...one.attributes].some((a) => a.name.startsWith('on'))).length";
        assert_eq!(browser.evaluate(handlers), 0);
        for text in [SCRIPT, IMAGE, "{{ 7*191 }}", "skipped \"'><img", "kernel<script>"] {
            assert_text(&mut browser, &report, text);
        }
        let turned = "/[\\u202e\\u001b]/.test(document.documentElement.outerHTML)";
        assert_eq!(browser.evaluate(turned), false);
    }
}
