//! A graph attached in a process that others govern: the caller's context is found, used and put
//! back.

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::driver::sys;

use super::code::Code;
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
                return Err(Error::usage("attach the graph", cause));
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
