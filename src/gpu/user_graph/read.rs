//! Nodes of a graph, as the driver describes them.

use std::ffi::CStr;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};

use super::code::{Catalogue, Wanted};
use crate::attach::{KernelNode, Node, NodeKind, SyncEvidence};
use crate::error::{Error, Result};

/// Describes nodes.
///
/// # Safety
/// The nodes belong to a live graph.
pub unsafe fn describe(nodes: &[sys::CUgraphNode], catalogue: &mut Catalogue) -> Result<Vec<Node>> {
    let mut all = Vec::new();
    for (index, &node) in nodes.iter().enumerate() {
        // SAFETY: the caller's promise.
        let kind = unsafe { kind_of(node) }?;
        let kernel = match kind {
            // SAFETY: a kernel node of a live graph.
            NodeKind::Kernel => unsafe { kernel_of(node, catalogue) }
                .map_err(|error| error.at(&format!("node {index}")))?,
            _ => None,
        };
        all.push(Node { index: index as u32, kind, kernel });
    }
    Ok(all)
}

unsafe fn kind_of(node: sys::CUgraphNode) -> Result<NodeKind> {
    // As a number: a newer driver may know kinds that the bindings do not.
    let mut kind: u32 = u32::MAX;
    // SAFETY: the caller's promise; the enum is a u32.
    unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) }
        .result()
        .map_err(|error| Error::failed("ask what a node is", error))?;
    Ok(NodeKind::from_driver(kind))
}

/// `None` where the driver does not describe the kernel, as for those of other contexts.
unsafe fn kernel_of(
    node: sys::CUgraphNode,
    catalogue: &mut Catalogue,
) -> Result<Option<KernelNode>> {
    // SAFETY: plain numbers and pointers, zero is a value of each.
    let mut params: sys::CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
    // SAFETY: the caller's promise.
    unsafe { sys::cuGraphKernelNodeGetParams_v2(node, &mut params) }
        .result()
        .map_err(|error| Error::failed("read a kernel node", error))?;
    let function = function_of(&params);
    let name = match (params.kern.is_null(), function.is_null()) {
        // SAFETY: a kernel of a live graph is live.
        (false, _) => unsafe { text(|name| sys::cuKernelGetName(name, params.kern)) },
        // SAFETY: as above.
        (true, false) => unsafe { text(|name| sys::cuFuncGetName(name, function)) },
        (true, true) => None,
    };
    let Some(name) = name else { return Ok(None) };
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: a function of a live graph is live.
        let code = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) };
        (!function.is_null() && code == sys::CUresult::CUDA_SUCCESS).then_some(value as u32)
    };
    let binary_version = ask(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    let threads = params.blockDimX * params.blockDimY * params.blockDimZ;
    let mut blocks_per_sm = 0;
    // SAFETY: as above.
    let occupancy = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks_per_sm,
            function,
            threads as i32,
            params.sharedMemBytes as usize,
        )
    };
    let known = !function.is_null() && occupancy == sys::CUresult::CUDA_SUCCESS;
    let wanted = Wanted {
        function: params.func as u64,
        kernel: params.kern as u64,
        name: &name,
        binary_version,
    };
    let code = match binary_version {
        Some(_) => catalogue.evidence(&wanted),
        None => {
            SyncEvidence::Unknown { reason: "the driver does not describe the function".into() }
        }
    };
    Ok(Some(KernelNode {
        grid: [params.gridDimX, params.gridDimY, params.gridDimZ],
        block: [params.blockDimX, params.blockDimY, params.blockDimZ],
        shared_bytes: params.sharedMemBytes,
        // SAFETY: the caller's promise.
        cluster_blocks: unsafe { cluster_blocks(node) },
        registers: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
        blocks_per_sm: known.then_some(blocks_per_sm as u32),
        binary_version,
        code,
        name,
    }))
}

/// The function of a node; kernels of a library have one in each context.
fn function_of(params: &sys::CUDA_KERNEL_NODE_PARAMS) -> sys::CUfunction {
    if !params.func.is_null() || params.kern.is_null() {
        return params.func;
    }
    let mut function = std::ptr::null_mut();
    // SAFETY: a kernel of a live graph is live; on failure the handle stays null.
    let _ = unsafe { sys::cuKernelGetFunction(&mut function, params.kern) };
    function
}

unsafe fn cluster_blocks(node: sys::CUgraphNode) -> u32 {
    // SAFETY: plain numbers, zero is a value of each.
    let mut value: sys::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
    let which = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    // SAFETY: the caller's promise.
    let code = unsafe { sys::cuGraphKernelNodeGetAttribute(node, which, &mut value) };
    if code != sys::CUresult::CUDA_SUCCESS {
        return 1;
    }
    // SAFETY: the attribute asked for.
    let size = unsafe { value.clusterDim };
    (size.x.max(1)) * (size.y.max(1)) * (size.z.max(1))
}

unsafe fn text(ask: impl FnOnce(*mut *const std::ffi::c_char) -> sys::CUresult) -> Option<String> {
    let mut name = std::ptr::null();
    if ask(&mut name) != sys::CUresult::CUDA_SUCCESS || name.is_null() {
        return None;
    }
    // SAFETY: the driver's string, which lives as long as the function.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
