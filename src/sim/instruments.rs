//! The simulated instruments: what calibration asks for besides chains.

use super::SimDevice;
use crate::chain::{Arm, Submission};
use crate::device::{
    Batch, Clocks, HostBatches, Instruments, Reading, Regime, Timed, TimerReading,
};
use crate::error::{Error, Result};

/// Launches in a simulated batch.
const CALLS: u32 = 200;
/// Body of a node that the device is behind with, ns.
const BEHIND_BODY_NS: f64 = 15_000.0;

/// Work between two events.
struct Between<'a> {
    device: &'a SimDevice,
    work_ns: f64,
}

impl Timed for Between<'_> {
    fn time(&mut self) -> Result<Clocks> {
        let pair_ns = self.device.profile().instruments.event_pair_ns.value;
        let duration_ns = (pair_ns + self.work_ns) * self.device.noise.borrow_mut().factor();
        self.device.advance(duration_ns);
        Ok(clocks(self.device, duration_ns))
    }
}

/// A gated duration as both clocks of the host see it.
fn clocks(device: &SimDevice, events_ns: f64) -> Clocks {
    let wall_ns = events_ns + device.profile().instruments.gate_ns.value;
    Clocks { events_ns, wall_ns: Some(wall_ns), ..Clocks::default() }
}

/// Host clocks around a chain that took `events_ns` behind the gate.
pub fn around(
    device: &SimDevice,
    arm: Arm,
    nodes: u32,
    reading: Reading,
    events_ns: f64,
) -> Clocks {
    if reading.gated {
        return clocks(device, events_ns);
    }
    // Without the gate the host launches between the events.
    let events_ns = events_ns + call_ns(device, arm, Regime::HostBound, nodes);
    Clocks { events_ns, wall_ns: Some(events_ns), ..Clocks::default() }
}

/// Host time of one launch call.
fn call_ns(device: &SimDevice, arm: Arm, regime: Regime, graph_nodes: u32) -> f64 {
    let host = &device.profile().host;
    let call = match (arm.submission(), arm, regime) {
        (Submission::Graph, _, _) => {
            return host.graph_launch_ns.value + f64::from(graph_nodes) * host.graph_node_ns.value;
        }
        (_, Arm::StreamPdl, Regime::HostBound) => &host.stream_pdl_launch_ns,
        (_, _, Regime::HostBound) => &host.stream_launch_ns,
        (_, Arm::StreamPdl, _) => &host.queued_pdl_launch_ns,
        (_, _, _) => &host.queued_launch_ns,
    };
    call.value
}

/// Batches of launches.
struct Launches<'a> {
    device: &'a SimDevice,
    arm: Arm,
    regime: Regime,
    graph_nodes: u32,
}

impl HostBatches for Launches<'_> {
    fn calls(&self) -> u32 {
        match self.arm.submission() {
            Submission::Stream => CALLS,
            Submission::Graph => (CALLS / self.graph_nodes).max(2),
        }
    }

    fn nodes_a_call(&self) -> u32 {
        match self.arm.submission() {
            Submission::Stream => 1,
            Submission::Graph => self.graph_nodes,
        }
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        let call_ns = call_ns(self.device, self.arm, self.regime, self.graph_nodes);
        let factor = self.device.noise.borrow_mut().factor();
        let calls_ns = call_ns * f64::from(self.calls()) * factor;
        let nodes = f64::from(self.calls() * self.nodes_a_call());
        let device_ns = match self.regime {
            Regime::GpuBound => nodes * BEHIND_BODY_NS,
            Regime::HostBound | Regime::Held => 0.0,
        };
        let drained_ns = calls_ns.max(device_ns);
        self.device.advance(drained_ns);
        Ok(Some(Batch { calls_ns, drained_ns }))
    }
}

impl Instruments for SimDevice {
    fn event_pair<'a>(&'a self) -> Result<Box<dyn Timed + 'a>> {
        Ok(Box::new(Between { device: self, work_ns: 0.0 }))
    }

    /// Read and write share the memory's bandwidth.
    fn copy<'a>(&'a self, bytes: u64) -> Result<Box<dyn Timed + 'a>> {
        let memory = &self.profile().memory;
        let moved_ns = 2.0 * bytes as f64 / memory.hbm_bytes_per_ns.value;
        Ok(Box::new(Between { device: self, work_ns: memory.hbm_latency_ns.value + moved_ns }))
    }

    fn timer(&self) -> Result<TimerReading> {
        let instruments = &self.profile().instruments;
        Ok(TimerReading {
            step_ns: instruments.timer_step_ns.value as u64,
            skew_ns: Some(instruments.timer_skew_ns.value as u64),
            skew_error_ns: Some(0),
        })
    }

    fn host<'a>(
        &'a self,
        arm: Arm,
        regime: Regime,
        graph_nodes: u32,
    ) -> Result<Box<dyn HostBatches + 'a>> {
        if matches!(arm, Arm::Flags | Arm::Persistent | Arm::Sentinel) {
            return Err(Error::usage(format!("measure the host's cost of {arm}"), "not supported"));
        }
        Ok(Box::new(Launches { device: self, arm, regime, graph_nodes }))
    }
}
