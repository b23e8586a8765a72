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
    /// What the owner calls the memory at an address: outputs first.
    pub fn name_at(&self, address: u64) -> String {
        let mut all = self.outputs.iter().chain(&self.buffers);
        let found = all.find(|region| (region.address..region.end()).contains(&address));
        found.map(|region| region.name.clone()).unwrap_or_default()
    }

    /// Outputs and buffers as disjoint regions: what overlaps is joined, and what touches within one
    /// allocation, since each region costs a memset before every run. `allocation` gives the begin
    /// of the allocation at an address: no memset may reach from one into the next.
    pub fn regions(&self, allocation: impl Fn(u64) -> Option<u64>) -> Vec<Region> {
        let touches = |last: &Region, region: &Region| {
            region.address == last.end()
                && allocation(last.address).is_some_and(|a| allocation(region.address) == Some(a))
        };
        // Buffers first: of two that begin together the larger one gives the name.
        let mut all: Vec<&Region> = self.buffers.iter().chain(&self.outputs).collect();
        all.sort_by_key(|region| (region.address, std::cmp::Reverse(region.bytes)));
        let mut joined: Vec<Region> = Vec::new();
        for region in all {
            match joined.last_mut() {
                Some(last) if region.address < last.end() || touches(last, region) => {
                    last.bytes = last.bytes.max(region.end() - last.address);
                }
                _ => joined.push(region.clone()),
            }
        }
        joined
    }

    /// Refuses what cannot be compared.
    ///
    /// # Errors
    /// No output, or an empty region.
    pub fn validate(&self) -> Result<()> {
        let what = "attach the graph";
        if self.outputs.is_empty() {
            return Err(Error::usage(what, "there is no output to compare")
                .remedy("name at least one output: without it a wrong result would go unseen"));
        }
        let all = || self.outputs.iter().chain(&self.buffers);
        if let Some(region) = all().find(|region| region.bytes == 0 || region.address == 0) {
            return Err(Error::usage(what, format!("{} is empty", region.name)));
        }
        match all().find(|region| region.address.checked_add(region.bytes).is_none()) {
            Some(region) => {
                Err(Error::usage(what, format!("{} reaches past the last address", region.name)))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(outputs: &[(u64, u64)], buffers: &[(u64, u64)]) -> Memory {
        let region = |kind: &str, all: &[(u64, u64)]| {
            let named = all.iter().enumerate();
            named.map(|(i, &(at, bytes))| Region::new(format!("{kind} {i}"), at, bytes)).collect()
        };
        Memory {
            outputs: region("output", outputs),
            buffers: region("buffer", buffers),
            reset: None,
        }
    }

    #[test]
    fn regions_that_overlap_or_touch_in_one_allocation_are_joined() {
        // Allocations begin at multiples of 1000.
        let begin = |address: u64| Some(address / 1000 * 1000);
        // (outputs, buffers, regions)
        type Places = &'static [(u64, u64)];
        let cases: [(Places, Places, Places); 6] = [
            (&[(990, 10)], &[(1000, 5)], &[(990, 10), (1000, 5)]),
            (&[(1000, 10)], &[(1010, 5)], &[(1000, 15)]),
            (&[(100, 10)], &[(50, 100)], &[(50, 100)]),
            (&[(100, 10)], &[(105, 10)], &[(100, 15)]),
            (&[(100, 10), (110, 5)], &[(120, 5)], &[(100, 15), (120, 5)]),
            (&[(100, 10)], &[(100, 10)], &[(100, 10)]),
        ];
        for (outputs, buffers, expected) in cases {
            let found = memory(outputs, buffers).regions(begin);
            let places: Vec<_> = found.iter().map(|r| (r.address, r.bytes)).collect();
            assert_eq!(places, expected, "{outputs:?} {buffers:?}");
        }
    }

    #[test]
    fn an_address_has_the_name_that_the_owner_gave() {
        let memory = memory(&[(100, 10)], &[(50, 100)]);
        for (address, name) in [(50, "buffer 0"), (100, "output 0"), (110, "buffer 0"), (150, "")] {
            assert_eq!(memory.name_at(address), name);
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        for (outputs, buffers, cause) in [
            (&[][..], &[(1, 1)][..], "no output"),
            (&[(100, 0)], &[], "output 0 is empty"),
            (&[(100, 4)], &[(0, 4)], "buffer 0 is empty"),
            (&[(u64::MAX, 4)], &[], "past the last address"),
        ] {
            let error = memory(outputs, buffers).validate().unwrap_err();
            assert!(error.to_string().contains(cause), "{error}");
        }
        memory(&[(100, 4)], &[]).validate().unwrap();
    }
}
