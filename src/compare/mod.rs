//! Is the second run slower than the first? Pure: runs in, verdicts out.
//!
//! A row has a verdict only where both runs measured the same definition with the same amounts of
//! work, and the fixed kernel tells that the device was in the same state. Then three references
//! have to agree (`views`), beyond what two processes were seen to differ by (`allowance`).

mod across;
mod allowance;
mod arms;
mod definition;
mod fingerprint;
mod judge;
mod matched;
mod notes;
mod outcome;
mod rows;
mod runs;
mod side;
#[cfg(test)]
mod tests;
mod views;

pub use across::{Across, AcrossRow, Carried, KEPT, Said, compare_across};
pub use allowance::{Allowance, MARGIN_RATIO, MARGIN_US, STREAM_MODES_US, STREAMING_RATIO};
pub use arms::compare_arms;
pub use fingerprint::Mismatch;
pub use judge::Change;
pub use outcome::{COMPARISON_SCHEMA, Comparison, Count, Party, Row, Session};
pub use runs::{Options, compare_runs};
pub use side::Side;
pub use views::View;
