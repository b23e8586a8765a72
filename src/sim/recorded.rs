//! One run of a chain by either model: how long it takes, and its stamps.

use super::demand;
use super::events::{self, Block};
use super::fixed::{self, sm_ghz};
use super::load::Load;
use super::model;
use super::prepared::splits;
use super::stamping::{Stamping, timer};
use crate::chain::{Arm, Chain, Mode};
use crate::profile::Model;
use crate::stamps::BlockStamps;

/// A chain in one arm, and which of its runs is meant.
pub struct Recorded<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// Arm.
    pub arm: Arm,
    /// Its load on the SMs.
    pub load: &'a Load<'a>,
    /// How times are computed.
    pub model: Model,
    /// What blocks do that end a little earlier or later; the closed form knows no such thing.
    pub seed: u64,
}

impl Recorded<'_> {
    /// Duration of one sample's chain by events, ns.
    pub fn duration_ns(&self) -> f64 {
        let profile = self.load.profile;
        let pair_ns = profile.instruments.chain_ns.value;
        if self.arm == Arm::Sentinel {
            return pair_ns + fixed::SENTINEL_NS;
        }
        let nodes = self.chain.nodes;
        match self.chain.mode {
            Mode::Isolated if splits(profile, self.chain, self.arm) => {
                let depth = profile.instruments.queue_depth.value as u32;
                let (pieces, rest) = (nodes / depth, nodes % depth);
                let piece_ns = |nodes| pair_ns + self.end_ns(nodes);
                let rest_ns = if rest > 0 { piece_ns(rest) } else { 0.0 };
                f64::from(pieces) * piece_ns(depth) + rest_ns
            }
            Mode::Isolated => pair_ns + self.end_ns(nodes),
            Mode::Pipelined => {
                let steady_ns = match self.arm {
                    Arm::Persistent => self.end_ns(nodes) + self.load.hop.full_gap_ns,
                    _ => self.end_ns(2 * nodes) - self.end_ns(nodes),
                };
                steady_ns + pair_ns / fixed::PIPELINED_CHAINS
            }
        }
    }

    /// Last end of a chain of `nodes` nodes, ns from the begin of its first.
    pub fn end_ns(&self, nodes: u32) -> f64 {
        match self.model {
            Model::Closed => model::timeline(self.chain, self.arm, self.load, nodes)
                .last()
                .map_or(0.0, |node| node.end_ns),
            Model::Events => {
                let work = demand::work(self.chain, self.arm, self.load);
                events::run(&work, nodes, self.seed, &mut |_, _| {}).end_ns
            }
        }
    }

    /// Stamps of every block of every node, slower by `factor`.
    pub fn blocks(&self, factor: f64) -> Vec<BlockStamps> {
        let (chain, arm, load) = (self.chain, self.arm, self.load);
        if self.model == Model::Closed {
            let nodes = model::timeline(chain, arm, load, chain.nodes);
            return Stamping { chain, arm, load, factor }.blocks(&nodes);
        }
        let step_ns = load.profile.instruments.timer_step_ns.value;
        let ghz = sm_ghz(load.profile);
        let work = demand::work(chain, arm, load);
        let mut stamps = Vec::with_capacity(chain.nodes as usize * work.grid_blocks as usize);
        let stamp = |block: &Block| BlockStamps {
            begin_ns: timer(block.begin_ns * factor, step_ns),
            trigger_ns: timer(block.trigger_ns * factor, step_ns),
            arrive_ns: timer(block.arrive_ns * factor, step_ns),
            release_ns: timer(block.release_ns * factor, step_ns),
            end_ns: timer(block.end_ns * factor, step_ns),
            sm: block.sm,
            body_cycles: ((block.end_ns - block.release_ns) * factor * ghz).round() as u32,
        };
        let native = matches!(arm, Arm::Stream | Arm::Graph | Arm::GraphAa);
        events::run(&work, chain.nodes, self.seed, &mut |_, blocks| {
            stamps.extend(blocks.iter().map(stamp));
        });
        if native || arm == Arm::GraphCompletion {
            stamps.iter_mut().for_each(|stamp| stamp.trigger_ns = f64::NAN);
        }
        stamps
    }
}
