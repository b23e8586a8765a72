//! A device whose one arm does more than its record says, and runs kept in memory.

use std::time::Duration;

use pdl_lab::chain::{Arm, BodyKind, Chain, L2, Mode, PreambleKind, Target, Trigger, TriggerBy};
use pdl_lab::device::{Device, Facts, Health, Prepared};
use pdl_lab::error::Result;
use pdl_lab::experiment::{self, Axes, Grid};
use pdl_lab::measure::{Kept, Plan, Stopping, measure_group};
use pdl_lab::record::Run;

/// The device with the bodies of one arm longer by a ratio: as a change of its code would make
/// them, which no definition and no record shows.
pub struct Longer<'d> {
    pub inner: &'d dyn Device,
    pub arm: Arm,
    pub ratio: f64,
}

impl Device for Longer<'_> {
    fn facts(&self) -> &Facts {
        self.inner.facts()
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn health(&self) -> Health {
        self.inner.health()
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        let mut chain = *chain;
        if arm == self.arm {
            // Multiply-adds come in steps of 32 a thread.
            let units = (chain.body.units as f64 * self.ratio).ceil() as u64;
            chain.body.units = units.next_multiple_of(32);
        }
        self.inner.prepare(&chain, arm)
    }
}

/// A few triggers of the default sweep, graphs and streams.
pub fn plan(device: &dyn Device, body: BodyKind) -> Plan {
    let at = |at| Trigger::Segment { at, of: 8 };
    let axes = Axes {
        triggers: vec![at(0), at(3), at(6), at(8), Trigger::Implicit],
        arms: vec![Arm::GraphPdl, Arm::StreamPdl],
        nodes: vec![50],
        grids: vec![Grid::PerSm],
        block_threads: vec![128],
        shared_kib: vec![0],
        cluster_blocks: vec![1],
        preamble_kinds: vec![PreambleKind::Alu],
        preamble_us: vec![2.0],
        body_kinds: vec![body],
        bodies: vec![Target::Ns(4000.0)],
        trigger_by: vec![TriggerBy::Thread],
        l2: vec![L2::Hot],
        modes: vec![Mode::Isolated],
    };
    experiment::plan(&axes, 1, Stopping::default(), device).unwrap()
}

/// Measures a plan under a seed.
pub fn measured(device: &dyn Device, plan: &Plan, seed: u64) -> Run {
    let plan = Plan { seed, ..plan.clone() };
    let mut kept = Kept::default();
    for points in plan.groups() {
        measure_group(device, &plan, points, None, &mut kept).unwrap();
    }
    let manifest = plan.manifest("sweep", device.facts(), &device.health());
    let Kept { points, samples } = kept;
    Run { manifest, points, samples, end: None, notes: Vec::new() }
}
