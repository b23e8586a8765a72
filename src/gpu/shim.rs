//! The C ABI of `cuda/shim.h`: generated declarations, and one function each that adds a `Result`.

use std::ffi::{CStr, c_void};

/// What bindgen reads from `cuda/shim.h`.
#[allow(missing_docs, non_camel_case_types, unsafe_op_in_unsafe_fn, clippy::all)]
pub mod sys {
    include!(concat!(env!("OUT_DIR"), "/shim.rs"));
}

pub use sys::{pdl_actor_args as ActorArgs, pdl_actor_launch as ActorLaunch};
pub use sys::{pdl_actor_stamp as ActorStamp, pdl_role as ActorRole, pdl_tally as Tally};
pub use sys::{pdl_chain_args as ChainArgs, pdl_flags as Flags, pdl_kernel as Kernel};
pub use sys::{pdl_check_args as CheckArgs, pdl_check_judge as CheckJudge};
pub use sys::{pdl_check_stamp as CheckStamp, pdl_check_state as CheckState};
pub use sys::{pdl_difference as Difference, pdl_piece as Piece};
pub use sys::{pdl_edge as Edge, pdl_stamp as Stamp};
pub use sys::{pdl_kernel_info as KernelInfo, pdl_launch as Launch, pdl_persistent as Persistent};
pub use sys::{pdl_stand_in_args as StandInArgs, pdl_stand_in_state as StandInState};

/// A `cudaError_t` that is not success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub i32);

/// The result of a call into the CUDA runtime.
pub type CudaResult = Result<(), CudaError>;

impl std::fmt::Display for CudaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: both return static strings for every number.
        let text = |pointer| unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
        let (name, what) =
            unsafe { (text(sys::pdl_error_name(self.0)), text(sys::pdl_error_text(self.0))) };
        write!(f, "{name}: {what}")
    }
}

pub(super) fn check(code: i32) -> CudaResult {
    if code == 0 { Ok(()) } else { Err(CudaError(code)) }
}

/// A stream, as the runtime and the driver both know it.
pub type RawStream = *mut c_void;

/// CUDA version of the runtime linked in: 1000 × major + 10 × minor.
pub fn runtime_version() -> u32 {
    // SAFETY: returns a constant.
    unsafe { sys::pdl_runtime_version() as u32 }
}

/// Loads a kernel and lifts its limits to what `launch` needs.
pub fn prepare(kernel: &Kernel, launch: &Launch) -> Result<KernelInfo, CudaError> {
    // SAFETY: plain numbers, zero is a value of each.
    let mut info: KernelInfo = unsafe { std::mem::zeroed() };
    // SAFETY: three live structs; the call keeps none of them.
    check(unsafe { sys::pdl_prepare(kernel, launch, &mut info) })?;
    Ok(info)
}

/// The mangled name that [`prepare`] found.
pub fn kernel_name(info: &KernelInfo) -> String {
    let bytes: Vec<u8> = info.name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// # Safety
/// The stream is live, and every pointer in `args` outlives the work on it.
pub unsafe fn launch_chain(
    stream: RawStream,
    launch: &Launch,
    kernel: &Kernel,
    args: &ChainArgs,
) -> CudaResult {
    // SAFETY: the structs are read before the call returns; the rest is the caller's promise.
    check(unsafe { sys::pdl_launch_chain(stream, launch, kernel, args) })
}

/// # Safety
/// As [`launch_chain`], for `flags` too.
pub unsafe fn launch_flags(
    stream: RawStream,
    launch: &Launch,
    kernel: &Kernel,
    args: &ChainArgs,
    flags: &Flags,
) -> CudaResult {
    // SAFETY: as above.
    check(unsafe { sys::pdl_launch_flags(stream, launch, kernel, args, flags) })
}

/// # Safety
/// As [`launch_chain`], for `persistent` too.
pub unsafe fn launch_persistent(
    stream: RawStream,
    launch: &Launch,
    kernel: &Kernel,
    args: &ChainArgs,
    persistent: &Persistent,
) -> CudaResult {
    // SAFETY: as above.
    check(unsafe { sys::pdl_launch_persistent(stream, launch, kernel, args, persistent) })
}

/// `count` launches of one node in a plain C++ loop.
///
/// # Safety
/// As [`launch_chain`].
pub unsafe fn launch_chain_loop(
    stream: RawStream,
    launch: &Launch,
    kernel: &Kernel,
    args: &ChainArgs,
    count: u32,
) -> CudaResult {
    // SAFETY: as above.
    check(unsafe { sys::pdl_launch_chain_loop(stream, launch, kernel, args, count) })
}

/// `count` launches of an instantiated graph in a plain C++ loop.
///
/// # Safety
/// The stream is live, and the executable graph and all that it uses outlive the work on it.
pub unsafe fn launch_graph_loop(
    stream: RawStream,
    executable: *mut c_void,
    count: u32,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_graph_loop(stream, executable, count) })
}

/// # Safety
/// Both words are mapped host memory that outlives the work on the stream.
pub unsafe fn launch_gate(
    stream: RawStream,
    open: *const u32,
    timed_out: *mut u32,
    timeout_ns: u64,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_gate(stream, open, timed_out, timeout_ns) })
}

/// # Safety
/// `region` is device memory of `vectors` × 16 bytes.
pub unsafe fn launch_fill(stream: RawStream, region: u64, vectors: u64) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_fill(stream, region as *mut c_void, vectors) })
}

/// # Safety
/// `region` is device memory of `vectors` × 16 bytes.
pub unsafe fn launch_flush(stream: RawStream, region: u64, vectors: u64) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_flush(stream, region as *mut c_void, vectors) })
}

/// What [`launch_check`] compares and clears; device addresses, except the two mapped words.
pub struct Check {
    /// `count` values to compare and poison.
    pub values: u64,
    /// The oracle's.
    pub expected: u64,
    /// Values to compare.
    pub count: u64,
    /// Two device words, 0 and `u64::MAX`.
    pub counters: u64,
    /// Two mapped host words: mismatches, and the lowest index that differs.
    pub host: *mut u64,
    /// `flag_count` words to clear.
    pub flags: u64,
    /// Words to clear.
    pub flag_count: u64,
}

/// # Safety
/// Every address of `check` is live until the work on the stream is done.
pub unsafe fn launch_check(stream: RawStream, c: &Check) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe {
        sys::pdl_launch_check(
            stream,
            c.values as *mut u64,
            c.expected as *const u64,
            c.count,
            c.counters as *mut u64,
            c.host,
            c.flags as *mut u32,
            c.flag_count,
        )
    })
}

/// One node of the race check.
///
/// # Safety
/// As [`launch_chain`], for `input` too.
pub unsafe fn launch_check_node(
    stream: RawStream,
    launch: &Launch,
    kernel: &Kernel,
    args: &CheckArgs,
    input: u64,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_check_node(stream, launch, kernel, args, input as *const u64) })
}

/// Poisons the rows of a repetition.
///
/// # Safety
/// Every address in `judge` is live until the work on the stream is done.
pub unsafe fn launch_check_poison(stream: RawStream, judge: &CheckJudge) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_check_poison(stream, judge) })
}

/// Compares and counts a repetition.
///
/// # Safety
/// As [`launch_check_poison`].
pub unsafe fn launch_check_judge(stream: RawStream, judge: &CheckJudge) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_check_judge(stream, judge) })
}

/// # Safety
/// `step_ns` is a device address of 8 bytes.
pub unsafe fn launch_timer_step(stream: RawStream, step_ns: u64, reads: u32) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_timer_step(stream, step_ns as *mut u64, reads) })
}

/// # Safety
/// Device addresses: `mailbox` of 16 zero bytes a block; offsets and trips of 8 bytes, SMs of 4
/// bytes a block. All blocks must fit on the device at once.
pub unsafe fn launch_skew(
    stream: RawStream,
    blocks: u32,
    rounds: u32,
    mailbox: u64,
    offsets_ns: u64,
    trips_ns: u64,
    sms: u64,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe {
        sys::pdl_launch_skew(
            stream,
            blocks,
            rounds,
            mailbox as *mut u64,
            offsets_ns as *mut i64,
            trips_ns as *mut u64,
            sms as *mut u32,
        )
    })
}

/// Makes the next launch into a capturing stream depend on the last over `from_port`.
///
/// # Safety
/// The stream is live and capturing.
pub unsafe fn capture_port(stream: RawStream, from_port: u32) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_capture_port(stream, from_port) })
}

/// The edges of a graph, with their data.
///
/// # Safety
/// The graph is live.
pub unsafe fn graph_edges(graph: *mut c_void) -> Result<Vec<Edge>, CudaError> {
    let mut count = 0;
    // SAFETY: a null array only asks for the count. A graph with programmatic edges answers the
    // count without losing data; only arrays without edge data would be refused.
    check(unsafe { sys::pdl_graph_edges(graph, std::ptr::null_mut(), &mut count) })?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut edges = vec![Edge::default(); count as usize];
    // SAFETY: `edges` holds `count` entries.
    check(unsafe { sys::pdl_graph_edges(graph, edges.as_mut_ptr(), &mut count) })?;
    edges.truncate(count as usize);
    Ok(edges)
}

/// Blocks of an actor that an SM holds; loads it.
pub fn actor_blocks_per_sm(shared_bytes: u32) -> Result<u32, CudaError> {
    let mut blocks = 0;
    // SAFETY: one int, and the call keeps nothing.
    check(unsafe { sys::pdl_actor_blocks_per_sm(shared_bytes, &mut blocks) })?;
    Ok(blocks as u32)
}

/// # Safety
/// The stream and the event are live, and every pointer in `args` outlives the work on it.
pub unsafe fn launch_actor(
    stream: RawStream,
    launch: &ActorLaunch,
    args: &ActorArgs,
) -> CudaResult {
    // SAFETY: the structs are read before the call returns; the rest is the caller's promise.
    check(unsafe { sys::pdl_launch_actor(stream, launch, args) })
}

/// # Safety
/// `tally` is a device address of a [`Tally`] that outlives the work on the stream.
pub unsafe fn launch_tally(stream: RawStream, tally: u64) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_launch_tally(stream, tally as *mut Tally) })
}

/// # Safety
/// The graph is live, and every pointer in `args` outlives its launches.
pub unsafe fn graph_add_actor(
    graph: *mut c_void,
    launch: &ActorLaunch,
    args: &ActorArgs,
) -> Result<*mut c_void, CudaError> {
    let mut node = std::ptr::null_mut();
    // SAFETY: the structs are read before the call returns; the rest is the caller's promise.
    check(unsafe { sys::pdl_graph_add_actor(graph, launch, args, &mut node) })?;
    Ok(node)
}

/// # Safety
/// Both nodes belong to the live graph.
pub unsafe fn graph_connect(
    graph: *mut c_void,
    from: *mut c_void,
    to: *mut c_void,
    from_port: u32,
) -> CudaResult {
    // SAFETY: the caller's promise.
    check(unsafe { sys::pdl_graph_connect(graph, from, to, from_port) })
}

/// The `cudaError_t` of a query of edges without edge data.
///
/// # Safety
/// The graph is live.
pub unsafe fn graph_edges_without_data(graph: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { sys::pdl_graph_edges_without_data(graph) }
}
