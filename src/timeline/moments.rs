//! Moments of a node over its blocks, and of a hop over its two nodes.

use serde::Serialize;

use crate::stamps::{BlockStamps, Stamps};
use crate::stats;

/// When the blocks of a node reached one moment, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// First block.
    pub first: f64,
    /// Median block.
    pub median: f64,
    /// Last block.
    pub last: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let first = values.iter().copied().reduce(f64::min)?;
        let last = values.iter().copied().reduce(f64::max)?;
        Some(Spread { first, median: stats::median(&values)?, last })
    }
}

/// Moments of one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moments {
    /// First instruction.
    pub begin: Spread,
    /// Arrival at the sync.
    pub arrive: Spread,
    /// The sync returned.
    pub release: Spread,
    /// The trigger; `None` where no block issues one.
    pub trigger: Option<Spread>,
    /// Last instruction.
    pub end: Spread,
}

impl Moments {
    /// Moments of a node's blocks; `None` without blocks.
    pub fn of(blocks: &[BlockStamps]) -> Option<Moments> {
        let of = |field: fn(&BlockStamps) -> f64| Spread::of(blocks.iter().map(field));
        Some(Moments {
            begin: of(|block| block.begin_ns)?,
            arrive: of(|block| block.arrive_ns)?,
            release: of(|block| block.release_ns)?,
            trigger: of(|block| block.trigger_ns),
            end: of(|block| block.end_ns)?,
        })
    }

    /// When the node's dependents were allowed to launch: its last trigger, or the last exit where
    /// blocks do not trigger.
    pub fn allowed_ns(&self) -> f64 {
        self.trigger.map_or(self.end.last, |trigger| trigger.last)
    }
}

/// Moments of a primary and its secondary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopMoments {
    /// The primary.
    pub primary: Moments,
    /// The secondary.
    pub secondary: Moments,
}

impl HopMoments {
    /// The hop into `node`; `None` for the first node.
    pub fn into(stamps: &Stamps, node: u32) -> Option<HopMoments> {
        let before = node.checked_sub(1).filter(|_| node < stamps.nodes())?;
        let primary = Moments::of(stamps.node(before))?;
        Some(HopMoments { primary, secondary: Moments::of(stamps.node(node))? })
    }

    /// First begin of the secondary − last end of the primary, ns; negative is overlap.
    pub fn launch_gap_ns(&self) -> f64 {
        self.secondary.begin.first - self.primary.end.last
    }

    /// Median release of the secondary − last end of the primary, ns.
    pub fn hop_latency_ns(&self) -> f64 {
        self.secondary.release.median - self.primary.end.last
    }
}

/// The node whose hop from its primary is nearest to the chain's medians of launch gap and hop
/// latency; the first hop is left out where there are others, since its primary starts on an empty
/// device. `None` for a chain of one node.
pub fn typical_hop(stamps: &Stamps) -> Option<u32> {
    let first = if stamps.nodes() > 2 { 2 } else { 1 };
    let hops: Vec<(u32, HopMoments)> = (first..stamps.nodes())
        .filter_map(|node| Some((node, HopMoments::into(stamps, node)?)))
        .collect();
    let of = |field: fn(&HopMoments) -> f64| {
        stats::median(&hops.iter().map(|(_, hop)| field(hop)).collect::<Vec<_>>())
    };
    let (gap, latency) = (of(HopMoments::launch_gap_ns)?, of(HopMoments::hop_latency_ns)?);
    // The middle of the chain is preferred among equals.
    let middle = f64::from(stamps.nodes()) / 2.0;
    let distance = |(node, hop): &(u32, HopMoments)| {
        let off = (hop.launch_gap_ns() - gap).abs() + (hop.hop_latency_ns() - latency).abs();
        (off, (f64::from(*node) - middle).abs())
    };
    let nearer = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    hops.iter().min_by(|a, b| nearer(&distance(a), &distance(b))).map(|(node, _)| *node)
}
