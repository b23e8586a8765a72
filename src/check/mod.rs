//! The race check: adversarial chains, an oracle, and what may be concluded from them. Pure.
//!
//! A *repetition* poisons every row, runs a chain (three, when pipelined) of small nodes and
//! compares every value that any thread read or wrote with the oracle's. Each node triggers,
//! syncs, reads, sleeps, reads again and only then writes: as a primary it leaves every secondary
//! the time to go wrong, as a secondary it shows whether it did.
//!
//! A *case* is one kernel in one test, at one trigger, grid, submission and mode. Correct kernels
//! must never be accused; a mutant must be caught by the test it declares.

mod findings;
mod layout;
mod mutant;
mod oracle;
mod plan;
mod sleeps;
pub mod tables;
mod verdict;

pub use findings::{DeviceFacts, Findings, Row};
pub use layout::{Input, Layout, Node, Record};
pub use mutant::{Kernel, MUTANTS, Mutant, mutant};
pub use oracle::{Found, expected, identify, seeds};
pub use plan::{Case, Grid, Plan, Test};
pub use sleeps::{SLEEP_MAX_US, Sleeps};
pub use verdict::{
    Code, CounterExample, Measured, Outcome, Verdict, exit_kind, may_go_right, trouble, verdict,
};

#[cfg(test)]
mod tests;
