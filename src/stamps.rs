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
    /// Nodes after which the same kernels come again; 0 and 1 where all nodes run one kernel.
    pub kernels: u32,
    /// Entries of all nodes, node by node.
    pub blocks: Vec<BlockStamps>,
    /// Duration of the stamped chain by events, ns.
    pub duration_ns: f64,
    /// Moments that the kernels name themselves.
    pub named: NamedStamps,
}

/// Moments with names of their own, such as `PDL_STAMP(weights)`: each begins a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedStamps {
    /// The names, in the order of the sources.
    pub names: Vec<String>,
    /// Of each block, in the order of [`Stamps::blocks`], a moment a name, ns on the same axis; NaN
    /// where the block never reached it.
    pub ns: Vec<f64>,
}

impl NamedStamps {
    /// Moments of the block at a place, one a name.
    pub fn of(&self, block: usize) -> &[f64] {
        let count = self.names.len();
        self.ns.get(block * count..(block + 1) * count).unwrap_or_default()
    }
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
        &self.blocks[self.places(node)]
    }

    /// Places of one node's blocks among all.
    pub fn places(&self, node: u32) -> std::ops::Range<usize> {
        let (node, grid) = (node as usize, self.grid_blocks as usize);
        let (from, count) = match self.node_blocks.get(node) {
            None => (node * grid, grid),
            Some(&own) => {
                (self.node_blocks[..node].iter().map(|&n| n as usize).sum(), own as usize)
            }
        };
        from..from + count
    }

    /// Phases that the kernel of a node names: of each the name, and the medians over its blocks of
    /// its begin and its end, ns. A phase lasts to the next named moment or to the block's end.
    pub fn named_phases(&self, node: u32) -> Vec<(&str, f64, f64)> {
        let names = &self.named.names;
        let mut all: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); names.len()];
        for place in self.places(node) {
            let (own, end) = (self.named.of(place), self.blocks[place].end_ns);
            for (from, (begins, ends)) in own.iter().zip(&mut all) {
                if from.is_finite() {
                    let next = own.iter().copied().filter(|ns| ns > from).reduce(f64::min);
                    begins.push(*from);
                    ends.push(next.unwrap_or(end));
                }
            }
        }
        let medians = all.into_iter().map(|(begins, ends)| (median(begins), median(ends)));
        let mut phases: Vec<(&str, f64, f64)> = names
            .iter()
            .zip(medians)
            .filter_map(|(name, (from, to))| Some((name.as_str(), from?, to?)))
            .collect();
        phases.sort_by(|a, b| a.1.total_cmp(&b.1));
        phases
    }

    /// Reduces a chain to what the tables show; medians over hops, in ns. The first hop is left
    /// out: its primary starts on an empty device.
    pub fn reduce(&self) -> Reduced {
        let hops: Vec<Hop> =
            (2..self.nodes()).map(|node| Hop::of(self.node(node - 1), self.node(node))).collect();
        let of = |field: fn(&Hop) -> f64| median(hops.iter().map(field).collect());
        // Blocks of different kernels are never of one number: what is in the middle is of none.
        let kernels = self.kernels.max(1) as usize;
        let kernel = |first: usize| hops.iter().skip(first).step_by(kernels);
        let ends = |field: fn(&Hop) -> f64| {
            let medians =
                (0..kernels).filter_map(|first| median(kernel(first).map(field).collect()));
            let medians: Vec<f64> = medians.collect();
            let least = medians.iter().copied().reduce(f64::min).filter(|_| kernels > 1);
            (least, medians.iter().copied().reduce(f64::max))
        };
        let (sm_blocks_least, sm_blocks_max) = ends(|hop| hop.sm_blocks_max);
        let (sms_least, sms_used) = ends(|hop| hop.sms_used);
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
            sm_blocks_max,
            sm_blocks_least,
            sm_blocks_worst: worst,
            sms_used,
            sms_least,
            body_span_mean_ns: mean(hops.iter().map(|hop| hop.body_span_ns).collect()),
            packed_share: packed_share(&hops, kernels),
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
    /// Most blocks of one node that shared an SM, over the node's run; of several kernels, that of
    /// the one with the most.
    pub sm_blocks_max: Option<f64>,
    /// Of several kernels, that of the one with the fewest; `None` where all nodes run one kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_blocks_least: Option<f64>,
    /// The same, for the worst hop of the chain.
    pub sm_blocks_worst: Option<f64>,
    /// SMs that ran at least one block of the node; of several kernels, those of the one that used
    /// the most.
    pub sms_used: Option<f64>,
    /// Of several kernels, those of the one that used the fewest; `None` where all nodes run one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sms_least: Option<f64>,
    /// First release to last end of a node, mean over hops: what a chain whose hops take turns at
    /// being long is made of.
    pub body_span_mean_ns: Option<f64>,
    /// Part of the hops in which some SM held more blocks of the node than in the best hop of the
    /// same kernel.
    pub packed_share: Option<f64>,
    /// Duration of the stamped chain ÷ nodes.
    pub period_ns: Option<f64>,
}

impl Reduced {
    /// The same without what an older version reduced over kernels of different grids: it is of none of
    /// them.
    pub fn of_several_kernels(self) -> Reduced {
        match self.sm_blocks_least {
            Some(_) => self,
            None => Reduced { sm_blocks_max: None, sms_used: None, packed_share: None, ..self },
        }
    }
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

fn packed_share(hops: &[Hop], kernels: usize) -> Option<f64> {
    let packed = (0..kernels).map(|first| {
        let own = || hops.iter().skip(first).step_by(kernels).map(|hop| hop.sm_blocks_max);
        let least = own().reduce(f64::min).unwrap_or_default();
        own().filter(|&most| most > least).count()
    });
    let packed: usize = packed.sum();
    (!hops.is_empty()).then(|| packed as f64 / hops.len() as f64)
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
        let stamps = Stamps { node_blocks, blocks, duration_ns: 30.0, ..Stamps::default() };
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
    fn kernels_of_different_grids_are_not_mixed() {
        // A kernel of one block, then one of eight on four SMs, six times; twice the first SM has three.
        let at = |begin: f64, sm: u32| block(begin, begin, begin, begin + 1.0, sm);
        let (mut blocks, mut node_blocks) = (Vec::new(), Vec::new());
        for repeat in 0..6_u32 {
            let t = f64::from(repeat) * 20.0;
            blocks.push(at(t, 0));
            let packed = u32::from(repeat >= 4);
            blocks
                .extend((0..8).map(|i| at(t + 10.0, if i == 7 { 3 - 3 * packed } else { i % 4 })));
            node_blocks.extend([1, 8]);
        }
        let stamps =
            Stamps { node_blocks, blocks, kernels: 2, duration_ns: 120.0, ..Stamps::default() };
        let reduced = stamps.reduce();
        assert_eq!((reduced.sm_blocks_least, reduced.sm_blocks_max), (Some(1.0), Some(2.0)));
        assert_eq!((reduced.sms_least, reduced.sms_used), (Some(1.0), Some(4.0)));
        assert_eq!(reduced.sm_blocks_worst, Some(3.0));
        assert_eq!(reduced.packed_share, Some(2.0 / 10.0));
        assert_eq!(reduced.of_several_kernels(), reduced);
        // Reduced as one kernel, it says 1.5 on 2.5.
        let mixed = Stamps { kernels: 0, ..stamps }.reduce();
        assert_eq!((mixed.sm_blocks_least, mixed.sm_blocks_max), (None, Some(1.5)));
        assert_eq!(mixed.of_several_kernels().sm_blocks_max, None);
    }

    #[test]
    fn a_named_phase_lasts_to_the_next_named_moment_or_the_end() {
        let blocks = vec![block(0.0, 0.0, 0.0, 90.0, 0), block(0.0, 0.0, 0.0, 110.0, 1)];
        let named = NamedStamps {
            names: vec!["multiply".into(), "load".into(), "never".into()],
            ns: vec![40.0, 10.0, f64::NAN, 60.0, 20.0, f64::NAN],
        };
        let stamps =
            Stamps { grid_blocks: 2, blocks, duration_ns: 110.0, named, ..Stamps::default() };
        assert_eq!(stamps.named_phases(0), [("load", 15.0, 50.0), ("multiply", 50.0, 100.0)]);
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
