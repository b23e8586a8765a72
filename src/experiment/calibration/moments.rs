//! What the stamps of one run say about the constants of a hop.
//!
//! Last moments are compared with last moments: where all blocks do the same, both belong to the SM
//! whose timer is ahead of the others', and the offset between SMs cancels. Means over hops, not
//! medians: the timer's step is as large as some of the differences, and a mean is finer than it.

use crate::stamps::{BlockStamps, Stamps};

/// Moments of one stamped run, each the mean of the middle half of the hops. ns, unless named
/// otherwise; `None` where no block gives one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Last trigger of the primary to last begin of the secondary.
    pub trigger_to_begin: Option<f64>,
    /// Last end of the primary to last begin of the secondary.
    pub end_to_begin: Option<f64>,
    /// Last end of the primary to last release of the secondary.
    pub end_to_release: Option<f64>,
    /// Last begin of the first node to last begin of the second: where nodes run ahead, later ones
    /// wait for a free slot.
    pub first_begin_to_begin: Option<f64>,
    /// Last release of the primary to last begin of the secondary.
    pub release_to_begin: Option<f64>,
    /// First to last begin of a node.
    pub begin_spread: Option<f64>,
    /// Begin of a block to its arrival at the sync, mean over blocks.
    pub begin_to_arrive: Option<f64>,
    /// Release of a block to its end, mean over blocks.
    pub release_to_end: Option<f64>,
    /// Release of a block to its trigger, mean over blocks.
    pub release_to_trigger: Option<f64>,
    /// SM cycles from release to end, mean over blocks.
    pub body_cycles: Option<f64>,
    /// The longest body of a node − the shortest, SM cycles.
    pub body_cycles_spread: Option<f64>,
    /// First begin to last end of the whole chain.
    pub span: f64,
    /// Most nodes that had begun when one ended, that one left out.
    pub ahead: f64,
}

impl Moments {
    /// Reduces the stamps of one run. The first hop is left out: its primary starts on an empty
    /// device.
    pub fn of(stamps: &Stamps) -> Moments {
        let nodes: Vec<Node> = (0..stamps.nodes()).map(|n| Node::of(stamps.node(n))).collect();
        let pairs = nodes.windows(2).skip(1);
        let hop = |of: fn(&Node, &Node) -> f64| {
            middle_mean(pairs.clone().map(|pair| of(&pair[0], &pair[1])).collect())
        };
        let node = |of: fn(&Node) -> f64| middle_mean(nodes.iter().skip(2).map(of).collect());
        Moments {
            trigger_to_begin: hop(|a, b| b.last_begin - a.last_trigger),
            end_to_begin: hop(|a, b| b.last_begin - a.last_end),
            end_to_release: hop(|a, b| b.last_release - a.last_end),
            first_begin_to_begin: match &nodes[..] {
                [first, second, ..] => Some(second.last_begin - first.last_begin),
                _ => None,
            },
            release_to_begin: hop(|a, b| b.last_begin - a.last_release),
            begin_spread: node(|n| n.last_begin - n.first_begin),
            begin_to_arrive: node(|n| n.begin_to_arrive),
            release_to_end: node(|n| n.release_to_end),
            release_to_trigger: node(|n| n.release_to_trigger),
            body_cycles: node(|n| n.body_cycles),
            body_cycles_spread: node(|n| n.body_cycles_spread),
            span: span(&nodes),
            ahead: ahead(&nodes),
        }
    }
}

/// One node's blocks, reduced.
#[derive(Clone, Copy)]
struct Node {
    first_begin: f64,
    last_begin: f64,
    last_trigger: f64,
    last_release: f64,
    last_end: f64,
    begin_to_arrive: f64,
    release_to_end: f64,
    release_to_trigger: f64,
    body_cycles: f64,
    body_cycles_spread: f64,
}

impl Node {
    fn of(blocks: &[BlockStamps]) -> Node {
        let last = |of: fn(&BlockStamps) -> f64| {
            // `f64::max` passes over NaN, and a block that never triggers leaves none.
            blocks.iter().map(of).fold(f64::NAN, f64::max)
        };
        let mean =
            |of: fn(&BlockStamps) -> f64| blocks.iter().map(of).sum::<f64>() / blocks.len() as f64;
        let cycles = |b: &BlockStamps| f64::from(b.body_cycles);
        let least = blocks.iter().map(cycles).fold(f64::NAN, f64::min);
        Node {
            first_begin: blocks.iter().map(|b| b.begin_ns).fold(f64::NAN, f64::min),
            last_begin: last(|b| b.begin_ns),
            last_trigger: last(|b| b.trigger_ns),
            last_release: last(|b| b.release_ns),
            last_end: last(|b| b.end_ns),
            begin_to_arrive: mean(|b| b.arrive_ns - b.begin_ns),
            release_to_end: mean(|b| b.end_ns - b.release_ns),
            release_to_trigger: mean(|b| b.trigger_ns - b.release_ns),
            body_cycles: mean(|b| f64::from(b.body_cycles)),
            body_cycles_spread: last(|b| f64::from(b.body_cycles)) - least,
        }
    }
}

fn span(nodes: &[Node]) -> f64 {
    let first = nodes.iter().map(|n| n.first_begin).fold(f64::NAN, f64::min);
    let last = nodes.iter().map(|n| n.last_end).fold(f64::NAN, f64::max);
    last - first
}

fn ahead(nodes: &[Node]) -> f64 {
    let begun = |at: usize| {
        let end = nodes[at].last_end;
        nodes[at + 1..].iter().filter(|later| later.first_begin < end).count()
    };
    (0..nodes.len()).map(begun).max().unwrap_or(0) as f64
}

/// Time from the end of a block to the begin of the next one in its slot, mean over all slots of a
/// node's second wave, ns. Slots are those of one SM, in order: `slots` an SM. `None` where no SM
/// ran a second wave.
pub fn refill_ns(blocks: &[BlockStamps], slots: usize) -> Option<f64> {
    let sms = blocks.iter().map(|b| b.sm).max()? as usize + 1;
    let mut by_sm: Vec<Vec<&BlockStamps>> = vec![Vec::new(); sms];
    blocks.iter().for_each(|block| by_sm[block.sm as usize].push(block));
    let mut waits = Vec::new();
    for on_sm in &mut by_sm {
        on_sm.sort_by(|a, b| a.begin_ns.total_cmp(&b.begin_ns));
        let (first, rest) = on_sm.split_at(on_sm.len().min(slots));
        let mut ends: Vec<f64> = first.iter().map(|b| b.end_ns).collect();
        ends.sort_by(f64::total_cmp);
        waits.extend(rest.iter().zip(ends).map(|(next, end)| next.begin_ns - end));
    }
    middle_mean(waits)
}

/// Mean of the middle half: as fine as a mean, as deaf to outliers as quartiles are.
pub fn middle_mean(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    Some(middle.iter().sum::<f64>() / middle.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(sm: u32, [begin, trigger, arrive, release, end]: [f64; 5]) -> BlockStamps {
        BlockStamps {
            begin_ns: begin,
            trigger_ns: trigger,
            arrive_ns: arrive,
            release_ns: release,
            end_ns: end,
            sm,
            body_cycles: (2.0 * (end - release)) as u32,
        }
    }

    /// Four nodes of two blocks, 1,000 apart; each begins 300 before its primary's last end.
    fn chain(trigger: f64) -> Stamps {
        let node = |t: f64| {
            [
                block(0, [t - 320.0, t + trigger, t - 310.0, t, t + 990.0 - 300.0]),
                block(1, [t - 300.0, t + trigger + 20.0, t - 280.0, t + 10.0, t + 1000.0 - 300.0]),
            ]
        };
        let blocks = (0..4).flat_map(|n| node(f64::from(n) * 1000.0)).collect();
        Stamps { grid_blocks: 2, blocks, duration_ns: 5000.0, ..Stamps::default() }
    }

    #[test]
    fn moments_go_from_last_to_last() {
        let found = Moments::of(&chain(100.0));
        // Last trigger at +120, last begin of the next at +700; last end at +700.
        let expected = Moments {
            trigger_to_begin: Some(580.0),
            end_to_begin: Some(0.0),
            end_to_release: Some(310.0),
            first_begin_to_begin: Some(1000.0),
            release_to_begin: Some(690.0),
            begin_spread: Some(20.0),
            begin_to_arrive: Some(15.0),
            release_to_end: Some(690.0),
            release_to_trigger: Some(105.0),
            body_cycles: Some(1380.0),
            body_cycles_spread: Some(0.0),
            span: 4020.0,
            ahead: 1.0,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_chain_without_triggers_has_none() {
        let found = Moments::of(&chain(f64::NAN));
        assert_eq!((found.trigger_to_begin, found.release_to_trigger), (None, None));
        assert_eq!(Moments::of(&Stamps::default()).end_to_begin, None);
    }

    #[test]
    fn a_slot_is_refilled_by_the_next_block_of_its_sm() {
        let block = |sm, begin, end| block(sm, [begin, f64::NAN, begin, begin, end]);
        // SM 0: two slots free at 100 and 120, taken at 150 and 180. SM 1: one wave.
        let blocks = [
            block(0, 0.0, 120.0),
            block(0, 1.0, 100.0),
            block(0, 180.0, 300.0),
            block(0, 150.0, 280.0),
            block(1, 0.0, 100.0),
        ];
        assert_eq!(refill_ns(&blocks, 2), Some(55.0));
        assert_eq!(refill_ns(&blocks[4..], 2), None);
    }

    #[test]
    fn the_middle_half_leaves_outliers_out() {
        assert_eq!(middle_mean(vec![1.0, 2.0, 3.0, 1000.0]), Some(2.5));
        assert_eq!(middle_mean(vec![5.0, f64::NAN]), Some(5.0));
        assert_eq!(middle_mean(vec![]), None);
    }
}
