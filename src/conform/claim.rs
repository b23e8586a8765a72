//! What is claimed of a scene, and how one repetition answers.

use serde::{Deserialize, Serialize};

/// Name of an actor in every text: the first is A.
fn name(actor: usize) -> char {
    char::from(b'A' + u8::try_from(actor.min(25)).expect("at most 25"))
}

/// What one block of an actor left behind. Times on the device's global timer, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub begin_ns: u64,
    /// Just before its trigger; 0: it issued none.
    pub trigger_ns: u64,
    /// When the sync returned; 0: it returned before.
    pub release_ns: u64,
    /// Last instruction before its stamps.
    pub end_ns: u64,
    /// Whether it returned before the sync.
    pub returned: bool,
    /// Stale words of each slot in the read before the sync.
    pub early_stale: [u32; 2],
    /// Stale words of each slot in the read after it.
    pub late_stale: [u32; 2],
}

/// Blocks of every actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repetition {
    /// Blocks by actor.
    pub actors: Vec<Vec<Block>>,
}

/// What a kernel may not begin before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Every block has begun.
    Begin,
    /// Every block has triggered or exited.
    Trigger,
    /// Every block has ended.
    End,
}

/// What is claimed of two actors. `slot` is the place of `of` among what the reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// After its sync the reader finds every word of `of`, and no sync returns before `of` ended.
    /// Tested where the reader began before `of` ended.
    Covers {
        /// The actor that syncs.
        reader: usize,
        /// The actor that writes.
        of: usize,
        /// Slot.
        slot: usize,
    },
    /// The same, tested by every repetition.
    Fresh {
        /// The actor that reads.
        reader: usize,
        /// The actor that writes.
        of: usize,
        /// Slot.
        slot: usize,
    },
    /// No block begins before `bound` of `of`.
    NotBefore {
        /// The later actor.
        actor: usize,
        /// The earlier one.
        of: usize,
        /// What of it.
        bound: Bound,
    },
    /// A block begins before `of` has ended.
    Ahead {
        /// The later actor.
        actor: usize,
        /// The earlier one.
        of: usize,
    },
    /// A block without a sync reads a stale word.
    Stale {
        /// The actor that reads.
        reader: usize,
        /// The actor that writes.
        of: usize,
        /// Slot.
        slot: usize,
    },
    /// The reader's sync returns before `of` ended, or the reader finds a stale word after it.
    Uncovered {
        /// The actor that syncs.
        reader: usize,
        /// The actor that writes.
        of: usize,
        /// Slot.
        slot: usize,
    },
}

/// How a claim counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The documentation promises it: one counter-example is a violation.
    Law,
    /// The documentation permits it and promises nothing: one example shows it.
    Permitted,
    /// The documentation says nothing, or not clearly: counted and reported.
    Open,
}

/// A claim and how it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asserted {
    /// How it counts.
    pub kind: Kind,
    /// The claim.
    pub claim: Claim,
}

/// What one repetition says of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Whether the repetition puts the claim to the test.
    pub tested: bool,
    /// Whether it holds in it.
    pub holds: bool,
    /// The difference that tells, ns; see [`Claim::measure`].
    pub measure_ns: f64,
}

impl Claim {
    /// As the user reads it.
    pub fn text(self) -> String {
        match self {
            Claim::Covers { reader, of, .. } => {
                format!("{}'s sync returns after {} completed", name(reader), name(of))
            }
            Claim::Fresh { reader, of, .. } => {
                format!("{} finds all that {} wrote", name(reader), name(of))
            }
            Claim::NotBefore { actor, of, bound } => {
                let what = match bound {
                    Bound::Begin => "began",
                    Bound::Trigger => "triggered or exited",
                    Bound::End => "ended",
                };
                format!("{} begins after every block of {} {what}", name(actor), name(of))
            }
            Claim::Ahead { actor, of } => {
                format!("{} begins before {} ends", name(actor), name(of))
            }
            Claim::Stale { reader, of, .. } => {
                format!("{} reads stale words of {}", name(reader), name(of))
            }
            Claim::Uncovered { reader, of, .. } => {
                format!("{}'s sync returns before {} completed", name(reader), name(of))
            }
        }
    }

    /// What [`Judged::measure_ns`] is.
    pub fn measure(self) -> &'static str {
        match self {
            Claim::Covers { .. } | Claim::Fresh { .. } | Claim::Uncovered { .. } => {
                "first release − last end"
            }
            Claim::NotBefore { bound: Bound::Begin, .. } => "first begin − last begin",
            Claim::NotBefore { bound: Bound::Trigger, .. } => "first begin − last trigger or exit",
            Claim::NotBefore { bound: Bound::End, .. } | Claim::Ahead { .. } => {
                "first begin − last end"
            }
            Claim::Stale { .. } => "last end of the reader − last end",
        }
    }

    /// The actors it is about, the later one first.
    pub fn actors(self) -> (usize, usize) {
        match self {
            Claim::Covers { reader, of, .. }
            | Claim::Fresh { reader, of, .. }
            | Claim::Stale { reader, of, .. }
            | Claim::Uncovered { reader, of, .. } => (reader, of),
            Claim::NotBefore { actor, of, .. } | Claim::Ahead { actor, of } => (actor, of),
        }
    }

    /// The slot it reads, if it is about words.
    pub fn slot(self) -> Option<usize> {
        match self {
            Claim::Covers { slot, .. }
            | Claim::Fresh { slot, .. }
            | Claim::Stale { slot, .. }
            | Claim::Uncovered { slot, .. } => Some(slot),
            Claim::NotBefore { .. } | Claim::Ahead { .. } => None,
        }
    }

    /// Judges one repetition. Differences of less than `margin_ns` (step and skew of the timer)
    /// prove nothing. `None` where an actor has no blocks, or none that could tell.
    pub fn judge(self, repetition: &Repetition, margin_ns: u64) -> Option<Judged> {
        let (actor, of) = self.actors();
        let (later, earlier) = (repetition.actors.get(actor)?, repetition.actors.get(of)?);
        let first_begin = later.iter().map(|block| block.begin_ns).min()?;
        let last_end = earlier.iter().map(|block| block.end_ns).max()?;
        let before = |moment: u64, bound: u64| moment + margin_ns < bound;
        let ahead = before(first_begin, last_end);
        let reading = || later.iter().filter(|block| !block.returned);
        let stale = |slot: usize| reading().any(|block| block.late_stale[slot] > 0);
        let judged = match self {
            Claim::Covers { slot, .. } | Claim::Fresh { slot, .. } => {
                let release = reading().map(|block| block.release_ns).min()?;
                Judged {
                    tested: ahead || matches!(self, Claim::Fresh { .. }),
                    holds: !stale(slot) && !before(release, last_end),
                    measure_ns: difference(release, last_end),
                }
            }
            Claim::Uncovered { slot, .. } => {
                let release = reading().map(|block| block.release_ns).min()?;
                Judged {
                    tested: true,
                    holds: stale(slot) || before(release, last_end),
                    measure_ns: difference(release, last_end),
                }
            }
            Claim::Stale { slot, .. } => {
                let end = later.iter().map(|block| block.end_ns).max()?;
                let measure_ns = difference(end, last_end);
                Judged { tested: true, holds: stale(slot), measure_ns }
            }
            Claim::Ahead { .. } => {
                Judged { tested: true, holds: ahead, measure_ns: difference(first_begin, last_end) }
            }
            Claim::NotBefore { bound, .. } => {
                let moment = |block: &Block| match bound {
                    Bound::Begin => block.begin_ns,
                    Bound::End => block.end_ns,
                    Bound::Trigger if block.trigger_ns == 0 => block.end_ns,
                    Bound::Trigger => block.trigger_ns.min(block.end_ns),
                };
                let last = earlier.iter().map(moment).max()?;
                Judged {
                    tested: true,
                    holds: !before(first_begin, last),
                    measure_ns: difference(first_begin, last),
                }
            }
        };
        Some(judged)
    }
}

/// a − b, ns.
fn difference(a: u64, b: u64) -> f64 {
    a as f64 - b as f64
}
