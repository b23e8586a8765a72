//! Nodes and edges of a graph, and what may be done with each edge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chain::Dependency;
use crate::inspect::short_name;

/// What a node of a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A kernel launch.
    Kernel,
    /// A copy.
    Memcpy,
    /// A memset.
    Memset,
    /// A function of the host.
    Host,
    /// A graph within the graph.
    ChildGraph,
    /// Nothing: it only orders others.
    Empty,
    /// A wait for an event.
    EventWait,
    /// A record of an event.
    EventRecord,
    /// A signal to or a wait for an external semaphore.
    Semaphore,
    /// An allocation or a release of memory.
    Memory,
    /// A batch of memory operations.
    BatchMemory,
    /// A graph that runs if, while or as often as a value says.
    Conditional,
    /// A kind that this program does not know.
    Other,
}

impl NodeKind {
    /// From `CUgraphNodeType` of cuda.h.
    pub fn from_driver(kind: u32) -> NodeKind {
        match kind {
            0 => NodeKind::Kernel,
            1 => NodeKind::Memcpy,
            2 => NodeKind::Memset,
            3 => NodeKind::Host,
            4 => NodeKind::ChildGraph,
            5 => NodeKind::Empty,
            6 => NodeKind::EventWait,
            7 => NodeKind::EventRecord,
            8 | 9 => NodeKind::Semaphore,
            10 | 11 => NodeKind::Memory,
            12 => NodeKind::BatchMemory,
            13 => NodeKind::Conditional,
            _ => NodeKind::Other,
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Kernel => "kernel",
            NodeKind::Memcpy => "memcpy",
            NodeKind::Memset => "memset",
            NodeKind::Host => "host function",
            NodeKind::ChildGraph => "child graph",
            NodeKind::Empty => "empty",
            NodeKind::EventWait => "event wait",
            NodeKind::EventRecord => "event record",
            NodeKind::Semaphore => "semaphore",
            NodeKind::Memory => "memory",
            NodeKind::BatchMemory => "batch memory operation",
            NodeKind::Conditional => "conditional",
            NodeKind::Other => "unknown",
        }
    }

    /// Whether CUDA refuses to clone a graph that holds such a node (cuGraphClone).
    pub fn forbids_clone(self) -> bool {
        matches!(self, NodeKind::Memory | NodeKind::Conditional)
    }
}

/// Whether a kernel's machine code holds a grid dependency sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sync", rename_all = "kebab-case")]
pub enum SyncEvidence {
    /// It does.
    Found {
        /// Syncs and triggers in it.
        syncs: u32,
        /// Triggers in it; 0: dependents launch when its blocks exit.
        triggers: u32,
        /// Where the machine code was found.
        source: String,
    },
    /// It does not: over a programmatic edge it would race.
    Absent {
        /// Triggers in it.
        triggers: u32,
        /// Where the machine code was found.
        source: String,
    },
    /// The machine code could not be had.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// A kernel node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelNode {
    /// As the driver names it.
    pub name: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory a block, bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster; 1 without clusters.
    pub cluster_blocks: u32,
    /// Registers a thread; `None` when the driver does not tell.
    pub registers: Option<u32>,
    /// Blocks of this shape that an SM holds; `None` when the driver does not tell.
    pub blocks_per_sm: Option<u32>,
    /// Binary version of the loaded function: 90 for sm_90.
    pub binary_version: Option<u32>,
    /// Sync and trigger in its machine code.
    pub code: SyncEvidence,
}

impl KernelNode {
    /// Blocks of the grid.
    pub fn grid_blocks(&self) -> u64 {
        self.grid.iter().map(|&blocks| u64::from(blocks)).product()
    }

    /// Threads of a block.
    pub fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The name for people: demangled, without parameters.
    pub fn short_name(&self) -> String {
        short_name(&self.name)
    }

    /// What tells kernels apart when edges are grouped: the same code at the same shape.
    fn signature(&self) -> String {
        format!("{} {:?} {:?} {}", self.name, self.grid, self.block, self.shared_bytes)
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Place in the driver's list of nodes.
    pub index: u32,
    /// What it is.
    pub kind: NodeKind,
    /// Of kernel nodes.
    pub kernel: Option<KernelNode>,
}

/// An edge as the driver gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEdge {
    /// Index of the node it comes from.
    pub from: u32,
    /// Index of the node it goes to.
    pub to: u32,
    /// `CUgraphDependencyType`: 0 default, 1 programmatic.
    pub edge_type: u8,
    /// Port of the upstream node: 0 default, 1 programmatic, 2 launch completion.
    pub from_port: u8,
    /// Port of the downstream node: 0.
    pub to_port: u8,
}

/// What may be done with an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    /// It may become programmatic: the secondary has a sync.
    Eligible,
    /// It may if the race check passes: the secondary's machine code could not be had.
    Unknown {
        /// Why it could not.
        reason: String,
    },
    /// It must not: the secondary has no sync, or the race check caught it.
    Refused {
        /// Why.
        reason: String,
    },
    /// It cannot, or changing it would mean nothing.
    LeftAlone {
        /// Why.
        reason: String,
    },
}

impl Standing {
    /// The name used in every file and table.
    pub fn name(&self) -> &'static str {
        match self {
            Standing::Eligible => "eligible",
            Standing::Unknown { .. } => "unknown",
            Standing::Refused { .. } => "refused",
            Standing::LeftAlone { .. } => "left-alone",
        }
    }

    /// Why, where there is something to say.
    pub fn reason(&self) -> &str {
        match self {
            Standing::Eligible => "",
            Standing::Unknown { reason }
            | Standing::Refused { reason }
            | Standing::LeftAlone { reason } => reason,
        }
    }
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Place in the driver's list of edges.
    pub index: u32,
    /// Index of the node it comes from: the primary.
    pub from: u32,
    /// Index of the node it goes to: the secondary.
    pub to: u32,
    /// What it waits for now.
    pub dependency: Dependency,
    /// Index of its kind in [`Listing::kinds`]; `None` where it is left alone.
    pub kind: Option<u32>,
    /// What may be done with it.
    #[serde(flatten)]
    pub standing: Standing,
}

/// Edges whose primaries are one kernel at one shape, and whose secondaries are too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeKind {
    /// Place in [`Listing::kinds`].
    pub index: u32,
    /// Short name of the primary.
    pub primary: String,
    /// Short name of the secondary.
    pub secondary: String,
    /// Indices of the edges.
    pub edges: Vec<u32>,
}

/// A graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Nodes in the driver's order.
    pub nodes: Vec<Node>,
    /// Edges in the driver's order.
    pub edges: Vec<Edge>,
    /// Kinds of those edges that are not left alone.
    pub kinds: Vec<EdgeKind>,
}

impl Listing {
    /// From what the driver says.
    pub fn new(nodes: Vec<Node>, raw: &[RawEdge]) -> Listing {
        let order = super::order::Order::new(nodes.len(), raw);
        let mut listing = Listing { nodes, ..Listing::default() };
        let mut kinds: BTreeMap<(String, String), u32> = BTreeMap::new();
        for (index, edge) in raw.iter().enumerate() {
            let dependency = dependency(edge);
            let standing = listing.standing(edge, dependency, &order);
            let kind = match standing {
                Standing::LeftAlone { .. } => None,
                _ => Some(listing.kind_of(edge, index as u32, &mut kinds)),
            };
            listing.edges.push(Edge {
                index: index as u32,
                from: edge.from,
                to: edge.to,
                dependency,
                kind,
                standing,
            });
        }
        listing
    }

    /// The kernel of a node, if it is one.
    pub fn kernel(&self, node: u32) -> Option<&KernelNode> {
        self.nodes.get(node as usize)?.kernel.as_ref()
    }

    /// `primary → secondary` for people.
    pub fn edge_name(&self, edge: u32) -> String {
        let Some(edge) = self.edges.get(edge as usize) else { return String::new() };
        format!("{} → {}", self.node_name(edge.from), self.node_name(edge.to))
    }

    /// A node for people.
    pub fn node_name(&self, node: u32) -> String {
        match (self.kernel(node), self.nodes.get(node as usize)) {
            (Some(kernel), _) => kernel.short_name(),
            (None, Some(node)) => node.kind.name().into(),
            (None, None) => String::new(),
        }
    }

    /// Nodes by kind, most first: what the graph is made of.
    pub fn census(&self) -> Vec<(NodeKind, u32)> {
        let mut counts: BTreeMap<NodeKind, u32> = BTreeMap::new();
        for node in &self.nodes {
            *counts.entry(node.kind).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
        counts
    }

    /// Why CUDA cannot clone the graph; `None` when it can.
    pub fn forbids_clone(&self) -> Option<String> {
        let node = self.nodes.iter().find(|node| node.kind.forbids_clone())?;
        Some(format!(
            "node {} is a {} node, and CUDA clones no graph with one",
            node.index,
            node.kind.name()
        ))
    }

    fn standing(&self, edge: &RawEdge, now: Dependency, order: &super::order::Order) -> Standing {
        let alone = |reason: String| Standing::LeftAlone { reason };
        let (Some(from), Some(to)) =
            (self.nodes.get(edge.from as usize), self.nodes.get(edge.to as usize))
        else {
            return alone("it joins nodes that the graph does not list".into());
        };
        for (node, role) in [(from, "primary"), (to, "secondary")] {
            if node.kind != NodeKind::Kernel {
                let what = node.kind.name();
                return alone(format!(
                    "its {role} is a {what} node: only kernels have programmatic edges"
                ));
            }
        }
        if now != Dependency::Full {
            return alone(format!("it is {} already", now.name()));
        }
        if order.redundant(edge.from, edge.to) {
            return alone("other edges order the same nodes".into());
        }
        match to.kernel.as_ref().map(|kernel| &kernel.code) {
            Some(SyncEvidence::Found { .. }) => Standing::Eligible,
            Some(SyncEvidence::Absent { .. }) => {
                Standing::Refused { reason: "the secondary has no sync".into() }
            }
            Some(SyncEvidence::Unknown { reason }) => Standing::Unknown { reason: reason.clone() },
            None => alone("the driver does not describe its secondary".into()),
        }
    }

    fn kind_of(
        &mut self,
        edge: &RawEdge,
        index: u32,
        kinds: &mut BTreeMap<(String, String), u32>,
    ) -> u32 {
        let signature =
            |node: u32| self.kernel(node).map(KernelNode::signature).unwrap_or_default();
        let key = (signature(edge.from), signature(edge.to));
        let next = self.kinds.len() as u32;
        let kind = *kinds.entry(key).or_insert(next);
        if kind == next {
            let (primary, secondary) = (self.node_name(edge.from), self.node_name(edge.to));
            self.kinds.push(EdgeKind { index: kind, primary, secondary, edges: Vec::new() });
        }
        self.kinds[kind as usize].edges.push(index);
        kind
    }
}

/// What an edge waits for. Ports that only programmatic edges have count whatever the type says.
fn dependency(edge: &RawEdge) -> Dependency {
    match (edge.edge_type, edge.from_port) {
        (0, 0) => Dependency::Full,
        (_, 2) => Dependency::LaunchCompletion,
        _ => Dependency::Programmatic,
    }
}
