//! Stamps of the simulated chain: the closed form spread over blocks and SMs.

use super::fixed::sm_ghz;
use super::load::Load;
use super::model::Node;
use crate::chain::{Arm, Chain, Trigger};
use crate::oracle;
use crate::stamps::BlockStamps;

/// The chain's place on the global timer, ns.
const ORIGIN_NS: f64 = 1e6;

/// What the blocks of all nodes of a chain share.
pub struct Stamping<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// The arm it ran in.
    pub arm: Arm,
    /// Its load on the SMs.
    pub load: &'a Load<'a>,
    /// The sample's noise.
    pub factor: f64,
}

impl Stamping<'_> {
    /// Stamps of every block of every node.
    pub fn blocks(&self, nodes: &[Node]) -> Vec<BlockStamps> {
        let grid = self.chain.shape.grid_blocks;
        let numbered = nodes.iter().zip(0..);
        numbered
            .flat_map(|(node, index)| (0..grid).map(move |block| self.block(node, index, block)))
            .collect()
    }

    fn block(&self, node: &Node, index: u32, block: u32) -> BlockStamps {
        let (wave, place) = (block / self.load.resident, block % self.load.resident);
        let last = place + 1 == self.load.resident || block + 1 == self.chain.shape.grid_blocks;
        // Blocks end apart although they do the same; the last one placed ends last.
        let jitter = oracle::mix(0, 0, index, block) as f64 / u64::MAX as f64;
        let drain_ns = 2.0 * self.load.drain_ns * if last { 0.0 } else { jitter };
        let (begin_ns, approach_ns, work_ns) = match wave {
            0 => (
                self.first_wave_begin(node, place),
                node.arrive_ns - node.begin_ns,
                node.work_end_ns - node.release_ns,
            ),
            _ => (
                node.work_end_ns
                    + self.load.last_ns()
                    + f64::from(wave - 1) * self.load.wave_ns()
                    + self.load.profile.placement.refill_ns.value,
                self.load.approach_ns(),
                self.load.work_ns(0.0),
            ),
        };
        let arrive_ns = begin_ns + approach_ns;
        let release_ns = arrive_ns.max(node.gate_ns);
        let end_ns = release_ns + work_ns + self.load.last_ns() - drain_ns;
        BlockStamps {
            begin_ns: self.timer(begin_ns),
            trigger_ns: self.timer(self.trigger(begin_ns, release_ns, work_ns, end_ns)),
            arrive_ns: self.timer(arrive_ns),
            release_ns: self.timer(release_ns),
            end_ns: self.timer(end_ns),
            sm: self.sm(node, index, place),
            body_cycles: ((end_ns - release_ns) * self.factor * sm_ghz(self.load.profile)).round()
                as u32,
        }
    }

    /// Blocks are placed in order; the first ones take the slots that the primary leaves free.
    fn first_wave_begin(&self, node: &Node, place: u32) -> f64 {
        let free = self.load.capacity * self.load.waves - self.chain.shape.grid_blocks;
        let base_ns = if place < free { node.early_ns } else { node.begin_ns };
        let after =
            (self.load.resident - 1 - place) as f64 / (self.load.resident.max(2) - 1) as f64;
        base_ns - self.load.hop.spread_ns(self.load.resident) * after
    }

    /// NaN where the arm issues no trigger.
    fn trigger(&self, begin_ns: f64, release_ns: f64, work_ns: f64, end_ns: f64) -> f64 {
        let trigger = match self.arm {
            arm if arm.sweeps_trigger() => self.chain.trigger,
            arm => arm.fixed_trigger().unwrap_or(Trigger::Implicit),
        };
        match trigger {
            Trigger::AtEntry => begin_ns,
            Trigger::Segment { at, of } => {
                end_ns.min(release_ns + work_ns * f64::from(at) / f64::from(of))
            }
            Trigger::After => {
                end_ns.min(release_ns + work_ns + self.load.profile.block.after_ns.value)
            }
            Trigger::Implicit | Trigger::Site(_) => f64::NAN,
        }
    }

    /// Round robin, away from a primary that leaves SMs empty; packed nodes take SMs in pairs.
    fn sm(&self, node: &Node, index: u32, place: u32) -> u32 {
        let apart = 2 * self.load.resident <= self.load.profile.device.sm_count;
        let start = if apart { index % 2 * self.load.resident } else { 0 };
        let place = if node.packed { place / 2 } else { place };
        (start + place) % self.load.profile.device.sm_count
    }

    fn timer(&self, ns: f64) -> f64 {
        timer(ns * self.factor, self.load.profile.instruments.timer_step_ns.value)
    }
}

/// What a global timer that advances in steps shows `ns` after the chain's begin. NaN stays NaN.
pub fn timer(ns: f64, step_ns: f64) -> f64 {
    ((ORIGIN_NS + ns) / step_ns).floor() * step_ns
}
