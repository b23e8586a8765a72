//! A shared library whose `pdl_launch` queues a chain: `include/pdl_hook.h`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::rc::Rc;

use cudarc::driver::DriverError;
use libloading::Library;

use super::driver::{Gpu, fault};
use super::shim::CudaError;
use super::user_graph::{Code, Executable, Graph, Memory, Region, Reset, UserGraph};
use crate::device::Flag;
use crate::error::{Error, Kind, Result};
use crate::interrupt;
use crate::stats;

type Launch = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Describe = unsafe extern "C" fn(*mut c_void, *mut HookMemory) -> c_int;
type Init = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type Plain = unsafe extern "C" fn(*mut c_void) -> c_int;

/// `pdl_hook_region`.
#[repr(C)]
struct HookRegion {
    name: *const c_char,
    address: *mut c_void,
    bytes: u64,
}

/// `pdl_hook_memory`.
#[repr(C)]
struct HookMemory {
    outputs: *const HookRegion,
    output_count: u64,
    buffers: *const HookRegion,
    buffer_count: u64,
}

/// Most regions that a hook may name: more is a struct that was not filled.
const MAX_REGIONS: u64 = 4096;

/// A loaded hook, initialised.
pub struct Hook {
    context: *mut c_void,
    launch: Launch,
    describe: Describe,
    reset: Option<Launch>,
    verify: Option<Plain>,
    finish: Option<Plain>,
    name: String,
    // Dropped last: the functions lie in it.
    _library: Library,
}

/// What the chain takes when its launches go into a stream one by one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StreamForm {
    /// Median duration of the chain, ns.
    pub stream_ns: f64,
    /// Median duration of the same launches as a graph, in the same rounds, ns.
    pub graph_ns: f64,
    /// Samples of each.
    pub rounds: usize,
    /// Bytes of the outputs that differ between the two.
    pub wrong_bytes: u64,
}

impl Hook {
    /// Loads `path` and initialises it with `argument`. The device's context must be there.
    ///
    /// # Errors
    /// No library, a function that it lacks, or what its init answers.
    pub fn open(path: &Path, argument: &str) -> Result<Hook> {
        let action = || format!("use {}", path.display());
        // A name without a folder would be looked for where the system's libraries are.
        let whole = path.canonicalize().map_err(|error| Error::failed(action(), error))?;
        // SAFETY: what a library does when it is loaded is its owner's promise, as are all calls.
        let library =
            unsafe { Library::new(&whole) }.map_err(|error| Error::failed(action(), error))?;
        let argument = CString::new(argument)
            .map_err(|error| Error::usage("use this --hook-argument", error))?;
        // SAFETY: the types are those of the header that the library was built with.
        let mut hook = unsafe {
            let required = |name: &str| {
                Error::failed(action(), format!("it exports no {name}")).remedy(
                    "export pdl_launch and pdl_memory as include/pdl_hook.h says, with PDL_HOOK",
                )
            };
            let launch =
                library.get::<Launch>(b"pdl_launch\0").map_err(|_| required("pdl_launch"))?;
            let describe =
                library.get::<Describe>(b"pdl_memory\0").map_err(|_| required("pdl_memory"))?;
            Hook {
                context: std::ptr::null_mut(),
                launch: *launch,
                describe: *describe,
                reset: library.get::<Launch>(b"pdl_reset\0").ok().map(|f| *f),
                verify: library.get::<Plain>(b"pdl_verify\0").ok().map(|f| *f),
                finish: None,
                name: path.display().to_string(),
                _library: library,
            }
        };
        // SAFETY: as above.
        let init = unsafe { hook._library.get::<Init>(b"pdl_init\0") }.ok().map(|f| *f);
        if let Some(init) = init {
            // SAFETY: the text ends with a zero; the place is this struct's.
            let code = unsafe { init(argument.as_ptr(), &mut hook.context) };
            hook.answer("pdl_init", code)?;
        }
        // SAFETY: as above. What was not initialised is not finished.
        hook.finish = unsafe { hook._library.get::<Plain>(b"pdl_finish\0") }.ok().map(|f| *f);
        Ok(hook)
    }

    /// 0, or an error that names the call and what it answered.
    fn answer(&self, function: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let text = CudaError(code).to_string();
        let named =
            if text.contains("unrecognized") { String::new() } else { format!(" ({text})") };
        Err(Error::failed(
            format!("use {}", self.name),
            format!("{function} answers {code}{named}"),
        ))
    }

    /// What the chain works on.
    ///
    /// # Errors
    /// What the hook answers; no output.
    pub fn memory(self: &Rc<Self>) -> Result<Memory> {
        let mut found = HookMemory {
            outputs: std::ptr::null(),
            output_count: 0,
            buffers: std::ptr::null(),
            buffer_count: 0,
        };
        // SAFETY: the place is this function's; the rest is the library's promise.
        let code = unsafe { (self.describe)(self.context, &mut found) };
        self.answer("pdl_memory", code)?;
        let regions = |first: *const HookRegion, count: u64, what: &str| {
            if count > MAX_REGIONS || (count > 0 && first.is_null()) {
                let cause = format!("pdl_memory names {count} {what}s at {first:?}");
                return Err(Error::failed(format!("use {}", self.name), cause));
            }
            // SAFETY: the library's promise: so many entries, until pdl_finish.
            let entries = match count {
                0 => &[],
                _ => unsafe { std::slice::from_raw_parts(first, count as usize) },
            };
            let region = |(at, entry): (usize, &HookRegion)| {
                let name = match entry.name.is_null() {
                    true => format!("{what}s[{at}]"),
                    // SAFETY: a text of the library that ends with a zero.
                    false => unsafe { CStr::from_ptr(entry.name) }.to_string_lossy().into_owned(),
                };
                Region::new(name, entry.address as u64, entry.bytes)
            };
            Ok(entries.iter().enumerate().map(region).collect::<Vec<Region>>())
        };
        let outputs = regions(found.outputs, found.output_count, "output")?;
        let buffers = regions(found.buffers, found.buffer_count, "buffer")?;
        let reset: Option<Reset> = self.reset.map(|_| {
            let hook = self.clone();
            Box::new(move |stream: *mut c_void| hook.reset(stream)) as Reset
        });
        Ok(Memory { outputs, buffers, reset })
    }

    fn reset(&self, stream: *mut c_void) -> Result<()> {
        let Some(reset) = self.reset else { return Ok(()) };
        // SAFETY: the library's promise.
        self.answer("pdl_reset", unsafe { reset(stream, self.context) })
    }

    /// Queues the chain on the device's stream.
    ///
    /// # Errors
    /// What the hook answers.
    pub fn launch(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: the library's promise.
        let code = unsafe { (self.launch)(gpu.stream.cu_stream().cast(), self.context) };
        self.answer("pdl_launch", code)
    }

    /// The chain as a graph. It runs once before, so that nothing loads while it is captured.
    ///
    /// # Errors
    /// What the hook answers, and what it may not do while a stream captures.
    pub fn capture(&self, gpu: &Gpu) -> Result<Graph> {
        let what = "run pdl_launch once";
        self.reset(gpu.stream.cu_stream().cast())?;
        self.launch(gpu)?;
        gpu.done.record(&gpu.stream).map_err(|error| fault(what, error))?;
        gpu.wait(&gpu.done, what)?;
        let rule = "pdl_launch may neither synchronise nor allocate, nor use a stream that is not \
                    forked from its own: do that in pdl_init";
        let cannot = |error: Error| {
            let cause = error.cause().to_owned();
            Error::failed(format!("capture pdl_launch of {}", self.name), cause).remedy(rule)
        };
        Graph::captured(&gpu.stream, || self.launch(gpu)).map_err(cannot)
    }

    /// The chain as a graph whose edges can be attributed.
    ///
    /// # Errors
    /// Those of [`capture`](Self::capture), and memory that cannot be compared.
    pub fn attach(self: &Rc<Self>, gpu: &Rc<Gpu>) -> Result<UserGraph> {
        let graph = self.capture(gpu)?;
        let memory = self.memory()?;
        // SAFETY: the graph is live; its kernels and memory are the hook's until it is dropped,
        // which the reset that the graph holds, or the caller, keeps from happening.
        unsafe { UserGraph::attach(gpu.clone(), graph.raw().cast(), memory, &Code::default()) }
    }

    /// Whether the hook finds its own outputs right. The stream must be drained.
    ///
    /// # Errors
    /// Exit code 4 where it does not.
    pub fn verify(&self) -> Result<()> {
        let Some(verify) = self.verify else { return Ok(()) };
        // SAFETY: the library's promise.
        match unsafe { verify(self.context) } {
            0 => Ok(()),
            code => {
                let cause = format!("pdl_verify answers {code}");
                Err(Error::new(Kind::Wrong, format!("trust {}", self.name), cause))
            }
        }
    }

    /// Times the launches one by one against the same as a graph, in turns.
    ///
    /// # Errors
    /// The device's or the hook's.
    pub fn stream_form(
        &self,
        gpu: &Gpu,
        graph: &Executable,
        memory: &Memory,
        rounds: usize,
    ) -> Result<StreamForm> {
        let mut durations = [Vec::new(), Vec::new()];
        let mut kept: [Vec<Vec<u8>>; 2] = Default::default();
        for round in 0..=rounds {
            for form in [round % 2, 1 - round % 2] {
                interrupt::check("go on measuring")?;
                self.reset(gpu.stream.cu_stream().cast())?;
                gpu.stream.synchronize().map_err(|error| fault("reset the inputs", error))?;
                let mut flags = Vec::new();
                let queue = || match form {
                    0 => self.launch(gpu),
                    _ => graph.launch(&gpu.stream),
                };
                let timing = gpu.timed(gpu.gated(), &mut flags, queue, || Ok(()))?;
                // The first round loads what is not loaded.
                if round > 0 && !flags.iter().any(|flag: &Flag| flag.excludes()) {
                    durations[form].push(timing.events_ns);
                }
                if round == 0 {
                    kept[form] = outputs(memory)?;
                    self.verify()?;
                }
            }
        }
        let unlike = |(a, b): (&Vec<u8>, &Vec<u8>)| a.iter().zip(b).filter(|(a, b)| a != b).count();
        let wrong_bytes = kept[0].iter().zip(&kept[1]).map(unlike).sum::<usize>() as u64;
        let none = || {
            Error::failed("time the stream form", "every sample was spoiled: the gate timed out")
        };
        Ok(StreamForm {
            stream_ns: stats::median(&durations[0]).ok_or_else(none)?,
            graph_ns: stats::median(&durations[1]).ok_or_else(none)?,
            rounds: durations[0].len().min(durations[1].len()),
            wrong_bytes,
        })
    }
}

/// What lies in the outputs.
fn outputs(memory: &Memory) -> Result<Vec<Vec<u8>>> {
    let read = |region: &Region| {
        let mut bytes = vec![0_u8; region.bytes as usize];
        let fail = |error: DriverError| fault(&format!("read {}", region.name), error);
        // SAFETY: the hook's promise: live device memory of that many bytes.
        unsafe { cudarc::driver::result::memcpy_dtoh_sync(&mut bytes, region.address) }
            .map_err(fail)?;
        Ok(bytes)
    };
    memory.outputs.iter().map(read).collect()
}

impl Drop for Hook {
    fn drop(&mut self) {
        if let Some(finish) = self.finish {
            // SAFETY: initialised, and nothing runs any more.
            unsafe { finish(self.context) };
        }
    }
}
