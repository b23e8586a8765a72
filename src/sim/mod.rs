//! A simulated device behind the device seam, for machines without a GPU.
//!
//! Times come from one of two models over the constants of a [`Profile`]: [`Model::Events`] runs
//! every block of every node on every SM, [`Model::Closed`] is a closed form of one hop. Values
//! come from an execution of the recurrence. It is for trying the harness, for testing it and for
//! predicting; its numbers are no evidence about any device, and every output that carries them
//! says SIMULATED.
//!
//! Not modelled: L1 carve-outs, clocks and throttling, L2 contents kept between nodes.

mod contention;
mod covered;
mod demand;
mod events;
mod execute;
pub mod fit;
mod fixed;
mod forecast;
mod hop;
mod instruments;
mod limit;
mod load;
mod model;
mod noise;
mod predict;
mod prepared;
mod recorded;
mod stamping;
#[cfg(test)]
mod tests;
pub mod validation;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

pub use events::Outcome;
use execute::{Fault, Values};
use fixed::{sm_ghz, stream_bytes};
pub use forecast::forecast;
pub use limit::{HopTimes, Limit, hop_times, limit};
use load::Load;
use noise::Noise;
pub use predict::{predict, simulate};
use prepared::Simulated;

use crate::chain::{Arm, Chain};
use crate::device::{Backend, Device, Facts, Health, Instruments, Prepared, Simulation};
use crate::error::Result;
pub use crate::profile::Model;
use crate::profile::{BUILT_IN, Origin, Profile};

/// The simulated device. Its clock is its own: it advances by what is run on it.
#[derive(Debug)]
pub struct SimDevice {
    profile: Rc<Profile>,
    model: Model,
    facts: Facts,
    seed: u64,
    now_ns: Cell<f64>,
    noise: RefCell<Noise>,
    fault: Option<Fault>,
    kept: RefCell<Option<Rc<Values>>>,
}

impl SimDevice {
    /// A device with the constants of the built-in profile and the noise of `seed`.
    pub fn h200(seed: u64) -> SimDevice {
        SimDevice::new(BUILT_IN.clone(), Model::default(), seed)
    }

    /// The same with the times of the closed form: for what needs a device and not its times.
    pub fn quick(seed: u64) -> SimDevice {
        SimDevice::new(BUILT_IN.clone(), Model::Closed, seed)
    }

    /// A device with the constants of `profile`, the times of `model` and the noise of `seed`.
    pub fn new(profile: Profile, model: Model, seed: u64) -> SimDevice {
        SimDevice {
            facts: facts(&profile, model),
            now_ns: Cell::new(0.0),
            noise: RefCell::new(Noise::new(seed, &profile.noise)),
            fault: None,
            kept: RefCell::new(None),
            profile: Rc::new(profile),
            model,
            seed,
        }
    }

    /// The same device, on which `block` of node `node` writes a wrong value in every chain: for
    /// tests of what has to happen then. All that depends on the value is wrong too.
    pub fn with_fault(mut self, node: u32, block: u32) -> SimDevice {
        self.fault = Some((node, block));
        self
    }

    /// The constants it was given.
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn advance(&self, ns: f64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    fn values(&self, chain: &Chain) -> Rc<Values> {
        let words = stream_bytes(&self.profile) / 4;
        let values = Values::of(chain, words, self.fault, self.kept.take());
        self.kept.replace(Some(values.clone()));
        values
    }
}

impl Device for SimDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.get() as u64)
    }

    /// A constant: the simulated clock never moves, and nothing else is simulated.
    fn health(&self) -> Health {
        Health { sm_mhz: self.facts.sm_mhz_max, other_processes: Some(0), ..Health::default() }
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        chain.validate()?;
        let load = Load::of(&self.profile, chain, arm)?;
        self.advance(self.profile.host.prepare_node_ns.value * f64::from(chain.nodes));
        Ok(Box::new(Simulated::new(self, *chain, arm, load)))
    }

    fn instruments(&self) -> Option<&dyn Instruments> {
        Some(self)
    }
}

fn facts(profile: &Profile, model: Model) -> Facts {
    let device = &profile.device;
    let name = match profile.origin {
        Origin::Measured | Origin::Simulated => device.product.clone(),
        Origin::Datasheet => format!("{} (from a data sheet)", device.product),
    };
    Facts {
        backend: Backend::Sim,
        name,
        uuid: String::new(),
        sm_count: device.sm_count,
        capability: device.capability,
        l2_bytes: device.l2_bytes,
        memory_bytes: device.memory_bytes,
        sm_threads: device.sm_threads,
        sm_blocks: device.sm_blocks,
        sm_registers: device.sm_registers,
        sm_shared_bytes: device.sm_shared_bytes,
        block_shared_bytes: device.block_shared_bytes,
        driver: String::new(),
        driver_cuda: 0,
        runtime_cuda: 0,
        ecc: None,
        mig: Some(false),
        mps: Some(false),
        sm_mhz_max: Some((sm_ghz(profile) * 1e3).round() as u32),
        clocks_locked: Some(false),
        timer_step_ns: profile.instruments.timer_step_ns.value.max(1.0) as u64,
        timer_skew_ns: Some(0),
        queue_depth: profile.instruments.queue_depth.value as u32,
        no_gate: None,
        simulation: Some(Simulation {
            profile: profile.name.clone(),
            origin: profile.origin,
            model,
        }),
    }
}
