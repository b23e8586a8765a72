//! What a graph that somebody else made gains from programmatic edges: which edges may be made
//! programmatic, what each saves, and which are unsafe. Pure: graphs arrive as a [`Listing`], times
//! through [`Trials`]; the device behind both is in `gpu::user_graph`.

mod listing;
mod options;
mod order;
mod race;
mod report;
mod search;

pub use listing::{
    Edge, EdgeKind, KernelNode, Listing, Node, NodeKind, RawEdge, Standing, SyncEvidence,
};
pub use options::{Options, Progress};
pub use order::Order;
pub use race::{Race, RaceVerdict, Residence};
pub use report::{EdgeAdvice, EdgeRow, Effect, KindRow, Report, SCHEMA};
pub use search::{Flips, Rounds, Trials};
