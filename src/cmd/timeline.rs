//! `pdl timeline`: the median chain of each arm by its stamps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};
use jiff::Timestamp;

use super::device::{self, Without};
use super::terminal::{self, note};
use crate::analysis::from_to;
use crate::chain::{Arm, Chain, Target, Trigger};
use crate::cli::{FindingsFormat, LaneChoice, TimelineArgs};
use crate::device::{Backend, Device, Facts, Prepared, range};
use crate::error::{Error, Kind, Result};
use crate::measure::calibrate;
use crate::plot::{self, Context, Lanes, SM_LANES_BLOCKS, SM_LANES_NODES};
use crate::record::{directory, write_atomically};
use crate::timeline::{StampCost, Track, named_phases, placement, stamps_csv, trace_json};
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
    let shown = Shown {
        facts: device.facts(),
        work: work(&chain),
        chain: serde_json::json!(chain),
        tracks: &tracks,
        lanes: args.lanes,
        format: args.format,
    };
    shown.give(&folder)
}

/// Tracks, and what is said beside them.
pub(super) struct Shown<'a> {
    pub facts: &'a Facts,
    /// What every node does.
    pub work: String,
    /// The chain, for the JSON file.
    pub chain: serde_json::Value,
    pub tracks: &'a [Track],
    pub lanes: LaneChoice,
    pub format: FindingsFormat,
}

impl Shown<'_> {
    /// Writes the files, prints the table, and warns where stamps change what they show.
    pub fn give(&self, folder: &Path) -> Result<()> {
        write_files(self, folder)?;
        terminal::print(&render(self)?)?;
        warn(self.tracks);
        note(folder.display());
        Ok(())
    }
}

fn warn(tracks: &[Track]) {
    for track in tracks.iter().filter(|track| track.cost.ratio().abs() > COST_MOST) {
        note(format_args!(
            "warning: stamping changes {} by {}: its phases are not those of the timed chain",
            track.arm,
            signed_percent(track.cost.ratio())
        ));
    }
}

/// The calibrated chain, and every arm of it.
fn tracks(args: &TimelineArgs, device: &dyn Device, chain: &Chain) -> Result<(Chain, Vec<Track>)> {
    let chain = calibrate(device, chain)?.chain;
    let mut tracks = Vec::new();
    for &arm in &args.axes().arms {
        let _range = range(device, &format!("timeline {arm}"));
        let asked = Asked { arm, repetitions: args.repetitions, none: &no_stamps };
        tracks.push(track(device, &chain, &asked)?);
    }
    check_timer(device.facts(), &tracks, "use a longer --body-us or --preamble-us")?;
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

/// What is asked of one arm.
pub(super) struct Asked<'a> {
    pub arm: Arm,
    pub repetitions: u32,
    /// Why there may be no stamps.
    pub none: &'a dyn Fn(&Facts, &Chain, Arm) -> String,
}

/// One arm: verified, timed without stamps before and after, and stamped in between.
pub(super) fn track(device: &dyn Device, chain: &Chain, asked: &Asked) -> Result<Track> {
    let arm = asked.arm;
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
    let half = asked.repetitions.div_ceil(2);
    let mut samples = unstamped(prepared.as_mut(), half, arm)?;
    let stamps = prepared.stamps(asked.repetitions).map_err(at)?;
    let stamps = stamps.filter(|stamps| !stamps.blocks.is_empty()).ok_or_else(|| {
        Error::failed(format!("stamp {arm}"), (asked.none)(device.facts(), chain, arm))
            .remedy("use another arm, or fewer nodes or blocks")
    })?;
    samples.extend(unstamped(prepared.as_mut(), half, arm)?);
    let unstamped_ns = stats::median(&samples).ok_or_else(|| {
        Error::failed(format!("time {arm}"), "every sample without stamps was spoiled")
    })?;
    let cost = StampCost { unstamped_ns, stamped_ns: stamps.duration_ns, samples: samples.len() };
    let trigger = if arm.sweeps_trigger() { Some(chain.trigger) } else { arm.fixed_trigger() };
    Ok(Track { arm, trigger, stamps, cost, kernels: Vec::new() })
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
pub(super) fn check_timer(facts: &Facts, tracks: &[Track], remedy: &str) -> Result<()> {
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
            return Err(Error::failed("draw the timeline", cause).remedy(remedy));
        }
    }
    Ok(())
}

fn write_files(shown: &Shown, folder: &Path) -> Result<()> {
    let (facts, tracks) = (shown.facts, shown.tracks);
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
    let lanes = match shown.lanes {
        LaneChoice::Node => Lanes::Node,
        LaneChoice::Sm => Lanes::Sm,
    };
    let subtitle = format!("{}. {}.", shown.work, timer(facts));
    let svg = plot::timeline(tracks, facts.sm_count, lanes, &subtitle, &context);
    write("timeline.svg", svg)?;
    write("trace.json", trace_json(tracks, &format!("{}, {}", facts.label(), shown.work)))?;
    write("stamps.csv", stamps_csv(tracks))?;
    write("timeline.json", json(shown)?)
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

fn json(shown: &Shown) -> Result<String> {
    let facts = shown.facts;
    let arms: Vec<_> = shown
        .tracks
        .iter()
        .map(|track| {
            let mut arm = serde_json::json!({
                "arm": track.arm,
                "trigger": track.trigger,
                "stamps": track.stamps.reduce(),
                "cost": track.cost,
                "cost_ratio": track.cost.ratio(),
                "placement": placement(&track.stamps, facts.sm_count),
            });
            let named = named_phases(track);
            if !named.is_empty() {
                arm["named_phases"] = serde_json::json!(named);
            }
            arm
        })
        .collect();
    let document = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "revision": env!("PDL_REVISION"),
        "facts": facts,
        "chain": shown.chain,
        "arms": arms,
    });
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed("write the timeline as JSON", error))
}

fn render(shown: &Shown) -> Result<String> {
    let (facts, tracks) = (shown.facts, shown.tracks);
    let markdown = shown.format == FindingsFormat::Markdown;
    if shown.format == FindingsFormat::Json {
        return json(shown);
    }
    let mut text = format!("{}: {}\n{}\n\n", facts.label(), shown.work, timer(facts));
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
    text += &named_text(tracks);
    Ok(text)
}

/// What kernels name themselves, a line a kernel and arm.
fn named_text(tracks: &[Track]) -> String {
    let mut text = String::new();
    for track in tracks {
        let phases = named_phases(track);
        for kernel in phases.chunk_by(|a, b| a.kernel == b.kernel) {
            let each = kernel
                .iter()
                .map(|p| format!("{} {} from {}", p.name, us(p.duration_ns), us(p.after_begin_ns)));
            let each = each.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "{} {}: {each}", track.arm, kernel[0].kernel);
        }
    }
    if !text.is_empty() {
        text = format!(
            "\nphases that kernels name, from the block's begin, medians over blocks and nodes\n{text}"
        );
    }
    text
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
        or_absent(reduced.sms_used, |sms| from_to(reduced.sms_least, sms)),
        signed_percent(track.cost.ratio()),
    ]
}
