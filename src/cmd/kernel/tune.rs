//! A race of the sites of a chain file, and of the kinds of edges at the best one.

use std::path::Path;
use std::rc::Rc;

use jiff::Timestamp;

use super::super::{save_attributed, sweep, terminal, tune as race};
use super::chain::Ready;
use super::timeline;
use crate::attach::{Effect, Options, Report};
use crate::chain::{Arm, Submission, Trigger};
use crate::cli::KernelArgs;
use crate::error::Result;
use crate::gpu::{Gpu, RaceSubject, UserChains};
use crate::measure::{Plan, Stopping};
use crate::record::{RunDir, Verdict};
use crate::stats::Interval;

/// Rounds of every comparison of edges, and seconds that all of them may take.
const EDGE_ROUNDS: u32 = 20;
const EDGE_BUDGET_S: f64 = 10.0;

/// Races, writes the run directory, prints what won.
///
/// # Errors
/// A fault, an interruption, wrong results, or a disk that fails.
pub fn tune(
    args: &KernelArgs,
    ready: &Ready,
    mut plan: Plan,
    gpu: &Rc<Gpu>,
    device: &UserChains,
) -> Result<()> {
    let format = timeline::format(args)?;
    plan.stopping = Stopping::race(args.quick);
    race::without_controls(&mut plan, &[]);
    let own = ready.record(args);
    let mut run = RunDir::create(args.out.as_deref(), race::TUNE, Timestamp::now())?;
    let mut manifest = sweep::manifest(race::TUNE, device, &plan);
    manifest.kernel = Some(own.clone());
    run.write_manifest(&manifest)?;
    let (path, raced) = race::race_into(run, device, &plan, &|_, _| None)?;
    let mut findings = race::Findings::new(device, &plan, &raced, Some(&own));
    for (variant, found) in findings.races.iter_mut().enumerate() {
        if ready.build.variants[variant].nodes.len() < 2 {
            continue;
        }
        let graph = |lane: &&race::Lane| lane.arm == Arm::GraphPdl && lane.saved_ns > Some(0.0);
        let recommended = found.recommended.iter().find(graph);
        let Some(best) = recommended.or_else(|| found.lanes.iter().find(graph)) else { continue };
        let trigger = best.trigger.unwrap_or(Trigger::Implicit);
        terminal::note(format_args!("edges at {trigger} in a {}", Submission::Graph.name()));
        found.edges = edges(args, gpu, device, (variant, trigger), &path)?;
    }
    race::finish(&path, &findings, format)
}

fn edges(
    args: &KernelArgs,
    gpu: &Rc<Gpu>,
    device: &UserChains,
    (variant, trigger): (usize, Trigger),
    path: &Path,
) -> Result<Vec<race::EdgeLane>> {
    let options = Options {
        seed: args.seed,
        rounds: EDGE_ROUNDS,
        budget_s: EDGE_BUDGET_S,
        // The edges were checked before anything was timed, or the user left it out.
        race_check: false,
        unsafe_no_sync: args.unsafe_no_sync,
        refine: false,
        ..Options::default()
    };
    let subject = RaceSubject { variant, trigger, without_sync: None };
    let (report, attributed) = device.edges(gpu, &subject, &options)?;
    save_attributed(&attributed, &path.join(format!("edges-{variant}")))?;
    Ok(lanes(&report))
}

/// One a kind that was timed; a single kind is the race itself.
fn lanes(report: &Report) -> Vec<race::EdgeLane> {
    let rows = report.kinds.iter().filter_map(|row| {
        let kind = report.listing.kinds.get(row.kind as usize)?;
        let effect: Option<&Effect> = row.in_chosen.as_ref().or(row.alone.as_ref());
        let ends = effect.and_then(|effect| effect.saved_lo_ns.zip(effect.saved_hi_ns));
        Some(race::EdgeLane {
            primary: kind.primary.clone(),
            secondary: kind.secondary.clone(),
            edges: row.edges.len(),
            saved_ns: effect.and_then(|effect| effect.saved_ns),
            saved_interval_ns: ends.map(|(lo, hi)| Interval { lo, hi }),
            verdict: effect.map_or(Verdict::Skipped, |effect| effect.verdict),
            chosen: row.chosen,
        })
    });
    let rows: Vec<race::EdgeLane> = rows.collect();
    if rows.len() < 2 { Vec::new() } else { rows }
}
