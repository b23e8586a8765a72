//! A graph attached in a process that others govern: the caller's context is found, used and put
//! back.

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::driver::sys;

use super::code::Code;
use super::graph::nodes_of;
use super::memory::{Memory, Region};
use super::subject::{UserGraph, list};
use crate::attach::Listing;
use crate::error::{Error, Kind, Result};
use crate::gpu::driver::{Absence, Gpu, open_at};

/// An attached graph and its device.
pub struct Embedded {
    gpu: Rc<Gpu>,
    subject: Option<UserGraph>,
}

// SAFETY: all that counts references to the device without atomics lies within this struct, so that
// they move together; the driver's handles belong to no thread, and `with` makes the context current.
unsafe impl Send for Embedded {}

/// Puts the caller's context back.
struct Borrowed(sys::CUcontext);

impl Borrowed {
    fn now() -> Borrowed {
        let mut context = std::ptr::null_mut();
        // SAFETY: writes one handle; before the driver is initialised it fails and writes none.
        let _ = unsafe { sys::cuCtxGetCurrent(&mut context) };
        Borrowed(context)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: the caller's own, or null for none.
        let _ = unsafe { sys::cuCtxSetCurrent(self.0) };
    }
}

impl Embedded {
    /// Attaches `graph` on the device of its outputs.
    ///
    /// # Safety
    /// As [`UserGraph::attach`], as long as this lives.
    ///
    /// # Errors
    /// No driver; memory that is not the device's; another context than the device's primary one;
    /// and those of [`UserGraph::attach`].
    pub unsafe fn attach(graph: *mut c_void, memory: Memory, code: &Code) -> Result<Embedded> {
        present()?;
        memory.validate()?;
        let caller = Borrowed::now();
        let mut device = None;
        for region in memory.outputs.iter().chain(&memory.buffers) {
            let found = device_of(region)?;
            if *device.get_or_insert(found) != found {
                let cause = format!("{} lies on another device than the rest", region.name);
                return Err(Error::usage("attach the graph", cause)
                    .remedy("name memory of the device alone that the graph was captured on"));
            }
        }
        let gpu = match open_at(device.unwrap_or(0) as usize)? {
            Ok(gpu) => Rc::new(gpu),
            Err(Absence::None(reason) | Absence::Old(reason)) => {
                return Err(Error::new(Kind::NoGpu, "attach the graph", reason));
            }
        };
        let primary = gpu.stream.context().cu_ctx();
        if !caller.0.is_null() && caller.0 != primary {
            return Err(Error::new(
                Kind::Refused,
                "attach the graph",
                "the current context is not the device's primary one",
            )
            .remedy("graphs of the runtime, PyTorch and Triton live in the primary context"));
        }
        // SAFETY: the caller's promise.
        if let Some(other) = unsafe { device_of_kernels(graph.cast()) }?
            && Some(other) != device
        {
            let (own, at) = (device.unwrap_or(0), "attach the graph");
            let cause =
                format!("its kernels run on device {other}, its outputs lie on device {own}");
            return Err(Error::usage(at, cause)
                .remedy("name the tensors that the graph writes, on the device of its capture"));
        }
        // SAFETY: the caller's promise.
        let subject = unsafe { UserGraph::attach(gpu.clone(), graph, memory, code) }?;
        Ok(Embedded { gpu, subject: Some(subject) })
    }

    /// Nodes and edges.
    pub fn listing(&self) -> &Listing {
        self.subject.as_ref().expect("it is taken when this is dropped").listing()
    }

    /// Does something with the graph in its context.
    ///
    /// # Errors
    /// Those of `body`, or a context that is gone.
    pub fn with<T>(&mut self, body: impl FnOnce(&mut UserGraph) -> Result<T>) -> Result<T> {
        let _caller = Borrowed::now();
        let context = self.gpu.stream.context();
        context
            .bind_to_thread()
            .map_err(|error| Error::failed("use the graph's context", error))?;
        body(self.subject.as_mut().expect("it is taken when this is dropped"))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let _caller = Borrowed::now();
        // A context that is gone has taken everything with it.
        let _ = self.gpu.stream.context().bind_to_thread();
        drop(self.subject.take());
    }
}

/// What a graph of the current context is made of.
///
/// # Safety
/// `graph` is live.
///
/// # Errors
/// No driver, or the driver's.
pub unsafe fn list_embedded(graph: *mut c_void, code: &Code) -> Result<Listing> {
    present()?;
    // SAFETY: the caller's promise.
    unsafe { list(graph, code) }
}

fn present() -> Result<()> {
    // SAFETY: only tries to load the driver; cudarc panics where it is missing.
    match unsafe { sys::is_culib_present() } {
        true => Ok(()),
        false => {
            Err(Error::new(Kind::NoGpu, "attach the graph", "no CUDA driver found (libcuda.so.1)"))
        }
    }
}

/// The device that the graph's first kernel runs on; `None` where the driver does not tell.
///
/// # Safety
/// `graph` is live.
unsafe fn device_of_kernels(graph: sys::CUgraph) -> Result<Option<i32>> {
    // SAFETY: the caller's promise.
    for node in unsafe { nodes_of(graph) }? {
        // SAFETY: numbers and pointers; zero is a value of each.
        let mut params: sys::CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: a node of a live graph; one that is no kernel is an error.
        let read = unsafe { sys::cuGraphKernelNodeGetParams_v2(node, &mut params) };
        if read != sys::CUresult::CUDA_SUCCESS || params.ctx.is_null() {
            continue;
        }
        let (mut device, mut popped) = (0, std::ptr::null_mut());
        // SAFETY: the context of a kernel of a live graph is live; what is pushed is popped.
        let found = unsafe {
            if sys::cuCtxPushCurrent_v2(params.ctx) != sys::CUresult::CUDA_SUCCESS {
                continue;
            }
            let found = sys::cuCtxGetDevice(&mut device);
            let _ = sys::cuCtxPopCurrent_v2(&mut popped);
            found
        };
        return Ok((found == sys::CUresult::CUDA_SUCCESS).then_some(device));
    }
    Ok(None)
}

/// The device that a region lies on: asked of its first and its last byte.
fn device_of(region: &Region) -> Result<i32> {
    let mut device = 0;
    for address in [region.address, region.address + region.bytes - 1] {
        let mut kind: u32 = 0;
        // SAFETY: each writes one int; an address that the driver does not know is an error.
        let codes = unsafe {
            [
                sys::cuPointerGetAttribute(
                    (&raw mut kind).cast(),
                    sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                    address,
                ),
                sys::cuPointerGetAttribute(
                    (&raw mut device).cast(),
                    sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                    address,
                ),
            ]
        };
        let known = codes.iter().all(|&code| code == sys::CUresult::CUDA_SUCCESS);
        if !known || kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
            let cause = format!("{} is no device memory, or no longer", region.name);
            return Err(Error::usage("attach the graph", cause)
                .remedy("keep the tensors alive, and give their addresses and sizes in bytes"));
        }
    }
    Ok(device)
}
