//! The real device. The only home of `unsafe` and of cudarc.

#![allow(unsafe_code)]

pub mod check;
mod clocks;
mod code;
mod condition;
pub mod conform;
mod driver;
mod gate;
mod graph;
mod hook;
mod host_cost;
mod instruments;
mod loaded;
mod memory;
mod nodes;
mod nvml;
mod prepared;
pub mod range;
pub mod replay;
pub mod shim;
mod skew;
mod smallest;
mod stamped;
mod timed;
mod user_chain;
pub mod user_graph;

pub use driver::{Absence, Gpu, open, open_at};
pub use hook::{Hook, StreamForm};
pub use host_cost::{HostCost, HostLoop};
pub use user_chain::{ByHand, Launcher, RaceSubject, UserChains};
