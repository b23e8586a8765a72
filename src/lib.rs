//! What does CUDA's Programmatic Dependent Launch (PDL) do for a chain of dependent kernels?
//!
//! The program `pdl` answers that on a command line, this library in a program of your own. A
//! [`Chain`] is run in several *arms* ([`Arm`]: stream or graph, full or programmatic dependencies),
//! interleaved, paired and verified, and every difference is in microseconds or nanoseconds a *hop*.
//! The README has the words and the method.
//!
//! | | |
//! | --- | --- |
//! | [`Chain`] | nodes, their shape, work before and after the grid dependency sync, where a block triggers |
//! | [`measure()`] | one arm of a chain against its baseline: what it saves, with interval and verdict |
//! | [`sweep()`] | every trigger and arm: the main job, in memory; [`Run::save`] writes the run directory |
//! | [`check()`] | whether every value of a chain is right, again and again, and what was armed |
//!
//! [`open()`] gives the GPU, or where there is none the simulated H200, whose numbers are no evidence:
//! [`Run::simulated`]. [`SimDevice`] is that device, with a seed of your choice.
//!
//! ```
#![doc = include_str!("../examples/library.rs")]
//! ```
//!
//! # Errors
//! Every function returns [`Error`]: one line of what could not be done and why, one of what to do
//! about it, and a [`Kind`]. Wrong results are no error but a verdict; a shape that the device cannot
//! run is a row that says `skipped`.
//!
//! # Kernels and graphs of your own
//! With the feature `cuda`, `gpu::user_graph::UserGraph` attributes the time of a graph of this
//! process to its edges, as `include/pdl_lab.h` and the Python package do. Chain files are the work
//! of `pdl kernel`. Modules that are hidden here are parts of the program and change without notice.
//!
//! Dependencies between modules point one way:
//! `lab, cmd → experiment → measure → device (gpu, sim) → chain, stamps, units, error`.

#![warn(missing_docs)]
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod analysis;
pub mod attach;
#[doc(hidden)]
pub mod axes;
#[doc(hidden)]
pub mod cells;
#[doc(hidden)]
pub mod chain;
#[doc(hidden)]
pub mod chain_file;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod cmd;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub mod conform;
#[doc(hidden)]
pub mod coordinates;
#[doc(hidden)]
pub mod device;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod experiment;
#[doc(hidden)]
pub mod ffi;
#[cfg(feature = "cuda")]
pub mod gpu;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod interrupt;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod lab;
#[doc(hidden)]
pub mod machine_code;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod oracle;
#[doc(hidden)]
pub mod page;
#[doc(hidden)]
pub mod plot;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod sim;
#[doc(hidden)]
pub mod stamps;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod timeline;
#[doc(hidden)]
pub mod tune;
#[doc(hidden)]
pub mod units;

pub use analysis::{Answer, Choice, Summary};
pub use chain::{
    Arm, Body, BodyKind, Chain, Dependency, L2, Mode, Preamble, PreambleKind, Shape, Submission,
    Target, Trigger, TriggerBy,
};
pub use device::{Device, Facts, Proof};
pub use error::{Error, Kind, Result};
pub use experiment::{Axes, Grid};
pub use lab::{Checked, Effort, Measured, Run, check, measure, open, sweep};
pub use measure::Stopping;
pub use record::{SummaryRow, Verdict};
pub use sim::SimDevice;
