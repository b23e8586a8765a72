//! A chain file with one set of axis values: numbers in place of expressions.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;

use super::nearest::suggestion_of;
use super::value::{Arg, Dims, Expr, Fill};
use super::{Axes, Edge, Element, Loaded, suggestion};
use crate::chain::{MAX_BLOCK_THREADS, MAX_CLUSTER_BLOCKS, MAX_NODES, MAX_SHARED_BYTES};
use crate::error::Result;

/// More bytes than this hold no buffer of any GPU: 1 TiB.
const MAX_BUFFER_BYTES: u64 = 1 << 40;
/// Largest grid in y and z.
const MAX_GRID_YZ: u32 = 65_535;
/// Bytes of all copies of a buffer without a fill, up to which each repeat has its own.
const OWN_COPIES_BYTES: u64 = 256 << 20;
/// Repeats where the file does not say.
const DEFAULT_REPEAT: i64 = 10;

/// The chain for one set of axis values.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The values.
    pub axes: Axes,
    /// Buffers, in the order of their names.
    pub buffers: Vec<ResolvedBuffer>,
    /// Kernels of one repeat, in order.
    pub nodes: Vec<ResolvedNode>,
    /// Times that they are run in one chain.
    pub repeat: u32,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedBuffer {
    /// Its name.
    pub name: String,
    /// Type of an element.
    pub element: Element,
    /// Elements.
    pub length: u64,
    /// What it holds when the chain begins.
    pub fill: Fill,
    /// The file of a fill that has one.
    pub npy: Option<PathBuf>,
    /// Copies that the repeats take in turn; `None` for one a repeat, however many there are.
    pub copies: Option<u32>,
}

impl ResolvedBuffer {
    /// Bytes of one copy.
    pub fn bytes(&self) -> u64 {
        self.length * self.element.bytes()
    }

    /// Copies of a chain of `repeats` repeats.
    pub fn copies_of(&self, repeats: u32) -> u32 {
        match self.copies {
            Some(copies) => copies.min(repeats.max(1)),
            None => {
                let most = (OWN_COPIES_BYTES / self.bytes().max(1)).max(1);
                repeats.clamp(1, u32::try_from(most).unwrap_or(u32::MAX))
            }
        }
    }
}

/// One kernel of the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedNode {
    /// As the file names it, axes in braces replaced by their values.
    pub kernel: String,
    /// Index of its source, where the file says.
    pub source: Option<usize>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks of a cluster; all 1 launches without clusters.
    pub cluster: [u32; 3],
    /// Arguments.
    pub args: Vec<PackedArg>,
    /// What the edge from the node before may become.
    pub edge: Edge,
    /// Where the file names the kernel, for errors.
    pub span: Range<usize>,
}

impl ResolvedNode {
    /// Blocks in all.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block in all.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// The bytes of one argument, and the addresses in it that are known when buffers are.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedArg {
    /// Its bytes; addresses are zero.
    pub bytes: Vec<u8>,
    /// Alignment.
    pub align: usize,
    /// Place in the bytes, index of the buffer, bytes from the buffer's start.
    pub addresses: Vec<(usize, usize, u64)>,
}

impl Resolved {
    /// Bytes of all buffers with their copies.
    pub fn memory_bytes(&self) -> u64 {
        let one = |buffer: &ResolvedBuffer| {
            buffer.bytes().saturating_mul(u64::from(buffer.copies_of(self.repeat)))
        };
        self.buffers.iter().map(one).fold(0, u64::saturating_add)
    }
}

impl Loaded {
    /// The chain for these values.
    ///
    /// # Errors
    /// An expression that has no value, or one that no GPU could launch or hold.
    pub fn resolve(&self, axes: &Axes) -> Result<Resolved> {
        let buffers: Vec<ResolvedBuffer> = self
            .file
            .buffers
            .iter()
            .map(|(name, buffer)| self.buffer(name, buffer, axes))
            .collect::<Result<_>>()?;
        let nodes: Vec<ResolvedNode> = self
            .file
            .nodes
            .iter()
            .map(|node| self.node(node, axes, &buffers))
            .collect::<Result<_>>()?;
        let at_most = i64::from(MAX_NODES) / nodes.len() as i64;
        let repeat = match &self.file.repeat {
            Some(repeat) => self.number(repeat, axes, "repeat", 1, at_most)?,
            None => DEFAULT_REPEAT.min(at_most),
        };
        if repeat * nodes.len() as i64 <= 1 {
            let span = self.file.repeat.as_ref().map_or(0..0, Spanned::span);
            return Err(self.error(span, "a chain has at least two nodes: repeat it"));
        }
        self.check_verify(&buffers)?;
        Ok(Resolved { axes: axes.clone(), buffers, nodes, repeat: repeat as u32 })
    }

    fn number(
        &self,
        expr: &Spanned<Expr>,
        axes: &Axes,
        what: &str,
        least: i64,
        most: i64,
    ) -> Result<i64> {
        let error = |cause: String| self.error(expr.span(), cause);
        let value = expr.get_ref().value(axes).map_err(error)?;
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        let with = describe(axes);
        Err(error(format!("{what} is {value}{with}, and is from {least} to {most}")))
    }

    fn buffer(&self, name: &str, buffer: &super::Buffer, axes: &Axes) -> Result<ResolvedBuffer> {
        let element = buffer.element;
        let most = (MAX_BUFFER_BYTES / element.bytes()) as i64;
        let length = self.number(&buffer.length, axes, "the length", 1, most)? as u64;
        let copies = match &buffer.copies {
            Some(copies) => {
                Some(self.number(copies, axes, "copies", 1, i64::from(MAX_NODES))? as u32)
            }
            None => buffer.fill.is_some().then_some(1),
        };
        let (fill, npy) = match &buffer.fill {
            None => (Fill::Poison, None),
            Some(fill) => {
                let npy = match fill.get_ref() {
                    Fill::Npy(file) => Some(self.locate(&with_axes(file, axes), fill.span())?),
                    _ => None,
                };
                (fill.get_ref().clone(), npy)
            }
        };
        let resolved = ResolvedBuffer { name: name.to_owned(), element, length, fill, npy, copies };
        let whole = resolved.bytes().saturating_mul(u64::from(copies.unwrap_or(1)));
        if whole > MAX_BUFFER_BYTES {
            let cause =
                format!("buffer '{name}' and its copies have {whole} bytes, more than 1 TiB");
            return Err(self.error(buffer.length.span(), cause));
        }
        Ok(resolved)
    }

    fn node(
        &self,
        node: &super::Node,
        axes: &Axes,
        buffers: &[ResolvedBuffer],
    ) -> Result<ResolvedNode> {
        let source = match &node.source {
            None => None,
            Some(name) => {
                let at = self.file.sources.iter().position(|s| s.get_ref() == name.get_ref());
                let known = || self.file.sources.iter().map(|s| s.get_ref().as_str());
                Some(at.ok_or_else(|| {
                    let near = suggestion(name.get_ref(), known());
                    self.error(name.span(), format!("'{}' is no source{near}", name.get_ref()))
                })?)
            }
        };
        let grid =
            self.dims(&node.grid, axes, "the grid", [i32::MAX as u32, MAX_GRID_YZ, MAX_GRID_YZ])?;
        let block =
            self.dims(&node.block, axes, "the block", [MAX_BLOCK_THREADS, MAX_BLOCK_THREADS, 64])?;
        let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
        if threads > u64::from(MAX_BLOCK_THREADS) {
            let cause = format!(
                "a block of {threads} threads: no GPU allows more than {MAX_BLOCK_THREADS}"
            );
            return Err(self.error(node.block.span(), cause));
        }
        let cluster = match &node.cluster {
            None => [1; 3],
            Some(cluster) => self.cluster(cluster, axes, grid)?,
        };
        let shared_bytes = match &node.shared {
            None => 0,
            Some(shared) => {
                self.number(shared, axes, "shared memory", 0, i64::from(MAX_SHARED_BYTES))? as u32
            }
        };
        let mut args = Vec::new();
        if let Some(given) = &node.args {
            for (at, arg) in given.get_ref().iter().enumerate() {
                let packed = pack(arg, axes, buffers).map_err(|cause| {
                    let (kernel, number) = (node.kernel.get_ref(), at + 1);
                    self.error(given.span(), format!("argument {number} of {kernel}: {cause}"))
                })?;
                args.push(packed);
            }
        }
        let kernel = with_axes(node.kernel.get_ref(), axes);
        let span = node.kernel.span();
        Ok(ResolvedNode {
            kernel,
            source,
            grid,
            block,
            shared_bytes,
            cluster,
            args,
            edge: node.edge,
            span,
        })
    }

    fn dims(
        &self,
        dims: &Spanned<Dims>,
        axes: &Axes,
        what: &str,
        most: [u32; 3],
    ) -> Result<[u32; 3]> {
        let mut all = [1; 3];
        for (at, expr) in dims.get_ref().0.iter().enumerate() {
            let expr = Spanned::new(dims.span(), expr.clone());
            all[at] = self.number(&expr, axes, what, 1, i64::from(most[at]))? as u32;
        }
        Ok(all)
    }

    fn cluster(&self, dims: &Spanned<Dims>, axes: &Axes, grid: [u32; 3]) -> Result<[u32; 3]> {
        let cluster = self.dims(dims, axes, "the cluster", [MAX_CLUSTER_BLOCKS; 3])?;
        if cluster.iter().product::<u32>() > MAX_CLUSTER_BLOCKS {
            let cause = format!("no GPU allows more than {MAX_CLUSTER_BLOCKS} blocks of a cluster");
            return Err(self.error(dims.span(), cause));
        }
        let whole = grid.iter().zip(cluster).all(|(blocks, n)| blocks.is_multiple_of(n));
        if !whole {
            let cause = format!("a grid of {grid:?} is no whole number of clusters of {cluster:?}");
            return Err(self.error(dims.span(), cause));
        }
        Ok(cluster)
    }

    fn check_verify(&self, buffers: &[ResolvedBuffer]) -> Result<()> {
        let verify = &self.file.verify;
        let named = verify.outputs.iter().flatten().chain(verify.npy.iter().map(|npy| &npy.buffer));
        for name in named {
            find(buffers, name.get_ref()).map_err(|cause| self.error(name.span(), cause))?;
        }
        for npy in &verify.npy {
            let good = |x: f64| x.is_finite() && x >= 0.0;
            if !good(npy.rtol) || !good(npy.atol) {
                return Err(self.error(npy.file.span(), "tolerances are finite and not negative"));
            }
        }
        Ok(())
    }
}

/// `{M}` in a file's name stands for the value of M.
pub(super) fn with_axes(text: &str, axes: &Axes) -> String {
    let replaced = |text: String, (name, value): (&String, &i64)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    };
    axes.iter().fold(text.to_owned(), replaced)
}

/// ` with M = 4`, or nothing.
pub(super) fn describe(axes: &Axes) -> String {
    if axes.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!(" with {}", pairs.join(", "))
}

fn find(buffers: &[ResolvedBuffer], name: &str) -> Result<usize, String> {
    buffers.iter().position(|buffer| buffer.name == name).ok_or_else(|| {
        let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
        format!("'{name}' is no buffer{}", suggestion_of("buffers", name, &names))
    })
}

fn pack(arg: &Arg, axes: &Axes, buffers: &[ResolvedBuffer]) -> Result<PackedArg, String> {
    Ok(match arg {
        Arg::Buffer { name, offset } => {
            if axes.contains_key(name) && buffers.iter().all(|buffer| buffer.name != *name) {
                return Err(format!(
                    "'{name}' is an axis and no buffer: write {{ i32 = \"{name}\" }}"
                ));
            }
            let at = find(buffers, name)?;
            let offset = offset.value(axes)?;
            let buffer = &buffers[at];
            let inside = u64::try_from(offset).is_ok_and(|offset| offset < buffer.length);
            if !inside {
                let length = buffer.length;
                return Err(format!(
                    "offset {offset} lies outside '{name}', which has {length} elements"
                ));
            }
            let bytes = offset as u64 * buffer.element.bytes();
            PackedArg { bytes: vec![0; 8], align: 8, addresses: vec![(0, at, bytes)] }
        }
        Arg::Integer { bytes, signed, value } => {
            let value = value.value(axes)?;
            let bits = 8 * *bytes as u32;
            let fits = match (signed, bits) {
                (true, 64) => true,
                (false, 64) => value >= 0,
                (true, _) => (-(1_i64 << (bits - 1))..1_i64 << (bits - 1)).contains(&value),
                (false, _) => (0..1_i64 << bits).contains(&value),
            };
            if !fits {
                let kind = if *signed { 'i' } else { 'u' };
                return Err(format!("{value} is no {kind}{bits}"));
            }
            scalar(&value.to_le_bytes()[..*bytes])
        }
        Arg::Float { bytes: 4, value } => scalar(&(*value as f32).to_le_bytes()),
        Arg::Float { value, .. } => scalar(&value.to_le_bytes()),
        Arg::Bytes(bytes) => PackedArg { bytes: bytes.clone(), align: 1, addresses: Vec::new() },
        Arg::Struct(members) => {
            let mut all = PackedArg { bytes: Vec::new(), align: 1, addresses: Vec::new() };
            for member in members {
                let member = pack(member, axes, buffers)?;
                let at = all.bytes.len().next_multiple_of(member.align);
                all.bytes.resize(at, 0);
                all.bytes.extend(member.bytes);
                all.align = all.align.max(member.align);
                all.addresses.extend(member.addresses.into_iter().map(|(p, b, o)| (at + p, b, o)));
            }
            all.bytes.resize(all.bytes.len().next_multiple_of(all.align), 0);
            all
        }
    })
}

fn scalar(bytes: &[u8]) -> PackedArg {
    PackedArg { bytes: bytes.to_vec(), align: bytes.len(), addresses: Vec::new() }
}
