//! The memory that a graph works on, as its owner names it.

use std::ffi::c_void;

use crate::error::{Error, Result};

/// Restores what a run changed and the next one reads. It gets the stream (`CUstream`, the
/// runtime's `cudaStream_t`) that it should queue work on; what it does elsewhere is waited for.
pub type Reset = Box<dyn FnMut(*mut c_void) -> Result<()>>;

/// A piece of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// For people.
    pub name: String,
    /// Device address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Region {
    /// A named region.
    pub fn new(name: impl Into<String>, address: u64, bytes: u64) -> Region {
        Region { name: name.into(), address, bytes }
    }

    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// What is compared, poisoned and restored.
#[derive(Default)]
pub struct Memory {
    /// Compared bit by bit with what the original graph writes; poisoned before every run.
    pub outputs: Vec<Region>,
    /// Poisoned before every run and recorded by the race check: what kernels of the graph hand to
    /// one another. Nothing that the graph reads before it writes it, unless `reset` restores it.
    pub buffers: Vec<Region>,
    /// Called after the poison and before every run.
    pub reset: Option<Reset>,
}

impl Memory {
    /// Outputs and buffers, without doubles: a buffer that is an output is one region.
    pub fn regions(&self) -> Vec<Region> {
        let mut all = self.outputs.clone();
        for buffer in &self.buffers {
            let known =
                |region: &Region| region.address <= buffer.address && buffer.end() <= region.end();
            if !all.iter().any(known) {
                all.push(buffer.clone());
            }
        }
        all
    }

    /// Refuses what cannot be compared.
    ///
    /// # Errors
    /// No output; an empty region; regions that overlap in part.
    pub fn validate(&self) -> Result<()> {
        let what = "attach the graph";
        if self.outputs.is_empty() {
            return Err(Error::usage(what, "there is no output to compare")
                .remedy("name at least one output: without it a wrong result would go unseen"));
        }
        let all = self.regions();
        if let Some(region) = all.iter().find(|region| region.bytes == 0 || region.address == 0) {
            return Err(Error::usage(what, format!("{} is empty", region.name)));
        }
        let mut sorted: Vec<&Region> = all.iter().collect();
        sorted.sort_by_key(|region| region.address);
        for pair in sorted.windows(2) {
            if pair[0].end() > pair[1].address {
                let cause = format!("{} and {} overlap in part", pair[0].name, pair[1].name);
                return Err(Error::usage(what, cause)
                    .remedy("name the memory that both lie in as one region"));
            }
        }
        Ok(())
    }
}
