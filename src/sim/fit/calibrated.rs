//! Constants that `pdl calibrate` measures and that mean the same in the model.

use super::constants::Constants;
use crate::error::{Error, Result};
use crate::profile::{Constant, Origin, Profile};

/// Their paths. Not here are those that mean something else there: `block.tail_ns` and the hops of
/// `pdl calibrate` are read off stamps and hold what the model has in parts (head, tail, drain);
/// `memory.thread_in_flight_bytes` is in the model one with the time of a load;
/// `placement.run_ahead_nodes` is in its experiment at most the length of the chain less one; and
/// simulated timers have no skew.
pub(super) const SAME: [&str; 26] = [
    "block.after_ns",
    "block.barrier_trigger_ns",
    "host.graph_launch_ns",
    "host.graph_node_ns",
    "host.prepare_node_ns",
    "host.queued_launch_ns",
    "host.queued_pdl_launch_ns",
    "host.sample_ns",
    "host.stream_launch_ns",
    "host.stream_pdl_launch_ns",
    "instruments.event_pair_ns",
    "instruments.gate_ns",
    "instruments.queue_depth",
    "instruments.stamp_ns",
    "instruments.timer_step_ns",
    "issue.lone_warp_cycles",
    "memory.hbm_bytes_per_ns",
    "memory.hbm_latency_ns",
    "memory.l2_bytes_per_ns",
    "memory.l2_latency_ns",
    "memory.sm_bytes_per_ns",
    "noise.first_slower_ratio",
    "noise.sample_ratio",
    "placement.block_ns",
    "placement.drain_ns",
    "placement.refill_ns",
];

/// What a calibration says.
pub(super) struct Calibrated(Constants);

impl Calibrated {
    /// What `calibration` says of the device of `profile`.
    ///
    /// # Errors
    /// It is of another device, or was not measured on one.
    pub(super) fn of(profile: &Profile, calibration: &Profile) -> Result<Calibrated> {
        let action = || format!("take constants of the calibration {}", calibration.name);
        let (found, wanted) = (&calibration.device, &profile.device);
        if calibration.origin != Origin::Measured {
            return Err(Error::failed(action(), "it was not measured on a device")
                .remedy("name the calibration.toml that pdl calibrate made on a GPU"));
        }
        if (&found.product, found.sm_count) != (&wanted.product, wanted.sm_count) {
            let cause = format!(
                "it is of {} with {} SMs, and the profile {} is of {} with {}",
                found.product, found.sm_count, profile.name, wanted.product, wanted.sm_count
            );
            return Err(Error::failed(action(), cause).remedy("calibrate the profile's device"));
        }
        Ok(Calibrated(Constants::of(calibration)))
    }

    /// The constant at `path`, where it was measured with an interval and means the same.
    pub(super) fn get(&self, path: &str) -> Option<Constant> {
        let constant = SAME.contains(&path).then(|| self.0.get(path)).flatten()?;
        let measured = !constant.assumed && constant.lo.is_some() && constant.hi.is_some();
        let experiment = format!("pdl calibrate: {}", constant.experiment);
        measured.then_some(Constant { experiment, ..constant })
    }
}
