//! A chain file made ready to run: compiled for every site, its kernels found, its arguments and
//! syncs checked. Knows compilers and files, and no device.

mod arguments;
mod build;
mod checked;
mod emit;
mod external;
mod fill;
mod fits;
mod library;
mod lookup;
mod plan;
mod policy;
mod target;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use build::{Build, Code, DELAY_NS, NodeCode, distinct_syncs};
pub use checked::{Checked, CheckedDelay, CheckedEdge, DelayedRun, EdgeRace};
pub use emit::{header, patch};
pub use external::{Written, check_files, check_outputs};
pub use fill::bytes;
pub use library::{HookFile, HookKernel, hook_file};
pub use plan::{plan, record, with_pipelined};
pub use policy::{Decision, Policy, PolicyRow};
pub use target::Target;
