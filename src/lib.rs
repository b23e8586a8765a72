//! An experiment harness for CUDA Programmatic Dependent Launch (PDL).
//!
//! A chain of dependent kernels is run in several *arms* (stream or graph, full or programmatic
//! dependencies), interleaved, paired and verified, and every difference is reported in
//! microseconds a hop. See the README for the words and the method.
//!
//! Dependencies between modules point one way:
//! `cmd → experiment → measure → device (gpu, sim) → chain, stamps, units, error`.

#![warn(missing_docs)]
#![deny(unsafe_code)]

pub mod analysis;
pub mod attach;
pub mod axes;
pub mod cells;
pub mod chain;
pub mod chain_file;
pub mod check;
pub mod cli;
pub mod cmd;
pub mod compare;
pub mod compile;
pub mod conform;
pub mod coordinates;
pub mod device;
pub mod error;
pub mod experiment;
pub mod ffi;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod inspect;
pub mod interrupt;
pub mod kernel;
pub mod machine_code;
pub mod measure;
pub mod oracle;
pub mod page;
pub mod plot;
pub mod profile;
pub mod record;
pub mod sim;
pub mod stamps;
pub mod stats;
pub mod timeline;
pub mod tune;
pub mod units;
