//! A kernel that holds the stream until everything is queued, and what guarantees that it opens.
//!
//! Three things open the gate: [`Closed::open`], the watchdog thread (past its deadline, or when
//! the user asks to stop, since the main thread may be blocked in a launch), and the kernel's own
//! time-out on the device. A sample that was not opened by the first is flagged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, PinnedHostSlice, sys};

use super::shim::{self, CudaError, RawStream};
use crate::device::Flag;
use crate::error::Result;
use crate::interrupt;

/// The device's own time-out: far above the time to queue what one queue can hold.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(4);
/// The watchdog's: the device's is the last resort.
const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(2);
const WATCHDOG_STEP: Duration = Duration::from_millis(10);

/// Words that both the device and every thread of the host see.
struct Words {
    open: *mut u32,
    timed_out: *mut u32,
    _memory: PinnedHostSlice<u32>,
}

// SAFETY: the words are only read and written through volatile accesses of one aligned u32.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn set(&self, word: *mut u32, value: u32) {
        // SAFETY: both pointers lie in `_memory`.
        unsafe { word.write_volatile(value) }
    }

    fn timed_out(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.timed_out.read_volatile() != 0 }
    }
}

#[derive(Default)]
struct Watch {
    /// Deadline in microseconds since `start`, 0 when no gate is closed.
    deadline_us: AtomicU64,
    /// Set when the watchdog opened a gate.
    opened: AtomicBool,
    stop: AtomicBool,
}

/// The gate of one stream.
pub struct Gate {
    words: Arc<Words>,
    watch: Arc<Watch>,
    start: Instant,
    watchdog: Option<JoinHandle<()>>,
}

/// A gate that is closed; dropping it opens it.
pub struct Closed<'a> {
    gate: &'a Gate,
}

impl Gate {
    /// Allocates the words and starts the watchdog.
    pub fn new(context: &Arc<CudaContext>) -> Result<Gate, cudarc::driver::DriverError> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: both words are written before anything reads them.
        let mut memory = unsafe { context.alloc_pinned_with_flags::<u32>(32, flags)? };
        let open = memory.as_mut_ptr()?;
        // SAFETY: the allocation holds 32 words; a cache line apart.
        let timed_out = unsafe { open.add(16) };
        let words = Arc::new(Words { open, timed_out, _memory: memory });
        words.set(open, 1);
        words.set(timed_out, 0);
        let watch = Arc::new(Watch::default());
        let start = Instant::now();
        let watchdog = {
            let (words, watch) = (words.clone(), watch.clone());
            std::thread::spawn(move || watch_over(&words, &watch, start))
        };
        Ok(Gate { words, watch, start, watchdog: Some(watchdog) })
    }

    /// Closes the gate: what is queued on `stream` after this waits until it opens. The guard is
    /// armed before the kernel is launched.
    pub fn close(&self, stream: RawStream) -> Result<Closed<'_>, CudaError> {
        self.close_for(stream, DEVICE_TIMEOUT)
    }

    /// The same with another device time-out.
    pub fn close_for(&self, stream: RawStream, timeout: Duration) -> Result<Closed<'_>, CudaError> {
        self.words.set(self.words.timed_out, 0);
        self.words.set(self.words.open, 0);
        self.watch.opened.store(false, Ordering::SeqCst);
        let deadline = self.start.elapsed() + WATCHDOG_TIMEOUT;
        self.watch.deadline_us.store(deadline.as_micros() as u64, Ordering::SeqCst);
        let closed = Closed { gate: self };
        // SAFETY: the words live as long as the gate, which outlives the stream's work: the device
        // is synchronised before it is dropped.
        unsafe {
            shim::launch_gate(
                stream,
                self.words.open,
                self.words.timed_out,
                timeout.as_nanos() as u64,
            )?
        };
        Ok(closed)
    }

    /// Flags of the gate that was last closed; ask after the stream is drained.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        if self.words.timed_out() {
            flags.push(Flag::GateTimeout);
        }
        if self.watch.opened.load(Ordering::SeqCst) {
            flags.push(Flag::Watchdog);
        }
        flags
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.watch.stop.store(true, Ordering::SeqCst);
        self.words.set(self.words.open, 1);
        if let Some(watchdog) = self.watchdog.take() {
            // The watchdog neither panics nor blocks.
            let _ = watchdog.join();
        }
    }
}

impl Closed<'_> {
    /// Opens the gate.
    pub fn open(self) {}
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.watch.deadline_us.store(0, Ordering::SeqCst);
        self.gate.words.set(self.gate.words.open, 1);
    }
}

fn watch_over(words: &Words, watch: &Watch, start: Instant) {
    while !watch.stop.load(Ordering::SeqCst) {
        std::thread::sleep(WATCHDOG_STEP);
        let deadline = watch.deadline_us.load(Ordering::SeqCst);
        let late = deadline != 0 && start.elapsed().as_micros() as u64 > deadline;
        if deadline != 0 && (late || interrupt::asked()) {
            watch.opened.store(true, Ordering::SeqCst);
            words.set(words.open, 1);
        }
    }
}
