//! The part of the C ABI that serves graphs made elsewhere: one function each that adds a `Result`.

use std::ffi::c_void;

use super::shim::{CudaError, CudaResult, Difference, Piece, RawStream, StandInArgs, check, sys};

/// Bytes of a chunk that [`launch_dirty`] counts in.
pub const CHUNK_BYTES: u64 = sys::PDL_CHUNK_BYTES as u64;

/// Adds to the difference at `difference` how `bytes` at `a` and `b` differ.
///
/// # Safety
/// Device addresses: `a` and `b` of `bytes`, `difference` of a [`Difference`], live until the work
/// on the stream is done.
pub unsafe fn launch_compare(
    stream: RawStream,
    a: u64,
    b: u64,
    bytes: u64,
    difference: u64,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe {
        sys::pdl_launch_compare(
            stream,
            a as *const c_void,
            b as *const c_void,
            bytes,
            difference as *mut Difference,
        )
    })
}

/// Adds to the counter of each chunk the bytes that differ.
///
/// # Safety
/// As [`launch_compare`]; `counts` holds a `u32` a chunk.
pub unsafe fn launch_dirty(
    stream: RawStream,
    a: u64,
    b: u64,
    bytes: u64,
    counts: u64,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe {
        sys::pdl_launch_dirty(
            stream,
            a as *const c_void,
            b as *const c_void,
            bytes,
            counts as *mut u32,
        )
    })
}

/// Makes the live memory of pieces what it is before the primary.
///
/// # Safety
/// `pieces` is a device address of `count` pieces, and all that they name is live until the work on
/// the stream is done.
pub unsafe fn launch_stage(stream: RawStream, pieces: u64, count: u32, stale: u32) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_stage(stream, pieces as *const Piece, count, stale) })
}

/// Adds a stand-in to a graph.
///
/// # Safety
/// The graph is live, and every pointer in `args` outlives its launches.
pub unsafe fn add_stand_in(
    graph: *mut c_void,
    args: &StandInArgs,
) -> Result<*mut c_void, CudaError> {
    let mut node = std::ptr::null_mut();
    // SAFETY: the arguments are read before the call returns; the rest is the caller's promise.
    check(unsafe { sys::pdl_graph_add_stand_in(graph, args, &mut node) })?;
    Ok(node)
}

/// Adds a kernel that writes when it began.
///
/// # Safety
/// The graph is live, and `begin_ns`, a device address of 8 bytes, outlives its launches.
pub unsafe fn add_witness(graph: *mut c_void, begin_ns: u64) -> Result<*mut c_void, CudaError> {
    let mut node = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_graph_add_witness(graph, begin_ns as *mut u64, &mut node) })?;
    Ok(node)
}

/// Queues a stand-in behind a full dependency.
///
/// # Safety
/// Every pointer in `args` is live until the work on the stream is done.
pub unsafe fn launch_stand_in(stream: RawStream, args: &StandInArgs) -> CudaResult {
    // SAFETY: the arguments are read before the call returns; the rest is the caller's promise.
    check(unsafe { sys::pdl_launch_stand_in(stream, args) })
}

/// Queues a kernel that writes when it began, behind a full dependency.
///
/// # Safety
/// `begin_ns` is a device address of 8 bytes that is live until the work on the stream is done.
pub unsafe fn launch_witness(stream: RawStream, begin_ns: u64) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_witness(stream, begin_ns as *mut u64) })
}

/// A kernel to try the race check on: `output[i] = input[i] + 1`, both of `count` words.
///
/// # Safety
/// Device addresses that are live until the work on the stream is done.
pub unsafe fn launch_consumer(
    stream: RawStream,
    kind: u32,
    input: u64,
    output: u64,
    count: u32,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe {
        sys::pdl_launch_consumer(stream, kind, input as *const u32, output as *mut u32, count)
    })
}
