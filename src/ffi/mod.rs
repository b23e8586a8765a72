//! The C ABI of `include/pdl_lab.h`. No panic crosses it: whatever happens becomes a code, and a
//! text that [`pdl_lab_error`] hands out.

#![allow(unsafe_code)]

mod boundary;
mod graph;
mod text;

pub use boundary::{pdl_lab_abi, pdl_lab_error, pdl_lab_free, pdl_lab_version};
pub use graph::{
    AttachArgs, AttachedGraph, CodeView, Progress, RegionView, ResetFn, pdl_lab_apply,
    pdl_lab_attach, pdl_lab_detach, pdl_lab_list, pdl_lab_list_graph, pdl_lab_race, pdl_lab_run,
    pdl_lab_trials, pdl_lab_verify,
};
pub use text::{pdl_lab_options, pdl_lab_page, pdl_lab_patch, pdl_lab_save, pdl_lab_table};
