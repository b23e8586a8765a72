//! The timeline of a chain file: one set of axis values at one trigger.

use jiff::Timestamp;

use super::super::timeline::{Asked, Shown, check_timer, track};
use super::chain::Ready;
use crate::chain::{Arm, Chain};
use crate::cli::{FindingsFormat, Format, KernelArgs};
use crate::device::{Device, Facts};
use crate::error::{Error, Result};
use crate::measure::Plan;
use crate::record::directory;
use crate::timeline::Track;

/// Full edges for comparison, and both forms of programmatic ones.
const ARMS: [Arm; 3] = [Arm::GraphFull, Arm::GraphPdl, Arm::StreamPdl];
/// Stamped runs, of which that of the median duration is shown.
const REPETITIONS: u32 = 21;

/// How the table is printed.
///
/// # Errors
/// A form that a timeline has not.
pub fn format(args: &KernelArgs) -> Result<FindingsFormat> {
    match args.format {
        Format::Table => Ok(FindingsFormat::Table),
        Format::Json => Ok(FindingsFormat::Json),
        Format::Markdown => Ok(FindingsFormat::Markdown),
        Format::Csv | Format::Junit => {
            Err(Error::usage("print a timeline so", "there is no such form")
                .remedy("use --format table, json or markdown"))
        }
    }
}

/// Measures, writes chart, trace and stamps, prints the table.
///
/// # Errors
/// Wrong results, kernels without stamps, a timer too coarse, or a disk that fails.
pub fn timeline(args: &KernelArgs, ready: &Ready, plan: &Plan, device: &dyn Device) -> Result<()> {
    let format = format(args)?;
    let point = plan.points.iter().find(|point| point.trigger.is_some());
    let chain = point.map(|point| point.chain).ok_or_else(|| {
        Error::failed("draw the timeline", "the chain has no trigger to draw it at")
    })?;
    let record = ready.record(args);
    let variant = &record.variants[0];
    let axes = variant.axes_text();
    let axes = if axes.is_empty() { String::new() } else { format!("{axes}; ") };
    let work = format!("{}: {axes}{}", record.name, variant.nodes_text());
    let folder = directory(args.out.as_deref(), "timeline", Timestamp::now())?;
    let nodes = &ready.build.variants[0].nodes;
    let kernels: Vec<String> =
        nodes.iter().cycle().take(chain.nodes as usize).map(|node| node.kernel.clone()).collect();
    let mut tracks: Vec<Track> = Vec::new();
    for arm in ARMS {
        let asked = Asked { arm, repetitions: REPETITIONS, none: &no_stamps };
        tracks.push(Track { kernels: kernels.clone(), ..track(device, &chain, &asked)? });
    }
    check_timer(device.facts(), &tracks, "a timeline of so short a node shows nothing")?;
    let shown = Shown {
        facts: device.facts(),
        work,
        chain: serde_json::json!({ "trigger": chain.trigger, "kernels": variant, "l2": chain.l2 }),
        tracks: &tracks,
        lanes: args.lanes,
        format,
    };
    shown.give(&folder)
}

/// Why there are no stamps.
fn no_stamps(facts: &Facts, chain: &Chain, _: Arm) -> String {
    format!(
        "a kernel stored none: its first line must be PDL_STAMP(begin) and every block must reach \
         PDL_STAMP(end); or {} nodes are more than 256, or than the queue of {} launches holds",
        chain.nodes, facts.queue_depth
    )
}
