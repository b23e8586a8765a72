//! A kernel node of a graph, launched into a stream with the same shape and arguments.

use cudarc::driver::sys::{self, CUlaunchAttributeID as Id, CUlaunchAttributeValue_union as Value};

use crate::error::{Error, Result};

/// Attributes of a node that change how its blocks run.
const KEPT: [Id; 4] = [
    Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
];

/// What a kernel node launches. Its arguments lie in the node.
pub(super) struct NodeLaunch {
    params: sys::CUDA_KERNEL_NODE_PARAMS,
    kept: Vec<sys::CUlaunchAttribute>,
}

fn attribute(id: Id, value: Value) -> sys::CUlaunchAttribute {
    sys::CUlaunchAttribute_st { id, pad: [0; 4], value }
}

impl NodeLaunch {
    /// Reads a node.
    ///
    /// # Safety
    /// A kernel node of a graph that outlives this and is not changed meanwhile.
    pub unsafe fn of(node: sys::CUgraphNode) -> Result<NodeLaunch> {
        // SAFETY: plain numbers and pointers, zero is a value of each.
        let mut params: sys::CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the caller's promise.
        unsafe { sys::cuGraphKernelNodeGetParams_v2(node, &mut params) }
            .result()
            .map_err(|error| Error::failed("read a kernel node", error))?;
        let mut kept = Vec::new();
        for id in KEPT {
            // SAFETY: plain numbers, zero is a value of each.
            let mut value: Value = unsafe { std::mem::zeroed() };
            // SAFETY: the caller's promise. Older drivers do not know every attribute.
            let code = unsafe { sys::cuGraphKernelNodeGetAttribute(node, id, &mut value) };
            // SAFETY: the first bytes of every one of these attributes are a number, 0 for none.
            let set = code == sys::CUresult::CUDA_SUCCESS && unsafe { value.priority } != 0;
            if set {
                kept.push(attribute(id, value));
            }
        }
        Ok(NodeLaunch { params, kept })
    }

    /// Queues the kernel, behind a programmatic dependency on what was queued last where
    /// `programmatic`; `begun` is recorded when all its blocks have begun.
    ///
    /// # Safety
    /// The memory that the arguments name is live until the work on the stream is done.
    pub unsafe fn queue(
        &self,
        stream: sys::CUstream,
        programmatic: bool,
        begun: Option<sys::CUevent>,
    ) -> Result<()> {
        let params = &self.params;
        let mut attributes = self.kept.clone();
        if programmatic {
            attributes.push(attribute(
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                Value { programmaticStreamSerializationAllowed: 1 },
            ));
        }
        if let Some(event) = begun {
            let event = sys::CUlaunchAttributeValue_union__bindgen_ty_3 { event, flags: 0 };
            attributes.push(attribute(
                Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                Value { launchCompletionEvent: event },
            ));
        }
        let config = sys::CUlaunchConfig {
            gridDimX: params.gridDimX,
            gridDimY: params.gridDimY,
            gridDimZ: params.gridDimZ,
            blockDimX: params.blockDimX,
            blockDimY: params.blockDimY,
            blockDimZ: params.blockDimZ,
            sharedMemBytes: params.sharedMemBytes,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        // A kernel of a library may be launched by its own handle.
        let function = match params.func.is_null() {
            true => params.kern.cast(),
            false => params.func,
        };
        // SAFETY: one of the two argument lists is the node's; the rest is the caller's promise.
        unsafe { sys::cuLaunchKernelEx(&config, function, params.kernelParams, params.extra) }
            .result()
            .map_err(|error| Error::failed("launch a node's kernel into a stream", error))
    }
}
