//! Control flow on small listings, and files from end to end.

#[cfg(feature = "cuda")]
mod archive;

use super::jobs::summarise;
use super::report::Flow;
use super::sass::Listing;
use super::*;

/// A listing of sections: lines that end in a colon are labels, others instructions.
fn listing(sections: &[(&str, &str)]) -> String {
    let mut text = String::from("\t.target\tsm_90\n");
    for (name, body) in sections {
        text += &format!("\t.section\t.text.{name},\"ax\",@progbits\n{name}:\n.text.{name}:\n");
        let mut offset = 0;
        for line in body.split('\n').map(str::trim).filter(|line| !line.is_empty()) {
            if line.ends_with(':') {
                text += &format!("{line}\n");
            } else {
                text += &format!("        /*{offset:04x}*/                   {line} ;\n");
                offset += 16;
            }
        }
    }
    text
}

fn flow_of(sections: &[(&str, &str)]) -> Flow {
    let text = listing(sections);
    summarise(&Listing::parse(&text), 0)
}

/// Offsets of loads, stores and exits before the sync, and of non-coherent loads after it.
fn places(flow: &Flow) -> [Vec<u64>; 4] {
    let of = |sites: &Sites| sites.first.iter().map(|site| site.offset).collect();
    [
        of(&flow.loads_before),
        of(&flow.stores_before),
        of(&flow.exits_before),
        of(&flow.nc_loads_after),
    ]
}

#[test]
fn straight_code_and_branches() {
    type Expected<'a> = [&'a [u64]; 4];
    let cases: [(&str, &str, Expected<'_>); 12] = [
        ("sync first", "ACQBULK\nLDG.E R0, [R2]\nSTG.E [R2], R0\nEXIT", [&[], &[], &[], &[]]),
        (
            "load and store above",
            "LDG.E R0, [R2]\nSTG.E [R4], R0\nACQBULK\nLDG.E.CONSTANT R0, [R2]\nEXIT",
            [&[0], &[16], &[], &[48]],
        ),
        (
            "early return of surplus threads",
            "@P0 EXIT\nACQBULK\nSTG.E [R2], R0\nEXIT",
            [&[], &[], &[0], &[]],
        ),
        (
            "sync in one warp only",
            "@P0 BRA `(.L_1)\nACQBULK\n.L_1:\nLDG.E R0, [R2]\nSTG.E [R2], R0\nEXIT",
            [&[32], &[48], &[64], &[]],
        ),
        ("predicated sync", "@!P1 ACQBULK\nLDG.E R0, [R2]\nEXIT", [&[16], &[], &[32], &[]]),
        ("sync under a true predicate", "@PT ACQBULK\nLDG.E R0, [R2]\nEXIT", [&[], &[], &[], &[]]),
        (
            "both sides of a branch sync",
            "@P0 BRA `(.L_1)\nACQBULK\nBRA `(.L_2)\n.L_1:\nACQBULK\n.L_2:\nLDG.E R0, [R2]\nEXIT",
            [&[], &[], &[], &[]],
        ),
        (
            "a preamble loop",
            ".L_1:\nLDG.E R0, [R2]\n@P0 BRA `(.L_1)\nACQBULK\nSTG.E [R2], R0\nEXIT",
            [&[0], &[], &[], &[]],
        ),
        // The hoisted load precedes the sync in the first iteration and follows it in the next.
        (
            "sync inside a loop",
            "@!P0 EXIT\n.L_1:\nLDG.E.CONSTANT R0, [R2]\nACQBULK\nSTG.E [R2], R0\n@P1 BRA `(.L_1)\nEXIT",
            [&[16], &[], &[0], &[16]],
        ),
        (
            "a branch with a predicate operand falls through",
            "BRA P0, `(.L_1)\nSTG.E [R2], R0\n.L_1:\nACQBULK\nEXIT",
            [&[], &[16], &[], &[]],
        ),
        (
            "what is switched off and what cannot be reached",
            "@!PT LDG.E R0, [R2]\nBRA `(.L_1)\nSTG.E [R2], R0\n.L_1:\nACQBULK\nEXIT\nSTG.E [R2], R0",
            [&[], &[], &[], &[]],
        ),
        (
            "a divergent branch falls through",
            "BRA.DIV UR4, `(.L_1)\nLDG.E R0, [R2]\nACQBULK\nEXIT\n.L_1:\nSTG.E [R2], R0\nACQBULK\nEXIT",
            [&[16], &[64], &[], &[]],
        ),
    ];
    for (what, body, expected) in cases {
        let flow = flow_of(&[("k", body)]);
        assert_eq!(places(&flow), expected.map(<[u64]>::to_vec), "{what}");
        assert!(flow.sync_reached, "{what}");
    }
}

#[test]
fn indirect_branches_lead_where_they_may() {
    let body = |annotation: &str| {
        format!(
            "BRX R2 -0x10 {annotation}\n.L_1:\nSTG.E [R2], R0\n.L_2:\nACQBULK\nEXIT\n.L_3:\n\
             LDG.E R0, [R2]\nEXIT"
        )
    };
    let annotated = body("(*\"BRANCH_TARGETS .L_1,.L_2\"*)");
    assert_eq!(places(&flow_of(&[("k", &annotated)])), [vec![], vec![16], vec![], vec![]]);
    // Without annotation, any label may be next.
    assert_eq!(places(&flow_of(&[("k", &body(""))])), [vec![64], vec![16], vec![80], vec![]]);
}

#[test]
fn calls_are_followed_in_the_state_of_their_caller() {
    let syncing = "ACQBULK\nRET.REL.NODEC R4 `(k)";
    let loading = "LDG.E R0, [R2]\nRET.REL.NODEC R4 `(k)";
    let looping = "@P0 CALL.REL.NOINC `(f)\n@P1 ACQBULK\nRET.REL.NODEC R4 `(k)";
    let kernel = "CALL.REL.NOINC `(f)\nSTG.E [R2], R0\nEXIT";
    let twice = "CALL.REL.NOINC `(f)\nACQBULK\nCALL.REL.NOINC `(f)\nSTG.E [R2], R0\nEXIT";
    for (what, kernel, function, stores, loads) in [
        ("the sync in the callee covers what follows the call", kernel, syncing, 0, 0),
        ("a load in the callee is before the sync", kernel, loading, 1, 1),
        ("each call returns in its own state", twice, loading, 0, 1),
        ("a callee that calls itself ends", kernel, looping, 1, 0),
    ] {
        let flow = flow_of(&[("k", kernel), ("f", function)]);
        assert_eq!((flow.stores_before.count, flow.loads_before.count), (stores, loads), "{what}");
        assert_eq!(flow.calls_before.count, 0, "{what}");
    }
    for call in ["CALL.ABS.NOINC `(elsewhere)", "CALL.ABS.NOINC R20"] {
        let flow = flow_of(&[("k", &format!("{call}\nACQBULK\n{call}\nEXIT"))]);
        assert_eq!(flow.calls_before.count, 1, "{call}");
    }
}

fn report(flow: Option<Flow>, syncs: &[u64], triggers: &[u64]) -> KernelReport {
    KernelReport {
        kernel: "k".into(),
        demangled: "k".into(),
        code: Code::Machine,
        target: "sm_90".into(),
        arch: 90,
        unit: String::new(),
        syncs: Sites::of(syncs, "ACQBULK"),
        triggers: Sites::of(triggers, "PREEXIT"),
        flow,
        registers: None,
        shared_bytes: None,
        local_bytes: None,
        ptx_targets: Vec::new(),
        unread: None,
        findings: Vec::new(),
    }
}

fn codes(report: &KernelReport, newer: bool) -> Vec<(&'static str, &'static str)> {
    let findings = finding::judge(report, newer);
    findings.iter().map(|f| (f.code.name(), f.severity.name())).collect()
}

#[test]
fn findings_follow_from_what_is_reached() {
    let flow = |body: &str| Some(flow_of(&[("k", body)]));
    let clean = report(flow("ACQBULK\nPREEXIT\nSTG.E [R2], R0\nEXIT"), &[0], &[16]);
    assert_eq!(codes(&clean, true), []);
    let early = report(flow("PREEXIT\nACQBULK\nEXIT"), &[16], &[0]);
    assert_eq!(codes(&early, true), [("trigger-before-sync", "warning")]);
    let without = report(None, &[], &[]);
    assert_eq!(codes(&without, true), [("no-sync", "unsafe"), ("no-trigger", "info")]);
    let unreached = report(flow("PREEXIT\nEXIT\nACQBULK\nEXIT"), &[32], &[0]);
    assert_eq!(codes(&unreached, true), [("no-sync", "unsafe")]);
    // A call that leaves the file may reach a sync: nothing is claimed.
    let calling = report(flow("PREEXIT\nCALL.ABS.NOINC `(elsewhere)\nEXIT"), &[], &[0]);
    assert_eq!(codes(&calling, true), [("no-sync", "warning")]);
    let refused = KernelReport { unread: Some("why".into()), ..report(None, &[0], &[16]) };
    assert_eq!(codes(&refused, true), [("not-read", "warning")]);
    for (code, newer, severity) in [
        (Code::Machine, true, "info"),
        (Code::Machine, false, "warning"),
        (Code::Ptx, true, "info"),
        (Code::Ptx, false, "unsafe"),
    ] {
        let old = KernelReport { arch: 80, code, ..report(None, &[], &[]) };
        assert_eq!(codes(&old, newer), [("below-sm90", severity)]);
    }
}

#[test]
fn a_severity_denies_all_above_it_and_a_code_itself() {
    let finding = |code, severity| Finding { code, severity, message: String::new() };
    let warning = finding(FindingCode::LoadBeforeSync, Severity::Warning);
    let unsafe_ = finding(FindingCode::NoSync, Severity::Unsafe);
    for (text, covers_warning, covers_unsafe) in [
        ("unsafe", false, true),
        ("warning", true, true),
        ("info", true, true),
        ("load-before-sync", true, false),
        (" no-sync", false, true),
    ] {
        let deny: Deny = text.parse().unwrap();
        assert_eq!((deny.covers(&warning), deny.covers(&unsafe_)), (covers_warning, covers_unsafe));
    }
    for text in ["", "all", "no_sync", "Unsafe"] {
        assert!(text.parse::<Deny>().is_err(), "{text}");
    }
}

#[test]
fn what_holds_no_device_code_is_refused_before_any_tool_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let cut_off = file("cut_off", &program[..program.len() / 2]);
    let archive = file(
        "cut_off.a",
        b"!<arch>\nmember.o/       0           0     0     644     999       `\n",
    );
    for (path, cause) in [
        (file("empty", b""), "it is empty"),
        (file("text", b"ld.global"), "it is text, not machine code"),
        (file("noise", &[0x87; 4096]), "it is neither an ELF, a fatbin nor an archive"),
        (file("no_members.a", b"!<arch>\n"), "it holds no device code"),
        (folder.path().to_owned(), "it is a directory"),
        (folder.path().join("absent"), "No such file"),
        (cut_off, "it is damaged or truncated"),
        (archive, "it is truncated"),
    ] {
        let error = inspect(&path, &Options::default()).unwrap_err();
        assert!(error.cause().starts_with(cause), "{}: {error}", path.display());
        assert!(error.to_string().starts_with(&format!("cannot inspect {}", path.display())));
        assert_eq!(error.kind(), crate::error::Kind::Failed);
    }
}
