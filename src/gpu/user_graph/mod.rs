//! A graph that somebody else made, in this process: its edges listed, flipped, verified, timed and
//! checked for races.
//!
//! The pieces, from the bottom: [`Graph`] and [`Executable`] own handles of the driver; a [`Bench`]
//! owns the memory whose content is compared and poisoned, verifies and times any executables that
//! work on it; a [`UserGraph`] is a graph on a bench whose edges can be attributed.

mod bench;
mod code;
mod embed;
mod graph;
mod memory;
mod node_launch;
mod race;
mod read;
mod records;
mod resident;
pub mod sample;
mod scene;
mod subject;
mod trial;

pub use bench::{Bench, Comparison, Timed};
pub use code::{Code, Image};
pub use embed::{Embedded, list_embedded};
pub use graph::{Executable, Graph};
pub use memory::{Memory, Region, Reset};
pub use subject::{UserGraph, Watch, list};
