//! What is run: tests, cases, and the plan of all of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::mutant::{Kernel, MUTANTS, Mutant, mutant};
use crate::chain::{Mode, Submission, Trigger};
use crate::error::{Error, Result};

/// A way to arrange nodes and buffers so that one kind of race would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Each node reads what its primary wrote and writes the same place.
    #[serde(rename = "raw-1")]
    Raw1,
    /// Values in two slots, node i in slot i mod 2: each node also overwrites what its primary
    /// reads.
    #[serde(rename = "raw-2")]
    Raw2,
    /// Values in three slots.
    #[serde(rename = "raw-3")]
    Raw3,
    /// Two slots, and each node clears its output before it adds up.
    War,
    /// All nodes write one place and read constants: the last store wins.
    Waw,
    /// Every second node is independent and small; the others read across it.
    Across,
    /// The same, and the nodes in the middle have no work.
    Idle,
    /// The sync stands inside a loop.
    Loop,
    /// Nodes stage before their sync, in a ring of slots.
    Ring,
}

impl Test {
    /// All tests.
    pub const ALL: [Test; 9] = [
        Test::Raw1,
        Test::Raw2,
        Test::Raw3,
        Test::War,
        Test::Waw,
        Test::Across,
        Test::Idle,
        Test::Loop,
        Test::Ring,
    ];

    /// The name used on the command line and in every output.
    pub fn name(self) -> &'static str {
        match self {
            Test::Raw1 => "raw-1",
            Test::Raw2 => "raw-2",
            Test::Raw3 => "raw-3",
            Test::War => "war",
            Test::Waw => "waw",
            Test::Across => "across",
            Test::Idle => "idle",
            Test::Loop => "loop",
            Test::Ring => "ring",
        }
    }

    /// What would be read or written at the wrong time, for people.
    pub fn hazard(self) -> &'static str {
        match self {
            Test::Raw1 => "RAW, WAR in one slot",
            Test::Raw2 => "RAW, WAR over two slots",
            Test::Raw3 => "RAW over three slots",
            Test::War => "WAR of a cleared output",
            Test::Waw => "WAW in one slot",
            Test::Across => "RAW across a node in the middle",
            Test::Idle => "RAW across a node without work",
            Test::Loop => "RAW, sync in a loop",
            Test::Ring => "WAR of what is staged before the sync",
        }
    }

    /// The correct kernel of the test.
    pub fn correct(self) -> Kernel {
        match self {
            Test::Loop => Kernel::Loop,
            Test::Ring => Kernel::ThreeSlots,
            _ => Kernel::Correct,
        }
    }

    /// How far apart the two nodes of the race are: they must be co-resident for it to show.
    pub fn reach(self) -> u32 {
        match self {
            Test::Across | Test::Idle | Test::Ring => 2,
            _ => 1,
        }
    }

    /// The triggers at which the correct kernel is run. A node may stand two away from a running
    /// one only if the one between triggers at entry; the ring has its own pattern.
    fn triggers(self) -> &'static [Trigger] {
        match self {
            Test::Across | Test::Idle | Test::Ring => &[Trigger::AtEntry],
            _ => &[Trigger::AtEntry, Trigger::Segment { at: 0, of: 8 }],
        }
    }

    /// The grids at which the correct kernel is run. Over several waves, the blocks of the node
    /// between fill the device until its primary has completed.
    fn grids(self, quick: bool) -> &'static [Grid] {
        match (self.reach(), quick) {
            (_, true) => &[Grid::Small],
            (1, false) => &[Grid::Small, Grid::Device, Grid::Waves],
            _ => &[Grid::Small, Grid::Device],
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Blocks in the grid of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grid {
    /// 16 blocks: all nodes are resident together.
    Small,
    /// One block an SM.
    Device,
    /// Two and a half times what is resident at once, with half an SM's shared memory a block.
    Waves,
}

impl Grid {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Grid::Small => "small",
            Grid::Device => "device",
            Grid::Waves => "waves",
        }
    }
}

/// One kernel in one test, and how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The arrangement.
    pub test: Test,
    /// The kernel of the nodes under test; the others run the test's correct one.
    pub kernel: Kernel,
    /// Where nodes trigger: at entry or right after the sync.
    pub trigger: Trigger,
    /// Blocks of a node.
    pub grid: Grid,
    /// Stream or graph.
    pub submission: Submission,
    /// One chain a repetition, or three back to back.
    pub mode: Mode,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { test, trigger, grid, submission, mode, .. } = self;
        let trigger = match trigger {
            Trigger::AtEntry => "at-entry",
            _ => "after-sync",
        };
        f.pad(&format!("{test}/{trigger}/{}/{}/{mode}", grid.name(), submission.name()))
    }
}

/// Everything that is run, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cases of correct kernels.
    pub correct: Vec<Case>,
    /// Mutants, each with its cases.
    pub mutants: Vec<(&'static Mutant, Vec<Case>)>,
}

impl Plan {
    /// The plan, or what `only` leaves of it: the name of a test, of a mutant or fixture, `correct`
    /// or `mutants`. `quick` keeps the correct kernels to small grids.
    ///
    /// # Errors
    /// A usage error for a name that there is not.
    pub fn new(quick: bool, only: Option<&str>) -> Result<Plan> {
        let all = Plan { correct: correct_cases(quick), mutants: with_cases(&MUTANTS) };
        let none = Plan { correct: Vec::new(), mutants: Vec::new() };
        let Some(name) = only else { return Ok(all) };
        match name {
            "correct" => return Ok(Plan { correct: all.correct, ..none }),
            "mutants" => return Ok(Plan { mutants: all.mutants, ..none }),
            _ => {}
        }
        if let Some(mutant) = mutant(name) {
            return Ok(Plan { mutants: with_cases(std::slice::from_ref(mutant)), ..none });
        }
        let mut left = all;
        left.correct.retain(|case| case.test.name() == name);
        for (_, cases) in &mut left.mutants {
            cases.retain(|case| case.test.name() == name);
        }
        left.mutants.retain(|(_, cases)| !cases.is_empty());
        if left.correct.is_empty() && left.mutants.is_empty() {
            return Err(Error::usage(
                format!("check only '{name}'"),
                "there is nothing of that name",
            )
            .remedy(format!(
                "use correct, mutants, a test ({}) or a mutant ({})",
                Test::ALL.map(Test::name).join(", "),
                MUTANTS.map(|mutant| mutant.name).join(", ")
            )));
        }
        Ok(left)
    }
}

fn correct_cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for test in Test::ALL {
        for submission in [Submission::Graph, Submission::Stream] {
            for mode in [Mode::Isolated, Mode::Pipelined] {
                for &grid in test.grids(quick) {
                    for &trigger in test.triggers() {
                        let kernel = test.correct();
                        cases.push(Case { test, kernel, trigger, grid, submission, mode });
                    }
                }
            }
        }
    }
    cases
}

fn with_cases(mutants: &'static [Mutant]) -> Vec<(&'static Mutant, Vec<Case>)> {
    let cases = |mutant: &'static Mutant| {
        let mut cases = Vec::new();
        for &test in mutant.tests {
            for submission in [Submission::Graph, Submission::Stream] {
                cases.push(Case {
                    test,
                    kernel: mutant.kernel,
                    trigger: Trigger::AtEntry,
                    grid: Grid::Small,
                    submission,
                    mode: Mode::Isolated,
                });
            }
        }
        (mutant, cases)
    };
    mutants.iter().map(cases).collect()
}
