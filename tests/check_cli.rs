//! `pdl check` at the command line, without a GPU: what it refuses, and how it says so.

use assert_cmd::Command;

fn pdl(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("pdl").unwrap();
    // Hides the GPU where there is one.
    command.env("CUDA_VISIBLE_DEVICES", "").arg("check").args(arguments);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn without_a_gpu_it_is_exit_3_with_cause_and_remedy() {
    for backend in ["auto", "gpu"] {
        let (code, stdout, stderr) = pdl(&["--quick", "--backend", backend]);
        assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        assert!(lines[0].starts_with("pdl: cannot check for races: "), "{stderr}");
        assert!(lines[1].contains("9.0 or newer"), "{stderr}");
        assert_eq!(lines.len(), 2, "{stderr}");
    }
}

#[test]
fn a_wrong_request_is_exit_2_and_names_what_there_is() {
    for (arguments, says) in [
        (&["--backend", "sim"][..], "simulated kernels cannot race"),
        (&["--only", "raw"], "raw-1, raw-2"),
        (&["--only", "mutant"], "two-slots"),
        (&["--sleep-us", "500"], "500 is not between 0 and 200"),
        (&["--sleep-us", "-1"], "unexpected argument"),
        (&["--sleep-us=-1"], "-1 is not between 0 and 200"),
        (&["--repetitions", "0"], "0 is not in 1.."),
        (&["--format", "csv"], "possible values: table, json, markdown"),
        (&["--child", "nobody"], "no such group"),
    ] {
        let (code, _, stderr) = pdl(arguments);
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}

#[test]
fn the_child_says_why_it_has_no_device() {
    let (code, stdout, _) = pdl(&["--child", "correct"]);
    assert_eq!(code, 3);
    let line: serde_json::Value = serde_json::from_str(stdout.trim()).unwrap();
    assert_eq!(line["line"], "no-gpu");
    assert!(!line["reason"].as_str().unwrap().is_empty());
}
