//! Attached graphs.

use std::ffi::{c_char, c_void};
#[cfg(feature = "cuda")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::boundary::{guarded, hand_out, text};
use super::text::options;
use crate::attach::{self, Flips};
use crate::chain::Dependency;
#[cfg(not(feature = "cuda"))]
use crate::error::Kind;
use crate::error::{Error, Result};

/// `pdl_lab_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RegionView {
    /// For messages, or null.
    pub name: *const c_char,
    /// Device address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// `pdl_lab_code`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CodeView {
    /// `CUfunction` or `CUkernel`, or null.
    pub function: *const c_void,
    /// For messages, or null.
    pub source: *const c_char,
    /// Machine code.
    pub bytes: *const c_void,
    /// Bytes of it.
    pub size: u64,
}

/// `pdl_lab_reset`.
pub type ResetFn = Option<unsafe extern "C" fn(user: *mut c_void, stream: *mut c_void) -> i32>;

/// `pdl_lab_progress`.
pub type Progress =
    Option<unsafe extern "C" fn(user: *mut c_void, step: *const c_char, done: u32, of: u32) -> i32>;

/// `pdl_lab_attach_args`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AttachArgs {
    /// `cudaGraph_t`.
    pub graph: *mut c_void,
    /// Compared.
    pub outputs: *const RegionView,
    /// How many.
    pub output_count: u64,
    /// Poisoned and recorded.
    pub buffers: *const RegionView,
    /// How many.
    pub buffer_count: u64,
    /// Machine code.
    pub codes: *const CodeView,
    /// How many.
    pub code_count: u64,
    /// Restores.
    pub reset: ResetFn,
    /// Handed to `reset`.
    pub user: *mut c_void,
    /// 1: the process is not searched.
    pub ignore_process: u32,
    /// 0.
    pub reserved: u32,
}

/// `pdl_lab_graph`.
pub struct AttachedGraph {
    #[cfg(feature = "cuda")]
    graph: Mutex<crate::gpu::user_graph::Embedded>,
    /// What the last run was made from.
    #[cfg(feature = "cuda")]
    last: Mutex<Option<attach::Attributed>>,
}

#[cfg(feature = "cuda")]
impl AttachedGraph {
    /// A panic while it was held left the handle usable: every call starts from fresh memory.
    fn lock(&self) -> MutexGuard<'_, crate::gpu::user_graph::Embedded> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Safety
/// `graph` is null or a live handle.
unsafe fn attached<'a>(graph: *const AttachedGraph) -> Result<&'a AttachedGraph> {
    // SAFETY: the caller's promise.
    unsafe { graph.as_ref() }
        .ok_or_else(|| Error::usage("use the graph", "the handle is null or was detached"))
}

#[cfg(not(feature = "cuda"))]
fn no_gpu() -> Error {
    Error::new(Kind::NoGpu, "attach the graph", "this library was built without the GPU")
}

/// # Safety
/// `first` is null or points to `count` values.
unsafe fn slice<'a, T>(first: *const T, count: u64, what: &str) -> Result<&'a [T]> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::usage(format!("read {what}"), "the pointer to them is null")),
        // SAFETY: the caller's promise.
        (false, count) => Ok(unsafe { std::slice::from_raw_parts(first, count as usize) }),
    }
}

fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::failed("write the result", error))
}

#[cfg(feature = "cuda")]
mod device {
    use super::*;
    use crate::gpu::user_graph::{Code, Embedded, Image, Memory, Region, Reset};

    /// # Safety
    /// As `pdl_lab_region` says.
    unsafe fn regions(first: *const RegionView, count: u64, what: &str) -> Result<Vec<Region>> {
        // SAFETY: the caller's promise.
        let views = unsafe { slice(first, count, what) }?;
        let region = |(index, view): (usize, &RegionView)| {
            // SAFETY: the caller's promise.
            let name = unsafe { text(view.name, "a name") }?;
            let name = name.map_or_else(|| format!("{what} {index}"), str::to_owned);
            Ok(Region::new(name, view.address, view.bytes))
        };
        views.iter().enumerate().map(region).collect()
    }

    /// # Safety
    /// As `pdl_lab_code` says.
    pub unsafe fn code(first: *const CodeView, count: u64, search_process: bool) -> Result<Code> {
        // SAFETY: the caller's promise.
        let views = unsafe { slice(first, count, "the code") }?;
        let image = |view: &CodeView| {
            // SAFETY: the caller's promise.
            let source = unsafe { text(view.source, "a source") }?.unwrap_or("the caller");
            let bytes = view.bytes.cast::<u8>();
            // SAFETY: as above.
            let bytes = unsafe { slice(bytes, view.size, "an image") }?.to_vec();
            let function = (!view.function.is_null()).then_some(view.function as u64);
            Ok(Image { function, source: source.to_owned(), bytes })
        };
        let images = views.iter().map(image).collect::<Result<_>>()?;
        Ok(Code { images, search_process })
    }

    fn reset(reset: ResetFn, user: *mut c_void) -> Option<Reset> {
        let reset = reset?;
        Some(Box::new(move |stream| {
            // SAFETY: the caller's promise: callable as long as the handle lives.
            match unsafe { reset(user, stream) } {
                0 => Ok(()),
                code => Err(Error::failed("reset the inputs", format!("the reset answers {code}"))),
            }
        }))
    }

    /// # Safety
    /// As the header says.
    pub unsafe fn attach(args: &AttachArgs) -> Result<AttachedGraph> {
        if args.graph.is_null() {
            return Err(Error::usage("attach the graph", "it is null"));
        }
        // SAFETY: the caller's promise.
        let (memory, code) = unsafe {
            let memory = Memory {
                outputs: regions(args.outputs, args.output_count, "output")?,
                buffers: regions(args.buffers, args.buffer_count, "buffer")?,
                reset: reset(args.reset, args.user),
            };
            (memory, code(args.codes, args.code_count, args.ignore_process == 0)?)
        };
        // SAFETY: as above.
        let graph = unsafe { Embedded::attach(args.graph, memory, &code) }?;
        Ok(AttachedGraph { graph: Mutex::new(graph), last: Mutex::default() })
    }
}

/// Clones and lists a graph.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_attach(
    args: *const AttachArgs,
    graph: *mut *mut AttachedGraph,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let args = unsafe { args.as_ref() }
            .ok_or_else(|| Error::usage("attach the graph", "there are no arguments"))?;
        if graph.is_null() {
            return Err(Error::usage("attach the graph", "the place for the handle is null"));
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = args;
            Err(no_gpu())
        }
        #[cfg(feature = "cuda")]
        {
            // SAFETY: as above.
            let attached = unsafe { device::attach(args) }?;
            // SAFETY: as above.
            unsafe { graph.write(Box::into_raw(Box::new(attached))) };
            Ok(())
        }
    })
}

/// Lets a graph go.
///
/// # Safety
/// `graph` is null or a handle that is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_detach(graph: *mut AttachedGraph) {
    if graph.is_null() {
        return;
    }
    guarded(|| {
        // SAFETY: the caller's promise: made by `pdl_lab_attach`.
        drop(unsafe { Box::from_raw(graph) });
        Ok(())
    });
}

/// Nodes and edges as JSON.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_list(graph: *mut AttachedGraph, to: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let graph = unsafe { attached(graph) }?;
        let text = json(&graph.listing())?;
        // SAFETY: as above.
        unsafe { hand_out(to, &text) }
    })
}

/// The same of a graph that is not attached.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_list_graph(
    graph: *mut c_void,
    codes: *const CodeView,
    code_count: u64,
    to: *mut *mut c_char,
) -> i32 {
    guarded(|| {
        if graph.is_null() {
            return Err(Error::usage("list the graph", "it is null"));
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (codes, code_count, to);
            Err(no_gpu())
        }
        #[cfg(feature = "cuda")]
        {
            // SAFETY: the caller's promise.
            let listing = unsafe {
                let code = device::code(codes, code_count, true)?;
                crate::gpu::user_graph::list_embedded(graph, &code)?
            };
            // SAFETY: as above.
            unsafe { hand_out(to, &json(&listing)?) }
        }
    })
}

/// Runs with some edges programmatic and compares.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_verify(
    graph: *mut AttachedGraph,
    edges: *const u32,
    edge_count: u64,
    to: *mut *mut c_char,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (graph, edges) = unsafe { (attached(graph)?, slice(edges, edge_count, "the edges")?) };
        let text = graph.verify(&Flips::of(edges.iter().copied()))?;
        // SAFETY: as above.
        unsafe { hand_out(to, &text) }
    })
}

/// Checks one edge for races.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_race(
    graph: *mut AttachedGraph,
    edge: u32,
    json_options: *const c_char,
    to: *mut *mut c_char,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (graph, options) = unsafe { (attached(graph)?, options(json_options)?) };
        let text = json(&graph.race(edge, &options)?)?;
        // SAFETY: as above.
        unsafe { hand_out(to, &text) }
    })
}

/// Which edges are worth it.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_run(
    graph: *mut AttachedGraph,
    json_options: *const c_char,
    progress: Progress,
    user: *mut c_void,
    to: *mut *mut c_char,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (graph, options) = unsafe { (attached(graph)?, options(json_options)?) };
        let mut watch = |told: &attach::Progress| {
            let Some(progress) = progress else { return true };
            let step = std::ffi::CString::new(told.step.as_str()).unwrap_or_default();
            // SAFETY: as above.
            unsafe { progress(user, step.as_ptr(), told.done, told.of) == 0 }
        };
        let text = json(&graph.run(&options, &mut watch)?)?;
        // SAFETY: as above.
        unsafe { hand_out(to, &text) }
    })
}

/// What the last run was made from.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_trials(graph: *mut AttachedGraph, to: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let text = unsafe { attached(graph) }?.trials()?;
        // SAFETY: as above.
        unsafe { hand_out(to, &text) }
    })
}

/// Makes edges of the caller's own graph programmatic.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_apply(
    handle: *mut AttachedGraph,
    graph: *mut c_void,
    edges: *const u32,
    edge_count: u64,
    dependency: *const c_char,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (handle, edges) =
            unsafe { (attached(handle)?, slice(edges, edge_count, "the edges")?) };
        if graph.is_null() {
            return Err(Error::usage("change the graph", "it is null"));
        }
        // SAFETY: as above.
        let dependency = match unsafe { text(dependency, "the dependency") }? {
            None | Some("programmatic") => Dependency::Programmatic,
            Some("launch-completion") => Dependency::LaunchCompletion,
            Some(other) => {
                let cause = format!("'{other}' is none of programmatic, launch-completion");
                return Err(Error::usage("change the graph", cause));
            }
        };
        // SAFETY: as above.
        unsafe { handle.apply(graph, &Flips::of(edges.iter().copied()), dependency) }
    })
}

#[cfg(feature = "cuda")]
impl AttachedGraph {
    fn listing(&self) -> attach::Listing {
        self.lock().listing().clone()
    }

    fn verify(&self, flips: &Flips) -> Result<String> {
        let dependency = Dependency::Programmatic;
        let found = self.lock().with(|graph| graph.verify(flips, dependency))?;
        let (region, offset) = found.first.unwrap_or_default();
        json(&serde_json::json!({
            "bytes": found.bytes,
            "wrong_bytes": found.wrong_bytes,
            "region": region,
            "offset": offset,
        }))
    }

    /// # Safety
    /// `graph` is live.
    unsafe fn apply(&self, graph: *mut c_void, flips: &Flips, to: Dependency) -> Result<()> {
        // SAFETY: the caller's promise.
        self.lock().with(|attached| unsafe { attached.apply(graph, flips, to) })
    }

    fn race(&self, edge: u32, options: &attach::Options) -> Result<attach::Race> {
        self.lock().with(|graph| graph.race(edge, options))
    }

    fn run(
        &self,
        options: &attach::Options,
        watch: &mut dyn FnMut(&attach::Progress) -> bool,
    ) -> Result<attach::Report> {
        let (report, attributed) =
            self.lock().with(|graph| graph.attribute_recorded(options, watch))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(attributed);
        Ok(report)
    }

    fn trials(&self) -> Result<String> {
        match &*self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(last) => json(last),
            None => Err(Error::usage("give the trials out", "nothing was run yet")),
        }
    }
}

/// Without the GPU there are no handles.
#[cfg(not(feature = "cuda"))]
impl AttachedGraph {
    fn listing(&self) -> attach::Listing {
        attach::Listing::default()
    }

    fn verify(&self, _: &Flips) -> Result<String> {
        Err(no_gpu())
    }

    /// # Safety
    /// None is needed.
    unsafe fn apply(&self, _: *mut c_void, _: &Flips, _: Dependency) -> Result<()> {
        Err(no_gpu())
    }

    fn race(&self, _: u32, _: &attach::Options) -> Result<attach::Race> {
        Err(no_gpu())
    }

    fn trials(&self) -> Result<String> {
        Err(no_gpu())
    }

    fn run(
        &self,
        _: &attach::Options,
        _: &mut dyn FnMut(&attach::Progress) -> bool,
    ) -> Result<attach::Report> {
        Err(no_gpu())
    }
}
