//! Loaded cubins and their kernels.

use std::ffi::CString;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};

use super::launch::Config;
use crate::error::{Error, Result};

/// A loaded cubin; unloaded with this.
pub struct Module(sys::CUmodule);

/// A kernel of a loaded cubin.
#[derive(Clone, Copy)]
pub struct Function(pub(super) sys::CUfunction);

/// What the driver says of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resources {
    /// 90 for compute_90.
    pub ptx_version: u32,
    /// 90 for sm_90.
    pub binary_version: u32,
    /// A thread's.
    pub registers: u32,
    /// A thread's, bytes.
    pub local_bytes: u32,
    /// Blocks of the shape that an SM holds at once.
    pub blocks_per_sm: u32,
}

impl Module {
    /// Loads a cubin.
    pub fn load(bytes: &[u8], what: &str) -> Result<Module> {
        let mut module = std::ptr::null_mut();
        // SAFETY: a cubin says its own length; it was parsed as a whole ELF before.
        unsafe { sys::cuModuleLoadData(&mut module, bytes.as_ptr().cast()) }
            .result()
            .map_err(|error| Error::failed(format!("load the code of {what}"), error))?;
        Ok(Module(module))
    }

    /// The kernel of a mangled name.
    pub fn function(&self, name: &str) -> Result<Function> {
        let text = CString::new(name).map_err(|error| Error::failed("name a kernel", error))?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded and the text ends with a zero.
        unsafe { sys::cuModuleGetFunction(&mut function, self.0, text.as_ptr()) }
            .result()
            .map_err(|error| Error::failed(format!("load {name}"), error))?;
        Ok(Function(function))
    }

    /// Address and bytes of a variable; `None` where the module has none of that name.
    pub fn variable(&self, name: &str) -> Option<(u64, usize)> {
        let text = CString::new(name).ok()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: as above.
        let code =
            unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.0, text.as_ptr()) };
        code.result().ok().map(|()| (address, bytes))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the device is drained before chains are dropped; nothing else unloads it.
        let _ = unsafe { sys::cuModuleUnload(self.0) }.result();
    }
}

impl Function {
    /// Lifts the kernel's limits to what the launch needs and says whether it fits.
    pub fn prepare(self, config: &Config, name: &str) -> Result<Resources> {
        let unsupported = |error: cudarc::driver::DriverError| {
            Error::unsupported(format!("launch {name} at this shape"), error)
        };
        let set = |attribute, value: i32| {
            // SAFETY: the function is loaded.
            unsafe { sys::cuFuncSetAttribute(self.0, attribute, value) }
                .result()
                .map_err(unsupported)
        };
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: as above; writes one int.
            unsafe { sys::cuFuncGetAttribute(&mut value, attribute, self.0) }
                .result()
                .map(|()| value as u32)
                .map_err(unsupported)
        };
        if config.shared_bytes > 0 {
            let bytes = config.shared_bytes as i32;
            set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)?;
        }
        if config.cluster.iter().product::<u32>() > 8 {
            set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        let threads: u32 = config.block.iter().product();
        let most = get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        if threads > most {
            return Err(Error::unsupported(
                format!("launch {name} with blocks of {threads} threads"),
                format!("its registers and bounds leave room for {most}"),
            ));
        }
        let mut blocks = 0;
        // SAFETY: as above; writes one int.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.0,
                threads as i32,
                config.shared_bytes as usize,
            )
        }
        .result()
        .map_err(unsupported)?;
        if blocks < 1 {
            return Err(Error::unsupported(
                format!("launch {name} at this shape"),
                "no block of it fits on an SM",
            ));
        }
        Ok(Resources {
            ptx_version: get(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            binary_version: get(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            blocks_per_sm: blocks as u32,
        })
    }
}
