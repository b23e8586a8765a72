//! The event-driven model: every block of every node on every SM.
//!
//! What is simulated: an edge is resolved by triggers, exits, begins or the end of the primary, and
//! a launch latency later a dispatcher places the secondary's blocks one after another, each on the
//! SM that holds fewest blocks as far as the dispatcher knows. From that follow waves, grids that do
//! not fit together, and the harm of a late trigger: a dispatcher that finds some SMs drained and
//! others not puts two blocks on a drained one, which then ends last, and so on at every hop.
//! Blocks on one SM share its schedulers, and what two warps do there leaves no turn to others until
//! it is done; warps give their slots back one by one; all streams share the memory, and a sync returns when the
//! whole primary has ended.
//!
//! Time is in ns, work in multiply-adds a thread or bytes. Nothing depends on the machine: a seed
//! gives the same chain everywhere.

mod chance;
mod engine;
mod memory;
mod node;
mod phases;
mod queue;
mod scheduler;
mod sm;
#[cfg(test)]
mod tests;
mod turns;
mod work;

pub use engine::{Outcome, run};
pub use node::Block;
pub use work::{Fetch, Fires, Gaps, IssueRates, Link, MemoryRates, Piece, Wait, Work};
