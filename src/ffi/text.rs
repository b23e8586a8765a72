//! Functions that need no GPU: options, tables, pages.

use std::ffi::c_char;
use std::path::Path;

use super::boundary::{guarded, hand_out, text};
use crate::attach::{
    Attributed, Listing, Options, Report, listing_table, patch, report_page, report_table,
};
use crate::cmd;
use crate::error::{Error, Result};

/// Options from JSON; the defaults where there is none.
///
/// # Safety
/// `json` is null or ends with a zero byte.
pub(super) unsafe fn options(json: *const c_char) -> Result<Options> {
    // SAFETY: the caller's promise.
    match unsafe { text(json, "the options") }? {
        None => Ok(Options::default()),
        Some(json) => {
            let options: Options = serde_json::from_str(json)
                .map_err(|error| Error::usage("read the options", error))?;
            options.validate()?;
            Ok(options)
        }
    }
}

fn report(json: &str) -> Result<Report> {
    serde_json::from_str(json).map_err(|error| Error::failed("read the report", error))
}

/// The default options as JSON.
///
/// # Safety
/// `json` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_options(json: *mut *mut c_char) -> i32 {
    guarded(|| {
        let text = serde_json::to_string(&Options::default())
            .map_err(|error| Error::failed("write the options", error))?;
        // SAFETY: the caller's promise.
        unsafe { hand_out(json, &text) }
    })
}

/// A listing or a report as a table.
///
/// # Safety
/// `json` ends with a zero byte; `table` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_table(json: *const c_char, table: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let json = unsafe { text(json, "the report") }?
            .ok_or_else(|| Error::usage("make a table", "there is no report"))?;
        let made = match serde_json::from_str::<Listing>(json) {
            Ok(listing) => listing_table(&listing),
            Err(_) => report_table(&report(json)?),
        };
        // SAFETY: the caller's promise.
        unsafe { hand_out(table, &made) }
    })
}

/// A report as a page.
///
/// # Safety
/// `json` ends with a zero byte; `html` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_page(json: *const c_char, html: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let json = unsafe { text(json, "the report") }?
            .ok_or_else(|| Error::usage("make a page", "there is no report"))?;
        // SAFETY: the caller's promise.
        unsafe { hand_out(html, &report_page(&report(json)?)?) }
    })
}

/// The lines to change.
///
/// # Safety
/// `json` ends with a zero byte; `to` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_patch(json: *const c_char, to: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let json = unsafe { text(json, "the report") }?
            .ok_or_else(|| Error::usage("make a patch", "there is no report"))?;
        // SAFETY: the caller's promise.
        unsafe { hand_out(to, &patch(&report(json)?)) }
    })
}

/// Writes what `pdl_lab_trials` gave as a run directory.
///
/// # Safety
/// Both texts end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pdl_lab_save(trials: *const c_char, directory: *const c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (trials, directory) = unsafe { (text(trials, "the trials")?, text(directory, "it")?) };
        let (Some(trials), Some(directory)) = (trials, directory) else {
            return Err(Error::usage("save the run", "trials and directory are needed"));
        };
        let attributed: Attributed = serde_json::from_str(trials)
            .map_err(|error| Error::failed("read the trials", error))?;
        cmd::save_attributed(&attributed, Path::new(directory))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_refused() {
        let mut out = std::ptr::null_mut();
        // SAFETY: texts of this function, each freed once.
        unsafe {
            assert_eq!(pdl_lab_options(&mut out), 0);
            assert_eq!(options(out).unwrap(), Options::default());
            super::super::pdl_lab_free(out);
            assert_eq!(options(std::ptr::null()).unwrap(), Options::default());
            for bad in [c"{", c"{\"rouns\": 1}", c"{\"rounds\": 0}"] {
                assert!(options(bad.as_ptr()).is_err(), "{bad:?}");
            }
        }
    }

    #[test]
    fn a_table_needs_a_listing_or_a_report() {
        let mut out = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let listing = c"{\"nodes\": [], \"edges\": [], \"kinds\": []}";
            assert_eq!(pdl_lab_table(listing.as_ptr(), &mut out), 0);
            assert!(CStr::from_ptr(out).to_str().unwrap().starts_with("0 nodes"));
            super::super::pdl_lab_free(out);
            for bad in [c"{}".as_ptr(), c"nonsense".as_ptr(), std::ptr::null()] {
                assert_ne!(pdl_lab_table(bad, &mut out), 0);
            }
        }
    }
}
