//! Does a GPU and its driver keep the documented semantics of programmatic launches?
//!
//! A [`Rule`] is put to the test by scenes: a few actors (kernels that trigger, sync, read and
//! write where they are told), what stands between them, and what is claimed of their stamps and
//! words. Everything here is pure: a device runs a [`Scene`] and hands back one [`Repetition`] after
//! another; a [`Tally`] judges them. What the documentation leaves open is counted and reported as
//! observed, never as law.

mod claim;
mod findings;
mod outcome;
mod rule;
mod rules;
mod scene;
pub mod tables;
mod tally;

pub use claim::{Asserted, Block, Bound, Claim, Judged, Kind, Repetition};
pub use findings::{DeviceFacts, Findings, FormVerdict, RuleFinding, Unfinished};
pub use outcome::{Outcome, Spread, Verdict, combine};
pub use rule::{Case, Form, Forms, Rule, Test};
pub use rules::{RULES_OF_QUICK, rules};
pub use scene::{
    Actor, Between, Edge, Event, Grid, Moment, Port, Priority, Rest, Role, Scene, Step, Usage,
};
pub use tally::{Tally, lossy_query, many_launches};

#[cfg(test)]
mod tests;
