//! `pdl inspect`: sync, trigger and global accesses in machine code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal;
use crate::cli::{FindingsFormat, InspectArgs};
use crate::error::{Error, Kind, Result};
use crate::inspect::*;
use crate::units::ABSENT;

/// Kernel names in tables are cut to this many characters.
const NAME_CHARS: usize = 60;

/// Inspects and prints; findings that were denied are exit code 4.
///
/// # Errors
/// The file cannot be inspected, or something in it was denied.
pub fn inspect(args: &InspectArgs) -> Result<()> {
    let options = Options {
        filter: args.filter.as_deref().map(Filter::new).unwrap_or_default(),
        targets: args.target.clone(),
        full: args.full,
        ..Options::default()
    };
    let bar = progress_bar();
    let reports = inspect_watched(&args.file, &options, &|progress| match progress {
        Progress::Unpacking => {
            bar.set_message("unpacking");
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress::Disassembling { done, of } => {
            bar.set_message("disassembling");
            bar.set_length(of.max(1));
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    let reports = reports?;
    terminal::print(&render(&reports, args)?)?;
    refuse(&reports, args)
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  left: {eta}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}

/// An error of exit code 4 when a finding is denied.
fn refuse(reports: &[KernelReport], args: &InspectArgs) -> Result<()> {
    let findings = reports.iter().flat_map(|r| r.findings.iter().map(move |finding| (r, finding)));
    let denied: Vec<_> =
        findings.filter(|(_, finding)| args.deny.iter().any(|deny| deny.covers(finding))).collect();
    let Some((report, finding)) = denied.first() else { return Ok(()) };
    let name = short_name(&report.kernel);
    let cause = format!(
        "{} denied findings; the first: {name} for {}: {}",
        denied.len(),
        report.target,
        finding.message
    );
    Err(Error::new(Kind::Wrong, format!("accept {}", args.file.display()), cause))
}

fn render(reports: &[KernelReport], args: &InspectArgs) -> Result<String> {
    let rows = rows(reports);
    Ok(match args.format {
        FindingsFormat::Table => {
            let mut text = table(&rows, false);
            if args.sites {
                text += &sites(reports);
            }
            text + &summary(reports, &rows)
        }
        FindingsFormat::Markdown => table(&rows, true) + "\n" + &summary(reports, &rows),
        FindingsFormat::Json => {
            let document = serde_json::json!({
                "file": args.file.to_string_lossy(),
                "kernels": reports,
                "findings": counts(reports),
            });
            serde_json::to_string_pretty(&document)
                .map_err(|error| Error::failed("write the reports as JSON", error))?
                + "\n"
        }
    })
}

/// Targets of one kernel of which the same is found, in one line.
struct Row<'a> {
    reports: Vec<&'a KernelReport>,
}

/// A line for each kernel and each set of findings. PTX shares the line of machine code that it
/// agrees with as far as it can be read.
fn rows(reports: &[KernelReport]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut from = 0;
    for report in reports {
        if rows.last().is_some_and(|row| row.reports[0].kernel != report.kernel) {
            from = rows.len();
        }
        match rows[from..].iter_mut().find(|row| agree(row.reports[0], report)) {
            Some(row) => row.reports.push(report),
            None => rows.push(Row { reports: vec![report] }),
        }
    }
    rows
}

fn agree(shown: &KernelReport, other: &KernelReport) -> bool {
    let codes = |report: &KernelReport, seen: bool| {
        let findings = report.findings.iter().filter(move |finding| seen || in_ptx(finding.code));
        findings.map(|finding| (finding.code, finding.severity)).collect::<Vec<_>>()
    };
    let machine = other.code == Code::Machine;
    codes(shown, machine) == codes(other, machine)
        && (!machine || cells(&[shown])[2..6] == cells(&[other])[2..6])
}

/// Whether PTX shows it: no order of instructions is final there.
fn in_ptx(code: FindingCode) -> bool {
    matches!(code, FindingCode::NoSync | FindingCode::NoTrigger | FindingCode::BelowSm90)
}

const HEADER: [&str; 11] = [
    "kernel",
    "target",
    "sync",
    "trigger",
    "loads",
    "stores",
    "exits",
    "nc after",
    "regs",
    "shared/local B",
    "findings",
];

/// Everything but name and target. Loads, stores and exits are those before the sync.
fn cells(reports: &[&KernelReport]) -> [String; 9] {
    let first = reports[0];
    let flow = first.flow.as_ref();
    let of = |sites: fn(&Flow) -> &Sites| {
        flow.map_or_else(|| ABSENT.to_owned(), |flow| sites(flow).count.to_string())
    };
    let loads = flow.filter(|flow| flow.nc_loads_before.count > 0);
    let loads = loads.map_or_else(
        || of(|f| &f.loads_before),
        |flow| format!("{} ({} nc)", flow.loads_before.count, flow.nc_loads_before.count),
    );
    let codes: Vec<String> = first
        .findings
        .iter()
        .map(|finding| match finding.severity {
            Severity::Unsafe => format!("{}!", finding.code),
            Severity::Warning => finding.code.to_string(),
            Severity::Info => format!("({})", finding.code),
        })
        .collect();
    let machine: Vec<&&KernelReport> =
        reports.iter().filter(|report| report.code == Code::Machine).collect();
    let range = |field: fn(&KernelReport) -> Option<u32>| {
        let values = machine.iter().filter_map(|report| field(report));
        match (values.clone().min(), values.max()) {
            (Some(low), Some(high)) if low == high => low.to_string(),
            (Some(low), Some(high)) => format!("{low}..{high}"),
            _ => ABSENT.to_owned(),
        }
    };
    [
        place(first.code, &first.syncs),
        place(first.code, &first.triggers),
        loads,
        of(|f| &f.stores_before),
        of(|f| &f.exits_before),
        of(|f| &f.nc_loads_after),
        range(|report| report.registers),
        format!("{}/{}", range(|r| r.shared_bytes), range(|r| r.local_bytes)),
        if codes.is_empty() { "none".to_owned() } else { codes.join(" ") },
    ]
}

/// How many, and where the first is in the first target's code.
fn place(code: Code, sites: &Sites) -> String {
    let Some(site) = sites.first.first() else { return "none".to_owned() };
    let at = match code {
        Code::Machine => hex(site.offset),
        Code::Ptx => format!("line {}", site.offset),
    };
    if sites.count == 1 { at } else { format!("{}, {at}", sites.count) }
}

fn table(rows: &[Row<'_>], markdown: bool) -> String {
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header(HEADER);
    let mut before = "";
    for row in rows {
        let kernel = &row.reports[0].kernel;
        let repeated = kernel == before && !markdown;
        before = kernel;
        let name = if repeated { String::new() } else { cut(&short_name(kernel)) };
        let name = if markdown { format!("`{}`", name.replace('|', "\\|")) } else { name };
        let mut line = vec![name, targets(row)];
        line.extend(cells(&row.reports));
        table.add_row(line);
    }
    for column in table.column_iter_mut().skip(2).take(8) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

/// `sm_90 100 120 compute_90`: what is the same is not said again.
fn targets(row: &Row<'_>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut text = String::new();
    let mut before = "";
    for target in row.reports.iter().map(|report| report.target.as_str()) {
        if seen.contains(&target) {
            continue;
        }
        seen.push(target);
        let (kind, number) = target.split_once('_').unwrap_or(("", target));
        let shown = if kind == before && !kind.is_empty() { number } else { target };
        before = kind;
        text = if text.is_empty() { shown.to_owned() } else { format!("{text} {shown}") };
    }
    text
}

/// The middle of a long name is left out: templates differ at their end.
fn cut(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= NAME_CHARS {
        return name.to_owned();
    }
    let head = NAME_CHARS / 2;
    let tail = characters.len() - (NAME_CHARS - head - 1);
    characters[..head].iter().chain(['…'].iter()).chain(&characters[tail..]).collect()
}

/// Every place behind a finding, a line each.
fn sites(reports: &[KernelReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let Some(flow) = &report.flow else { continue };
        let kinds: [(&str, &Sites); 8] = [
            ("sync", &report.syncs),
            ("trigger", &report.triggers),
            ("store before the sync", &flow.stores_before),
            ("load before the sync", &flow.loads_before),
            ("exit before the sync", &flow.exits_before),
            ("call before the sync", &flow.calls_before),
            ("trigger before the sync", &flow.triggers_before),
            ("non-coherent load after the sync", &flow.nc_loads_after),
        ];
        let _ = writeln!(text, "\n{} for {}", report.demangled, report.target);
        for (what, sites) in kinds {
            for site in &sites.first {
                let _ = writeln!(text, "  {} {what:<32} {}", hex(site.offset), site.text);
            }
            if sites.count > sites.first.len() {
                let _ = writeln!(text, "         {what}: {} more", sites.count - sites.first.len());
            }
        }
    }
    text
}

/// How often each code was found, by severity.
fn counts(reports: &[KernelReport]) -> BTreeMap<&'static str, BTreeMap<&'static str, usize>> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for finding in reports.iter().flat_map(|report| &report.findings) {
        let of_severity = counts.entry(finding.severity.name()).or_default();
        *of_severity.entry(finding.code.name()).or_default() += 1;
    }
    counts
}

fn summary(reports: &[KernelReport], rows: &[Row<'_>]) -> String {
    let kernels = rows
        .iter()
        .zip(rows.iter().skip(1))
        .filter(|(a, b)| a.reports[0].kernel != b.reports[0].kernel)
        .count()
        + 1;
    let mut text = format!("\nkernels: {kernels}, with their targets {}\n", reports.len());
    let counts = counts(reports);
    for severity in Severity::ALL.into_iter().rev() {
        let Some(of_severity) = counts.get(severity.name()) else { continue };
        for code in FindingCode::ALL {
            if let Some(count) = of_severity.get(code.name()) {
                let _ = writeln!(text, "{severity:<8} {count:>6}  {code}: {}", code.meaning());
            }
        }
    }
    text += "loads, stores, exits: what a thread can execute before the sync on some path, other \
             warps' syncs aside;\n!: unsafe, (): for information\n";
    text
}
