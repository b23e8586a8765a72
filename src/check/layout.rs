//! Where each node of a repetition reads and writes.

use serde::{Deserialize, Serialize};

use super::mutant::Kernel;
use super::plan::{Case, Test};
use crate::chain::{Mode, Shape, Trigger};

/// Chains back to back in a pipelined repetition.
const PIPELINED_CHAINS: u32 = 3;

/// What a node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The constants of the repetition's round.
    Seeds,
    /// A slot that nodes write.
    Slot(u32),
}

/// One node of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kernel it runs.
    pub kernel: Kernel,
    /// Whether its dependency is full: the first node of an isolated chain.
    pub full: bool,
    /// What it reads.
    pub input: Input,
    /// The slot it writes.
    pub output: u32,
    /// Where it triggers.
    pub trigger: Trigger,
    /// Whether it has no work: it writes nothing and leaves no stamp.
    pub idle: bool,
}

/// The nodes of a repetition and the shape they share.
///
/// Rows, each one value a thread of the grid: for node i what its first read found (row 2i) and
/// what its read after the sleep found (row 2i + 1), then the slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In order of submission.
    pub nodes: Vec<Node>,
    /// Slots that values go through.
    pub slots: u32,
    /// Block b reads what block b + shift wrote.
    pub block_shift: u32,
    /// Whether nodes clear their output before they add up.
    pub clears: bool,
    /// Whether nodes stage before their sync and read it back after the sleep.
    pub stages: bool,
    /// Nodes between the two that a race needs co-resident, plus one.
    pub reach: u32,
    /// Launch shape.
    pub shape: Shape,
}

/// What one row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// What a node's first read found, right after its sync: too early is RAW.
    FirstRead,
    /// What its read after the sleep found: changed meanwhile is WAR.
    LateRead,
    /// What a slot holds in the end: an older store over a newer one is WAW.
    LastStore,
}

impl Record {
    /// The hazard that a wrong value in such a row is.
    pub fn hazard(self) -> &'static str {
        match self {
            Record::FirstRead => "RAW",
            Record::LateRead => "WAR",
            Record::LastStore => "WAW",
        }
    }
}

impl Layout {
    /// The layout of `case` at `shape`.
    pub fn new(case: &Case, shape: Shape) -> Layout {
        let across = matches!(case.test, Test::Across | Test::Idle);
        let chain = if across { 5 } else { 4 };
        let slots = match case.test {
            Test::Raw1 | Test::Waw => 1,
            Test::Raw3 => 3,
            Test::Across | Test::Idle => chain,
            Test::Raw2 | Test::War | Test::Loop | Test::Ring => 2,
        };
        let chains = if case.mode == Mode::Pipelined { PIPELINED_CHAINS } else { 1 };
        let node = |index: u32| {
            let at = index % chain;
            let middle = across && at % 2 == 1;
            let input = match case.test {
                _ if at == 0 || middle || case.test == Test::Waw => Input::Seeds,
                Test::Across | Test::Idle => Input::Slot(at - 2),
                _ => Input::Slot((index - 1) % slots),
            };
            Node {
                kernel: if across && !middle { case.kernel.correct() } else { case.kernel },
                full: index == 0,
                input,
                output: if across { at } else { index % slots },
                trigger: match (case.test, index % 2) {
                    (Test::Ring, 1) => Trigger::Segment { at: 0, of: 8 },
                    _ => case.trigger,
                },
                idle: case.test == Test::Idle && middle,
            }
        };
        Layout {
            nodes: (0..chain * chains).map(node).collect(),
            slots,
            // In place, a block may only read what it overwrites itself.
            block_shift: (slots > 1).into(),
            clears: case.test == Test::War,
            stages: case.test == Test::Ring,
            reach: case.test.reach(),
            shape,
        }
    }

    /// Values in a row: threads of the grid.
    pub fn width(&self) -> u64 {
        u64::from(self.shape.grid_blocks) * u64::from(self.shape.block_threads)
    }

    /// Rows.
    pub fn rows(&self) -> u64 {
        2 * self.nodes.len() as u64 + u64::from(self.slots)
    }

    /// Row of what node `node` read first.
    pub fn first_row(&self, node: usize) -> u64 {
        2 * node as u64
    }

    /// Row of what it read after its sleep.
    pub fn late_row(&self, node: usize) -> u64 {
        2 * node as u64 + 1
    }

    /// Row of a slot.
    pub fn slot_row(&self, slot: u32) -> u64 {
        2 * self.nodes.len() as u64 + u64::from(slot)
    }

    /// What the value at `index` of all rows says: the record, and the node that read it or, of a
    /// slot, that stores to it last.
    pub fn record(&self, index: u64) -> (Record, u32) {
        let row = index / self.width();
        let nodes = self.nodes.len() as u64;
        if row < 2 * nodes {
            let record = if row.is_multiple_of(2) { Record::FirstRead } else { Record::LateRead };
            return (record, (row / 2) as u32);
        }
        let slot = (row - 2 * nodes) as u32;
        let last = self.nodes.iter().rposition(|node| node.output == slot && !node.idle);
        (Record::LastStore, last.unwrap_or(0) as u32)
    }

    /// A bit a node that leaves no stamp.
    pub fn idle_nodes(&self) -> u32 {
        let bits = self.nodes.iter().enumerate();
        bits.fold(0, |bits, (index, node)| bits | u32::from(node.idle) << index)
    }
}
