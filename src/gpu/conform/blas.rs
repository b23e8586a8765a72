//! A matrix product by cuBLAS, where the machine has it.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use libloading::Library;

use crate::gpu::memory::address;

/// Names under which the library goes, newest first.
const NAMES: [&str; 3] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
/// Rows and columns of each matrix.
const SIZE: i32 = 256;
/// What cuBLAS recommends for compute capability 9.0, bytes.
const WORKSPACE_BYTES: usize = 32 << 20;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> i32;
type Destroy = unsafe extern "C" fn(Handle) -> i32;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> i32;
type SetWorkspace = unsafe extern "C" fn(Handle, *mut c_void, usize) -> i32;
type Sgemm = unsafe extern "C" fn(
    Handle,
    i32,
    i32,
    i32,
    i32,
    i32,
    *const f32,
    *const f32,
    i32,
    *const f32,
    i32,
    *const f32,
    *mut f32,
    i32,
) -> i32;

/// A handle that works on one stream.
pub struct Blas {
    /// Never unloaded: it has registered device code with the driver.
    library: ManuallyDrop<Library>,
    handle: Handle,
    stream: Arc<CudaStream>,
    matrices: CudaSlice<f32>,
    _workspace: CudaSlice<u8>,
}

impl Blas {
    /// Loads the library and runs one product, so that nothing is loaded behind a closed gate.
    pub fn open(stream: &Arc<CudaStream>) -> Result<Blas, String> {
        let library = NAMES
            .into_iter()
            // SAFETY: loading cuBLAS runs its initialisers, which is what a program that uses it does.
            .find_map(|name| unsafe { Library::new(name) }.ok())
            .ok_or("cuBLAS is not where the dynamic linker looks (libcublas.so)")?;
        let library = ManuallyDrop::new(library);
        let memory = |error| format!("no memory for cuBLAS: {error}");
        let matrices = stream.alloc_zeros((3 * SIZE * SIZE) as usize).map_err(memory)?;
        let workspace = stream.alloc_zeros(WORKSPACE_BYTES).map_err(memory)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the signatures are those of cublas_v2.h, the same in versions 12 and 13.
        unsafe {
            let create: Create = symbol(&library, "cublasCreate_v2")?;
            succeeded("cublasCreate", create(&mut handle))?;
        }
        let blas =
            Blas { library, handle, stream: stream.clone(), matrices, _workspace: workspace };
        // SAFETY: as above; the stream and the workspace live as long as the handle.
        unsafe {
            let set_stream: SetStream = symbol(&blas.library, "cublasSetStream_v2")?;
            succeeded("cublasSetStream", set_stream(handle, stream.cu_stream().cast()))?;
            let set_workspace: SetWorkspace = symbol(&blas.library, "cublasSetWorkspace_v2")?;
            let at = address(&blas._workspace, stream) as *mut c_void;
            succeeded("cublasSetWorkspace", set_workspace(handle, at, WORKSPACE_BYTES))?;
        }
        blas.product()?;
        stream.synchronize().map_err(|error| format!("run cuBLAS: {error}"))?;
        Ok(blas)
    }

    /// Queues one product.
    pub fn product(&self) -> Result<(), String> {
        /// `CUBLAS_OP_N`.
        const AS_IT_IS: i32 = 0;
        let at = |matrix: u64| {
            let bytes = matrix * (SIZE * SIZE) as u64 * 4;
            (address(&self.matrices, &self.stream) + bytes) as *mut f32
        };
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: the signature is that of cublas_v2.h; three matrices of SIZE × SIZE, and scalars
        // that are read before the call returns.
        let status = unsafe {
            let sgemm: Sgemm = symbol(&self.library, "cublasSgemm_v2")?;
            let (a, b, c) = (at(0), at(1), at(2));
            sgemm(
                self.handle,
                AS_IT_IS,
                AS_IT_IS,
                SIZE,
                SIZE,
                SIZE,
                &one,
                a,
                SIZE,
                b,
                SIZE,
                &zero,
                c,
                SIZE,
            )
        };
        succeeded("cublasSgemm", status)
    }
}

/// # Safety
/// `T` is the type of the function.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|error| format!("cuBLAS lacks {name}: {error}"))
}

fn succeeded(what: &str, status: i32) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what} answers status {status}")) }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the signature is that of cublas_v2.h; the handle is ours.
        if let Ok(destroy) = unsafe { symbol::<Destroy>(&self.library, "cublasDestroy_v2") } {
            // SAFETY: as above.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}
