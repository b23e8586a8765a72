//! The timed region: gate → event → work → event → drain.

use std::time::{Duration, Instant};

use cudarc::driver::CudaEvent;

use super::driver::{Gpu, condition_fault, fault, launch_fault};
use super::memory::raw;
use crate::device::{Device, Flag};
use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// How long a sample may still take once the user asked to stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the work took, by two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Between the events, ns.
    pub events_ns: f64,
    /// Host wall time, ns, until the host has seen the second event: from the opening of the gate,
    /// or without one from before the first event was queued.
    pub wall_ns: f64,
}

impl Gpu {
    /// Whether samples are taken behind the gate.
    pub(super) fn gated(&self) -> bool {
        self.facts().no_gate.is_none()
    }

    /// Times what `queue` puts on the stream. Everything is queued before the gate opens, `after`
    /// too, which is not timed.
    pub(super) fn timed(
        &self,
        gated: bool,
        flags: &mut Vec<Flag>,
        queue: impl FnOnce() -> Result<()>,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<Timing> {
        let what = "run the chain";
        self.conditioner.condition(&self.stream).map_err(condition_fault)?;
        let closed = match gated {
            true => Some(self.gate.close(raw(&self.stream)).map_err(|e| launch_fault(what, e))?),
            // The conditioner's launches must be over, or the first event would wait for them.
            false => {
                self.stream.synchronize().map_err(|error| fault(what, error))?;
                None
            }
        };
        let mut began = Instant::now();
        self.start.record(&self.stream).map_err(|error| fault(what, error))?;
        queue()?;
        self.end.record(&self.stream).map_err(|error| fault(what, error))?;
        after()?;
        self.done.record(&self.stream).map_err(|error| fault(what, error))?;
        if gated {
            began = Instant::now();
        }
        drop(closed);
        self.wait(&self.end, what)?;
        let wall_ns = began.elapsed().as_nanos() as f64;
        self.wait(&self.done, what)?;
        match gated {
            true => flags.extend(self.gate.flags()),
            false => flags.push(Flag::NoGate),
        }
        let ms = self.start.elapsed_ms(&self.end).map_err(|error| fault(what, error))?;
        Ok(Timing { events_ns: f64::from(ms) * 1e6, wall_ns })
    }

    /// Waits for an event without giving the thread up, and gives the device up when it hangs or
    /// when the user no longer wants to wait.
    pub(super) fn wait(&self, event: &CudaEvent, what: &str) -> Result<()> {
        let since = Instant::now();
        let mut asked: Option<Instant> = None;
        loop {
            match event.try_is_complete() {
                Ok(true) => return Ok(()),
                Ok(false) => std::hint::spin_loop(),
                Err(error) => return Err(fault(what, error)),
            }
            if since.elapsed() > self.deadline {
                let cause = format!("the device hangs for {} s", self.deadline.as_secs());
                let error = Error::failed(what, cause)
                    .remedy("the rows measured so far are kept; --deadline-s waits longer");
                interrupt::give_up(&error);
                return Err(error);
            }
            if interrupt::asked() {
                let asked = *asked.get_or_insert_with(Instant::now);
                if asked.elapsed() > PATIENCE {
                    let error = Error::new(Kind::Interrupted, what, "interrupted");
                    interrupt::give_up(&error);
                    return Err(error);
                }
            }
        }
    }
}
