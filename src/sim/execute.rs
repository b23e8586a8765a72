//! The simulated execution of a chain's values: thread by thread, as the kernels do it.
//!
//! It shares the layout of regions and the mixing with the oracle, and nothing else, so that what
//! it writes can be wrong and be found wrong.

use std::rc::Rc;

use crate::chain::{BodyKind, Chain, L2, PreambleKind};
use crate::device::{Mismatch, Verification};
use crate::oracle;

/// A block of a node whose value comes out wrong.
pub type Fault = (u32, u32);

/// What the values of a chain depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    grid_blocks: u32,
    block_threads: u32,
    alu: bool,
    body: BodyKind,
    units: u64,
    l2: L2,
}

impl Key {
    fn of(chain: &Chain) -> Key {
        let streams = chain.body.kind.streams();
        Key {
            grid_blocks: chain.shape.grid_blocks,
            block_threads: chain.shape.block_threads,
            alu: chain.preamble.kind == PreambleKind::Alu,
            body: chain.body.kind,
            units: if streams { chain.body.units } else { 0 },
            l2: chain.l2,
        }
    }
}

/// What a chain wrote, and what the oracle expects. Execution is deterministic, so one suffices
/// for all arms and samples of a chain.
#[derive(Debug)]
pub struct Values {
    key: Key,
    written: Vec<u64>,
    expected: Vec<u64>,
}

impl Values {
    /// Executes `chain`, or takes `kept` where it is the same chain, of as many nodes or more.
    pub fn of(
        chain: &Chain,
        words: u64,
        fault: Option<Fault>,
        kept: Option<Rc<Values>>,
    ) -> Rc<Self> {
        let count = chain.nodes as usize * chain.shape.grid_blocks as usize;
        let key = Key::of(chain);
        match kept {
            Some(kept) if kept.key == key && kept.written.len() >= count => kept,
            _ => Rc::new(Values {
                key,
                written: execute(chain, words, fault),
                expected: oracle::expected(chain, chain.nodes, words),
            }),
        }
    }

    /// Compares the first `nodes` nodes.
    pub fn verify(&self, nodes: u32) -> Verification {
        let grid = self.key.grid_blocks as usize;
        let mut verification = Verification::default();
        let pairs = self.written.iter().zip(&self.expected).take(nodes as usize * grid);
        for (index, (&found, &expected)) in pairs.enumerate() {
            verification.checked += 1;
            if found != expected {
                verification.mismatches += 1;
                let (node, block) = ((index / grid) as u32, (index % grid) as u32);
                verification.first.get_or_insert(Mismatch { node, block, found, expected });
            }
        }
        verification
    }
}

/// Runs every block of every node.
fn execute(chain: &Chain, buffer_words: u64, fault: Option<Fault>) -> Vec<u64> {
    let grid = chain.shape.grid_blocks;
    let preamble = match chain.preamble.kind {
        PreambleKind::Alu => accumulators(chain, 0),
        _ => 0,
    };
    let mut previous: Vec<u64> = (0..grid).map(oracle::seed_value).collect();
    let mut values = Vec::with_capacity(chain.nodes as usize * grid as usize);
    for node in 0..chain.nodes {
        let row = values.len();
        for block in 0..grid {
            let neighbour = if block + 1 == grid { 0 } else { block + 1 };
            let prev = previous[neighbour as usize];
            let body = match chain.body.kind {
                BodyKind::Fma => accumulators(chain, prev as u32),
                BodyKind::Spin => (0..chain.shape.block_threads).map(|_| 1).sum(),
                BodyKind::None | BodyKind::Kernel => 0,
                BodyKind::Hbm | BodyKind::L2 => {
                    stream(chain, oracle::region(chain, node, block, buffer_words))
                }
            };
            let total = match chain.body.kind {
                BodyKind::None => 0,
                _ => preamble.wrapping_add(body),
            };
            let value = oracle::mix(prev, total, node, block);
            values.push(if fault == Some((node, block)) { value ^ 1 } else { value });
        }
        previous.copy_from_slice(&values[row..]);
    }
    values
}

/// Results of a block's multiply-adds, thread by thread. A multiply-add by 1 and 0 keeps every bit
/// of a normal number, so that one stands for all.
fn accumulators(chain: &Chain, offset: u32) -> u32 {
    (0..oracle::ACCUMULATORS * chain.shape.block_threads).fold(0u32, |sum, index| {
        let x = f32::from_bits(0x3f80_0000 | (offset.wrapping_add(index) & 0x007f_ffff));
        sum.wrapping_add((x * 1.0 + 0.0).to_bits())
    })
}

/// Sum of a block's region: each thread reads every so many vectors of four words.
fn stream(chain: &Chain, (first_word, words): (u64, u64)) -> u32 {
    let stride = u64::from(chain.shape.block_threads);
    (0..stride).fold(0u32, |sum, thread| {
        let vectors = (words / 4).saturating_sub(thread).div_ceil(stride);
        let firsts = vectors * (first_word + 4 * thread)
            + 4 * stride * (vectors * vectors.saturating_sub(1) / 2);
        sum.wrapping_add((4 * firsts + 6 * vectors) as u32)
    })
}
