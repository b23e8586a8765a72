//! The one seam between a GPU and the simulated device.
//!
//! Everything above this seam (measuring, statistics, charts, reports) runs unchanged on both.

mod instruments;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::chain::{Arm, Chain};
use crate::error::Result;
use crate::profile::{Model, Origin};
use crate::stamps::Stamps;

pub use instruments::{
    Batch, Clocks, HostBatches, Instruments, Reading, Regime, Timed, TimerReading,
};

/// Which implementation of the seam measured a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Backend {
    /// A real GPU.
    Gpu,
    /// The simulated device: every output that carries its numbers says SIMULATED.
    Sim,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Backend::Gpu => "gpu",
            Backend::Sim => "sim",
        })
    }
}

/// What is true of a device for a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Facts {
    /// GPU or simulated.
    pub backend: Backend,
    /// Product name.
    pub name: String,
    /// `GPU-…` as NVML prints it; empty when simulated.
    pub uuid: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// L2 cache, bytes.
    pub l2_bytes: u64,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// Resident threads an SM.
    pub sm_threads: u32,
    /// Resident blocks an SM.
    pub sm_blocks: u32,
    /// 32-bit registers an SM.
    pub sm_registers: u32,
    /// Shared memory an SM, bytes.
    pub sm_shared_bytes: u32,
    /// Dynamic shared memory a block may opt in to, bytes.
    pub block_shared_bytes: u32,
    /// Driver, as NVML prints it (580.159.04); empty when unknown.
    pub driver: String,
    /// CUDA version the driver serves, 1000 × major + 10 × minor; 0 when simulated.
    pub driver_cuda: u32,
    /// CUDA version of the runtime this binary was linked with; 0 when simulated.
    pub runtime_cuda: u32,
    /// Error correction of the device memory.
    pub ecc: Option<bool>,
    /// Whether the device is a MIG instance or has MIG enabled.
    pub mig: Option<bool>,
    /// Whether an MPS server stands between this process and the device.
    pub mps: Option<bool>,
    /// Highest SM clock, MHz.
    pub sm_mhz_max: Option<u32>,
    /// `true`: application clocks are set, and limit the SM clock. `false`: none are; that does not
    /// say that the clock may move, since NVML has no query for `nvidia-smi --lock-gpu-clocks`.
    /// `None`: NVML does not tell.
    pub clocks_locked: Option<bool>,
    /// Step of the device's global timer, ns.
    pub timer_step_ns: u64,
    /// Largest offset of the global timer between SMs that could be established, ns; `None` when
    /// it could not be measured.
    pub timer_skew_ns: Option<u64>,
    /// Launches that a closed gate can hold before the host blocks.
    pub queue_depth: u32,
    /// Whether the gate can be used; `None` when it can, else why not.
    pub no_gate: Option<String>,
    /// What a simulated device is made of; `None` for a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
}

/// What a simulated device is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Simulation {
    /// Name of the profile.
    pub profile: String,
    /// Where its constants come from.
    pub origin: Origin,
    /// How times are computed.
    pub model: Model,
}

impl Facts {
    /// The name as outputs show it: the simulated device is always marked.
    pub fn label(&self) -> String {
        match self.backend {
            Backend::Gpu => self.name.clone(),
            Backend::Sim => format!("{} SIMULATED", self.name),
        }
    }
}

/// The state of a device at one moment. Fields are `None` where the device does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Health {
    /// SM clock, MHz.
    pub sm_mhz: Option<u32>,
    /// Memory clock, MHz.
    pub memory_mhz: Option<u32>,
    /// Active throttle reasons, NVML's names in kebab case; idle is not listed.
    pub throttle: Vec<String>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Power draw, watts.
    pub power_w: Option<f64>,
    /// Other processes with a context on the device.
    pub other_processes: Option<u32>,
}

/// One edge of a chain, read back from a capture of the very calls that are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EdgeCount {
    /// `default`, `programmatic`, or the number the driver gave.
    pub edge_type: String,
    /// `default`, `programmatic`, `launch-completion`, or the number the driver gave.
    pub from_port: String,
    /// Edges of this kind.
    pub count: u32,
}

/// What can execute around the sync, on some path of one thread: instructions, as `pdl inspect`
/// counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paths {
    /// Whether any sync is reached.
    pub sync_reached: bool,
    /// Returns before the sync.
    pub exits_before: u32,
    /// Loads of global memory before the sync.
    pub loads_before: u32,
    /// Stores to global memory before the sync.
    pub stores_before: u32,
    /// Triggers before the sync.
    pub triggers_before: u32,
    /// Non-coherent loads after the sync.
    pub nc_loads_after: u32,
}

/// What was armed: read from the device, not from what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Proof {
    /// Kernel that ran, as the driver names it.
    pub kernel: String,
    /// PTX version of the loaded function (90 means compute_90); `None` when unknown.
    pub ptx_version: Option<u32>,
    /// Binary version of the loaded function (90 means sm_90); `None` when unknown.
    pub binary_version: Option<u32>,
    /// Grid dependency syncs (`ACQBULK`) in the machine code that ran; `None` when unknown.
    pub syncs: Option<u32>,
    /// Triggers (`PREEXIT`) in the machine code that ran; `None` when unknown.
    pub triggers: Option<u32>,
    /// What the machine code does before and after the sync; `None` without a disassembler, without
    /// sync, and where the driver compiled the kernel from PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// Edges of the captured graph, by type and port.
    pub edges: Vec<EdgeCount>,
    /// Registers a thread.
    pub registers: Option<u32>,
    /// Local memory a thread, bytes.
    pub local_bytes: Option<u32>,
    /// Blocks of this shape that fit on one SM at once.
    pub blocks_per_sm: Option<u32>,
}

impl Proof {
    /// Whether every edge is of the programmatic type and the code that ran contains the sync.
    pub fn armed(&self) -> bool {
        !self.edges.is_empty()
            && self.edges.iter().all(|edge| edge.edge_type == "programmatic")
            && self.syncs != Some(0)
            && self.paths.is_none_or(|paths| paths.sync_reached)
            && self.ptx_version.is_none_or(|version| version >= 90)
    }
}

/// The outcome of comparing every value of every block and node with the host's oracle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verification {
    /// Values compared: nodes × blocks.
    pub checked: u64,
    /// Values that differ.
    pub mismatches: u64,
    /// Node and block of the first that differs, its value and the oracle's.
    pub first: Option<Mismatch>,
    /// Of the user's own kernels, whose values are bytes and whose oracle is the stream arm: buffer,
    /// copy and element of the first that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// One wrong value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mismatch {
    /// Position in the chain, from 0.
    pub node: u32,
    /// Block of that node.
    pub block: u32,
    /// What the device wrote.
    pub found: u64,
    /// What the oracle says.
    pub expected: u64,
}

/// Why a sample is special. A flagged sample is kept; [`Flag::excludes`] says which are left out
/// of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The gate opened by its own time-out, so launches were not queued behind it.
    GateTimeout,
    /// The watchdog opened the gate.
    Watchdog,
    /// Measured without a gate: host launch time is inside.
    NoGate,
    /// The chain is longer than the queue: measured as several gated pieces, summed.
    Split,
    /// The result of this very sample was wrong.
    Wrong,
    /// The GPU reported a throttle reason during the round.
    Throttled,
    /// The SM clock left the run's usual range by more than 1 %.
    Clock,
    /// The drift sentinel left its usual range in this round.
    Drift,
    /// Another process used the device during the round.
    CoTenant,
    /// The sample was taken by a resumed run.
    Resumed,
}

impl Flag {
    /// Every flag, in the order files list them.
    pub const ALL: [Flag; 10] = [
        Flag::GateTimeout,
        Flag::Watchdog,
        Flag::NoGate,
        Flag::Split,
        Flag::Wrong,
        Flag::Throttled,
        Flag::Clock,
        Flag::Drift,
        Flag::CoTenant,
        Flag::Resumed,
    ];

    /// The name used in samples.csv.
    pub fn name(self) -> &'static str {
        match self {
            Flag::GateTimeout => "gate-timeout",
            Flag::Watchdog => "watchdog",
            Flag::NoGate => "no-gate",
            Flag::Split => "split",
            Flag::Wrong => "wrong",
            Flag::Throttled => "throttled",
            Flag::Clock => "clock",
            Flag::Drift => "drift",
            Flag::CoTenant => "co-tenant",
            Flag::Resumed => "resumed",
        }
    }

    /// Whether a sample with this flag is left out of statistics.
    pub fn excludes(self) -> bool {
        matches!(self, Flag::GateTimeout | Flag::Watchdog | Flag::Wrong)
    }
}

/// Part by which the SM clock or the sentinel may differ from its usual value: on an H200 the
/// sentinel's samples scatter by a tenth of it, and a step of the clock is 0.8 %.
pub const USUAL_RANGE: f64 = 0.01;

/// One timed chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Duration of one chain, ns, from the event before its first node to the one after its last.
    pub duration_ns: f64,
    /// Why this sample is special.
    pub flags: Vec<Flag>,
    /// Values of this sample that differ from the oracle's.
    pub mismatches: u64,
}

/// A device that can run chains.
pub trait Device {
    /// What is true of it for the whole run.
    fn facts(&self) -> &Facts;

    /// Time since the device was opened, on the clock that budgets count: the wall's for a GPU,
    /// the simulated one's for the simulator.
    fn now(&self) -> Duration;

    /// Its state now.
    fn health(&self) -> Health;

    /// SM clock now, MHz; `None` where the device does not tell. Asked after every sample, so it
    /// has to be quick.
    fn sm_mhz(&self) -> Option<u32> {
        self.health().sm_mhz
    }

    /// Loads, allocates, captures, instantiates and uploads all that `arm` needs to run `chain`,
    /// so that nothing of this is inside a timed region.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) where this device cannot run the
    /// point; anything else stops the run.
    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>>;

    /// What calibration asks for besides chains; `None` for a device that has none of it.
    fn instruments(&self) -> Option<&dyn Instruments> {
        None
    }

    /// Begins a range that profilers show (NVTX, for Nsight Systems); see [`range`].
    fn begin_range(&self, _name: &str) {}

    /// Ends the range that began last.
    fn end_range(&self) {}
}

/// A range that ends when it is dropped.
#[must_use]
pub struct Range<'a>(&'a dyn Device);

/// Begins a range called `name` that profilers show.
pub fn range<'a>(device: &'a dyn Device, name: &str) -> Range<'a> {
    device.begin_range(name);
    Range(device)
}

impl Drop for Range<'_> {
    fn drop(&mut self) {
        self.0.end_range();
    }
}

/// A chain that is ready to run in one arm.
pub trait Prepared {
    /// What was armed.
    fn proof(&self) -> &Proof;

    /// Runs the chain once, untimed, over poisoned buffers, and compares every value of every
    /// block and node with the host's oracle.
    ///
    /// # Errors
    /// A device fault; a wrong value is not an error but a [`Verification`] that says so.
    fn verify(&mut self) -> Result<Verification>;

    /// Runs the chain once, timed, in its mode, over poisoned buffers, and counts the values that
    /// are wrong (untimed).
    ///
    /// # Errors
    /// A device fault or an interruption.
    fn sample(&mut self) -> Result<Sample>;

    /// Runs the stamped instance of the chain `repetitions` times and returns the stamps of the
    /// run with the median duration; `None` for arms that are not stamped.
    ///
    /// # Errors
    /// A device fault.
    fn stamps(&mut self, repetitions: u32) -> Result<Option<Stamps>>;

    /// Runs the chain once, isolated, and reads every clock there is; `None` for an arm that is not
    /// stamped, where stamps are asked for.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a chain that does not fit the
    /// queue as a whole; a device fault, a wrong value in a stamped run, or an interruption.
    fn clocks(&mut self, reading: Reading) -> Result<Option<Clocks>> {
        if reading.stamped {
            let stamps = self.stamps(1)?;
            return Ok(stamps.map(|stamps| Clocks {
                events_ns: stamps.duration_ns,
                stamps: Some(stamps),
                ..Clocks::default()
            }));
        }
        let Sample { duration_ns, flags, .. } = self.sample()?;
        Ok(Some(Clocks { events_ns: duration_ns, flags, ..Clocks::default() }))
    }
}
