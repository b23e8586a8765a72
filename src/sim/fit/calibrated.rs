//! Constants that `pdl calibrate` measures and that mean the same in the model.

use std::path::Path;

use toml::{Table, Value};

use super::constants::Constants;
use crate::error::{Error, Result};
use crate::profile::{Constant, Profile};

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

/// What `pdl calibrate` measured on a device.
#[derive(Clone, Debug)]
pub struct Calibrated(Constants);

impl Calibrated {
    /// Reads what `pdl calibrate` wrote of the device of `profile`. A calibration of an earlier
    /// version, which lacks constants that profiles got later, is one too.
    ///
    /// # Errors
    /// It cannot be read; it is of another device, or was not measured on one; a constant that is
    /// taken is none.
    pub fn read(path: &Path, profile: &Profile) -> Result<Calibrated> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Calibrated::parse(&text, profile)).map_err(|cause| {
            Error::failed(format!("take constants of {}", path.display()), cause)
                .remedy("name the calibration.toml that pdl calibrate made on the profile's device")
        })
    }

    pub(super) fn parse(text: &str, profile: &Profile) -> std::result::Result<Calibrated, String> {
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        if table.get("origin").and_then(Value::as_str) != Some("measured") {
            return Err("it was not measured on a device".to_owned());
        }
        let device = |field: &str| table.get("device").and_then(|device| device.get(field));
        let product = device("product").and_then(Value::as_str).unwrap_or("no device");
        let sm_count = device("sm_count").and_then(Value::as_integer).unwrap_or(0);
        let wanted = &profile.device;
        if (product, sm_count) != (wanted.product.as_str(), i64::from(wanted.sm_count)) {
            return Err(format!(
                "it is of {product} with {sm_count} SMs, and the profile {} is of {} with {}",
                profile.name, wanted.product, wanted.sm_count
            ));
        }
        let constants = Constants::of_table(table);
        for path in SAME {
            let Some(found) = constants.get(path) else { continue };
            let ends =
                [found.lo.unwrap_or(found.value), found.value, found.hi.unwrap_or(found.value)];
            let numbers = ends.iter().all(|end| end.is_finite() && *end >= 0.0);
            if !numbers || !ends.is_sorted() {
                return Err(format!("{path} is {} within {} to {}", ends[1], ends[0], ends[2]));
            }
        }
        Ok(Calibrated(constants))
    }

    /// The constant at `path`, where it was measured with an interval and means the same.
    pub(super) fn get(&self, path: &str) -> Option<Constant> {
        let constant = SAME.contains(&path).then(|| self.0.get(path)).flatten()?;
        let measured = !constant.assumed && constant.lo.is_some() && constant.hi.is_some();
        let experiment = format!("pdl calibrate: {}", constant.experiment);
        measured.then_some(Constant { experiment, ..constant })
    }
}
