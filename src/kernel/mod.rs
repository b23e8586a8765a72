//! A chain file made ready to run: compiled for every site, its kernels found, its arguments and
//! syncs checked. Knows compilers and files, and no device.

mod build;
mod checked;
mod emit;
mod external;
mod fill;
mod plan;
mod policy;
#[cfg(test)]
mod tests;

pub use build::{Build, Code, DELAY_NS, NodeCode, Target, distinct_syncs};
pub use checked::{Checked, CheckedDelay, CheckedEdge, DelayedRun, EdgeRace};
pub use emit::{header, patch};
pub use external::{Written, check_outputs};
pub use fill::bytes;
pub use plan::{plan, record, with_pipelined};
pub use policy::{Decision, Policy, PolicyRow};
