//! What lies behind every buffer, so that writes behind its end are seen.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DriverError};

use crate::chain_file::{Loaded, ResolvedBuffer};
use crate::error::{Error, Result};
use crate::gpu::memory::address;

/// Bytes behind every copy, at least, that no kernel may change: a buffer that is too small for what
/// a kernel writes is seen by them.
pub const GUARD_BYTES: u64 = 256;
/// What they hold.
pub const GUARD: u8 = 0xa7;

/// Memory that holds the guard everywhere.
pub fn guarded(stream: &Arc<CudaStream>, bytes: u64) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: written right below, on the same stream.
    let memory = unsafe { stream.alloc::<u8>(bytes as usize) }?;
    let to = address(&memory, stream);
    // SAFETY: so many bytes, which live as long as the stream's work: it is drained when all is filled.
    unsafe { cudarc::driver::sys::cuMemsetD8Async(to, GUARD, bytes as usize, stream.cu_stream()) }
        .result()?;
    Ok(memory)
}

/// Looks for what was written behind the end of a buffer, in what all its copies hold now.
///
/// # Errors
/// Something was, with the buffer.
pub fn check(loaded: &Loaded, of: &ResolvedBuffer, stride: usize, now: &[u8]) -> Result<()> {
    let bytes = of.bytes() as usize;
    let copies = now.len() / stride;
    for (copy, content) in now.chunks(stride).enumerate() {
        let Some(at) = content[bytes..].iter().rposition(|&byte| byte != GUARD) else { continue };
        let place = if copies > 1 { format!(" (copy {copy})") } else { String::new() };
        let cause = format!(
            "a kernel writes {} bytes behind the end of its {bytes}{place}: the buffer is too small",
            at + 1
        );
        let action = format!("use buffer {} of {}", of.name, loaded.path.display());
        return Err(Error::failed(action, cause).remedy(
            "make its length what the kernel writes; compute-sanitizer shows the line, and reads \
             behind the end too",
        ));
    }
    Ok(())
}
