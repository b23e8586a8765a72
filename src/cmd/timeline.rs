//! `pdl timeline`: the median chain of each arm by its stamps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};
use jiff::Timestamp;

use super::device::{self, Without};
use super::terminal::{self, note};
use crate::chain::{Arm, Chain, Target, Trigger};
use crate::cli::{FindingsFormat, LaneChoice, TimelineArgs};
use crate::device::{Backend, Device, Facts, Prepared, range};
use crate::error::{Error, Kind, Result};
use crate::measure::calibrate;
use crate::plot::{self, Context, Lanes, SM_LANES_BLOCKS, SM_LANES_NODES};
use crate::record::{directory, write_atomically};
use crate::timeline::{StampCost, Track, placement, stamps_csv, trace_json};
use crate::units::{or_absent, signed_percent, us, us_number};
use crate::{experiment, interrupt, stats};

/// Stamps that change a chain by more than this are warned about.
const COST_MOST: f64 = 0.03;

/// Measures, writes chart, trace and stamps, prints the table.
///
/// # Errors
/// A chain that no arm can run or stamp, wrong results, a timer too coarse, or a disk that fails.
pub fn timeline(args: &TimelineArgs) -> Result<()> {
    let without = Without { gate: args.no_gate, conditioning: false, deadline_s: None };
    let opened = device::open(args.backend, args.seed, without, &args.simulated)?;
    if let Some(text) = &opened.note {
        note(format_args!("note: {text}"));
    }
    let device = opened.device.as_ref();
    let chain = chain(args, device)?;
    check_lanes(args, &chain)?;
    // A folder that cannot be had is refused before anything is measured.
    let folder = directory(args.out.as_deref(), "timeline", Timestamp::now())?;
    let measured = tracks(args, device, &chain);
    if measured.is_err() {
        // Succeeds where they are empty: nothing of others is taken away.
        let parent = folder.parent().filter(|_| args.out.is_none());
        for empty in std::iter::once(folder.as_path()).chain(parent) {
            let _ = std::fs::remove_dir(empty);
        }
    }
    let (chain, tracks) = measured?;
    write_files(args, device.facts(), &chain, &tracks, &folder)?;
    terminal::print(&render(args, device.facts(), &chain, &tracks)?)?;
    for track in tracks.iter().filter(|track| track.cost.ratio().abs() > COST_MOST) {
        note(format_args!(
            "warning: stamping changes {} by {}: its phases are not those of the timed chain",
            track.arm,
            signed_percent(track.cost.ratio())
        ));
    }
    note(folder.display());
    Ok(())
}

/// The calibrated chain, and every arm of it.
fn tracks(args: &TimelineArgs, device: &dyn Device, chain: &Chain) -> Result<(Chain, Vec<Track>)> {
    let chain = calibrate(device, chain)?.chain;
    let mut tracks = Vec::new();
    for &arm in &args.axes().arms {
        let _range = range(device, &format!("timeline {arm}"));
        tracks.push(track(args, device, &chain, arm)?);
    }
    check_timer(device.facts(), &tracks)?;
    Ok((chain, tracks))
}

fn chain(args: &TimelineArgs, device: &dyn Device) -> Result<Chain> {
    let chains = experiment::chains(&args.axes(), device)?;
    let chain = chains.first().expect("axes of one value make one chain");
    Ok(chain.with_trigger(args.trigger))
}

fn check_lanes(args: &TimelineArgs, chain: &Chain) -> Result<()> {
    let blocks = chain.nodes as usize * chain.shape.grid_blocks as usize;
    if args.lanes == LaneChoice::Node {
        return Ok(());
    }
    let cause = if chain.nodes > SM_LANES_NODES {
        format!("the chain has {} nodes, more than {SM_LANES_NODES}", chain.nodes)
    } else if blocks > SM_LANES_BLOCKS {
        format!("the chain has {blocks} blocks, more than {SM_LANES_BLOCKS}")
    } else {
        return Ok(());
    };
    Err(Error::usage("draw lanes of SMs", cause).remedy("use --lanes node, or a shorter chain"))
}

/// One arm: verified, timed without stamps before and after, and stamped in between.
fn track(args: &TimelineArgs, device: &dyn Device, chain: &Chain, arm: Arm) -> Result<Track> {
    let at = |error: Error| error.at(&arm.to_string());
    let mut prepared = device.prepare(chain, arm).map_err(at)?;
    let verification = prepared.verify().map_err(at)?;
    if verification.mismatches > 0 {
        let cause = format!(
            "{arm} computed {} of {} values wrong",
            verification.mismatches, verification.checked
        );
        return Err(Error::new(Kind::Wrong, "draw the timeline", cause)
            .remedy("pdl check looks for the race"));
    }
    let half = args.repetitions.div_ceil(2);
    let mut samples = unstamped(prepared.as_mut(), half, arm)?;
    let stamps = prepared.stamps(args.repetitions).map_err(at)?;
    let stamps = stamps.filter(|stamps| !stamps.blocks.is_empty()).ok_or_else(|| {
        Error::failed(format!("stamp {arm}"), no_stamps(device.facts(), chain, arm))
            .remedy("use another arm, or fewer nodes or blocks")
    })?;
    samples.extend(unstamped(prepared.as_mut(), half, arm)?);
    let unstamped_ns = stats::median(&samples).ok_or_else(|| {
        Error::failed(format!("time {arm}"), "every sample without stamps was spoiled")
    })?;
    let cost = StampCost { unstamped_ns, stamped_ns: stamps.duration_ns, samples: samples.len() };
    let trigger = if arm.sweeps_trigger() { Some(args.trigger) } else { arm.fixed_trigger() };
    Ok(Track { arm, trigger, stamps, cost })
}

fn unstamped(prepared: &mut dyn Prepared, count: u32, arm: Arm) -> Result<Vec<f64>> {
    let mut samples = Vec::new();
    for _ in 0..count {
        interrupt::check("draw the timeline")?;
        let sample = prepared.sample().map_err(|error| error.at(&arm.to_string()))?;
        if !sample.flags.iter().any(|flag| flag.excludes()) {
            samples.push(sample.duration_ns);
        }
    }
    Ok(samples)
}

/// Why an arm came back without stamps.
fn no_stamps(facts: &Facts, chain: &Chain, arm: Arm) -> String {
    match arm {
        Arm::Persistent | Arm::Sentinel => "its kernel has no stamped instance".into(),
        _ => format!(
            "{} nodes × {} blocks are more than the stamp buffer or, for streams, the queue of {} \
             launches holds",
            chain.nodes, chain.shape.grid_blocks, facts.queue_depth
        ),
    }
}

/// A timer whose step is about a node tells nothing about its phases.
fn check_timer(facts: &Facts, tracks: &[Track]) -> Result<()> {
    let step = facts.timer_step_ns as f64;
    for track in tracks {
        let period = track.cost.unstamped_ns / f64::from(track.stamps.nodes().max(1));
        if step * 2.0 > period {
            let cause = format!(
                "the device's timer steps by {} and a node of {} takes {}",
                us(step),
                track.arm,
                us(period)
            );
            return Err(Error::failed("draw the timeline", cause)
                .remedy("use a longer --body-us or --preamble-us"));
        }
    }
    Ok(())
}

fn write_files(
    args: &TimelineArgs,
    facts: &Facts,
    chain: &Chain,
    tracks: &[Track],
    folder: &Path,
) -> Result<()> {
    let write = |name: &str, text: String| {
        let path: PathBuf = folder.join(name);
        write_atomically(&path, text.as_bytes())
    };
    let driver = if facts.driver.is_empty() { "none" } else { &facts.driver };
    let revision = match env!("PDL_REVISION") {
        "" => "unknown",
        revision => revision,
    };
    let version = env!("CARGO_PKG_VERSION");
    let caption = format!("{}, driver {driver}, pdl {version} revision {revision}", facts.label());
    let simulated = facts.backend == Backend::Sim;
    let context = Context { caption, simulated, ..Context::default() };
    let lanes = match args.lanes {
        LaneChoice::Node => Lanes::Node,
        LaneChoice::Sm => Lanes::Sm,
    };
    let subtitle = format!("{}. {}.", work(chain), timer(facts));
    let svg = plot::timeline(tracks, facts.sm_count, lanes, &subtitle, &context);
    write("timeline.svg", svg)?;
    write("trace.json", trace_json(tracks, &format!("{}, {}", facts.label(), work(chain))))?;
    write("stamps.csv", stamps_csv(tracks))?;
    write("timeline.json", json(facts, chain, tracks)?)
}

/// What every node does.
fn work(chain: &Chain) -> String {
    let body = match chain.body.target {
        Target::Ns(ns) => us(ns),
        Target::Bytes(bytes) => format!("{bytes} B"),
    };
    format!(
        "{} nodes of {} blocks × {} threads, preamble {} {}, body {} {body}, L2 {}",
        chain.nodes,
        chain.shape.grid_blocks,
        chain.shape.block_threads,
        chain.preamble.kind,
        us(chain.preamble.target_ns),
        chain.body.kind,
        chain.l2,
    )
}

fn timer(facts: &Facts) -> String {
    let skew = facts.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    format!("Timer step {} ns, offsets between SMs up to {skew}", facts.timer_step_ns)
}

fn json(facts: &Facts, chain: &Chain, tracks: &[Track]) -> Result<String> {
    let arms: Vec<_> = tracks
        .iter()
        .map(|track| {
            serde_json::json!({
                "arm": track.arm,
                "trigger": track.trigger,
                "stamps": track.stamps.reduce(),
                "cost": track.cost,
                "cost_ratio": track.cost.ratio(),
                "placement": placement(&track.stamps, facts.sm_count),
            })
        })
        .collect();
    let document = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "revision": env!("PDL_REVISION"),
        "facts": facts,
        "chain": chain,
        "arms": arms,
    });
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed("write the timeline as JSON", error))
}

fn render(args: &TimelineArgs, facts: &Facts, chain: &Chain, tracks: &[Track]) -> Result<String> {
    let markdown = args.format == FindingsFormat::Markdown;
    if args.format == FindingsFormat::Json {
        return json(facts, chain, tracks);
    }
    let mut text = format!("{}: {}\n{}\n\n", facts.label(), work(chain), timer(facts));
    let mut table = Table::new();
    table.load_style(if markdown { ASCII_MARKDOWN } else { NOTHING });
    table.set_header([
        "arm",
        "trigger",
        "µs/node",
        "launch gap",
        "hop latency",
        "preamble",
        "useful",
        "parked",
        "body",
        "blocks/SM max",
        "SMs",
        "stamping",
    ]);
    for track in tracks {
        table.add_row(cells(track, facts));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    text += "\nµs, medians over hops of the stamped run of median duration; launch gap below zero: \
             overlap; useful: preamble under\nthe primary; stamping: the stamped chain against the \
             median without stamps\n";
    Ok(text)
}

fn cells(track: &Track, facts: &Facts) -> [String; 12] {
    let reduced = track.stamps.reduce();
    let nodes = f64::from(track.stamps.nodes().max(1));
    let placed = placement(&track.stamps, facts.sm_count);
    [
        track.arm.to_string(),
        track.trigger.map_or("–".to_owned(), |trigger: Trigger| trigger.to_string()),
        us_number(track.cost.unstamped_ns / nodes),
        or_absent(reduced.launch_gap_ns, us_number),
        or_absent(reduced.hop_latency_ns, us_number),
        or_absent(reduced.preamble_ns, us_number),
        or_absent(reduced.useful_ns, us_number),
        or_absent(reduced.parked_ns, us_number),
        or_absent(reduced.body_ns, us_number),
        placed.most_blocks.to_string(),
        or_absent(reduced.sms_used, |sms| format!("{sms:.0}")),
        signed_percent(track.cost.ratio()),
    ]
}
