//! `pdl conform` at the command line, without a GPU: what it refuses, and how it says so.

use assert_cmd::Command;

fn pdl(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("pdl").unwrap();
    // Hides the GPU where there is one.
    command.env("CUDA_VISIBLE_DEVICES", "").arg("conform").args(arguments);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn without_a_gpu_it_is_exit_3_with_cause_and_remedy() {
    for arguments in [&[][..], &["--quick"], &["--format", "json", "--backend", "gpu"]] {
        let (code, stdout, stderr) = pdl(arguments);
        assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        assert!(lines[0].starts_with("pdl: cannot test conformance: "), "{stderr}");
        assert!(lines[1].contains("9.0 or newer"), "{stderr}");
        assert_eq!(lines.len(), 2, "{stderr}");
    }
}

#[test]
fn a_wrong_request_is_exit_2_and_names_what_there_is() {
    for (arguments, says) in [
        (&["--backend", "sim"][..], "keeps the rules by construction"),
        (&["--only", "sync"], "sync-at-completion, runs-ahead"),
        (&["--only", "runs-ahead,"], "there is no such rule"),
        (&["--format", "csv"], "possible values: table, json, markdown"),
        (&["--seed", "-1"], "unexpected argument"),
    ] {
        let (code, stdout, stderr) = pdl(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}
