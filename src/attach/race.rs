//! What the race check of one edge found.

use serde::{Deserialize, Serialize};

/// What is known of the secondary being on the device while the primary's stand-in slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residence {
    /// A node that waits for the launch completion of the secondary began while the stand-in
    /// slept: all its blocks had begun.
    AllBlocks,
    /// Not all blocks had begun while the stand-in slept, though some had.
    SomeBlocks,
    /// Not seen.
    NotSeen,
}

/// What may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceVerdict {
    /// All blocks of the secondary were on the device before the primary's data was in place, and
    /// every byte is right.
    Clean,
    /// Bytes differ from those over a full edge: the secondary read too early.
    ReadsEarly,
    /// The secondary wrote before the primary was done.
    WritesEarly,
    /// Nothing was proved.
    NotTested,
}

impl RaceVerdict {
    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            RaceVerdict::Clean => "clean",
            RaceVerdict::ReadsEarly => "reads-early",
            RaceVerdict::WritesEarly => "writes-early",
            RaceVerdict::NotTested => "not-tested",
        }
    }
}

/// The race check of one edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    /// Index of the edge.
    pub edge: u32,
    /// What may be said.
    pub verdict: RaceVerdict,
    /// Whether the secondary was there to be caught.
    pub residence: Residence,
    /// Repetitions over a programmatic edge.
    pub repetitions: u32,
    /// Bytes that the primary writes into the outputs and buffers.
    pub primary_bytes: u64,
    /// Bytes that the secondary writes into them.
    pub secondary_bytes: u64,
    /// Wrong bytes, the most of any repetition.
    pub wrong_bytes: u64,
    /// Bytes that the secondary wrote while the stand-in slept, the most of any repetition.
    pub early_bytes: u64,
    /// Name of the first region with a wrong or early byte; empty: none.
    pub region: String,
    /// Why nothing was proved, or what was seen.
    pub reason: String,
}
