//! On what, with what and when it was measured, and how work and timer were calibrated.

use serde::Serialize;

use super::words::{cuda, known};
use crate::analysis::repeat_command;
use crate::cells::Cells;
use crate::coordinates::body_text;
use crate::device::{Backend, Facts, Health};
use crate::record::{End, KernelVariant, Run};
use crate::units::{ABSENT, bytes, or_absent, plain, us};

/// The fingerprint of a run.
#[derive(Serialize)]
pub(super) struct View {
    fingerprint: Vec<Panel>,
    timer: Vec<(&'static str, String)>,
    /// What was asked for and what it came to, by group.
    work: Cells,
    /// The command without the place that it wrote to.
    repeat: String,
}

/// Facts under a title.
#[derive(Serialize)]
struct Panel {
    title: &'static str,
    facts: Vec<(&'static str, String)>,
}

/// How the run ended.
#[derive(Serialize)]
pub(super) struct Ended {
    /// In words, for the head of the page.
    text: String,
    /// Whether it ran to its end.
    whole: bool,
}

pub(super) fn ended(run: &Run) -> Ended {
    match &run.end {
        Some(end) if end.reason == End::DONE => {
            Ended { text: format!("took {} s", plain(end.wall_s)), whole: true }
        }
        Some(end) => Ended { text: format!("cut short: {}", end.reason), whole: false },
        None => Ended { text: "killed, or still running".to_owned(), whole: false },
    }
}

pub(super) fn view(run: &Run) -> View {
    let facts = &run.manifest.facts;
    let skew = facts.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    View {
        fingerprint: vec![device(facts), software(run), state(run), identity(run)],
        timer: vec![
            ("step of the global timer", format!("{} ns", facts.timer_step_ns)),
            ("largest offset between SMs", skew),
            ("launches behind a closed gate", facts.queue_depth.to_string()),
        ],
        work: work(run),
        repeat: repeat_command(&run.manifest),
    }
}

fn device(facts: &Facts) -> Panel {
    let (major, minor) = facts.capability;
    let mhz = facts.sm_mhz_max.map_or("unknown".to_owned(), |mhz| format!("{mhz} MHz"));
    Panel {
        title: "Device",
        facts: vec![
            ("name", facts.label()),
            ("UUID", or_none(&facts.uuid)),
            ("compute capability", format!("{major}.{minor}")),
            ("SMs", facts.sm_count.to_string()),
            ("L2", bytes(facts.l2_bytes)),
            ("memory", bytes(facts.memory_bytes)),
            ("shared memory an SM", bytes(facts.sm_shared_bytes.into())),
            ("highest SM clock", mhz),
            ("ECC", known(facts.ecc).to_owned()),
            ("MIG", known(facts.mig).to_owned()),
            ("MPS", known(facts.mps).to_owned()),
        ],
    }
}

fn software(run: &Run) -> Panel {
    let (manifest, facts) = (&run.manifest, &run.manifest.facts);
    Panel {
        title: "Software",
        facts: vec![
            ("driver", or_none(&facts.driver)),
            ("CUDA of the driver", cuda(facts.driver_cuda)),
            ("CUDA runtime (toolkit)", cuda(facts.runtime_cuda)),
            ("pdl", manifest.version.clone()),
            ("git revision", or_none(&manifest.revision)),
            ("schema of the files", manifest.schema.clone()),
        ],
    }
}

/// Clocks and temperature at both ends.
fn state(run: &Run) -> Panel {
    let begin = &run.manifest.health;
    let end = run.end.as_ref();
    let locked = match run.manifest.facts.clocks_locked {
        _ if run.manifest.facts.backend == Backend::Sim => "simulated",
        Some(true) => "a lock was seen",
        Some(false) => "no lock was seen",
        None => "not known whether locked",
    };
    let both = |of: &dyn Fn(&Health) -> Option<String>| {
        let text = |health: Option<&Health>| health.and_then(of).unwrap_or(ABSENT.to_owned());
        format!("{} → {}", text(Some(begin)), text(end.map(|end| &end.health)))
    };
    let seen = end.and_then(|end| end.sm_mhz_min.zip(end.sm_mhz_max));
    let throttle = end.map_or(&begin.throttle, |end| &end.throttle);
    Panel {
        title: "State, begin → end",
        facts: vec![
            ("clocks", locked.to_owned()),
            ("SM clock", both(&|health| Some(format!("{} MHz", health.sm_mhz?)))),
            (
                "SM clock over the rounds",
                seen.map_or(ABSENT.to_owned(), |(lowest, highest)| {
                    format!("{lowest} to {highest} MHz")
                }),
            ),
            ("memory clock", both(&|health| Some(format!("{} MHz", health.memory_mhz?)))),
            ("temperature", both(&|health| Some(format!("{} °C", health.temperature_c?)))),
            ("power", both(&|health| Some(format!("{:.0} W", health.power_w?)))),
            ("throttle reasons", or_none(&throttle.join(", "))),
            ("other processes", both(&|health| health.other_processes.map(|n| n.to_string()))),
        ],
    }
}

fn identity(run: &Run) -> Panel {
    let manifest = &run.manifest;
    let ended = run.end.as_ref().map_or(ABSENT.to_owned(), |end| end.ended.clone());
    Panel {
        title: "Run",
        facts: vec![
            ("began (UTC)", manifest.started.clone()),
            ("ended (UTC)", ended),
            ("why it stopped", run.end.as_ref().map_or(ABSENT.to_owned(), |e| e.reason.clone())),
            ("seed", manifest.seed.to_string()),
            ("points of the plan", manifest.plan.points.len().to_string()),
            ("samples", run.samples.len().to_string()),
        ],
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

/// Fixed work: what was asked for, what stamps measured over full dependencies, and how many units
/// of work that is.
fn work(run: &Run) -> Cells {
    if let Some(own) = &run.manifest.kernel {
        let row = |(name, variant): (String, &KernelVariant)| vec![name, variant.nodes_text()];
        let named = own.variants.iter().map(|variant| (variant.axes_text(), variant));
        return Cells::new(&["axes", "blocks × threads"], named.map(row).collect(), &[]);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut told = Vec::new();
    for record in &run.points {
        if told.contains(&record.group) || record.skipped.is_some() {
            continue;
        }
        told.push(record.group);
        let (body, preamble) = (record.chain.body, record.chain.preamble);
        let ns = |ns: f64| format!("{} µs", plain(ns / 1e3));
        rows.push(vec![
            record.group.to_string(),
            body.kind.to_string(),
            body_text(&record.chain),
            or_absent(record.body_ns, us),
            body.units.to_string(),
            preamble.kind.to_string(),
            ns(preamble.target_ns),
            or_absent(record.preamble_ns, us),
            preamble.units.to_string(),
        ]);
    }
    let header = [
        "group",
        "body",
        "asked for",
        "measured",
        "units",
        "preamble",
        "asked for",
        "measured",
        "units",
    ];
    Cells::new(&header, rows, &[2, 3, 4, 6, 7, 8])
}
