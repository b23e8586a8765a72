//! Events in order of time; those of one time in the order they were made.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A node's dependency is resolved and its launch latency over: its blocks may be placed.
    Launch(u32),
    /// The dispatcher places blocks.
    Place,
    /// A block has begun its work before the sync.
    Approach {
        /// Node.
        node: u32,
        /// Block of the node.
        block: u32,
    },
    /// A block has finished a piece of work of fixed time.
    Timer {
        /// Node.
        node: u32,
        /// Block of the node.
        block: u32,
    },
    /// A block that lost the gap in which it began comes to the trigger at its entry.
    Enter {
        /// Node.
        node: u32,
        /// Block of the node.
        block: u32,
    },
    /// Work that shares a scheduler may be done.
    Issue {
        /// Scheduler.
        scheduler: u32,
        /// State of the scheduler that this was computed from; stale when it has changed.
        version: u32,
    },
    /// The sync of a node returns.
    Release(u32),
    /// Every block that waited for that is at work.
    Heads(u32),
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, ns.
    pub at_ns: f64,
    order: u64,
    /// What.
    pub what: What,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// Reversed: the heap's greatest is the earliest.
    fn cmp(&self, other: &Event) -> Ordering {
        other.at_ns.total_cmp(&self.at_ns).then(other.order.cmp(&self.order))
    }
}

/// The events to come.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Event>,
    made: u64,
}

impl Queue {
    /// Adds an event.
    pub fn push(&mut self, at_ns: f64, what: What) {
        self.made += 1;
        self.heap.push(Event { at_ns, order: self.made, what });
    }

    /// When the earliest happens, ns.
    pub fn next_ns(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |event| event.at_ns)
    }

    /// Takes the earliest.
    pub fn pop(&mut self) -> Option<Event> {
        self.heap.pop()
    }
}
