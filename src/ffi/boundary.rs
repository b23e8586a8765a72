//! What every function does at the border: codes, texts, and no panic.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Version of the header that this library serves.
const ABI: i32 = 1;
/// Code of an error of this library itself (`EX_SOFTWARE` of sysexits.h).
const PANICKED: i32 = 70;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs `body`; its error becomes the thread's text and a code.
pub(super) fn guarded(body: impl FnOnce() -> Result<()>) -> i32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => (i32::from(error.code()), error.to_string()),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied())
                .unwrap_or("no text");
            (PANICKED, format!("cannot go on: an error of this library: {text}"))
        }
    };
    LAST.with_borrow_mut(|last| *last = c_string(&text));
    code
}

/// Hands a text out; the caller frees it.
///
/// # Safety
/// `to` is null or may be written.
pub(super) unsafe fn hand_out(to: *mut *mut c_char, text: &str) -> Result<()> {
    if to.is_null() {
        return Err(Error::usage("hand out the result", "the place for it is null"));
    }
    // SAFETY: the caller's promise.
    unsafe { to.write(c_string(text).into_raw()) };
    Ok(())
}

/// A text of the caller; `None` for null.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map(Some)
        .map_err(|error| Error::usage(format!("read {what}"), format!("no UTF-8: {error}")))
}

/// Texts with a zero byte inside end there.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Version of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn pdl_lab_abi() -> i32 {
    ABI
}

/// Version and revision; static.
#[unsafe(no_mangle)]
pub extern "C" fn pdl_lab_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("PDL_REVISION"), "\0");
    VERSION.as_ptr().cast()
}

/// What the last failed call of this thread has to say.
#[unsafe(no_mangle)]
pub extern "C" fn pdl_lab_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Frees a text that was handed out.
///
/// # Safety
/// `text` is null or was handed out by this library, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise: made by `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: a text of this thread.
        unsafe { CStr::from_ptr(pdl_lab_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn errors_and_panics_become_codes_and_texts() {
        assert_eq!(guarded(|| Ok(())), 0);
        assert_eq!(guarded(|| Err(Error::usage("x", "y").remedy("z"))), 2);
        assert_eq!(last(), "cannot x: y\n     z");
        assert_eq!(guarded(|| panic!("broken {}", 1)), PANICKED);
        assert!(last().contains("broken 1"), "{}", last());
    }

    #[test]
    fn a_text_is_handed_out_and_taken_back() {
        let mut out = std::ptr::null_mut();
        // SAFETY: a place of this function; what it gets is freed once.
        unsafe {
            hand_out(&mut out, "a µs\0hidden").unwrap();
            assert_eq!(text(out, "it").unwrap(), Some("a µs"));
            pdl_lab_free(out);
            assert!(hand_out(std::ptr::null_mut(), "x").is_err());
            assert_eq!(text(std::ptr::null(), "it").unwrap(), None);
            assert!(text(c"\xff".as_ptr(), "it").is_err());
        }
    }
}
