//! One launch of one of the user's kernels, ready to be queued.

use std::ffi::c_void;

use cudarc::driver::sys;

use super::module::Function;
use crate::chain_file::ResolvedNode;
use crate::error::{Error, Result};

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks of a cluster; all 1 launches without.
    pub cluster: [u32; 3],
}

impl Config {
    /// The shape of a node.
    pub fn of(node: &ResolvedNode) -> Config {
        let (grid, block, cluster) = (node.grid, node.block, node.cluster);
        Config { grid, block, shared_bytes: node.shared_bytes, cluster }
    }
}

/// A kernel, its shape, and its arguments with every address in place.
pub struct Launch {
    function: Function,
    config: Config,
    /// Arguments, each as its bytes.
    args: Vec<Vec<u8>>,
    /// Where they are: a launch takes as long as it does by hand, and makes no list.
    pointers: Vec<*mut c_void>,
    /// Name, for errors.
    name: String,
}

impl Launch {
    /// A launch of `function` with these arguments.
    pub fn new(function: Function, config: Config, args: Vec<Vec<u8>>, name: String) -> Launch {
        // The driver copies what these point at before a launch returns, and writes none of it. Bytes
        // stay where they are when the list of them moves.
        let pointers = args.iter().map(|arg| arg.as_ptr().cast_mut().cast()).collect();
        Launch { function, config, args, pointers, name }
    }

    /// Its shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Arguments, each as its bytes.
    pub fn args(&self) -> &[Vec<u8>] {
        &self.args
    }

    /// Queues it; behind a programmatic dependency on what was queued last where `programmatic`.
    ///
    /// # Safety
    /// The function's module stays loaded, and every address in the arguments is live, until the
    /// work on the stream is done.
    pub unsafe fn queue(&self, stream: sys::CUstream, programmatic: bool) -> Result<()> {
        // SAFETY: plain numbers, zero is a value of each.
        let mut attributes: [sys::CUlaunchAttribute_st; 2] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        if programmatic {
            let value =
                sys::CUlaunchAttributeValue_union { programmaticStreamSerializationAllowed: 1 };
            let id =
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[count] = sys::CUlaunchAttribute_st { id, pad: [0; 4], value };
            count += 1;
        }
        let [x, y, z] = self.config.cluster;
        if [x, y, z] != [1; 3] {
            let dims = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            let value = sys::CUlaunchAttributeValue_union { clusterDim: dims };
            let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[count] = sys::CUlaunchAttribute_st { id, pad: [0; 4], value };
            count += 1;
        }
        let config = sys::CUlaunchConfig_st {
            gridDimX: self.config.grid[0],
            gridDimY: self.config.grid[1],
            gridDimZ: self.config.grid[2],
            blockDimX: self.config.block[0],
            blockDimY: self.config.block[1],
            blockDimZ: self.config.block[2],
            sharedMemBytes: self.config.shared_bytes,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: count as u32,
        };
        // SAFETY: as many arguments of the right sizes as the kernel has parameters: compared when
        // it was built; the rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernelEx(
                &config,
                self.function.0,
                self.pointers.as_ptr().cast_mut(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .map_err(|error| Error::failed(format!("launch {}", self.name), error))
    }
}
