//! The real device. The only home of `unsafe` and of cudarc.

#![allow(unsafe_code)]

mod calibrate;
mod condition;
mod driver;
mod gate;
mod graph;
mod memory;
mod nodes;
mod nvml;
mod prepared;
pub mod shim;

pub use driver::{Absence, Gpu, open};
