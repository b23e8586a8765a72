//! The order of nodes that edges make.

use super::listing::RawEdge;

/// Predecessors and successors of every node.
#[derive(Clone, Debug, Default)]
pub struct Order {
    next: Vec<Vec<u32>>,
    previous: Vec<Vec<u32>>,
}

impl Order {
    /// Edges that name nodes beyond `nodes` are ignored.
    pub fn new(nodes: usize, edges: &[RawEdge]) -> Order {
        let mut order = Order { next: vec![Vec::new(); nodes], previous: vec![Vec::new(); nodes] };
        for edge in edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            if from < nodes && to < nodes {
                order.next[from].push(edge.to);
                order.previous[to].push(edge.from);
            }
        }
        order
    }

    /// Whether a path of two edges or more leads from one node to the other: an edge between them
    /// orders nothing.
    pub fn redundant(&self, from: u32, to: u32) -> bool {
        let starts = self.next[from as usize].iter().copied().filter(|&node| node != to);
        self.reaches(starts.collect(), &self.next, |node| node == to)
    }

    /// All nodes that must be done before `node` begins.
    pub fn ancestors(&self, node: u32) -> Vec<bool> {
        let mut seen = vec![false; self.previous.len()];
        let mut open = self.previous[node as usize].clone();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                open.extend(&self.previous[node as usize]);
            }
        }
        seen
    }

    fn reaches(&self, mut open: Vec<u32>, edges: &[Vec<u32>], goal: impl Fn(u32) -> bool) -> bool {
        let mut seen = vec![false; edges.len()];
        while let Some(node) = open.pop() {
            if goal(node) {
                return true;
            }
            if !std::mem::replace(&mut seen[node as usize], true) {
                open.extend(&edges[node as usize]);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(nodes: usize, edges: &[(u32, u32)]) -> Order {
        let raw =
            |&(from, to): &(u32, u32)| RawEdge { from, to, edge_type: 0, from_port: 0, to_port: 0 };
        Order::new(nodes, &edges.iter().map(raw).collect::<Vec<_>>())
    }

    #[test]
    fn an_edge_beside_a_longer_path_is_redundant() {
        let diamond = order(4, &[(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)]);
        for (from, to, expected) in [(0, 3, true), (0, 1, false), (1, 3, false), (2, 3, false)] {
            assert_eq!(diamond.redundant(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn ancestors_are_all_that_come_before() {
        let graph = order(5, &[(0, 1), (1, 2), (3, 2), (2, 4)]);
        assert_eq!(graph.ancestors(2), [true, true, false, true, false]);
        assert_eq!(graph.ancestors(0), [false; 5]);
    }
}
