//! The archive of this crate's kernels, as it was linked.

use super::*;

fn reports(options: &Options) -> Vec<KernelReport> {
    inspect(Path::new(env!("PDL_SHIM_ARCHIVE")), options).unwrap()
}

fn has(report: &KernelReport, code: FindingCode) -> bool {
    report.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn every_kernel_is_found_for_every_target_and_says_what_its_family_is() {
    let reports = reports(&Options::default());
    for target in ["sm_90", "sm_100", "sm_120", "compute_90"] {
        for family in ["pdl::chain<", "pdl::native<", "pdl::flags<", "pdl::persistent<"] {
            let found = reports
                .iter()
                .filter(|r| r.target == target && r.demangled.contains(family))
                .inspect(|r| family_rules(family, r))
                .count();
            assert!(found >= 3, "{target} {family}: {found}");
        }
    }
}

fn family_rules(family: &str, report: &KernelReport) {
    let name = format!("{} {}", report.target, report.demangled);
    let chain = family == "pdl::chain<";
    assert_eq!(has(report, FindingCode::NoSync), !chain, "{name}");
    assert_eq!(report.ptx_targets, ["compute_90"], "{name}");
    if !chain {
        return;
    }
    assert_eq!(report.syncs.count, 1, "{name}");
    // The template argument is the number in cuda/shim.h: 1 is implicit, 2 at entry.
    let implicit = report.demangled.contains("(pdl_trigger)1");
    let at_entry = report.demangled.contains("(pdl_trigger)2");
    assert_eq!(has(report, FindingCode::NoTrigger), implicit, "{name}");
    let Some(flow) = &report.flow else {
        assert_eq!(report.code, Code::Ptx, "{name}");
        return;
    };
    assert_eq!(has(report, FindingCode::TriggerBeforeSync), at_entry, "{name}");
    for code in [
        FindingCode::StoreBeforeSync,
        FindingCode::ExitBeforeSync,
        FindingCode::CallBeforeSync,
        FindingCode::NcLoadAfterSync,
        FindingCode::NotRead,
    ] {
        assert!(!has(report, code), "{name}: {code}");
    }
    // The preamble that fetches to shared memory, and nothing else.
    let loads: Vec<_> = flow.loads_before.first.iter().map(|site| &site.text).collect();
    assert!(loads.iter().all(|text| text.starts_with("LDGSTS")), "{name}: {loads:?}");
    assert!(flow.loads > 0 && flow.stores > 0, "{name}");
    assert!(report.registers.unwrap() >= 8, "{name}");
    assert_eq!(report.local_bytes, Some(0), "{name}");
}

#[test]
fn the_filter_and_the_targets_choose() {
    let filter = Filter::new(r"native<\(pdl_body\)0");
    let options =
        Options { filter, targets: vec!["sm_100".into()], full: true, ..Options::default() };
    let mut chosen = reports(&options);
    chosen.retain(|report| report.code == Code::Machine);
    assert!(!chosen.is_empty());
    for report in chosen {
        assert_eq!(report.target, "sm_100");
        assert!(report.demangled.contains("native<(pdl_body)0"));
        let flow = report.flow.unwrap();
        assert!(flow.loads > 0 && flow.stores > 0 && !flow.sync_reached);
    }
    let nothing = Options { filter: Filter::new("no such kernel"), ..Options::default() };
    let path = Path::new(env!("PDL_SHIM_ARCHIVE"));
    let cause = inspect(path, &nothing).unwrap_err().cause().to_owned();
    assert_eq!(cause, "no kernel in it matches the filter");
}

/// The disassembler's own resource listing of a cubin is the oracle for what the ELF says.
#[test]
fn resources_are_those_that_cuobjdump_lists() {
    let tools = Tools::find().unwrap();
    let archive = std::ffi::OsStr::new(env!("PDL_SHIM_ARCHIVE"));
    let output = tools.cuobjdump(Path::new("."), &["-res-usage".as_ref(), archive]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut listed: Vec<(u32, String, String)> = Vec::new();
    let (mut arch, mut kernel) = (0, String::new());
    for line in text.lines().map(str::trim) {
        if let Some(found) = line.strip_prefix("arch = sm_") {
            arch = found.parse().unwrap();
        } else if let Some(name) = line.strip_prefix("Function ") {
            kernel = name.trim_end_matches(':').to_owned();
        } else if line.starts_with("REG:") {
            let resources: Vec<&str> = line.split(' ').take(3).collect();
            listed.push((arch, kernel.clone(), resources.join(" ")));
        }
    }
    let mut found: Vec<(u32, String, String)> = reports(&Options::default())
        .into_iter()
        .filter(|report| report.code == Code::Machine)
        .map(|r| {
            let (registers, local) = (r.registers.unwrap(), r.local_bytes.unwrap());
            let shared = r.shared_bytes.unwrap();
            (r.arch, r.kernel, format!("REG:{registers} STACK:{local} SHARED:{shared}"))
        })
        .collect();
    listed.sort();
    found.sort();
    assert!(!listed.is_empty());
    assert_eq!(found, listed);
}
