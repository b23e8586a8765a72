//! What the simulated device fixes, whatever its profile: sizes of this program's own, and what no
//! profile holds.

use crate::profile::Profile;

/// Values that one chain may write: 512 MiB of host memory.
pub const MAX_VALUES: u64 = 1 << 26;
/// Chains between the events in pipelined mode.
pub const PIPELINED_CHAINS: f64 = 8.0;
/// The drift sentinel's kernel, ns.
pub const SENTINEL_NS: f64 = 20_000.0;
/// Bytes that one prefetch instruction of a thread asks for: a 128-byte line.
pub const PREFETCH_LINE_BYTES: f64 = 128.0;

/// Buffer that streaming bodies read, bytes: four times the L2.
pub fn stream_bytes(profile: &Profile) -> u64 {
    4 * profile.device.l2_bytes
}

/// SM clock, GHz.
pub fn sm_ghz(profile: &Profile) -> f64 {
    f64::from(profile.device.sm_mhz) / 1e3
}
