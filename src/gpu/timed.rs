//! One timed piece of work on the device's stream.

use super::driver::{Gpu, condition_fault, fault, launch_fault};
use super::memory::raw;
use crate::device::{Device, Flag};
use crate::error::Result;

impl Gpu {
    /// Times what `queue` puts on the stream: gate → event → work → event → drain, ns. Nothing else
    /// is queued while the gate is open; `after` is queued behind the second event.
    pub(super) fn timed(
        &self,
        flags: &mut Vec<Flag>,
        queue: impl FnOnce() -> Result<()>,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<f64> {
        let what = "run the chain";
        let gated = self.facts().no_gate.is_none();
        self.conditioner.condition(&self.stream).map_err(condition_fault)?;
        let closed = match gated {
            true => Some(self.gate.close(raw(&self.stream)).map_err(|e| launch_fault(what, e))?),
            false => None,
        };
        self.start.record(&self.stream).map_err(|error| fault(what, error))?;
        queue()?;
        self.end.record(&self.stream).map_err(|error| fault(what, error))?;
        after()?;
        self.done.record(&self.stream).map_err(|error| fault(what, error))?;
        drop(closed);
        self.wait(&self.done, what)?;
        if gated {
            flags.extend(self.gate.flags());
        } else {
            flags.push(Flag::NoGate);
        }
        let ms = self.start.elapsed_ms(&self.end).map_err(|error| fault(what, error))?;
        Ok(f64::from(ms) * 1e6)
    }

    /// Launches that one gated piece of a stream chain may have: events and the check need room too.
    pub(super) fn piece(&self) -> u32 {
        const QUEUE_SHARE: f64 = 0.85;
        let room = (f64::from(self.facts().queue_depth) * QUEUE_SHARE) as u32;
        match self.facts().no_gate {
            None => room.max(1),
            Some(_) => u32::MAX,
        }
    }
}
