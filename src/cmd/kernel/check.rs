//! The checks that come before anything of a chain is timed.

use std::rc::Rc;

use super::super::terminal;
use super::chain::Ready;
use crate::attach::{Options, RaceVerdict};
use crate::chain::Chain;
use crate::cli::{Format, KernelArgs};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, RaceSubject, UserChains};
use crate::interrupt;
use crate::kernel::{Checked, CheckedDelay, CheckedEdge, EdgeRace, distinct_syncs};
use crate::measure::Plan;

/// Checks every set of axis values, tells what was found, and ends with the first race, unless
/// unsafe kernels are wanted.
pub fn check(
    args: &KernelArgs,
    ready: &Ready,
    plan: &Plan,
    gpu: &Rc<Gpu>,
    device: &UserChains,
) -> Result<Checked> {
    let mut checked = Checked::default();
    // Pipelined groups come behind the isolated ones and are of the same edges.
    let variants = ready.build.variants.len();
    for (variant, points) in plan.groups().iter().enumerate().take(variants) {
        let chains: Vec<Chain> = points
            .iter()
            .filter_map(|point| point.trigger.map(|trigger| point.chain.with_trigger(trigger)))
            .collect();
        variant_into(&mut checked, args, ready, gpu, device, variant, &chains)?;
        // A race in the first set needs no second one.
        let fault = checked.fault().filter(|_| !args.check && !args.unsafe_no_sync);
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    if args.check {
        return tell(args, &checked).map(|()| checked);
    }
    checked.notes().iter().for_each(terminal::note);
    terminal::note(checked.summary());
    Ok(checked)
}

/// Prints all findings; the first race is the error that it ends with.
pub fn tell(args: &KernelArgs, checked: &Checked) -> Result<()> {
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(checked)
                .map_err(|error| Error::failed("write the checks as JSON", error))?;
            terminal::print(&(text + "\n"))?;
        }
        _ => terminal::print(&checked.table())?,
    }
    checked.notes().iter().for_each(terminal::note);
    checked.fault().map_or(Ok(()), Err)
}

fn variant_into(
    checked: &mut Checked,
    args: &KernelArgs,
    ready: &Ready,
    gpu: &Rc<Gpu>,
    device: &UserChains,
    variant: usize,
    chains: &[Chain],
) -> Result<()> {
    let options = Options { seed: args.seed, ..Options::default() };
    let axes = &ready.build.variants[variant].axes;
    for &trigger in &distinct_syncs(&ready.triggers) {
        interrupt::check("check edges for races")?;
        let subject = RaceSubject { variant, trigger, without_sync: None };
        let found = device.races(gpu, &subject, &options)?;
        let removed = removed(gpu, device, &subject, &found, &options)?;
        for (found, without) in found.into_iter().zip(removed) {
            let (axes, trigger) = (axes.clone(), Some(trigger));
            let without_sync = without.map(|edge| edge.race);
            checked.edges.push(CheckedEdge { axes, trigger, found, without_sync });
        }
    }
    for chain in chains {
        interrupt::check("check the chain with delays")?;
        let found = device.delayed(chain)?;
        let all = found.into_iter().map(|found| CheckedDelay { axes: axes.clone(), found });
        checked.delayed.extend(all);
    }
    Ok(())
}

/// For each edge that is clean, what is found once its secondary has no sync.
fn removed(
    gpu: &Rc<Gpu>,
    device: &UserChains,
    subject: &RaceSubject,
    found: &[EdgeRace],
    options: &Options,
) -> Result<Vec<Option<EdgeRace>>> {
    let mut known: Vec<EdgeRace> = Vec::new();
    for edge in found {
        let node = edge.node;
        if edge.race.verdict != RaceVerdict::Clean
            || known.iter().any(|known| known.node == node)
            || !device.may_lose_sync(subject.variant, subject.trigger, node)
        {
            continue;
        }
        let bare = RaceSubject { without_sync: Some(node), ..*subject };
        known.extend(device.races_into(gpu, &bare, Some(node), options)?);
    }
    let clean = |edge: &&EdgeRace| edge.race.verdict == RaceVerdict::Clean;
    let same = |a: &EdgeRace, b: &EdgeRace| (a.node, a.submission) == (b.node, b.submission);
    let find = |edge: &EdgeRace| {
        let edge = Some(edge).filter(clean)?;
        known.iter().find(|other| same(edge, other)).cloned()
    };
    Ok(found.iter().map(find).collect())
}
