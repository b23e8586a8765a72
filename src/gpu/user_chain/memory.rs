//! Buffers of a chain, what the stream arm leaves in them, and the comparison with it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DriverError};

use super::super::driver::{Gpu, fault, launch_fault};
use super::super::memory::{address, memory_error, raw};
use super::super::replay;
use super::super::shim::Difference;
use super::super::user_graph::Region;
use super::guard::{self, GUARD, GUARD_BYTES, guarded};
use crate::chain_file::{Loaded, Resolved, ResolvedBuffer};
use crate::device::Verification;
use crate::error::{Error, Kind, Result};
use crate::kernel::{self, Code, Written};

/// Copies of a buffer begin at multiples of this.
const ALIGNMENT: u64 = 256;
/// Buffers of so many bytes are compared on the device before they are read.
const LARGE_BYTES: usize = 1 << 20;

/// A buffer and its copies.
struct Live {
    of: ResolvedBuffer,
    copies: u32,
    stride: u64,
    memory: CudaSlice<u8>,
    /// What one copy holds when the chain begins.
    fill: Rc<Vec<u8>>,
}

/// What buffers hold when a chain begins, each made once: large ones take a while.
#[derive(Default)]
pub struct Fills(RefCell<HashMap<String, Rc<Vec<u8>>>>);

impl Fills {
    fn of(&self, buffer: &ResolvedBuffer) -> Result<Rc<Vec<u8>>> {
        // The number of copies is none of the content.
        let key = format!("{:?}", ResolvedBuffer { copies: None, ..buffer.clone() });
        if let Some(bytes) = self.0.borrow().get(&key) {
            return Ok(bytes.clone());
        }
        let bytes = Rc::new(kernel::bytes(buffer)?);
        self.0.borrow_mut().insert(key, bytes.clone());
        Ok(bytes)
    }
}

impl Live {
    fn bytes(&self) -> u64 {
        self.stride * u64::from(self.copies)
    }
}

/// Queues a copy between two places of the device.
///
/// # Safety
/// Both are live until the stream's work is done, and do not overlap.
unsafe fn copy_queued(
    stream: &CudaStream,
    to: u64,
    from: u64,
    bytes: usize,
) -> Result<(), DriverError> {
    // SAFETY: the caller's promise.
    unsafe { cudarc::driver::sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.cu_stream()) }
        .result()
}

/// Says whether buffers hold what is right.
pub type External<'a> = &'a dyn Fn(&[Written]) -> Result<()>;

/// Buffers of a chain of so many repeats: what every arm of it works on.
pub struct Buffers {
    live: Vec<Live>,
    stream: Arc<CudaStream>,
    /// Buffers that the chain writes, and what they held before it.
    written: RefCell<Vec<(usize, CudaSlice<u8>)>>,
    /// Of the written ones, those that are compared.
    compared: RefCell<Vec<usize>>,
    expected: RefCell<HashMap<Code, Vec<CudaSlice<u8>>>>,
    differences: CudaSlice<Difference>,
    found: Cell<bool>,
    /// Whether the chain may be run again with nothing put back, once that was asked.
    pub runs_again: Cell<Option<bool>>,
}

impl Buffers {
    /// Allocates and fills them.
    pub fn new(gpu: &Gpu, resolved: &Resolved, repeats: u32, fills: &Fills) -> Result<Buffers> {
        let stream = gpu.stream.clone();
        let mut live = Vec::new();
        let (free, _) =
            stream.context().mem_get_info().map_err(|e| fault("ask for free memory", e))?;
        let mut whole = 0_u64;
        for of in &resolved.buffers {
            let copies = of.copies_of(repeats);
            let stride = of.bytes().next_multiple_of(ALIGNMENT) + GUARD_BYTES;
            let bytes = stride.saturating_mul(u64::from(copies));
            whole = whole.saturating_add(bytes);
            let what = format!("buffer {} in {copies} copies", of.name);
            if whole > free as u64 {
                let cause = format!("{} MiB are free", free >> 20);
                let action = format!("allocate {} MiB for {what}", bytes.div_ceil(1 << 20));
                return Err(Error::unsupported(action, cause)
                    .remedy("make it smaller, or its copies fewer"));
            }
            let fail = |error: DriverError| memory_error(&what, bytes, error);
            let fill = fills.of(of)?;
            let mut memory = guarded(&stream, bytes).map_err(fail)?;
            stream.memcpy_htod(&fill[..], &mut memory.slice_mut(0..fill.len())).map_err(fail)?;
            let first = address(&memory, &stream);
            for copy in 1..u64::from(copies) {
                // SAFETY: both lie in this memory, and copies do not overlap.
                unsafe { copy_queued(&stream, first + copy * stride, first, fill.len()) }
                    .map_err(fail)?;
            }
            live.push(Live { of: of.clone(), copies, stride, memory, fill });
        }
        // SAFETY: written before every use.
        let differences = unsafe { stream.alloc::<Difference>(live.len().max(1)) }
            .map_err(|error| memory_error("counters", 16, error))?;
        stream.synchronize().map_err(|error| fault("fill the buffers", error))?;
        Ok(Buffers {
            live,
            stream,
            written: RefCell::default(),
            compared: RefCell::default(),
            expected: RefCell::default(),
            differences,
            found: Cell::new(false),
            runs_again: Cell::new(None),
        })
    }

    /// Address of a byte of a buffer in a repeat.
    pub fn address(&self, buffer: usize, repeat: u32, offset: u64) -> u64 {
        let live = &self.live[buffer];
        address(&live.memory, &self.stream) + u64::from(repeat % live.copies) * live.stride + offset
    }

    /// Whether `code` has been run over full edges, so that there is something to compare with.
    pub fn knows(&self, code: Code) -> bool {
        self.expected.borrow().contains_key(&code)
    }

    /// Gives back the memory of what the stream arm of `code` left.
    pub fn forget(&self, code: Code) {
        self.expected.borrow_mut().remove(&code);
    }

    /// Keeps what `run`, the stream arm of `code`, leaves. The first code that comes tells which
    /// buffers are written; `external` says whether what they hold is right.
    pub fn learn(
        &self,
        loaded: &Loaded,
        code: Code,
        run: &dyn Fn() -> Result<()>,
        external: Option<External>,
    ) -> Result<()> {
        if !self.found.get() {
            run()?;
            self.find_written(loaded)?;
            self.found.set(true);
        }
        // From what the buffers were filled with: a chain may write what it reads, and may have run.
        self.restore()?;
        run()?;
        let copies = self
            .compared
            .borrow()
            .iter()
            .map(|&at| {
                let live = &self.live[at];
                let fail = |error| memory_error("what is right", live.bytes(), error);
                self.stream.clone_dtod(&live.memory).map_err(fail)
            })
            .collect::<Result<Vec<_>>>()?;
        self.expected.borrow_mut().insert(code, copies);
        if let Some(external) = external {
            self.check_external(external)?;
        }
        self.restore()?;
        run()?;
        self.clear_differences()?;
        self.queue_comparison(code)?;
        self.restore()?;
        self.drain("compare two runs")?;
        let again = self.verification()?;
        if let Some(place) = again.place {
            let cause = format!("two runs over full edges differ: {place}");
            return Err(Error::new(Kind::Wrong, "compare results bit by bit", cause).remedy(
                "kernels whose sums depend on the order of atomics cannot be compared so: leave the \
                 buffer out of verify.outputs",
            ));
        }
        Ok(())
    }

    /// Compares every buffer with what it was filled with. The stream is drained.
    fn find_written(&self, loaded: &Loaded) -> Result<()> {
        let mut written = Vec::new();
        for (at, live) in self.live.iter().enumerate() {
            let one = &live.fill[..];
            if one.len() >= LARGE_BYTES && self.untouched(live)? {
                continue;
            }
            let now =
                self.stream.clone_dtoh(&live.memory).map_err(|e| fault("read a buffer", e))?;
            guard::check(loaded, &live.of, live.stride as usize, &now)?;
            let same = now.chunks(live.stride as usize).all(|copy| copy[..one.len()] == *one);
            if same {
                continue;
            }
            let mut initial = vec![GUARD; now.len()];
            for copy in initial.chunks_mut(live.stride as usize) {
                copy[..one.len()].copy_from_slice(one);
            }
            let fail =
                |error| memory_error(&format!("what {} held", live.of.name), live.bytes(), error);
            written.push((at, self.stream.clone_htod(&initial).map_err(fail)?));
        }
        let mut compared: Vec<usize> = written.iter().map(|(at, _)| *at).collect();
        if let Some(outputs) = &loaded.file.verify.outputs {
            compared.clear();
            for output in outputs {
                let at = written.iter().find(|(at, _)| self.live[*at].of.name == *output.get_ref());
                let cause = format!("the chain does not write '{}'", output.get_ref());
                compared.push(at.ok_or_else(|| loaded.error(output.span(), cause))?.0);
            }
        }
        if compared.is_empty() {
            return Err(Error::failed("verify the chain", "it writes into no buffer").remedy(
                "a wrong result would go unseen: let a node write into a buffer of the chain file",
            ));
        }
        *self.written.borrow_mut() = written;
        *self.compared.borrow_mut() = compared;
        Ok(())
    }

    /// Whether no copy of a buffer, nor what lies behind it, has changed, asked on the device. False
    /// where there is no room to ask.
    fn untouched(&self, live: &Live) -> Result<bool> {
        let what = "compare a buffer with its fill";
        let fail = |error: DriverError| fault(what, error);
        let Ok(mut scratch) = guarded(&self.stream, live.stride) else { return Ok(false) };
        self.stream
            .memcpy_htod(&live.fill[..], &mut scratch.slice_mut(0..live.fill.len()))
            .map_err(fail)?;
        self.clear_differences()?;
        let (counter, fill) =
            (address(&self.differences, &self.stream), address(&scratch, &self.stream));
        let first = address(&live.memory, &self.stream);
        for copy in 0..u64::from(live.copies) {
            let at = first + copy * live.stride;
            // SAFETY: both hold that many bytes; the counter is this struct's.
            unsafe { replay::launch_compare(raw(&self.stream), at, fill, live.stride, counter) }
                .map_err(|error| launch_fault(what, error))?;
        }
        let found = self.stream.clone_dtoh(&self.differences).map_err(fail)?;
        Ok(found.first().is_some_and(|difference| difference.bytes == 0))
    }

    /// Hands the first copy of every buffer to what else says whether it is right.
    fn check_external(&self, external: External) -> Result<()> {
        let mut kept = Vec::new();
        for (at, live) in self.live.iter().enumerate() {
            // What the chain only reads is what it was.
            if self.written.borrow().iter().all(|(written, _)| *written != at) {
                kept.push((&live.of, live.fill.clone()));
                continue;
            }
            let first = live.memory.slice(0..live.of.bytes() as usize);
            let bytes = self.stream.clone_dtoh(&first).map_err(|e| fault("read a buffer", e))?;
            kept.push((&live.of, Rc::new(bytes)));
        }
        let all: Vec<Written> = kept
            .iter()
            .map(|(of, bytes)| Written { name: &of.name, element: of.element, bytes })
            .collect();
        external(&all)
    }

    /// Queues what makes the written buffers what they were before the chain.
    pub fn restore(&self) -> Result<()> {
        for (at, initial) in self.written.borrow().iter() {
            let live = &self.live[*at];
            let (to, from) = (address(&live.memory, &self.stream), address(initial, &self.stream));
            // SAFETY: both hold that many bytes and live as long as this.
            unsafe { copy_queued(&self.stream, to, from, live.bytes() as usize) }
                .map_err(|error| fault("restore the buffers", error))?;
        }
        Ok(())
    }

    /// Sets the counters to nothing; before the comparison is queued.
    pub fn clear_differences(&self) -> Result<()> {
        let clear = vec![Difference { bytes: 0, first: u64::MAX }; self.differences.len()];
        let base = address(&self.differences, &self.stream);
        // SAFETY: as many counters as were allocated, and the stream is drained between samples.
        unsafe { cudarc::driver::result::memcpy_htod_sync(base, &clear) }
            .map_err(|error| fault("compare the buffers", error))
    }

    /// Queues the comparison with what the stream arm of `code` left.
    pub fn queue_comparison(&self, code: Code) -> Result<()> {
        let expected = self.expected.borrow();
        let expected = expected.get(&code).expect("learnt when the chain was prepared");
        let base = address(&self.differences, &self.stream);
        for (index, (&at, copy)) in self.compared.borrow().iter().zip(expected).enumerate() {
            let live = &self.live[at];
            let counter = base + (index * size_of::<Difference>()) as u64;
            // SAFETY: both hold that many bytes; the counter is this struct's.
            unsafe {
                replay::launch_compare(
                    raw(&self.stream),
                    address(&live.memory, &self.stream),
                    address(copy, &self.stream),
                    live.bytes(),
                    counter,
                )
            }
            .map_err(|error| launch_fault("compare the buffers", error))?;
        }
        Ok(())
    }

    /// What the comparison that was queued last found, in bytes. The stream must be drained.
    pub fn verification(&self) -> Result<Verification> {
        let found = self.stream.clone_dtoh(&self.differences);
        let found = found.map_err(|error| fault("compare the buffers", error))?;
        let mut all = Verification::default();
        for (&at, difference) in self.compared.borrow().iter().zip(&found) {
            let live = &self.live[at];
            all.checked += live.of.bytes() * u64::from(live.copies);
            all.mismatches += difference.bytes;
            if difference.bytes > 0 && all.place.is_none() {
                let copy = difference.first / live.stride;
                let element = difference.first % live.stride / live.of.element.bytes();
                let copies =
                    if live.copies > 1 { format!(" of copy {copy}") } else { String::new() };
                all.place = Some(format!(
                    "{}[{element}]{copies}, and {} bytes in all",
                    live.of.name, difference.bytes
                ));
            }
        }
        Ok(all)
    }

    /// The compared buffers and the written ones, with all their copies.
    pub fn regions(&self) -> (Vec<Region>, Vec<Region>) {
        let region = |&at: &usize| {
            let live = &self.live[at];
            Region::new(&live.of.name, address(&live.memory, &self.stream), live.bytes())
        };
        let compared = self.compared.borrow().iter().map(region).collect();
        (compared, self.written.borrow().iter().map(|(at, _)| region(at)).collect())
    }

    fn drain(&self, what: &str) -> Result<()> {
        self.stream.synchronize().map_err(|error| fault(what, error))
    }
}
