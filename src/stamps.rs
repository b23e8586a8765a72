//! Stamps of one chain and what is read from them. Pure: no device, no clock.

use serde::{Deserialize, Serialize};

/// Device time of the four moments of one block, and where it ran. Times are ns of the global
/// timer, on one axis for the whole chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockStamps {
    /// First instruction.
    pub begin_ns: f64,
    /// Trigger issued; NaN when the block never issues one.
    pub trigger_ns: f64,
    /// Arrival at the grid dependency sync (end of the preamble); equals `release_ns` in arms
    /// without a sync.
    pub arrive_ns: f64,
    /// The sync returned: the body begins.
    pub release_ns: f64,
    /// Last instruction before the stamps are stored.
    pub end_ns: f64,
    /// SM the block ran on.
    pub sm: u32,
    /// SM cycles from release to end.
    pub body_cycles: u32,
}

/// Stamps of every block of every node of one chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stamps {
    /// Blocks a node.
    pub grid_blocks: u32,
    /// Blocks of each node where they differ; empty where every node has `grid_blocks`.
    pub node_blocks: Vec<u32>,
    /// Entries of all nodes, node by node.
    pub blocks: Vec<BlockStamps>,
    /// Duration of the stamped chain by events, ns.
    pub duration_ns: f64,
}

impl Stamps {
    /// Nodes of the chain.
    pub fn nodes(&self) -> u32 {
        match self.node_blocks.len() {
            0 => (self.blocks.len() / self.grid_blocks.max(1) as usize) as u32,
            nodes => nodes as u32,
        }
    }

    /// Stamps of one node's blocks.
    pub fn node(&self, node: u32) -> &[BlockStamps] {
        let (node, grid) = (node as usize, self.grid_blocks as usize);
        let (from, count) = match self.node_blocks.get(node) {
            None => (node * grid, grid),
            Some(&own) => {
                (self.node_blocks[..node].iter().map(|&n| n as usize).sum(), own as usize)
            }
        };
        &self.blocks[from..from + count]
    }

    /// Reduces a chain to what the tables show; medians over hops, in ns. The first hop is left
    /// out: its primary starts on an empty device.
    pub fn reduce(&self) -> Reduced {
        let hops: Vec<Hop> =
            (2..self.nodes()).map(|node| Hop::of(self.node(node - 1), self.node(node))).collect();
        let of = |field: fn(&Hop) -> f64| median(hops.iter().map(field).collect());
        let worst = hops.iter().map(|hop| hop.sm_blocks_max).reduce(f64::max);
        Reduced {
            launch_gap_ns: of(|hop| hop.launch_gap_ns),
            hop_latency_ns: of(|hop| hop.hop_latency_ns),
            useful_ns: of(|hop| hop.useful_ns),
            parked_ns: of(|hop| hop.parked_ns),
            preamble_ns: of(|hop| hop.preamble_ns),
            body_ns: of(|hop| hop.body_ns),
            body_span_ns: of(|hop| hop.body_span_ns),
            span_ns: of(|hop| hop.span_ns),
            sm_blocks_max: of(|hop| hop.sm_blocks_max),
            sm_blocks_worst: worst,
            sms_used: of(|hop| hop.sms_used),
            body_span_mean_ns: mean(hops.iter().map(|hop| hop.body_span_ns).collect()),
            packed_share: packed_share(&hops),
            period_ns: (self.nodes() > 0).then(|| self.duration_ns / f64::from(self.nodes())),
        }
    }
}

/// What the stamps of a chain say, medians over its hops. `None` where it does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reduced {
    /// First begin of the secondary − last end of the primary; negative is overlap.
    pub launch_gap_ns: Option<f64>,
    /// Median release of the secondary − last end of the primary.
    pub hop_latency_ns: Option<f64>,
    /// Pre-sync work that a block did while its primary still ran, median over blocks.
    pub useful_ns: Option<f64>,
    /// Time that a block waited in the sync, median over blocks.
    pub parked_ns: Option<f64>,
    /// Begin to arrival at the sync, mean over blocks: finer than the timer's step.
    pub preamble_ns: Option<f64>,
    /// Release to end, mean over blocks: finer than the timer's step.
    pub body_ns: Option<f64>,
    /// First release to last end of a node.
    pub body_span_ns: Option<f64>,
    /// Begin to end, mean over blocks.
    pub span_ns: Option<f64>,
    /// Most blocks of one node that shared an SM, over the node's run.
    pub sm_blocks_max: Option<f64>,
    /// The same, for the worst hop of the chain.
    pub sm_blocks_worst: Option<f64>,
    /// SMs that ran at least one block of the node.
    pub sms_used: Option<f64>,
    /// First release to last end of a node, mean over hops: what a chain whose hops take turns at
    /// being long is made of.
    pub body_span_mean_ns: Option<f64>,
    /// Part of the hops in which some SM held more blocks of the node than in the best hop.
    pub packed_share: Option<f64>,
    /// Duration of the stamped chain ÷ nodes.
    pub period_ns: Option<f64>,
}

struct Hop {
    launch_gap_ns: f64,
    hop_latency_ns: f64,
    useful_ns: f64,
    parked_ns: f64,
    preamble_ns: f64,
    body_ns: f64,
    body_span_ns: f64,
    span_ns: f64,
    sm_blocks_max: f64,
    sms_used: f64,
}

impl Hop {
    fn of(primary: &[BlockStamps], secondary: &[BlockStamps]) -> Hop {
        let last_end = primary.iter().map(|b| b.end_ns).fold(f64::MIN, f64::max);
        let first_begin = secondary.iter().map(|b| b.begin_ns).fold(f64::MAX, f64::min);
        let first_release = secondary.iter().map(|b| b.release_ns).fold(f64::MAX, f64::min);
        let secondary_end = secondary.iter().map(|b| b.end_ns).fold(f64::MIN, f64::max);
        let of = |field: &dyn Fn(&BlockStamps) -> f64| {
            median(secondary.iter().map(field).collect()).unwrap_or(f64::NAN)
        };
        let mean = |field: &dyn Fn(&BlockStamps) -> f64| {
            secondary.iter().map(field).sum::<f64>() / secondary.len() as f64
        };
        let per_sm = blocks_per_sm(secondary);
        Hop {
            launch_gap_ns: first_begin - last_end,
            hop_latency_ns: of(&|b| b.release_ns) - last_end,
            useful_ns: of(&|b| (b.arrive_ns.min(last_end) - b.begin_ns).max(0.0)),
            parked_ns: of(&|b| b.release_ns - b.arrive_ns),
            preamble_ns: mean(&|b| b.arrive_ns - b.begin_ns),
            body_ns: mean(&|b| b.end_ns - b.release_ns),
            body_span_ns: secondary_end - first_release,
            span_ns: mean(&|b| b.end_ns - b.begin_ns),
            sm_blocks_max: f64::from(per_sm.iter().copied().max().unwrap_or(0)),
            sms_used: per_sm.iter().filter(|&&blocks| blocks > 0).count() as f64,
        }
    }
}

/// Blocks of one node on each SM, indexed by SM.
pub fn blocks_per_sm(blocks: &[BlockStamps]) -> Vec<u32> {
    let sms = blocks.iter().map(|b| b.sm + 1).max().unwrap_or(0);
    let mut counts = vec![0; sms as usize];
    for block in blocks {
        counts[block.sm as usize] += 1;
    }
    counts
}

fn packed_share(hops: &[Hop]) -> Option<f64> {
    let least = hops.iter().map(|hop| hop.sm_blocks_max).reduce(f64::min)?;
    let packed = hops.iter().filter(|hop| hop.sm_blocks_max > least).count();
    Some(packed as f64 / hops.len() as f64)
}

fn mean(values: Vec<f64>) -> Option<f64> {
    let count = values.len() as f64;
    (count > 0.0).then(|| values.iter().sum::<f64>() / count)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Some(match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(begin: f64, arrive: f64, release: f64, end: f64, sm: u32) -> BlockStamps {
        let trigger_ns = f64::NAN;
        let (begin_ns, arrive_ns, release_ns, end_ns) = (begin, arrive, release, end);
        BlockStamps { begin_ns, trigger_ns, arrive_ns, release_ns, end_ns, sm, body_cycles: 0 }
    }

    #[test]
    fn an_overlapped_hop_splits_into_useful_and_parked() {
        // Three nodes of two blocks; bodies of 400, preambles of 200, each begun 300 early.
        let node = |t: f64| {
            [
                block(t - 300.0, t - 100.0, t + 10.0, t + 400.0, 0),
                block(t - 300.0, t - 100.0, t + 20.0, t + 410.0, 1),
            ]
        };
        let blocks: Vec<_> = [0.0, 410.0, 820.0].iter().flat_map(|&t| node(t)).collect();
        let reduced =
            Stamps { grid_blocks: 2, blocks, duration_ns: 1230.0, ..Stamps::default() }.reduce();
        assert_eq!(reduced.launch_gap_ns, Some(-300.0));
        assert_eq!(reduced.hop_latency_ns, Some(15.0));
        assert_eq!(reduced.useful_ns, Some(200.0));
        assert_eq!(reduced.parked_ns, Some(115.0));
        assert_eq!(reduced.body_ns, Some(390.0));
        assert_eq!(reduced.sm_blocks_max, Some(1.0));
    }

    #[test]
    fn nodes_of_different_grids_have_their_own_blocks() {
        let at = |begin: f64| block(begin, begin, begin, begin + 1.0, 0);
        let blocks: Vec<_> = [0.0, 10.0, 11.0, 12.0, 20.0].map(at).to_vec();
        let node_blocks = vec![1, 3, 1];
        let stamps = Stamps { grid_blocks: 0, node_blocks, blocks, duration_ns: 30.0 };
        assert_eq!(stamps.nodes(), 3);
        let begins =
            |node: u32| -> Vec<f64> { stamps.node(node).iter().map(|b| b.begin_ns).collect() };
        assert_eq!(
            (begins(0), begins(1), begins(2)),
            (vec![0.0], vec![10.0, 11.0, 12.0], vec![20.0])
        );
        // Last end of node 1 is 13.
        assert_eq!(stamps.reduce().launch_gap_ns, Some(7.0));
    }

    #[test]
    fn work_after_the_primary_ended_is_not_useful_overlap() {
        // The secondary begins 50 before the primary's end and works 200.
        let primary = [block(0.0, 0.0, 0.0, 100.0, 0)];
        let secondary = [block(50.0, 250.0, 260.0, 300.0, 0)];
        let hop = Hop::of(&primary, &secondary);
        assert_eq!(hop.useful_ns, 50.0);
        assert_eq!(hop.parked_ns, 10.0);
        assert_eq!(hop.launch_gap_ns, -50.0);
    }
}
