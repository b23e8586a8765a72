//! What a graph that somebody else made gains from programmatic edges: which edges may be made
//! programmatic, what each saves, and which are unsafe. Pure: graphs arrive as a [`Listing`], times
//! through [`Trials`]; the device behind both is in `gpu::user_graph`.

mod attribute;
mod choice;
mod compose;
mod ledger;
mod listing;
mod options;
mod order;
mod page;
mod patch;
mod race;
mod recorded;
mod report;
mod text;
mod trials;

#[cfg(test)]
pub(crate) mod tests;

pub use attribute::attribute;
pub use listing::{
    Edge, EdgeKind, KernelNode, Listing, Node, NodeKind, RawEdge, Standing, SyncEvidence,
};
pub use options::{Options, Progress};
pub use order::Order;
pub use page::report_page;
pub use patch::patch;
pub use race::{Race, RaceVerdict, Residence};
pub use recorded::{Attributed, Recorded, Recording, Step, replay};
pub use report::{EdgeAdvice, EdgeRow, Effect, KindRow, Origin, Report, SCHEMA};
pub use text::{listing_table, report_table};
pub use trials::{Flips, RawSample, Rounds, Trials};
