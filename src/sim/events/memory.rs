//! A memory that streams share. Each asks for what its loads in flight allow, streams of one SM
//! share what it can take in, and where all ask for more than the memory gives, all get the same
//! part of what they ask for.
//!
//! Progress is kept in *asked* time: it advances by the part that streams get. A stream's end is
//! fixed in it as long as its SM's streams stay the same, so that others cost no update.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::work::MemoryRates;

/// A stream of one block.
#[derive(Clone, Copy, Debug)]
struct Stream {
    node: u32,
    block: u32,
    /// Bytes left.
    left: f64,
    /// Bytes left to the trigger; infinite where there is none.
    mark: f64,
}

/// Streams of one SM.
#[derive(Clone, Debug, Default)]
struct Port {
    streams: Vec<Stream>,
    /// Asked time of the last update.
    at: f64,
    /// What each of them asks for, and all together, bytes a ns.
    rate: f64,
    asked: f64,
    /// Whether the SM's schedulers are busy with something else.
    beside: bool,
    /// How many are in the memory's count.
    counted: usize,
    version: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Due {
    at: f64,
    sm: u32,
    version: u32,
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        other.at.total_cmp(&self.at).then(other.sm.cmp(&self.sm))
    }
}

/// What a stream has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Node.
    pub node: u32,
    /// Block.
    pub block: u32,
    /// The stream's end; else its trigger.
    pub ended: bool,
}

/// The memory and all streams.
#[derive(Debug)]
pub struct Memory {
    rates: MemoryRates,
    ports: Vec<Port>,
    due: BinaryHeap<Due>,
    /// Streams, and the bytes a ns that all ask for.
    active: usize,
    asked: f64,
    /// Asked time, and the time at which it was that, ns.
    now: (f64, f64),
    /// Asked time a ns.
    part: f64,
}

/// What comes of `asked` where there is `most`: the less of both, rounded off where they are near.
fn least(asked: f64, most: f64, bend: f64) -> f64 {
    if asked <= 0.0 {
        return 0.0;
    }
    most / (1.0 + (most / asked).powf(bend)).powf(1.0 / bend)
}

/// Bytes that count as none.
const NONE: f64 = 1e-2;

impl Memory {
    /// An idle memory of `sms` SMs.
    pub fn new(rates: MemoryRates, sms: u32) -> Memory {
        Memory {
            rates,
            ports: vec![Port::default(); sms as usize],
            due: BinaryHeap::new(),
            active: 0,
            asked: 0.0,
            now: (0.0, 0.0),
            part: 1.0,
        }
    }

    /// When the next stream comes to its trigger or end, ns.
    pub fn next_ns(&mut self) -> f64 {
        while let Some(due) = self.due.peek() {
            if self.ports[due.sm as usize].version == due.version {
                return (self.now.1 + (due.at - self.now.0) / self.part).max(self.now.1);
            }
            self.due.pop();
        }
        f64::INFINITY
    }

    fn advance(&mut self, now_ns: f64) {
        self.now = (self.now.0 + (now_ns - self.now.1) * self.part, now_ns);
    }

    /// Begins a stream of `bytes`, whose trigger comes after `mark` bytes.
    pub fn begin(&mut self, now_ns: f64, sm: u32, who: (u32, u32), bytes: f64, mark: Option<f64>) {
        self.advance(now_ns);
        self.update(sm);
        let (node, block) = who;
        let mark = mark.unwrap_or(f64::INFINITY);
        self.ports[sm as usize].streams.push(Stream { node, block, left: bytes, mark });
        self.share(sm);
    }

    /// The schedulers of an SM become busy with something else, or are so no more.
    pub fn beside(&mut self, now_ns: f64, sm: u32, busy: bool) {
        if self.ports[sm as usize].beside != busy {
            self.advance(now_ns);
            self.update(sm);
            self.ports[sm as usize].beside = busy;
            self.share(sm);
        }
    }

    /// Brings the streams of an SM up to date.
    fn update(&mut self, sm: u32) {
        let port = &mut self.ports[sm as usize];
        let bytes = (self.now.0 - port.at) * port.rate;
        port.at = self.now.0;
        for stream in &mut port.streams {
            stream.left -= bytes;
            stream.mark -= bytes;
        }
    }

    /// What the streams of an SM ask for, and which is next.
    fn share(&mut self, sm: u32) {
        let port = &mut self.ports[sm as usize];
        let count = port.streams.len() as f64;
        let before = port.asked;
        let kept = if port.beside { self.rates.beside_alu } else { 1.0 };
        let asked = least(self.rates.block * count, self.rates.sm, self.rates.bend);
        port.rate = asked / count.max(1.0) * kept;
        port.asked = port.rate * count;
        port.version = port.version.wrapping_add(1);
        // Sums of differences drift; an idle memory begins from nothing.
        self.active = self.active + port.streams.len() - port.counted;
        port.counted = port.streams.len();
        self.asked = if self.active == 0 { 0.0 } else { self.asked - before + port.asked };
        let next = port.streams.iter().map(|s| s.left.min(s.mark)).reduce(f64::min);
        if let Some(next) = next {
            let at = port.at + next.max(0.0) / port.rate;
            self.due.push(Due { at, sm, version: port.version });
        }
        self.part = match self.asked > 0.0 {
            true => least(self.asked, self.rates.source, self.rates.bend) / self.asked,
            false => 1.0,
        };
    }

    /// The streams that come to their trigger or end at `now_ns`, the time of [`Memory::next_ns`].
    pub fn take(&mut self, now_ns: f64, reached: &mut Vec<Reached>) {
        self.advance(now_ns);
        let Some(due) = self.due.pop() else { return };
        // Of the rounding of `now_ns` nothing is left over.
        self.now.0 = self.now.0.max(due.at);
        self.update(due.sm);
        let port = &mut self.ports[due.sm as usize];
        port.streams.retain_mut(|stream| {
            let ended = stream.left <= NONE;
            if ended || stream.mark <= NONE {
                reached.push(Reached { node: stream.node, block: stream.block, ended });
                stream.mark = f64::INFINITY;
            }
            !ended
        });
        self.share(due.sm);
    }
}
