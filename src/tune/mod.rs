//! The race for the best arm and trigger: who is still worth a sample, and when nothing better is
//! credible. Pure: durations in, standings out.
//!
//! A sweep gives every candidate the same number of samples; most of them are far behind after
//! three. Here a candidate leaves the race as soon as it is credibly slower than the leader, and the
//! race ends when no candidate that is left can credibly be faster than the leader by more than the
//! margin. All comparisons are paired: candidates run in the same shuffled rounds. The scheme is
//! successive halving (Jamieson and Talwalkar, AISTATS 2016) with evidence in place of a quota: a
//! plateau of equals is never halved, and a field of stragglers goes at once.

mod findings;
mod standing;

pub use findings::{EdgeLane, Findings, LEGEND, Lane, Race};
pub use standing::{Fate, Field, Standing, Tolerance};

#[cfg(test)]
mod tests;
