//! What calibration asks of the GPU besides chains.

use std::cell::RefCell;

use cudarc::driver::CudaSlice;

use super::driver::{Gpu, fault};
use super::instruments;
use super::memory::memory_error;
use crate::chain::Arm;
use crate::device::{Clocks, HostBatches, Instruments, Regime, Timed, TimerReading};
use crate::error::{Error, Result};
use crate::interrupt;

/// Two events with nothing between.
struct EventPair<'a> {
    gpu: &'a Gpu,
}

/// A copy inside device memory.
struct Copy<'a> {
    gpu: &'a Gpu,
    from: CudaSlice<u8>,
    to: RefCell<CudaSlice<u8>>,
}

fn clocks(gpu: &Gpu, queue: impl FnOnce() -> Result<()>) -> Result<Clocks> {
    interrupt::check("go on measuring")?;
    let mut flags = Vec::new();
    let timing = gpu.timed(gpu.gated(), &mut flags, queue, || Ok(()))?;
    let (events_ns, wall_ns) = (timing.events_ns, Some(timing.wall_ns));
    Ok(Clocks { events_ns, wall_ns, stamps: None, flags })
}

impl Timed for EventPair<'_> {
    fn time(&mut self) -> Result<Clocks> {
        clocks(self.gpu, || Ok(()))
    }
}

impl Timed for Copy<'_> {
    fn time(&mut self) -> Result<Clocks> {
        clocks(self.gpu, || {
            let mut to = self.to.borrow_mut();
            let copied = self.gpu.stream.memcpy_dtod(&self.from, &mut *to);
            copied.map_err(|error| fault("copy device memory", error))
        })
    }
}

impl Instruments for Gpu {
    fn event_pair<'a>(&'a self) -> Result<Box<dyn Timed + 'a>> {
        Ok(Box::new(EventPair { gpu: self }))
    }

    fn copy<'a>(&'a self, bytes: u64) -> Result<Box<dyn Timed + 'a>> {
        let what = "a copy's source and target";
        let fail = |error| memory_error(what, 2 * bytes, error);
        let free = self.stream.context().mem_get_info().map_err(fail)?.0 as u64;
        if 2 * bytes > free {
            return Err(Error::unsupported(
                format!("allocate {} MiB for {what}", bytes >> 19),
                "the device is out of memory",
            ));
        }
        let from = self.stream.alloc_zeros(bytes as usize).map_err(fail)?;
        let to = RefCell::new(self.stream.alloc_zeros(bytes as usize).map_err(fail)?);
        Ok(Box::new(Copy { gpu: self, from, to }))
    }

    fn timer(&self) -> Result<TimerReading> {
        instruments::timer(self)
    }

    fn host<'a>(
        &'a self,
        arm: Arm,
        regime: Regime,
        graph_nodes: u32,
    ) -> Result<Box<dyn HostBatches + 'a>> {
        Ok(Box::new(self.host_cost_in(arm, regime, graph_nodes)?))
    }
}
