//! The state of the launch path, made the same before every sample.
//!
//! On an H200 (driver 580.159.04) the full-dependency hops of a graph take one of two times,
//! 0.18 µs apart, for a whole graph launch. Which one depends on what ran before: it is the short
//! one after stream launches with the programmatic attribute, the long one after stream launches
//! without it, and otherwise as it was. Arms that run in shuffled order would leak into each other
//! through it. A few programmatic launches into the idle stream before every sample leave the short
//! one, which is also what a process sees that only ever launches one graph. Four were seen to be
//! too few and six enough; queued while the chain before still runs, sixteen were too few.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};

use super::shim::CudaError;
use super::smallest::Smallest;
use crate::chain::Dependency;

/// Two more than were seen to be enough; 3.8 µs of the host each.
const LAUNCHES: u32 = 8;

/// Puts the launch path of one stream into its usual state.
#[derive(Default)]
pub struct Conditioner {
    node: OnceCell<Smallest>,
    off: Cell<bool>,
}

/// What can go wrong: memory or a launch.
pub enum Failure {
    /// Two words could not be allocated.
    Memory(DriverError),
    /// A launch was refused.
    Launch(CudaError),
}

impl Conditioner {
    /// Never conditions from here on: the order of arms shows.
    pub fn switch_off(&self) {
        self.off.set(true);
    }

    /// Leaves the path in its usual state. The stream must be idle: what is queued while a chain
    /// runs was seen not to hold.
    pub fn condition(&self, stream: &Arc<CudaStream>) -> Result<(), Failure> {
        if self.off.get() {
            return Ok(());
        }
        let node = match self.node.get() {
            Some(node) => node,
            None => {
                let node = Smallest::new(stream).map_err(Failure::Memory)?;
                self.node.get_or_init(|| node)
            }
        };
        (0..LAUNCHES)
            .try_for_each(|_| node.launch(Dependency::Programmatic))
            .map_err(Failure::Launch)
    }
}
