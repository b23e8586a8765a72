//! The spread of samples of one chain, and how they depend on each other.

use super::cell::{Cell, PLAIN, chain, spin};
use super::quantity::Quantity;
use super::{Bench, Tick};
use crate::chain::{Arm, Submission};
use crate::error::Result;
use crate::interrupt;
use crate::stats::median;

/// Samples of one chain, one after another, for each round of the effort.
const SAMPLES_A_ROUND: u32 = 8;
/// Blocks of samples that each give one number.
const BLOCKS: usize = 8;
/// Chains prepared anew, for what the first sample is like.
const INSTANCES: u32 = 8;
/// Standard deviation of a normal distribution ÷ its median absolute deviation.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Ratios to the median, and host times in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Relative standard deviation of a sample, robust.
    pub sample_ratio: Option<Quantity>,
    /// How much slower the first sample of a chain is.
    pub first_slower: Option<Quantity>,
    /// Preparing a chain, a node.
    pub prepare_node: Option<Quantity>,
    /// Around a sample, beside the chain.
    pub sample: Option<Quantity>,
}

/// The chain: 50 nodes of 4 µs.
pub fn cell(sms: u32) -> Cell {
    Cell { chain: chain(50, sms, spin(4_000)), arm: Arm::Graph, reading: PLAIN }
}

/// Samples that are taken.
pub fn samples(rounds: u32) -> u32 {
    rounds * SAMPLES_A_ROUND + INSTANCES * 6
}

/// Measures the spread.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let Cell { chain, arm, .. } = cell(bench.sms);
    debug_assert_eq!(arm.submission(), Submission::Graph);
    let device = bench.device;
    let mut prepared = device.prepare(&chain, arm)?;
    prepared.verify()?;
    prepared.sample()?;
    let mut durations = Vec::new();
    let mut around = Vec::new();
    let count = bench.effort.rounds * SAMPLES_A_ROUND;
    for index in 0..count {
        interrupt::check("go on measuring")?;
        tick.part(f64::from(index) / f64::from(count));
        let before = device.now();
        let sample = prepared.sample()?;
        if !sample.flags.iter().any(|flag| flag.excludes()) {
            durations.push(sample.duration_ns);
            around.push((device.now() - before).as_nanos() as f64 - sample.duration_ns);
        }
    }
    let (first_slower, prepare_node) = instances(bench)?;
    Ok(Found {
        sample_ratio: Quantity::median(&spreads(&durations)),
        first_slower,
        prepare_node,
        sample: Quantity::median(&around),
    })
}

/// Relative standard deviation of each block of neighbours.
fn spreads(durations: &[f64]) -> Vec<f64> {
    let size = (durations.len() / BLOCKS).max(2);
    let spread = |block: &[f64]| {
        let middle = median(block)?;
        let off: Vec<f64> = block.iter().map(|ns| (ns - middle).abs()).collect();
        Some(MAD_TO_SIGMA * median(&off)? / middle)
    };
    durations.chunks_exact(size).filter_map(spread).collect()
}

/// First samples of chains prepared anew against the next ones, and the time of preparing a node
/// from two lengths.
fn instances(bench: &Bench) -> Result<(Option<Quantity>, Option<Quantity>)> {
    let Cell { chain, arm, .. } = cell(bench.sms);
    let (mut slower, mut a_node) = (Vec::new(), Vec::new());
    for _ in 0..INSTANCES {
        let mut spent = Vec::new();
        for nodes in [chain.nodes, 2 * chain.nodes] {
            let began = bench.device.now();
            let mut prepared = bench.device.prepare(&chain.with_nodes(nodes), arm)?;
            spent.push((bench.device.now() - began).as_nanos() as f64);
            prepared.verify()?;
            let first = prepared.sample()?.duration_ns;
            let mut next = Vec::new();
            for _ in 0..5 {
                next.push(prepared.sample()?.duration_ns);
            }
            slower.extend(median(&next).map(|next| first / next - 1.0));
        }
        a_node.push((spent[1] - spent[0]) / f64::from(chain.nodes));
    }
    Ok((Quantity::median(&slower), Quantity::median(&a_node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_neighbours_not_of_drift() {
        // A slow drift of 10 % under an alternation of ±1: each block sees the alternation.
        let series: Vec<f64> = (0..800)
            .map(|i| 1000.0 + f64::from(i) / 8.0 + if i % 2 == 0 { 10.0 } else { -10.0 })
            .collect();
        for spread in spreads(&series) {
            assert!((spread - 0.014).abs() < 0.004, "{spread}");
        }
        assert!(spreads(&[1.0]).is_empty());
    }
}
