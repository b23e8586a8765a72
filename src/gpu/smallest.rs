//! The smallest node there is: one block that passes one word on.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DriverError};

use super::memory::{address, raw};
use super::shim::{self, ChainArgs, CudaError, Kernel, Launch, sys};
use crate::chain::Dependency;

/// The words it reads and writes, and the stream it runs in.
pub struct Smallest {
    values: CudaSlice<u64>,
    stream: Arc<CudaStream>,
}

impl Smallest {
    /// Allocates two words.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Smallest, DriverError> {
        Ok(Smallest { values: stream.alloc_zeros(2)?, stream: stream.clone() })
    }

    /// Queues it once: over a full dependency the native kernel, else the one that triggers right
    /// after its sync.
    pub fn launch(&self, dependency: Dependency) -> Result<(), CudaError> {
        let (trigger, dependency) = match dependency {
            Dependency::Full => (sys::PDL_TRIGGER_NATIVE, sys::PDL_DEPENDENCY_FULL),
            Dependency::Programmatic | Dependency::LaunchCompletion => {
                (sys::PDL_TRIGGER_AFTER_SYNC, sys::PDL_DEPENDENCY_PROGRAMMATIC)
            }
        };
        let family = sys::PDL_FAMILY_CHAIN;
        let kernel = Kernel { family, trigger, body: sys::PDL_BODY_NONE, stamped: 0 };
        let launch = Launch {
            grid_blocks: 1,
            block_threads: 32,
            shared_bytes: 0,
            cluster_blocks: 1,
            dependency,
        };
        let base = address(&self.values, &self.stream);
        let args = ChainArgs {
            previous: base as *const u64,
            values: (base + 8) as *mut u64,
            ..Default::default()
        };
        // SAFETY: both words live as long as this struct, whose owner drains the stream before.
        unsafe { shim::launch_chain(raw(&self.stream), &launch, &kernel, &args) }
    }
}
