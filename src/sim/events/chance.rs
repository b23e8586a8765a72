//! Chance that hangs on a seed alone: the same chain everywhere.

/// Bits of each number.
const BITS: u64 = (1 << 21) - 1;

/// A number from 0 to 1 for each block of each node of a seed: the mean of three, near the middle
/// mostly, as ends of blocks are that do the same.
pub fn by_chance(seed: u64, node: u32, block: u32) -> f64 {
    let bits = mixed(seed, node, block);
    let sum: u64 = [43, 22, 1].iter().map(|shift| bits >> shift & BITS).sum();
    sum as f64 / (3 * BITS) as f64
}

/// A number from 0 to 1 for each block of each node of a seed, each as likely as another.
pub fn evenly(seed: u64, node: u32, block: u32) -> f64 {
    (mixed(seed, node, block) >> 43 & BITS) as f64 / BITS as f64
}

/// The finaliser of splitmix64.
fn mixed(seed: u64, node: u32, block: u32) -> u64 {
    let place = u64::from(node) << 32 | u64::from(block);
    let z = seed ^ place.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
