//! Ranges that profilers show, through NVTX: a tool that listens is found at run time.

use std::ffi::CString;

use super::shim::sys;

/// Begins a range on this thread. A name is cut at its first zero byte.
pub fn push(name: &str) {
    let text = name.split('\0').next().unwrap_or_default();
    let text = CString::new(text).expect("there is no zero byte before the first");
    // SAFETY: a live string, which the call does not keep.
    unsafe { sys::pdl_range_push(text.as_ptr()) }
}

/// Ends the range of this thread that began last.
pub fn pop() {
    // SAFETY: plain call; without a range to end it does nothing.
    unsafe { sys::pdl_range_pop() }
}

/// Whether this build has ranges: it was made with the NVTX headers.
pub fn available() -> bool {
    // SAFETY: returns a constant.
    unsafe { sys::pdl_ranges() != 0 }
}
