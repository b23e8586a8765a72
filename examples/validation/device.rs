//! A device of which the truth is known: every duration is a truth that was set plus noise that was
//! chosen. It implements the seam of the product, so that what is validated is the product.

use std::cell::RefCell;
use std::time::Duration;

use pdl_lab::chain::{Arm, Chain};
use pdl_lab::device::{Device, Facts, Health, Prepared, Proof, Sample, Verification};
use pdl_lab::error::Result;
use pdl_lab::sim::SimDevice;
use pdl_lab::stamps::Stamps;

use crate::noise::Source;

/// Host time beside every sample, ns.
const SAMPLE_NS: f64 = 60_000.0;

/// Where an arm's noise comes from, and what is true of it.
pub trait World {
    /// The noise of the `arm` of `chain`, and its period and what it saves a hop, ns.
    fn source(&self, chain: &Chain, arm: Arm) -> (Box<dyn Source>, f64, f64);
}

/// The device.
pub struct TruthDevice<'w> {
    world: &'w dyn World,
    facts: Facts,
    now_ns: RefCell<f64>,
}

impl<'w> TruthDevice<'w> {
    /// A device of `world`.
    pub fn new(world: &'w dyn World) -> Self {
        let facts = SimDevice::h200(0).facts().clone();
        TruthDevice { world, facts, now_ns: RefCell::new(0.0) }
    }
}

impl Device for TruthDevice<'_> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(*self.now_ns.borrow() as u64)
    }

    fn health(&self) -> Health {
        Health { sm_mhz: self.facts.sm_mhz_max, other_processes: Some(0), ..Health::default() }
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        let (source, period_ns, saved_ns) = self.world.source(chain, arm);
        Ok(Box::new(TrueChain {
            device: self,
            source,
            nodes: f64::from(chain.nodes),
            period_ns,
            saved_ns,
            proof: Proof::default(),
            samples: 0,
        }))
    }
}

struct TrueChain<'a> {
    device: &'a TruthDevice<'a>,
    source: Box<dyn Source>,
    nodes: f64,
    period_ns: f64,
    saved_ns: f64,
    proof: Proof,
    samples: u32,
}

impl Prepared for TrueChain<'_> {
    fn proof(&self) -> &Proof {
        &self.proof
    }

    fn verify(&mut self) -> Result<Verification> {
        Ok(Verification { checked: 1, mismatches: 0, first: None, place: Default::default() })
    }

    fn sample(&mut self) -> Result<Sample> {
        let now_ns = *self.device.now_ns.borrow();
        // The first sample is the warm-up's.
        let noise_ns = self.source.next(self.samples, now_ns);
        self.samples += 1;
        let hops = self.nodes - 1.0;
        let duration_ns = self.period_ns * self.nodes + hops * (noise_ns - self.saved_ns);
        *self.device.now_ns.borrow_mut() += duration_ns + SAMPLE_NS;
        Ok(Sample { duration_ns, flags: Vec::new(), mismatches: 0 })
    }

    fn stamps(&mut self, _repetitions: u32) -> Result<Option<Stamps>> {
        Ok(None)
    }
}
