//! The answer of a whole run in one line, to paste into a pull request.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::best::name;
use super::command::repeat_command;
use super::floor::Floor;
use super::groups;
use super::run::Run;
use crate::chain::{Arm, Chain, Mode, Submission};
use crate::coordinates::body_text;
use crate::device::Backend;
use crate::record::{Manifest, SummaryRow, Verdict};
use crate::units::{format_interval, plain, signed_us, speedup, us};

/// Up to this many groups are told one by one.
const TOLD_GROUPS: usize = 2;

/// One line, without control characters whatever the device is called.
pub(super) fn paste(run: &Run, rows: &[SummaryRow], answers: &[Answer], floor: &Floor) -> String {
    let manifest = run.manifest;
    let mut chains = groups::chains(manifest);
    let names = groups::group_names(manifest);
    // What pipelined chains seem to save is not the hop's; it is told where there is nothing else.
    let isolated = chains.values().any(|chain| chain.mode == Mode::Isolated);
    chains.retain(|_, chain| !isolated || chain.mode == Mode::Isolated);
    let answers: Vec<&Answer> =
        answers.iter().filter(|answer| chains.contains_key(&answer.group)).collect();
    let claims = match chains.len() {
        _ if answers.is_empty() => "no programmatic arm was measured".to_owned(),
        1 => each(&answers),
        2..=TOLD_GROUPS => {
            let told = |group: &u32| {
                let of: Vec<&Answer> =
                    answers.iter().copied().filter(|answer| answer.group == *group).collect();
                format!("{}: {}", names[group], each(&of))
            };
            chains.keys().map(told).collect::<Vec<_>>().join(". ")
        }
        _ => over_groups(&names, &answers, rows),
    };
    let line = format!("{}: {claims} ({})", head(manifest, &chains), provenance(manifest, floor));
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What was measured, as far as it is the same in every group.
fn head(manifest: &Manifest, chains: &BTreeMap<u32, &Chain>) -> String {
    let facts = &manifest.facts;
    let simulated =
        if facts.backend == Backend::Sim { "SIMULATED, no GPU was measured: " } else { "" };
    let mut text = format!("{simulated}PDL on {}", facts.name);
    if !facts.driver.is_empty() {
        text += &format!(" (driver {})", facts.driver);
    }
    let same = |told: &dyn Fn(&Chain) -> String| -> Option<String> {
        let mut texts = chains.values().map(|chain| told(chain));
        let first = texts.next()?;
        texts.all(|text| text == first).then_some(first)
    };
    let synthetic: [&dyn Fn(&Chain) -> String; 3] = [
        &|chain| format!("{} × {} threads", chain.shape.grid_blocks, chain.shape.block_threads),
        &|chain| format!("preamble {} {}", chain.preamble.kind, ns_text(chain.preamble.target_ns)),
        &|chain| format!("body {} {}", chain.body.kind, body_text(chain)),
    ];
    let mut parts = vec![same(&|chain| format!("{} nodes", chain.nodes))];
    match &manifest.kernel {
        Some(own) if own.unsafe_no_sync => {
            parts.push(Some(format!("{}, UNSAFE: kernels without a sync", own.name)));
        }
        Some(own) => parts.push(Some(own.name.clone())),
        None => parts.extend(synthetic.map(|told| same(told))),
    }
    parts.push(same(&|chain| match chain.mode {
        Mode::Isolated => String::new(),
        Mode::Pipelined => "PIPELINED chains, contaminated".to_owned(),
    }));
    for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
        text += &format!(", {part}");
    }
    text
}

fn ns_text(ns: f64) -> String {
    format!("{} µs", plain(ns / 1e3))
}

/// Every answer of one group.
fn each(answers: &[&Answer]) -> String {
    let mut answers = answers.to_vec();
    answers.sort_by_key(|answer| answer.submission == Submission::Stream);
    answers.iter().map(|answer| claim(answer)).collect::<Vec<_>>().join("; ")
}

fn claim(answer: &Answer) -> String {
    let arm = answer.arm;
    let list = |triggers: &[crate::chain::Trigger]| {
        triggers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let mut text = match (&answer.plateau, answer.verdict) {
        (Some(plateau), _) => {
            let choice = &plateau.recommended;
            let interval = choice
                .saved_interval_ns
                .map_or_else(String::new, |i| format!("95 % {}", format_interval(i.lo, i.hi)));
            let ratio = choice.speedup.map_or_else(String::new, speedup);
            let evidence = [interval, ratio].into_iter().filter(|text| !text.is_empty());
            let evidence = evidence.collect::<Vec<_>>().join(", ");
            format!(
                "{} saves {} a hop ({evidence})",
                name(arm, Some(choice.trigger)),
                us(choice.saved_ns)
            )
        }
        (None, Verdict::Hurts) => return format!("{arm} hurts at every trigger"),
        (None, Verdict::Equivalent) => format!("{arm} makes no difference"),
        (None, Verdict::Wrong) => return format!("{arm} computes WRONG results"),
        (None, Verdict::Skipped) => return format!("{arm} cannot run here"),
        (None, _) => format!("{arm}: no verdict at this precision"),
    };
    if !answer.hurting.is_empty() {
        text += &format!(" but hurts at: {}", list(&answer.hurting));
    }
    if !answer.wrong.is_empty() {
        text += &format!(", WRONG results at: {}", list(&answer.wrong));
    }
    text
}

/// Many groups: in how many it helps, where most, and what the worst trigger costs.
fn over_groups(names: &BTreeMap<u32, String>, answers: &[&Answer], rows: &[SummaryRow]) -> String {
    let mut parts = Vec::new();
    for arm in [Arm::GraphPdl, Arm::StreamPdl] {
        let of: Vec<&&Answer> = answers.iter().filter(|answer| answer.arm == arm).collect();
        if of.is_empty() {
            continue;
        }
        let choices = of.iter().filter_map(|a| Some((a.group, &a.plateau.as_ref()?.recommended)));
        let count = choices.clone().count();
        let mut text = format!("{arm} helps in {count} of {} groups", of.len());
        if let Some((group, choice)) = choices.max_by(|a, b| a.1.saved_ns.total_cmp(&b.1.saved_ns))
        {
            text += &format!(
                ", most in {}: {} at {} a hop",
                names[&group],
                choice.trigger,
                signed_us(choice.saved_ns)
            );
        }
        let hurt = of.iter().filter(|answer| !answer.hurting.is_empty()).count();
        if hurt > 0 {
            let worst = rows.iter().filter(|row| row.arm == arm && row.mode == Mode::Isolated);
            let worst = worst.filter(|row| row.verdict == Some(Verdict::Hurts));
            let worst = worst.filter_map(|row| row.saved_ns).reduce(f64::min);
            let worst =
                worst.map_or_else(String::new, |ns| format!(", at worst {} a hop", signed_us(ns)));
            text += &format!(", some trigger hurts in {hurt}{worst}");
        }
        if of.iter().any(|answer| !answer.wrong.is_empty()) {
            text += ", WRONG results somewhere";
        }
        parts.push(text);
    }
    parts.join("; ")
}

/// How it was measured, so that a reader can judge and repeat it.
fn provenance(manifest: &Manifest, floor: &Floor) -> String {
    let floor = floor.floor_ns.map_or_else(
        || "no A/A floor".to_owned(),
        |floor| format!("A/A floor {} a hop", us(floor)),
    );
    let revision = match manifest.revision.as_str() {
        "" => String::new(),
        revision => format!(" {revision}"),
    };
    format!("{floor}; pdl {}{revision}: {}", manifest.version, repeat_command(manifest))
}
