//! Code built for compute capability 8.0, compiled by the driver for this GPU.

use std::ffi::{CString, c_void};

use cudarc::driver::result::function::get_function_attribute;
use cudarc::driver::result::module;
use cudarc::driver::sys;

const PTX: &str = include_str!("../../../cuda/conform_80.ptx");
const NAME: &str = "pdl_below_90";

/// The loaded kernel.
pub struct Old {
    module: sys::CUmodule,
    function: sys::CUfunction,
}

/// What it reads and where it leaves its stamps: device addresses.
pub struct Reads {
    /// Words, one a thread.
    pub words: u64,
    /// Words.
    pub count: u64,
    /// What each should be.
    pub expected: u64,
    /// Stamps of an actor, one a block, zeros.
    pub stamps: u64,
}

impl Old {
    /// Hands the PTX to the driver.
    pub fn load() -> Result<Old, String> {
        let image = CString::new(PTX).expect("the text has no zero byte");
        // SAFETY: a text that ends with a zero byte; the driver copies what it needs.
        let module = unsafe { module::load_data(image.as_ptr().cast()) }
            .map_err(|error| format!("the driver does not compile PTX of compute_80: {error}"))?;
        let name = CString::new(NAME).expect("the name has no zero byte");
        // SAFETY: the module is live.
        match unsafe { module::get_function(module, name) } {
            Ok(function) => Ok(Old { module, function }),
            Err(error) => {
                // SAFETY: ours, and nothing of it is used.
                let _ = unsafe { module::unload(module) };
                Err(format!("the module lacks its kernel: {error}"))
            }
        }
    }

    /// What the driver says of it.
    pub fn versions(&self) -> String {
        use sys::CUfunction_attribute::{
            CU_FUNC_ATTRIBUTE_BINARY_VERSION as BINARY, CU_FUNC_ATTRIBUTE_PTX_VERSION as PTX,
        };
        let ask = |attribute| {
            // SAFETY: the function is live.
            let version = unsafe { get_function_attribute(self.function, attribute) };
            version.map_or_else(|_| "unknown".to_owned(), |version| version.to_string())
        };
        format!(
            "PTX version {}, machine code {}; the attribute was accepted",
            ask(PTX),
            ask(BINARY)
        )
    }

    /// Queues one launch with the programmatic attribute.
    pub fn launch(
        &self,
        stream: sys::CUstream,
        grid_blocks: u32,
        block_threads: u32,
        reads: &Reads,
    ) -> Result<(), String> {
        // SAFETY: plain numbers; zero is the identifier of an attribute that is ignored.
        let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id =
            sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute.value.programmaticStreamSerializationAllowed = 1;
        let config = sys::CUlaunchConfig {
            gridDimX: grid_blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: block_threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream,
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let mut values = [reads.words, reads.count, reads.expected, reads.stamps];
        let mut parameters =
            values.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
        // SAFETY: four parameters of eight bytes, as the kernel has them, read before the call
        // returns; what they point to outlives the drained stream.
        unsafe {
            sys::cuLaunchKernelEx(
                &config,
                self.function,
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .map_err(|error| format!("launch the kernel of compute_80: {error}"))
    }
}

impl Drop for Old {
    fn drop(&mut self) {
        // SAFETY: the bench drains its streams before it drops this.
        let _ = unsafe { module::unload(self.module) };
    }
}
