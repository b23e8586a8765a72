//! What calibration asks of a device besides chains: its clocks, its gate, its host.

use super::Flag;
use crate::chain::Arm;
use crate::error::Result;
use crate::stamps::Stamps;

/// How one chain is run for a [reading](Clocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Behind the gate, as samples are; else the host's launches are inside.
    pub gated: bool,
    /// The stamped instance of the kernels.
    pub stamped: bool,
}

/// One run of a chain, read from every clock there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// Between the events around it, ns.
    pub events_ns: f64,
    /// Host wall time, ns: from the opening of the gate (without one, from before the first event)
    /// until the host has seen the last event; `None` where the device cannot tell.
    pub wall_ns: Option<f64>,
    /// Stamps of this very run; `None` unless it was stamped.
    pub stamps: Option<Stamps>,
    /// Why the run is special.
    pub flags: Vec<Flag>,
}

impl Clocks {
    /// Whether a flag leaves this reading out of statistics.
    pub fn excluded(&self) -> bool {
        self.flags.iter().any(|flag| flag.excludes())
    }
}

/// Something other than a chain that can be timed again and again.
pub trait Timed {
    /// Runs it once.
    ///
    /// # Errors
    /// A device fault or an interruption.
    fn time(&mut self) -> Result<Clocks>;
}

/// One measurement of the global timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerReading {
    /// Smallest step seen, ns.
    pub step_ns: u64,
    /// Largest offset between two SMs, ns; `None` where it could not be established.
    pub skew_ns: Option<u64>,
    /// Half of the longest of the SMs' shortest round trips, ns: no offset is known better.
    pub skew_error_ns: Option<u64>,
}

/// How the device stands while the host launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regime {
    /// What was launched is over before the next call: the device waits for the host. Graphs are
    /// launched one at a time, since one takes longer than its call.
    HostBound,
    /// What was launched takes longer than its calls: the device is behind, the queue has room.
    GpuBound,
    /// Behind a closed gate: the device takes nothing up.
    Held,
}

impl Regime {
    /// Every regime.
    pub const ALL: [Regime; 3] = [Regime::HostBound, Regime::GpuBound, Regime::Held];

    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            Regime::HostBound => "host-bound",
            Regime::GpuBound => "gpu-bound",
            Regime::Held => "held",
        }
    }
}

/// Host time of one batch of launch calls, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// The loop over the calls, and nothing else.
    pub calls_ns: f64,
    /// The same until the device was done.
    pub drained_ns: f64,
}

/// Batches of launches in one arm and regime; all is loaded, captured and verified.
pub trait HostBatches {
    /// Launch calls in a batch.
    fn calls(&self) -> u32;

    /// Nodes that one call queues.
    fn nodes_a_call(&self) -> u32;

    /// Runs one batch; `None` for one that a time-out spoiled.
    ///
    /// # Errors
    /// A device fault or an interruption.
    fn batch(&mut self) -> Result<Option<Batch>>;
}

/// The instruments of a device.
pub trait Instruments {
    /// Two events with nothing between, behind the gate.
    ///
    /// # Errors
    /// A device fault.
    fn event_pair<'a>(&'a self) -> Result<Box<dyn Timed + 'a>>;

    /// A copy of `bytes` from device memory to device memory, behind the gate.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) where the device has no room; a
    /// fault.
    fn copy<'a>(&'a self, bytes: u64) -> Result<Box<dyn Timed + 'a>>;

    /// Measures the global timer once more.
    ///
    /// # Errors
    /// A device fault.
    fn timer(&self) -> Result<TimerReading>;

    /// Batches of launches in `arm`: a stream arm launches nodes, a graph arm graphs of
    /// `graph_nodes` nodes. No batch fills the queue, so that no launch waits for room.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for an arm or regime that the device
    /// cannot run; a fault; a wrong value.
    fn host<'a>(
        &'a self,
        arm: Arm,
        regime: Regime,
        graph_nodes: u32,
    ) -> Result<Box<dyn HostBatches + 'a>>;
}
