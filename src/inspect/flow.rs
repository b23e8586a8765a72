//! What can execute before and after the sync, on some path: reachability over the control flow
//! of the machine code.
//!
//! Every instruction is reached in one or both of two states: no sync was executed yet, or one
//! was. Branches are taken both ways, whatever their predicates, so that a path found here need
//! not be one that values allow; a path that values allow is always found, except through calls
//! whose target the code computes, which are reported.

use std::collections::{HashMap, HashSet};

use super::sass::{Guard, Instruction, Listing};

/// What is reached of one kernel. Indices into the listing's instructions, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Reached by a path without sync.
    pub(super) before: Vec<usize>,
    /// Reached by a path through a sync.
    pub(super) after: Vec<usize>,
}

const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// A function as it was called: its first instruction and the state of the caller.
type Call = (usize, u8);

#[derive(Default)]
struct Frame {
    /// Frame and instruction to go on at, when it returns.
    returns_to: Vec<(usize, usize)>,
    /// States it returns in.
    returned: u8,
}

struct Walk<'l, 'a> {
    listing: &'l Listing<'a>,
    /// Function that each instruction belongs to.
    frames: Vec<Frame>,
    by_call: HashMap<Call, usize>,
    seen: HashSet<(usize, usize, u8)>,
    work: Vec<(usize, usize, u8)>,
}

/// Walks a kernel of the listing from its first instruction.
pub(super) fn reach(listing: &Listing<'_>, function: usize) -> Reach {
    let kernel = &listing.functions[function];
    if kernel.first == kernel.end {
        return Reach::default();
    }
    let mut walk = Walk {
        listing,
        frames: vec![Frame::default()],
        by_call: HashMap::new(),
        seen: HashSet::new(),
        work: Vec::new(),
    };
    walk.push(0, kernel.first, BEFORE);
    while let Some((frame, at, state)) = walk.work.pop() {
        walk.step(frame, at, state);
    }
    let of = |wanted: u8| {
        let reached = walk.seen.iter().filter(|(_, _, state)| *state == wanted);
        let mut indices: Vec<usize> = reached.map(|(_, at, _)| *at).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    };
    Reach { before: of(BEFORE), after: of(AFTER) }
}

impl Walk<'_, '_> {
    fn push(&mut self, frame: usize, at: usize, state: u8) {
        if at < self.listing.instructions.len() && self.seen.insert((frame, at, state)) {
            self.work.push((frame, at, state));
        }
    }

    /// The instruction after `at`, unless its function ends there.
    fn next(&mut self, frame: usize, at: usize, state: u8) {
        let ends = self.listing.functions.binary_search_by(|f| f.end.cmp(&(at + 1))).is_ok();
        if !ends {
            self.push(frame, at + 1, state);
        }
    }

    fn step(&mut self, frame: usize, at: usize, state: u8) {
        let instruction = self.listing.instructions[at];
        if instruction.guard == Guard::Never {
            return self.next(frame, at, state);
        }
        let skipped = conditional(&instruction);
        match instruction.stem() {
            "ACQBULK" => {
                self.next(frame, at, AFTER);
                if skipped {
                    self.next(frame, at, state);
                }
                return;
            }
            "EXIT" | "KILL" => {}
            "RET" => self.give_back(frame, state),
            "CALL" => return self.call(frame, at, state, skipped),
            "BRA" | "JMP" | "BRX" | "BRXU" | "JMX" | "JMXU" => {
                for target in targets(self.listing, &instruction, at) {
                    self.push(frame, target, state);
                }
            }
            "WARPSYNC" => {
                if let Some(target) = instruction.label().and_then(|label| self.at(label)) {
                    self.push(frame, target, state);
                }
                return self.next(frame, at, state);
            }
            _ => return self.next(frame, at, state),
        }
        if skipped {
            self.next(frame, at, state);
        }
    }

    fn at(&self, label: &str) -> Option<usize> {
        self.listing.labels.get(label).copied()
    }

    fn give_back(&mut self, frame: usize, state: u8) {
        if self.frames[frame].returned & state != 0 {
            return;
        }
        self.frames[frame].returned |= state;
        for (caller, at) in self.frames[frame].returns_to.clone() {
            self.push(caller, at, state);
        }
    }

    /// A call whose target is in the listing is entered; any other is passed over.
    fn call(&mut self, frame: usize, at: usize, state: u8, skipped: bool) {
        let target = self.listing.instructions[at].label().and_then(|label| self.at(label));
        let Some(target) = target else { return self.next(frame, at, state) };
        if skipped {
            self.next(frame, at, state);
        }
        let fresh = self.frames.len();
        let callee = *self.by_call.entry((target, state)).or_insert(fresh);
        if callee == fresh {
            self.frames.push(Frame::default());
            self.push(callee, target, state);
        }
        self.frames[callee].returns_to.push((frame, at + 1));
        for returned in [BEFORE, AFTER] {
            if self.frames[callee].returned & returned != 0 {
                self.push(frame, at + 1, returned);
            }
        }
    }
}

/// Whether control may go on behind the instruction as if it were not there: it has a predicate,
/// as a prefix or as an operand, or it acts on part of the warp.
fn conditional(instruction: &Instruction<'_>) -> bool {
    if instruction.guard == Guard::Sometimes {
        return true;
    }
    match instruction.stem() {
        "BRA" | "JMP" => {
            let target = instruction.operands.starts_with("`(");
            !target || ["DIV", "CONV", "ANY"].iter().any(|name| instruction.has(name))
        }
        "EXIT" => !instruction.operands.is_empty(),
        // A predicate operand stands before the register of the address.
        "BRX" | "BRXU" | "JMX" | "JMXU" => {
            instruction.operands.starts_with(['P', 'U', '!']) && instruction.operands.contains(',')
        }
        _ => false,
    }
}

/// Where a branch leads. An indirect one without annotation may lead to any label of its function.
fn targets(listing: &Listing<'_>, instruction: &Instruction<'_>, at: usize) -> Vec<usize> {
    let named = |label: &str| listing.labels.get(label.trim()).copied();
    if let Some(label) = instruction.label() {
        return named(label).into_iter().collect();
    }
    if let Some(annotated) = instruction.annotated {
        let found: Vec<usize> = annotated.split(',').filter_map(named).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let function = listing.functions.iter().find(|f| f.first <= at && at < f.end);
    function.map_or_else(Vec::new, |function| function.labelled.clone())
}

/// Whether a call leads to code that is not in the listing.
pub(super) fn leaves(listing: &Listing<'_>, instruction: &Instruction<'_>) -> bool {
    instruction.stem() == "CALL"
        && instruction.guard != Guard::Never
        && !instruction.label().is_some_and(|label| listing.labels.contains_key(label))
}
