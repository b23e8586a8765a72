//! The host's oracle: what every block of every node of a chain has to write. Pure.
//!
//! Block `b` of node `i` reads the value that block `b + 1` (wrapping) of node `i - 1` wrote, adds
//! up the results of its threads' work, and writes [`mix`] of both. A kernel that reads too early,
//! leaves a thread or a word out, or runs twice therefore changes its own value and, through the
//! chain, all that depend on it. The device's side of the same recurrence must agree bit by bit.
//!
//! The number of multiply-adds is not in the value, since each keeps every bit: that they were
//! done is proved by the time they take, which calibration measures.

use crate::chain::{BodyKind, Chain, L2, PreambleKind};

/// Golden-ratio increment that spreads neighbouring blocks apart before mixing.
const BLOCK_STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of 1.0f32: work on floats starts in [1, 2), where `x * 1 + 0` keeps every bit.
const ONE_BITS: u32 = 0x3f80_0000;
/// Mantissa of an f32.
const MANTISSA: u32 = 0x007f_ffff;
/// Independent accumulators of a thread in an FMA body and in an ALU preamble.
pub const ACCUMULATORS: u32 = 4;
/// Bytes of one load of a streaming body; regions are whole loads.
pub const LOAD_BYTES: u64 = 16;
/// Words of 32 bits in one load.
const LOAD_WORDS: u64 = LOAD_BYTES / 4;

/// The value that a block writes: the finaliser of splitmix64 over what it read, what its threads
/// computed, and who it is.
pub fn mix(prev: u64, total: u32, node: u32, block: u32) -> u64 {
    let identity = (u64::from(total) << 32) | u64::from(node);
    let z = prev ^ identity ^ u64::from(block).wrapping_mul(BLOCK_STRIDE);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Value `block` of the seeds, the row that node 0 reads as every other node reads its primary's.
pub fn seed_value(block: u32) -> u64 {
    mix(0x5EED, 0, u32::MAX, block)
}

/// Bits that accumulator `index` of an FMA body starts from and ends with: accumulator `a` of
/// thread `t` has index `t + a × block threads`.
pub fn init_bits(prev: u64, index: u32) -> u32 {
    ONE_BITS | ((prev as u32).wrapping_add(index) & MANTISSA)
}

/// Bits that accumulator `index` of an ALU preamble starts from and ends with, numbered as in
/// [`init_bits`].
pub fn preamble_bits(index: u32) -> u32 {
    ONE_BITS | (index & MANTISSA)
}

/// 32-bit words that each block of a streaming body reads: the body's bytes in whole loads.
pub fn block_words(chain: &Chain) -> u64 {
    chain.body.units / LOAD_BYTES * LOAD_WORDS
}

/// 32-bit words that all blocks of a node read: block after block, without a gap.
pub fn node_words(chain: &Chain) -> u64 {
    block_words(chain).saturating_mul(u64::from(chain.shape.grid_blocks))
}

/// Node `i` reads from word `i × node words` modulo this number: whole loads, such that a node
/// never wraps in a buffer of `buffer_words` words.
pub fn region_modulus(chain: &Chain, buffer_words: u64) -> u64 {
    buffer_words.saturating_sub(node_words(chain)) / LOAD_WORDS * LOAD_WORDS + LOAD_WORDS
}

/// First word and number of words that a block of a streaming body reads from a buffer of
/// `buffer_words` words. Neighbouring nodes read disjoint regions as long as the buffer holds two,
/// but an L2 body over a hot L2 reads node 0's region in every node.
///
/// A device has to refuse a chain whose [`node_words`] exceed its buffer.
pub fn region(chain: &Chain, node: u32, block: u32, buffer_words: u64) -> (u64, u64) {
    let words = block_words(chain);
    let stays = chain.body.kind == BodyKind::L2 && chain.l2 == L2::Hot;
    let node = if stays { 0 } else { node };
    let begin = u128::from(node) * u128::from(node_words(chain));
    let begin = begin % u128::from(region_modulus(chain, buffer_words));
    (begin as u64 + u64::from(block) * words, words)
}

/// Sum of the words of a region, mod 2^32, where word `j` of the buffer holds `j` mod 2^32.
fn region_sum(first_word: u64, words: u64) -> u32 {
    let (first, n) = (u128::from(first_word), u128::from(words));
    (n * first + n * n.saturating_sub(1) / 2) as u32
}

/// Sum over `count` consecutive numbers from `start` of [`ONE_BITS`] | (number mod 2^23), mod
/// 2^32. `count` is at most 2^23, so that the mantissa wraps once at most.
fn float_bits_sum(start: u32, count: u32) -> u32 {
    let (low, n) = (u64::from(start & MANTISSA), u64::from(count));
    let wrapped = (low + n).saturating_sub(u64::from(MANTISSA) + 1);
    let sum = n * u64::from(ONE_BITS) + n * low + n * n.saturating_sub(1) / 2;
    sum.wrapping_sub(wrapped * (u64::from(MANTISSA) + 1)) as u32
}

/// Sum mod 2^32 of what the threads of one block computed, `prev` being what the block read.
pub fn total(chain: &Chain, node: u32, block: u32, prev: u64, buffer_words: u64) -> u32 {
    let threads = chain.shape.block_threads;
    let body = match chain.body.kind {
        BodyKind::Fma => float_bits_sum(prev as u32, ACCUMULATORS * threads),
        BodyKind::Spin => threads,
        // The oracle knows nothing of the user's own kernels.
        BodyKind::None | BodyKind::Kernel => return 0,
        BodyKind::Hbm | BodyKind::L2 => {
            let (first_word, words) = region(chain, node, block, buffer_words);
            region_sum(first_word, words)
        }
    };
    match chain.preamble.kind {
        PreambleKind::Alu => body.wrapping_add(float_bits_sum(0, ACCUMULATORS * threads)),
        _ => body,
    }
}

/// The values of the first `nodes` nodes, node by node, `nodes × grid blocks` in all. They depend
/// on neither the arm nor the trigger, and those of a shorter chain are the first of a longer one.
pub fn expected(chain: &Chain, nodes: u32, buffer_words: u64) -> Vec<u64> {
    let grid = chain.shape.grid_blocks as usize;
    let mut values = Vec::with_capacity(nodes as usize * grid);
    for node in 0..nodes {
        for block in 0..chain.shape.grid_blocks {
            let neighbour = (block as usize + 1) % grid;
            let prev = match (node as usize).checked_sub(1) {
                Some(primary) => values[primary * grid + neighbour],
                None => seed_value(neighbour as u32),
            };
            let total = total(chain, node, block, prev, buffer_words);
            values.push(mix(prev, total, node, block));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Body, Mode, Preamble, Shape, Target, Trigger, TriggerBy};

    fn chain(preamble: PreambleKind, body: BodyKind, units: u64) -> Chain {
        Chain {
            nodes: 4,
            shape: Shape { grid_blocks: 3, block_threads: 40, ..Shape::default() },
            preamble: Preamble { kind: preamble, target_ns: 0.0, units: 7 },
            body: Body { kind: body, target: Target::Ns(0.0), units },
            trigger: Trigger::Implicit,
            trigger_by: TriggerBy::Thread,
            l2: L2::Hot,
            mode: Mode::Isolated,
        }
    }

    /// Word by word and thread by thread, in floats where the device has floats.
    fn naive_total(chain: &Chain, node: u32, block: u32, prev: u64, buffer: &[u32]) -> u32 {
        let mut sum = 0u32;
        for thread in 0..chain.shape.block_threads {
            if chain.preamble.kind == PreambleKind::Alu {
                for a in 0..4 {
                    let mut x = f32::from_bits(preamble_bits(thread + a * 40));
                    (0..chain.preamble.units).for_each(|_| x = x * 1.0 + 0.0);
                    sum = sum.wrapping_add(x.to_bits());
                }
            }
            match chain.body.kind {
                BodyKind::Spin => sum = sum.wrapping_add(1),
                BodyKind::Fma => {
                    for a in 0..4 {
                        let index = thread + a * chain.shape.block_threads;
                        let low = (prev % (1 << 32)) as u32;
                        let low = low.wrapping_add(index) % (1 << 23);
                        let mut x = f32::from_bits(0x3f80_0000 + low);
                        (0..chain.body.units).for_each(|_| x = x * 1.0 + 0.0);
                        sum = sum.wrapping_add(x.to_bits());
                    }
                }
                BodyKind::Hbm | BodyKind::L2 => {}
                BodyKind::None | BodyKind::Kernel => return 0,
            }
        }
        if chain.body.kind.streams() {
            let (first, words) = region(chain, node, block, buffer.len() as u64);
            for word in &buffer[first as usize..(first + words) as usize] {
                sum = sum.wrapping_add(*word);
            }
        }
        sum
    }

    #[test]
    fn values_equal_a_naive_chain() {
        let buffer: Vec<u32> = (0..1000).collect();
        for preamble in [PreambleKind::None, PreambleKind::Alu, PreambleKind::Spin] {
            for (body, units) in [
                (BodyKind::Fma, 0),
                (BodyKind::Fma, 9),
                (BodyKind::Spin, 5),
                (BodyKind::None, 5),
                (BodyKind::Hbm, 0),
                (BodyKind::Hbm, 16 * 11 + 15),
                (BodyKind::L2, 16 * 40),
            ] {
                let chain = chain(preamble, body, units);
                let mut previous: Vec<u64> = (0..3).map(seed_value).collect();
                let mut wanted: Vec<u64> = vec![];
                for node in 0..4u32 {
                    let row: Vec<u64> = (0..3)
                        .map(|block| {
                            let prev = previous[(block + 1) % 3];
                            let total = naive_total(&chain, node, block as u32, prev, &buffer);
                            mix(prev, total, node, block as u32)
                        })
                        .collect();
                    wanted.extend(&row);
                    previous = row;
                }
                assert_eq!(expected(&chain, 4, 1000), wanted, "{preamble} {body} {units}");
            }
        }
    }

    #[test]
    fn mixing_is_the_finaliser_of_splitmix64() {
        // The first outputs of splitmix64 seeded with 0 are the finaliser of 1, 2, 3 increments.
        assert_eq!(mix(BLOCK_STRIDE, 0, 0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0, 0, 0, 2), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(mix(0, 0, 0, 3), 0x06C4_5D18_8009_454F);
        assert_ne!(mix(0, 1, 0, 0), mix(0, 0, 1, 0));
        assert_ne!(mix(0, 0, 0, 1), mix(0, 0, 1, 0));
    }

    #[test]
    fn float_sums_count_the_wrap_of_the_mantissa() {
        for start in [0, 1, 0x7f_ff00, 0x7f_ffff, 0x80_0000, u32::MAX, u32::MAX - 100] {
            for count in [0, 1, 2, 255, 256, 257, 4096] {
                let naive = (0..count).fold(0u32, |sum, index| {
                    sum.wrapping_add(init_bits(u64::from(start) | 1 << 60, index))
                });
                assert_eq!(float_bits_sum(start, count), naive, "{start:#x} {count}");
            }
        }
    }

    #[test]
    fn regions_are_aligned_and_never_wrap() {
        for buffer_words in [120u64, 121, 122, 123, 124, 1000, 1 << 30] {
            for units in [0u64, 15, 16, 100, 160] {
                let chain = chain(PreambleKind::None, BodyKind::Hbm, units);
                for node in [0, 1, 2, 77, u32::MAX] {
                    for block in 0..3 {
                        let (first, words) = region(&chain, node, block, buffer_words);
                        assert_eq!(words, units / 16 * 4);
                        assert_eq!(first % 4, 0);
                        assert!(first + words <= buffer_words, "{first} {words} {buffer_words}");
                    }
                }
            }
        }
    }

    #[test]
    fn nodes_read_their_own_regions_unless_the_l2_stays_hot() {
        let words = 1 << 20;
        let hbm = chain(PreambleKind::None, BodyKind::Hbm, 160);
        assert_eq!(region(&hbm, 0, 2, words), (80, 40));
        assert_eq!(region(&hbm, 1, 0, words), (120, 40));
        let hot = chain(PreambleKind::None, BodyKind::L2, 160);
        assert_eq!(region(&hot, 1, 0, words), (0, 40));
        let rotated = Chain { l2: L2::Rotated, ..hot };
        assert_eq!(region(&rotated, 1, 0, words), (120, 40));
    }

    #[test]
    fn region_sums_do_not_overflow() {
        // 2^33 words from 2^40: n × first is a multiple of 2^32; n (n - 1) / 2 = 2^65 - 2^32.
        assert_eq!(region_sum(1 << 40, 1 << 33), 0);
        assert_eq!(region_sum(u64::from(u32::MAX), 3), u32::MAX.wrapping_add(1)); // -1 + 0 + 1
        assert_eq!(region_sum(5, 0), 0);
    }

    #[test]
    fn a_shorter_chain_is_a_prefix() {
        let chain = chain(PreambleKind::Alu, BodyKind::Fma, 3);
        assert_eq!(expected(&chain, 2, 1000), expected(&chain, 4, 1000)[..6]);
    }
}
