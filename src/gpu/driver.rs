//! Opening the device: what is there, what it is, and what stands in the way.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUevent_flags, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};

use super::code::Code;
use super::condition::{Conditioner, Failure};
use super::gate::Gate;
use super::memory::{StreamBuffer, Workspace, raw};
use super::nvml::Monitor;
use super::prepared::GpuChain;
use super::shim::{self, CudaError};
use super::{instruments, nodes, range};
use crate::chain::{Arm, Chain};
use crate::device::{Backend, Device, Facts, Health, Instruments, Prepared};
use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// Longest a sample may take before the device is given up, unless the user says otherwise.
const DEADLINE: Duration = Duration::from_secs(60);
/// The stream buffer: at least four times L2, and large enough that a default chain of HBM bodies
/// passes it less than twice.
const STREAM_BUFFER_BYTES: u64 = 1 << 30;

/// Why there is no device that could be used, where that is no fault.
#[derive(Clone, Debug)]
pub enum Absence {
    /// No driver, or no device that the driver shows.
    None(String),
    /// A device below compute capability 9.0.
    Old(String),
}

/// A GPU of compute capability 9.0 or newer, with one stream.
pub struct Gpu {
    pub(super) stream: Arc<CudaStream>,
    pub(super) gate: Gate,
    pub(super) start: CudaEvent,
    pub(super) end: CudaEvent,
    pub(super) done: CudaEvent,
    facts: Facts,
    monitor: Monitor,
    opened: Instant,
    spoiled: Cell<Option<(u32, u32)>>,
    workspaces: RefCell<HashMap<String, Weak<Workspace>>>,
    buffer: RefCell<Option<Rc<StreamBuffer>>>,
    pub(super) conditioner: Conditioner,
    pub(super) code: Code,
    pub(super) deadline: Duration,
}

/// Opens device 0 of those that `CUDA_VISIBLE_DEVICES` shows. `Ok(Err(…))` where there is none.
///
/// # Errors
/// A driver or device that should work and does not: exit code 3.
pub fn open() -> Result<std::result::Result<Gpu, Absence>> {
    open_at(0)
}

/// The same for device `ordinal`: in a process that has chosen another.
///
/// # Errors
/// As [`open`].
pub fn open_at(ordinal: usize) -> Result<std::result::Result<Gpu, Absence>> {
    // SAFETY: only tries to load the driver; cudarc panics where it is missing.
    if !unsafe { sys::is_culib_present() } {
        return Ok(Err(Absence::None("no CUDA driver found (libcuda.so.1)".into())));
    }
    let context = match CudaContext::new(ordinal) {
        Ok(context) => context,
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE | CUresult::CUDA_ERROR_INVALID_DEVICE)) => {
            return Ok(Err(Absence::None(no_device())));
        }
        Err(error) => return Err(broken("open the GPU", error)),
    };
    let capability = context.compute_capability().map_err(|e| broken("read the GPU", e))?;
    if capability.0 < 9 {
        let name = context.name().unwrap_or_default();
        let (major, minor) = capability;
        return Ok(Err(Absence::Old(format!(
            "{name} has compute capability {major}.{minor}; programmatic launches need 9.0"
        ))));
    }
    check_driver()?;
    Gpu::new(context).map(Ok)
}

/// Why the driver shows no device.
fn no_device() -> String {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => format!("the driver shows no GPU (CUDA_VISIBLE_DEVICES is '{list}')"),
        Err(_) => "the driver shows no GPU".into(),
    }
}

fn broken(action: &str, error: impl std::fmt::Display) -> Error {
    Error::new(Kind::NoGpu, action, error)
        .remedy("check nvidia-smi and the driver, or use --backend sim")
}

/// A runtime serves drivers of its own major version and newer.
fn check_driver() -> Result<()> {
    let (driver, runtime) = (driver_cuda()?, shim::runtime_version());
    if driver / 1000 < runtime / 1000 {
        let version = |v: u32| format!("{}.{}", v / 1000, v % 1000 / 10);
        return Err(Error::new(
            Kind::NoGpu,
            "use the GPU",
            format!(
                "the driver serves CUDA {}, this program was built with {}",
                version(driver),
                version(runtime)
            ),
        )
        .remedy("update the driver, or build with an older toolkit (12.8 or newer)"));
    }
    Ok(())
}

fn driver_cuda() -> Result<u32> {
    let mut version = 0;
    // SAFETY: writes one int.
    let code = unsafe { sys::cuDriverGetVersion(&mut version) };
    code.result().map_err(|error| broken("ask the driver's version", error))?;
    Ok(version as u32)
}

impl Gpu {
    fn new(context: Arc<CudaContext>) -> Result<Gpu> {
        let fail = |error: DriverError| broken("open the GPU", error);
        let (major, minor) = context.compute_capability().map_err(fail)?;
        let code = Code::new((10 * major + minor) as u32);
        // SAFETY: one stream a chain. Tracking would put an event between primary and secondary.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(fail)?;
        let gate = Gate::new(&context).map_err(fail)?;
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(fail);
        let (start, end, done) = (event()?, event()?, event()?);
        let uuid = uuid(&context).map_err(fail)?;
        let monitor = Monitor::new(&uuid);
        let facts = facts(&context, uuid, &monitor)?;
        let mut gpu = Gpu {
            stream,
            gate,
            start,
            end,
            done,
            facts,
            monitor,
            opened: Instant::now(),
            spoiled: Cell::new(None),
            workspaces: RefCell::default(),
            buffer: RefCell::default(),
            conditioner: Conditioner::default(),
            code,
            deadline: DEADLINE,
        };
        let found = instruments::instruments(&gpu)?;
        gpu.facts.timer_step_ns = found.timer.step_ns;
        gpu.facts.timer_skew_ns = found.timer.skew_ns;
        gpu.facts.queue_depth = found.queue_depth;
        gpu.facts.no_gate = found.no_gate;
        Ok(gpu)
    }

    pub(super) fn sm_count(&self) -> u32 {
        self.facts.sm_count
    }

    /// Measures without a gate from here on, for the reason given.
    pub fn without_gate(&mut self, reason: &str) {
        self.facts.no_gate.get_or_insert_with(|| reason.to_owned());
    }

    /// Gives the device up after a sample that takes longer than this.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// Leaves the launch path as the sample before left it: the order of arms shows.
    pub fn without_conditioning(&self) {
        self.conditioner.switch_off();
    }

    /// Makes the oracle of the next new chain wrong about one value: the negative control of the
    /// comparison, which has to count exactly that one.
    #[doc(hidden)]
    pub fn spoil_oracle(&self, node: u32, block: u32) {
        self.spoiled.set(Some((node, block)));
    }

    /// The stream buffer, if `chain` streams; grown when a node needs more.
    pub(super) fn buffer(&self, chain: &Chain) -> Result<Option<Rc<StreamBuffer>>> {
        if !chain.body.kind.streams() {
            return Ok(None);
        }
        let node_bytes = crate::oracle::node_words(chain).saturating_mul(4);
        let wanted =
            STREAM_BUFFER_BYTES.max(4 * self.facts.l2_bytes).max(node_bytes.saturating_mul(2));
        let mut slot = self.buffer.borrow_mut();
        if slot.as_ref().is_none_or(|buffer| buffer.words() * 4 < wanted) {
            // Give the old one back first: both together may not fit.
            *slot = None;
            *slot = Some(Rc::new(StreamBuffer::new(&self.stream, wanted)?));
        }
        Ok(slot.clone())
    }

    /// A buffer to flush L2 with: the stream buffer, made if there is none.
    pub(super) fn flush_buffer(&self) -> Result<Rc<StreamBuffer>> {
        let mut slot = self.buffer.borrow_mut();
        if slot.is_none() {
            *slot = Some(Rc::new(StreamBuffer::new(&self.stream, 4 * self.facts.l2_bytes)?));
        }
        Ok(slot.clone().expect("just made"))
    }

    /// The workspace that all arms of one chain share.
    pub(super) fn workspace(&self, chain: &Chain, buffer_words: u64) -> Result<Rc<Workspace>> {
        let key = format!(
            "{} {:?} {:?} {:?} {} {buffer_words}",
            chain.nodes, chain.shape, chain.preamble.kind, chain.body, chain.l2
        );
        let mut all = self.workspaces.borrow_mut();
        if let Some(workspace) = all.get(&key).and_then(Weak::upgrade) {
            return Ok(workspace);
        }
        all.retain(|_, workspace| workspace.strong_count() > 0);
        let workspace = Workspace::new(&self.stream, chain, buffer_words, self.spoiled.take())?;
        all.insert(key, Rc::downgrade(&workspace));
        Ok(workspace)
    }

    /// Enqueues a flush of L2.
    pub(super) fn flush(&self) -> Result<()> {
        let buffer = self.flush_buffer()?;
        let vectors = (4 * self.facts.l2_bytes / 16).min(buffer.vectors());
        // SAFETY: the buffer is kept by the device and holds that many vectors.
        unsafe { shim::launch_flush(raw(&self.stream), buffer.address(), vectors) }
            .map_err(|error| launch_fault("flush L2", error))
    }
}

/// An error of the conditioner.
pub(super) fn condition_fault(failure: Failure) -> Error {
    match failure {
        Failure::Memory(error) => fault("condition the launch path", error),
        Failure::Launch(error) => launch_fault("condition the launch path", error),
    }
}

/// A device fault: the context is lost, and with it the rest of the run.
pub(super) fn fault(what: &str, error: DriverError) -> Error {
    Error::failed(what, error).remedy("the rows measured so far are kept")
}

/// The same from a launch through the runtime.
pub(super) fn launch_fault(what: &str, error: CudaError) -> Error {
    Error::failed(what, error).remedy("the rows measured so far are kept")
}

/// `GPU-` and the UUID in the form of NVML.
fn uuid(context: &CudaContext) -> Result<String, DriverError> {
    let bytes = context.uuid()?.bytes;
    let mut text = String::from("GPU");
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", *byte as u8));
    }
    Ok(text)
}

fn facts(context: &CudaContext, uuid: String, monitor: &Monitor) -> Result<Facts> {
    let fail = |error: DriverError| broken("read the GPU", error);
    let attribute = |which| context.attribute(which).map(|value| value as u32).map_err(fail);
    let constants = monitor.constants();
    let (major, minor) = context.compute_capability().map_err(fail)?;
    Ok(Facts {
        backend: Backend::Gpu,
        name: context.name().map_err(fail)?,
        uuid,
        sm_count: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        capability: (major as u32, minor as u32),
        l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        memory_bytes: context.total_mem().map_err(fail)? as u64,
        sm_threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        sm_blocks: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        sm_registers: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        sm_shared_bytes: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        block_shared_bytes: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        driver: constants.driver,
        driver_cuda: driver_cuda()?,
        runtime_cuda: shim::runtime_version(),
        ecc: constants.ecc,
        mig: constants.mig,
        mps: Some(mps()),
        sm_mhz_max: constants.sm_mhz_max,
        clocks_locked: constants.clocks_locked,
        timer_step_ns: 0,
        timer_skew_ns: None,
        queue_depth: 0,
        no_gate: None,
        simulation: None,
    })
}

/// Whether an MPS daemon's pipe is where this process would look for it.
fn mps() -> bool {
    let folder = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").unwrap_or("/tmp/nvidia-mps".into());
    std::path::Path::new(&folder).join("control").exists()
}

impl Device for Gpu {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }

    fn health(&self) -> Health {
        self.monitor.health()
    }

    fn sm_mhz(&self) -> Option<u32> {
        self.monitor.sm_mhz()
    }

    fn prepare<'a>(&'a self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'a>> {
        interrupt::check("prepare the chain")?;
        let chain = if arm == Arm::Sentinel { nodes::sentinel(chain) } else { *chain };
        Ok(Box::new(GpuChain::new(self, &chain, arm)?))
    }

    fn instruments(&self) -> Option<&dyn Instruments> {
        Some(self)
    }

    fn begin_range(&self, name: &str) {
        range::push(name);
    }

    fn end_range(&self) {
        range::pop();
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // The gate's words must outlive whatever still waits for them.
        let _ = self.stream.synchronize();
    }
}
