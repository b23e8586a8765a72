//! A simulated H200 behind the device seam, for machines without a GPU.
//!
//! Times come from a closed form whose constants were fitted to one H200 ([`profile`]); values
//! come from an execution of the recurrence. It is for trying the harness and for testing it. Its
//! numbers are no evidence about any device, and every output that carries them says SIMULATED.
//!
//! Not modelled: block threads and shared memory beyond occupancy and issue, clusters beyond their
//! limit, placement by GPC, L1 carve-outs, clocks and throttling, L2 contents kept between nodes.

mod contention;
mod execute;
mod instruments;
mod load;
mod model;
mod noise;
mod prepared;
pub mod profile;
mod stamping;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use execute::{Fault, Values};
use load::Load;
use noise::Noise;
use prepared::Simulated;

use crate::chain::{Arm, Chain};
use crate::device::{Backend, Device, Facts, Health, Instruments, Prepared};
use crate::error::Result;

/// The simulated device. Its clock is its own: it advances by what is run on it.
#[derive(Debug)]
pub struct SimDevice {
    facts: Facts,
    now_ns: Cell<f64>,
    noise: RefCell<Noise>,
    fault: Option<Fault>,
    kept: RefCell<Option<Rc<Values>>>,
}

impl SimDevice {
    /// A device with the facts of an H200 and the noise of `seed`.
    pub fn h200(seed: u64) -> SimDevice {
        SimDevice {
            facts: facts(),
            now_ns: Cell::new(0.0),
            noise: RefCell::new(Noise::new(seed)),
            fault: None,
            kept: RefCell::new(None),
        }
    }

    /// The same device, on which `block` of node `node` writes a wrong value in every chain: for
    /// tests of what has to happen then. All that depends on the value is wrong too.
    pub fn with_fault(mut self, node: u32, block: u32) -> SimDevice {
        self.fault = Some((node, block));
        self
    }

    /// The constants it was given.
    fn profile(&self) -> &crate::profile::Profile {
        &crate::profile::BUILT_IN
    }

    fn advance(&self, ns: f64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    fn values(&self, chain: &Chain) -> Rc<Values> {
        let words = profile::STREAM_BYTES / 4;
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
        let load = Load::of(chain, arm)?;
        self.advance(profile::PREPARE_NODE_NS * f64::from(chain.nodes));
        Ok(Box::new(Simulated::new(self, *chain, arm, load)))
    }

    fn instruments(&self) -> Option<&dyn Instruments> {
        Some(self)
    }
}

fn facts() -> Facts {
    Facts {
        backend: Backend::Sim,
        name: "NVIDIA H200".to_owned(),
        uuid: String::new(),
        sm_count: profile::SM_COUNT,
        capability: (9, 0),
        l2_bytes: profile::L2_BYTES,
        memory_bytes: profile::MEMORY_BYTES,
        sm_threads: profile::SM_THREADS,
        sm_blocks: profile::SM_BLOCKS,
        sm_registers: profile::SM_REGISTERS,
        sm_shared_bytes: profile::SM_SHARED_BYTES,
        block_shared_bytes: profile::BLOCK_SHARED_BYTES,
        driver: String::new(),
        driver_cuda: 0,
        runtime_cuda: 0,
        ecc: None,
        mig: Some(false),
        mps: Some(false),
        sm_mhz_max: Some((profile::SM_GHZ * 1e3).round() as u32),
        clocks_locked: Some(false),
        timer_step_ns: stamping::STEP_NS,
        timer_skew_ns: Some(0),
        queue_depth: profile::QUEUE_DEPTH,
        no_gate: None,
    }
}
