//! What may be concluded from a case.

use serde::{Deserialize, Serialize};

use super::layout::Record;
use super::mutant::mutant;
use super::oracle::Found;
use crate::error::Kind;
use crate::stats::{Interval, never_seen_bound, proportion};

/// Where the first wrong value of a case was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterExample {
    /// Repetition, from 1.
    pub repetition: u64,
    /// Node that read the value or, of a last store, that should have stored it; from 0.
    pub node: u32,
    /// Block that read or stored it.
    pub block: u32,
    /// Thread of the block.
    pub thread: u32,
    /// Which read or store it was.
    pub record: Record,
    /// The value found, hexadecimal.
    pub found: String,
    /// The oracle's, hexadecimal.
    pub expected: String,
    /// What the value found is.
    pub found_is: Found,
    /// Longest time for which nodes of the test's reach were co-resident in that repetition, ns.
    pub overlap_ns: Option<i64>,
}

/// The machine code of a kernel under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The kernel, as the driver names it.
    pub kernel: String,
    /// Syncs (`ACQBULK`); `None` where the driver compiled it from PTX.
    pub syncs: Option<u32>,
    /// Whether the bytes equal those of the correct kernel; `None` where they cannot be read.
    pub same_as_correct: Option<bool>,
}

/// What a case measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Repetitions that ran and were judged.
    pub repetitions: u64,
    /// Those with a wrong value.
    pub wrong: u64,
    /// Those in which nodes of the test's reach were co-resident by more than the timer's error.
    pub co_resident: u64,
    /// Wrong values in all repetitions.
    pub mismatches: u64,
    /// Values compared in each repetition.
    pub values: u64,
    /// Longest co-residence in any repetition, ns; `None` when no stamps could be paired.
    pub overlap_ns: Option<i64>,
    /// What an overlap must exceed to prove anything: timer step plus skew, ns.
    pub margin_ns: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// The first wrong value.
    pub first: Option<CounterExample>,
    /// Machine code of the kernel under test.
    pub code: Code,
}

impl Measured {
    /// Interval of the share of repetitions that go wrong, 95 %.
    pub fn rate(&self) -> Option<Interval> {
        proportion(self.wrong, self.repetitions)
    }

    /// Upper bound of that share where none went wrong, 95 %: only co-resident repetitions count.
    pub fn bound(&self) -> f64 {
        never_seen_bound(self.co_resident)
    }
}

/// What is said of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Co-resident, and no value was wrong.
    Clean,
    /// A value was wrong.
    Race,
    /// Nothing was co-resident, or the device cannot run the case: nothing is known.
    NotTested,
    /// The mutant's machine code is the correct kernel's under this compiler.
    SameCode,
    /// The device did not answer in time and was given up.
    Hang,
    /// The device or the driver reported an error.
    Fault,
}

impl Verdict {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Race => "race",
            Verdict::NotTested => "not tested",
            Verdict::SameCode => "same code",
            Verdict::Hang => "hang",
            Verdict::Fault => "fault",
        }
    }
}

/// The verdict of what was measured. Wrong values are a race whatever the stamps say; without
/// them, nothing is known unless something was co-resident. A correct kernel's code is always its
/// own.
pub fn verdict(measured: &Measured, mutant: bool) -> Verdict {
    match measured {
        m if mutant && m.code.same_as_correct == Some(true) => Verdict::SameCode,
        m if m.wrong > 0 => Verdict::Race,
        m if m.co_resident == 0 => Verdict::NotTested,
        _ => Verdict::Clean,
    }
}

/// A case and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The mutant; `None` for a correct kernel.
    pub mutant: Option<String>,
    /// The case.
    pub case: String,
    /// The case's test.
    pub test: String,
    /// What is said of it.
    pub verdict: Verdict,
    /// What was measured; `None` where the case did not get that far.
    pub measured: Option<Measured>,
    /// Why, where nothing was measured.
    pub reason: String,
}

/// Whether an outcome is why a process ends badly, and how: a race in a correct kernel and a mutant
/// of other code that no test caught are wrong results; a hang or a fault is a failure. What could
/// not be tested is neither.
pub fn trouble(outcome: &Outcome, all: &[Outcome]) -> Option<Kind> {
    let caught = || all.iter().any(|o| o.mutant == outcome.mutant && o.verdict == Verdict::Race);
    match (outcome.verdict, outcome.mutant.as_deref()) {
        (Verdict::Race, None) => Some(Kind::Wrong),
        (Verdict::Clean, Some(name)) if !caught() && !may_go_right(name) => Some(Kind::Wrong),
        (Verdict::Hang | Verdict::Fault, _) => Some(Kind::Failed),
        _ => None,
    }
}

/// Whether the documentation leaves open that the mutant goes wrong.
pub fn may_go_right(name: &str) -> bool {
    mutant(name).is_some_and(|mutant| mutant.open)
}

/// How a process ends that saw these outcomes, `None` for well. Wrong results before failures.
pub fn exit_kind(outcomes: &[Outcome]) -> Option<Kind> {
    let kinds = || outcomes.iter().filter_map(|outcome| trouble(outcome, outcomes));
    kinds().find(|&kind| kind == Kind::Wrong).or_else(|| kinds().next())
}
