//! The real device. The only home of `unsafe` and of cudarc.

#![allow(unsafe_code)]

mod calibrate;
pub mod check;
mod code;
mod condition;
pub mod conform;
mod driver;
mod gate;
mod graph;
mod host_cost;
mod memory;
mod nodes;
mod nvml;
mod prepared;
pub mod range;
pub mod shim;

pub use driver::{Absence, Gpu, open};
pub use host_cost::{HostCost, HostLoop};
