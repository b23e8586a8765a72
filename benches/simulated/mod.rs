//! The default sweep on the simulated device, with as many rounds as make a run of any size: what
//! benches of our own code read.

#![allow(dead_code)] // Each bench uses its part.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use pdl_lab::chain::{BodyKind, L2, Mode, PreambleKind, Target, Trigger, TriggerBy};
use pdl_lab::device::Device;
use pdl_lab::error::Result;
use pdl_lab::experiment::{self, Axes, Grid, default_arms};
use pdl_lab::measure::{Kept, Stopping, measure_group};
use pdl_lab::record::{Manifest, Run, RunDir};
use pdl_lab::sim::SimDevice;

/// A run directory that has a manifest and no sample.
pub fn begin(path: &Path, manifest: &Manifest) -> Result<RunDir> {
    let mut dir = RunDir::create(Some(path), "sweep", Timestamp::UNIX_EPOCH)?;
    dir.write_manifest(manifest)?;
    Ok(dir)
}

/// Writes a whole run as a sweep does.
pub fn write(path: &Path, run: &Run) -> Result<()> {
    RunDir::create(Some(path), "sweep", Timestamp::UNIX_EPOCH)?.write_run(run)
}

/// Those of the default sweep, whatever `PDL_*` variables say: one name, one amount of work.
fn axes() -> Axes {
    Axes {
        triggers: Trigger::defaults(),
        arms: default_arms(),
        nodes: vec![50],
        grids: vec![Grid::PerSm],
        block_threads: vec![128],
        shared_kib: vec![0],
        cluster_blocks: vec![1],
        preamble_kinds: vec![PreambleKind::Alu],
        preamble_us: vec![2.0],
        body_kinds: vec![BodyKind::Fma, BodyKind::Hbm],
        bodies: vec![Target::Ns(4000.0)],
        trigger_by: vec![TriggerBy::Thread],
        l2: vec![L2::Hot],
        modes: vec![Mode::Isolated],
    }
}

/// The default sweep on the simulated device, with as many rounds as make `rows` samples.
pub fn simulated(rows: usize, seed: u64) -> Result<Run> {
    let device = SimDevice::quick(seed);
    let mut plan = experiment::plan(&axes(), seed, Stopping::default(), &device)?;
    let entries: usize = plan.points.iter().map(|point| point.arms.len()).sum();
    plan.stopping.rounds_min = rows.div_ceil(entries) as u32;
    plan.stopping.rounds_max = plan.stopping.rounds_min;
    plan.stopping.group_budget = Duration::from_secs(3600);
    let mut kept = Kept::default();
    for points in plan.groups() {
        measure_group(&device, &plan, points, None, &mut kept)?;
    }
    kept.samples.truncate(rows);
    let manifest = Manifest {
        started: Timestamp::UNIX_EPOCH.to_string(),
        ..plan.manifest("sweep", device.facts(), &device.health())
    };
    let Kept { points, samples } = kept;
    Ok(Run { manifest, points, samples, end: None, notes: Vec::new() })
}
