//! The kernels of the check: correct ones, and mutants that each differ in one line.

use serde::{Deserialize, Serialize};

use super::plan::Test;

/// A kernel of the check, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Trigger, sync, reads, sleep, stores.
    Correct,
    /// No sync.
    NoSync,
    /// The first read above the sync.
    LoadAboveSync,
    /// One warp syncs; no barrier holds the others.
    SyncInOneWarp,
    /// Blocks without work return above the sync.
    EarlyReturn,
    /// The output is cleared above the sync.
    StoreAboveSync,
    /// Correct, the sync inside a loop.
    Loop,
    /// The same with a `__restrict__` input.
    LoopRestrict,
    /// Correct, stages before the sync into a ring of three slots.
    ThreeSlots,
    /// The same with two.
    TwoSlots,
    /// A fixture: writes to an illegal address.
    Fault,
    /// A fixture: does not end.
    Hang,
}

impl Kernel {
    /// The correct kernel of the same family: what a mutant's machine code is compared with.
    pub fn correct(self) -> Kernel {
        match self {
            Kernel::Loop | Kernel::LoopRestrict => Kernel::Loop,
            Kernel::ThreeSlots | Kernel::TwoSlots => Kernel::ThreeSlots,
            _ => Kernel::Correct,
        }
    }

    /// Whether the kernel keeps the rules.
    pub fn is_correct(self) -> bool {
        self == self.correct()
    }
}

/// A mistake that has been made in public code, and the tests that must catch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Name on the command line and in every output.
    pub name: &'static str,
    /// The kernel with the mistake.
    pub kernel: Kernel,
    /// Tests that are expected to catch it: any of them does.
    pub tests: &'static [Test],
    /// Where the mistake was made or described.
    pub origin: &'static str,
    /// Whether the documentation leaves open that it goes wrong. It does where a kernel completes
    /// before its primary has: the sync of the next one covers that kernel, and nothing is said of
    /// the one before it. On an H200 (driver 580.159.04) that sync was never seen to return early.
    pub open: bool,
}

/// All mutants of a plan.
pub const MUTANTS: [Mutant; 8] = [
    Mutant {
        name: "no-sync",
        kernel: Kernel::NoSync,
        tests: &[Test::Raw2, Test::Waw],
        origin: "llama.cpp #23690, CUTLASS #2760",
        open: false,
    },
    Mutant {
        name: "load-above-sync",
        kernel: Kernel::LoadAboveSync,
        tests: &[Test::Raw2],
        origin: "CUTLASS #2962, CCCL #5456",
        open: false,
    },
    Mutant {
        name: "restrict-load",
        kernel: Kernel::LoopRestrict,
        tests: &[Test::Loop],
        origin: "llama.cpp #23825 and #24030, tilelang #1650",
        open: false,
    },
    Mutant {
        name: "sync-in-one-warp",
        kernel: Kernel::SyncInOneWarp,
        tests: &[Test::Raw2],
        origin: "counterpart of TensorRT-LLM #14668",
        open: false,
    },
    Mutant {
        name: "middle-without-sync",
        kernel: Kernel::NoSync,
        tests: &[Test::Across],
        origin: "follows from the documented rule; FlashInfer's GDN kernels forbid it",
        open: true,
    },
    Mutant {
        name: "early-return",
        kernel: Kernel::EarlyReturn,
        tests: &[Test::Idle],
        origin: "kekzl/imp #1833, FlashInfer's GDN kernels",
        open: true,
    },
    Mutant {
        name: "store-above-sync",
        kernel: Kernel::StoreAboveSync,
        tests: &[Test::War],
        origin: "PyTorch #166741",
        open: false,
    },
    Mutant {
        name: "two-slots",
        kernel: Kernel::TwoSlots,
        tests: &[Test::Ring],
        origin: "look-ahead over ping-pong buffers, PyTorch #166741",
        open: false,
    },
];

/// Fixtures that show what the harness does with a fault and a hang. Only run when named.
const FIXTURES: [Mutant; 2] = [
    Mutant {
        name: "fault",
        kernel: Kernel::Fault,
        tests: &[Test::Raw2],
        origin: "fixture: an illegal address",
        open: false,
    },
    Mutant {
        name: "hang",
        kernel: Kernel::Hang,
        tests: &[Test::Raw2],
        origin: "fixture: a kernel that does not end",
        open: false,
    },
];

/// The mutant or fixture of that name.
pub fn mutant(name: &str) -> Option<&'static Mutant> {
    MUTANTS.iter().chain(&FIXTURES).find(|mutant| mutant.name == name)
}
