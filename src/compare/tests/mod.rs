//! Runs with known differences.

mod across;
pub(super) mod fixture;
mod refusals;
mod truth;
