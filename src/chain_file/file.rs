//! What a chain file says, as it is written. `schema/chain-1.0.json` is made from these types.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::value::{Arg, AxisValues, Dims, Expr, Fill, SiteText};

/// A chain of your own kernels: what to compile, what to launch, what to verify, what to sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChainFile {
    /// Name of the chain in tables and emitted code; the file's own by default.
    pub name: Option<String>,
    /// Sources, relative to this file and below its folder: .cu, .ptx or .cubin.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub sources: Vec<Spanned<String>>,
    /// Flags for nvcc, each as one argument. -cubin, -arch and the flags of the sites are added.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub flags: Vec<Spanned<String>>,
    /// Folders of headers, relative to this file and below its folder.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub include: Vec<Spanned<String>>,
    /// Target such as sm_90a; that of the GPU by default.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub arch: Option<Spanned<String>>,
    /// Variables of expressions. A list is swept: the chain is measured with every value.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, AxisValues>"))]
    pub axes: BTreeMap<String, Spanned<AxisValues>>,
    /// Axes that the compiler is given as macros: `-DNAME=value`.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub defines: Vec<Spanned<String>>,
    /// Device memory, by name.
    #[serde(default)]
    pub buffers: BTreeMap<String, Buffer>,
    /// Kernels in the order in which they run: each waits for the one before.
    pub nodes: Vec<Node>,
    /// Times that the nodes are run in one chain, one after another; 10 by default.
    #[cfg_attr(test, schemars(with = "Option<Expr>"))]
    pub repeat: Option<Spanned<Expr>>,
    /// What is compared. Without it every buffer that the chain writes is, bit by bit.
    #[serde(default)]
    pub verify: Verify,
    /// Which sites are tried. Without it every trigger site that the sources mark, and none.
    #[serde(default)]
    pub sweep: Sweep,
}

/// One buffer of device memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Buffer {
    /// Type of an element.
    #[serde(rename = "type")]
    pub element: Element,
    /// Elements.
    #[cfg_attr(test, schemars(with = "Expr"))]
    pub length: Spanned<Expr>,
    /// What it holds when the chain begins; poison, for what the chain writes, by default.
    #[cfg_attr(test, schemars(with = "Option<Fill>"))]
    pub fill: Option<Spanned<Fill>>,
    /// Copies that the repeats take in turn. By default one a repeat for a buffer without a fill,
    /// so that old values are never the right ones, and one copy for a buffer with one. More than
    /// the L2 holds keeps weights cold.
    #[cfg_attr(test, schemars(with = "Option<Expr>"))]
    pub copies: Option<Spanned<Expr>>,
}

/// Types of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    /// Bytes of one.
    pub fn bytes(self) -> u64 {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }
}

/// One kernel of the chain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Node {
    /// Name, or a template instance as C++ writes it: `gemv<128>`. `{M}` stands for the value of
    /// the axis M.
    #[cfg_attr(test, schemars(with = "String"))]
    pub kernel: Spanned<String>,
    /// The source that has it; needed where several do, and for a template instance of several.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub source: Option<Spanned<String>>,
    /// Blocks, x or [x, y, z].
    #[cfg_attr(test, schemars(with = "Dims"))]
    pub grid: Spanned<Dims>,
    /// Threads of a block, x or [x, y, z].
    #[cfg_attr(test, schemars(with = "Dims"))]
    pub block: Spanned<Dims>,
    /// Dynamic shared memory of a block, bytes.
    #[cfg_attr(test, schemars(with = "Option<Expr>"))]
    pub shared: Option<Spanned<Expr>>,
    /// Blocks of a cluster, x or [x, y, z].
    #[cfg_attr(test, schemars(with = "Option<Dims>"))]
    pub cluster: Option<Spanned<Dims>>,
    /// Arguments in the order of the kernel's parameters.
    #[cfg_attr(test, schemars(with = "Option<Vec<Arg>>"))]
    pub args: Option<Spanned<Vec<Arg>>>,
    /// What the edge from the node before may become.
    #[serde(default)]
    pub edge: Edge,
}

/// What an edge may become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Edge {
    /// Programmatic, in the arms that are.
    #[default]
    Programmatic,
    /// Full in every arm.
    Full,
}

/// What is compared, and with what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verify {
    /// Buffers that are compared bit by bit with the stream arm; all that the chain writes by
    /// default.
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    pub outputs: Option<Vec<Spanned<String>>>,
    /// Whether every site's machine code must give the bits of the baseline's. Where the compiler
    /// may order floating-point work otherwise, false: then each is compared with its own stream
    /// arm, and npy or a command has to say what is right.
    pub same_bits: bool,
    /// Buffers that are compared with a file.
    pub npy: Vec<NpyCheck>,
    /// A program and its arguments, run in this file's folder once for every chain that is
    /// prepared. The buffers lie as NAME.npy in the folder that PDL_BUFFERS names; the axes are
    /// variables. Exit code 0 says that they are right.
    pub command: Vec<String>,
}

impl Default for Verify {
    fn default() -> Self {
        Verify { outputs: None, same_bits: true, npy: Vec::new(), command: Vec::new() }
    }
}

/// One buffer, one file: |buffer − file| ≤ atol + rtol × |file| in every element.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NpyCheck {
    /// Name of the buffer; its first copy.
    #[cfg_attr(test, schemars(with = "String"))]
    pub buffer: Spanned<String>,
    /// The file. `{M}` in its name stands for the value of the axis M.
    #[cfg_attr(test, schemars(with = "String"))]
    pub file: Spanned<String>,
    /// Relative tolerance.
    #[serde(default)]
    pub rtol: f64,
    /// Absolute tolerance.
    #[serde(default)]
    pub atol: f64,
}

/// What is tried.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Trigger sites: 2, "1+4" for two at once (of different kernels), "implicit" for none.
    #[cfg_attr(test, schemars(with = "Vec<SiteText>"))]
    pub trigger: Vec<Spanned<SiteText>>,
    /// Sync sites, each with every trigger; all of them at once where none is given.
    #[cfg_attr(test, schemars(with = "Vec<SiteText>"))]
    pub sync: Vec<Spanned<SiteText>>,
    /// The axis that the policy decides over; the first one with several values by default.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub policy: Option<Spanned<String>>,
}
