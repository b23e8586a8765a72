//! What the machine code of a kernel means for programmatic launches.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Code, KernelReport};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Right only under conditions that the machine code does not show.
    Warning,
    /// A programmatic launch of this kernel would race.
    Unsafe,
}

impl Severity {
    /// All, in order.
    pub const ALL: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Unsafe];

    /// As flags and tables spell it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Unsafe => "unsafe",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// No sync on any path.
    NoSync,
    /// Built for an architecture that has neither sync nor trigger.
    BelowSm90,
    /// The trigger can execute before the kernel's own sync.
    TriggerBeforeSync,
    /// A non-coherent load can execute after the sync.
    NcLoadAfterSync,
    /// A global load can execute before the sync.
    LoadBeforeSync,
    /// A global store can execute before the sync.
    StoreBeforeSync,
    /// A thread can exit without having met the sync.
    ExitBeforeSync,
    /// A call before the sync leads to code that is not in the file or is chosen at run time.
    CallBeforeSync,
    /// No trigger: secondaries start when blocks exit.
    NoTrigger,
    /// The disassembler refused the code.
    NotRead,
}

impl FindingCode {
    /// All, most serious first.
    pub const ALL: [FindingCode; 10] = [
        FindingCode::NoSync,
        FindingCode::BelowSm90,
        FindingCode::NotRead,
        FindingCode::StoreBeforeSync,
        FindingCode::LoadBeforeSync,
        FindingCode::CallBeforeSync,
        FindingCode::ExitBeforeSync,
        FindingCode::NcLoadAfterSync,
        FindingCode::TriggerBeforeSync,
        FindingCode::NoTrigger,
    ];

    /// As flags and tables spell it.
    pub fn name(self) -> &'static str {
        match self {
            FindingCode::NoSync => "no-sync",
            FindingCode::BelowSm90 => "below-sm90",
            FindingCode::TriggerBeforeSync => "trigger-before-sync",
            FindingCode::NcLoadAfterSync => "nc-load-after-sync",
            FindingCode::LoadBeforeSync => "load-before-sync",
            FindingCode::StoreBeforeSync => "store-before-sync",
            FindingCode::ExitBeforeSync => "exit-before-sync",
            FindingCode::CallBeforeSync => "call-before-sync",
            FindingCode::NoTrigger => "no-trigger",
            FindingCode::NotRead => "not-read",
        }
    }

    /// What it means, one clause.
    pub fn meaning(self) -> &'static str {
        match self {
            FindingCode::NoSync => "attribute would be unsafe: no sync",
            FindingCode::BelowSm90 => "built below sm_90",
            FindingCode::TriggerBeforeSync => {
                "trigger before own sync: no preamble down the chain may read what this kernel's \
                 primary writes"
            }
            FindingCode::NcLoadAfterSync => {
                "non-coherent load after the sync: must not read what the primary writes"
            }
            FindingCode::LoadBeforeSync => {
                "global load before the sync on some path: must not read what a kernel in flight \
                 writes"
            }
            FindingCode::StoreBeforeSync => {
                "global store before the sync on some path: must not write what a kernel in flight \
                 uses"
            }
            FindingCode::ExitBeforeSync => {
                "early return before the sync on some path: a block may end before its primary"
            }
            FindingCode::CallBeforeSync => "call before the sync to code that was not followed",
            FindingCode::NoTrigger => "no trigger: secondaries start when its blocks exit",
            FindingCode::NotRead => "the machine code could not be disassembled",
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One finding about one kernel and target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub code: FindingCode,
    /// How much it matters here.
    pub severity: Severity,
    /// One clause for people.
    pub message: String,
}

/// What `--deny` names: a severity with all above it, or one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deny {
    /// Findings at least this serious.
    Severity(Severity),
    /// Findings of this code.
    Code(FindingCode),
}

impl Deny {
    /// Whether the finding is denied.
    pub fn covers(self, finding: &Finding) -> bool {
        match self {
            Deny::Severity(severity) => finding.severity >= severity,
            Deny::Code(code) => finding.code == code,
        }
    }
}

impl FromStr for Deny {
    type Err = String;

    fn from_str(text: &str) -> Result<Deny, String> {
        let text = text.trim();
        let severity = Severity::ALL.into_iter().find(|severity| severity.name() == text);
        let code = FindingCode::ALL.into_iter().find(|code| code.name() == text);
        severity.map(Deny::Severity).or(code.map(Deny::Code)).ok_or_else(|| {
            let severities = Severity::ALL.map(Severity::name);
            let codes = FindingCode::ALL.map(FindingCode::name);
            format!("'{text}' is none of {}, {}", severities.join(", "), codes.join(", "))
        })
    }
}

/// The findings about one kernel and target, most serious first. `newer` tells whether the file
/// holds code of the same kernel for sm_90 or above.
pub(super) fn judge(report: &KernelReport, newer: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push = |code: FindingCode, severity: Severity, message: String| {
        findings.push(Finding { code, severity, message });
    };
    if report.arch < super::OLDEST_ARCH {
        let severity = match (newer, report.code) {
            (true, _) => Severity::Info,
            // PTX is what a newer GPU would run, without any sync in it.
            (false, Code::Ptx) => Severity::Unsafe,
            (false, Code::Machine) => Severity::Warning,
        };
        push(FindingCode::BelowSm90, severity, FindingCode::BelowSm90.meaning().into());
        return findings;
    }
    if let Some(reason) = &report.unread {
        let message = format!("{}: {reason}", FindingCode::NotRead.meaning());
        push(FindingCode::NotRead, Severity::Warning, message);
    }
    if !report.syncs_somewhere() {
        // What is called but not in the file, or chosen at run time, may hold the sync.
        let calls = report.flow.as_ref().is_some_and(|flow| flow.calls_before.count > 0);
        let (severity, more) = match (calls, report.syncs.count) {
            (true, _) => (Severity::Warning, " but perhaps in code that it calls"),
            (false, 0) => (Severity::Unsafe, ""),
            (false, _) => (Severity::Unsafe, " is reached from its entry"),
        };
        push(FindingCode::NoSync, severity, format!("{}{more}", FindingCode::NoSync.meaning()));
    } else if let Some(flow) = &report.flow {
        for (code, sites, severity) in [
            (FindingCode::StoreBeforeSync, &flow.stores_before, Severity::Warning),
            (FindingCode::LoadBeforeSync, &flow.loads_before, Severity::Warning),
            (FindingCode::CallBeforeSync, &flow.calls_before, Severity::Warning),
            (FindingCode::ExitBeforeSync, &flow.exits_before, Severity::Warning),
            (FindingCode::NcLoadAfterSync, &flow.nc_loads_after, Severity::Warning),
            (FindingCode::TriggerBeforeSync, &flow.triggers_before, Severity::Warning),
        ] {
            if let Some(first) = sites.first.first() {
                let message = format!(
                    "{}: {} at {} of {}",
                    code.meaning(),
                    first.text,
                    super::hex(first.offset),
                    sites.count
                );
                push(code, severity, message);
            }
        }
    }
    if report.triggers.count == 0 {
        push(FindingCode::NoTrigger, Severity::Info, FindingCode::NoTrigger.meaning().into());
    }
    findings
}
