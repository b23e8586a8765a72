//! What a run of the user's own kernels adds to the manifest.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::chain::Chain;

/// The chain file of a run and what it made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelRun {
    /// Name of the chain.
    pub name: String,
    /// The axis that the policy decides over.
    pub policy: Option<String>,
    /// Sets of axis values; the body's `units` of a chain are the place in this list.
    pub variants: Vec<KernelVariant>,
    /// What the compiler says of itself; empty without one.
    pub compiler: String,
    /// Whether kernels without a sync were let behind programmatic edges: no result is to be
    /// trusted.
    pub unsafe_no_sync: bool,
    /// SHA-256 of launches, arguments and machine code, in hexadecimal digits: samples of another
    /// chain do not mix with these. Empty in runs of older versions.
    #[serde(default)]
    pub sha256: String,
}

/// The chain with one set of axis values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelVariant {
    /// The values.
    pub axes: BTreeMap<String, i64>,
    /// Kernels of one repeat, in order.
    pub nodes: Vec<KernelNode>,
    /// Times that they are run in one chain.
    pub repeat: u32,
}

/// One kernel and its launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelNode {
    /// As the chain file names it.
    pub kernel: String,
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster, x, y, z.
    pub cluster: [u32; 3],
}

impl KernelRun {
    /// What a chain of the plan runs; `None` for a chain that is not of this run.
    pub fn variant(&self, chain: &Chain) -> Option<&KernelVariant> {
        self.variants.get(chain.body.units as usize)
    }

    /// The same in words, `UNSAFE` where nothing of it is to be trusted.
    pub fn work(&self, chain: &Chain) -> Option<String> {
        let variant = self.variant(chain)?;
        let axes = variant.axes_text();
        let axes = if axes.is_empty() { String::new() } else { format!("{axes}; ") };
        let mark = if self.unsafe_no_sync {
            "UNSAFE, kernels without a sync behind programmatic edges: no result is to be trusted\n"
        } else {
            ""
        };
        Some(format!("{mark}{}: {axes}{} (blocks × threads)", self.name, variant.nodes_text()))
    }
}

impl KernelVariant {
    /// `M = 4, TILE = 64`; empty without axes.
    pub fn axes_text(&self) -> String {
        let pairs = self.axes.iter().map(|(name, value)| format!("{name} = {value}"));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// `rmsnorm 4 × 256 → gemv 128 × 128, 10 times`: blocks × threads of each.
    pub fn nodes_text(&self) -> String {
        let product = |dims: [u32; 3]| dims.iter().map(|&n| u64::from(n)).product::<u64>();
        let mut text = String::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let arrow = if at == 0 { "" } else { " → " };
            let (blocks, threads) = (product(node.grid), product(node.block));
            let _ = write!(text, "{arrow}{} {blocks} × {threads}", node.kernel);
        }
        format!("{text}, {} times", self.repeat)
    }
}
