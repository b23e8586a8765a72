//! The vocabulary of an experiment: a chain of dependent kernels and the ways to run it.
//!
//! Everything here is plain data. A [`Chain`] is validated when it is built, so that the launch
//! path has no checks.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What an edge of the chain waits for before the secondary may launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependency {
    /// Completion of the primary and visibility of its writes (a zero-initialised graph edge).
    Full,
    /// All blocks of the primary have triggered or exited (port `Programmatic`).
    Programmatic,
    /// All blocks of the primary have begun (type `Programmatic`, port `LaunchCompletion`).
    LaunchCompletion,
}

impl Dependency {
    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            Dependency::Full => "full",
            Dependency::Programmatic => "programmatic",
            Dependency::LaunchCompletion => "launch-completion",
        }
    }
}

/// How a chain reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// One launch a node into a stream.
    Stream,
    /// One launch of an instantiated CUDA graph.
    Graph,
}

impl Submission {
    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            Submission::Stream => "stream",
            Submission::Graph => "graph",
        }
    }
}

/// Segments that a body is divided into when `--trigger` is left to its default.
pub const DEFAULT_SEGMENTS: u32 = 8;
/// The most segments a body may be divided into.
pub const MAX_SEGMENTS: u32 = 64;

/// Where a block says that its dependents may launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// Never said: it counts when the block exits.
    Implicit,
    /// First instruction, before the block's own grid dependency sync.
    AtEntry,
    /// Before segment `at` of a body of `of` segments: `0/n` is right after the sync, `n/n` after
    /// the body and before the last store.
    Segment {
        /// Segments done when the trigger is issued.
        at: u32,
        /// Segments of the body.
        of: u32,
    },
    /// After the last store.
    After,
    /// At marked sites of the user's own kernels (`cuda/pdl_site.cuh`).
    Site(Sites),
}

/// Chosen sites of marked kernels, bit n for site n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sites {
    /// Trigger sites; none leaves the trigger to the blocks' exit.
    pub triggers: u32,
    /// Sync sites; [`Sites::EVERY`] where none was chosen among them.
    pub syncs: u32,
}

impl Sites {
    /// Every sync site is a sync.
    pub const EVERY: u32 = u32::MAX;

    /// The bits of `2`, `1+4`, or `implicit` and `none` for no bit.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse_bits(text: &str) -> std::result::Result<u32, String> {
        if matches!(text, "implicit" | "none") {
            return Ok(0);
        }
        let bits = text.split('+').map(|site| match site.trim().parse::<u32>() {
            Ok(site) if site < u32::BITS => Some(1 << site),
            _ => None,
        });
        bits.reduce(|a, b| Some(a? | b?))
            .flatten()
            .ok_or_else(|| format!("'{text}' is no site: a number from 0 to 31, or several (1+4)"))
    }

    /// `1+4`; `None` without a bit.
    pub fn bits_text(bits: u32) -> Option<String> {
        let sites = (0..u32::BITS).filter(|site| bits >> site & 1 == 1);
        let texts: Vec<String> = sites.map(|site| site.to_string()).collect();
        (!texts.is_empty()).then(|| texts.join("+"))
    }
}

impl fmt::Display for Sites {
    /// `site-2`, `site-1+4`, `site-2.sync-1`, `site-none.sync-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let triggers = Sites::bits_text(self.triggers).unwrap_or_else(|| "none".into());
        let mut text = format!("site-{triggers}");
        if self.syncs != Sites::EVERY {
            let syncs = Sites::bits_text(self.syncs).unwrap_or_else(|| "none".into());
            text += &format!(".sync-{syncs}");
        }
        f.pad(&text)
    }
}

impl FromStr for Sites {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (triggers, syncs) = match text.split_once(".sync-") {
            Some((triggers, syncs)) => (triggers, Sites::parse_bits(syncs)?),
            None => (text, Sites::EVERY),
        };
        let triggers = triggers.strip_prefix("site-").unwrap_or(triggers);
        Ok(Sites { triggers: Sites::parse_bits(triggers)?, syncs })
    }
}

impl Trigger {
    /// Whether it comes after the whole body, so that no work of the primary hides the launch of
    /// its dependents. Not known of marked sites.
    pub fn at_end(self) -> bool {
        match self {
            Self::Implicit | Self::After => true,
            Self::Segment { at, of } => at == of,
            Self::AtEntry | Self::Site(_) => false,
        }
    }

    /// The trigger of marked kernels with these sites: no trigger and every sync is `implicit`.
    pub fn of_sites(sites: Sites) -> Trigger {
        match sites {
            Sites { triggers: 0, syncs: Sites::EVERY } => Trigger::Implicit,
            _ => Trigger::Site(sites),
        }
    }

    /// The sites that a marked kernel is compiled with.
    pub fn sites(self) -> Sites {
        match self {
            Trigger::Site(sites) => sites,
            _ => Sites { triggers: 0, syncs: Sites::EVERY },
        }
    }

    /// The twelve positions of the default sweep, in order of time.
    pub fn defaults() -> Vec<Trigger> {
        let segments =
            (0..=DEFAULT_SEGMENTS).map(|at| Trigger::Segment { at, of: DEFAULT_SEGMENTS });
        let mut all = vec![Trigger::AtEntry];
        all.extend(segments);
        all.extend([Trigger::After, Trigger::Implicit]);
        all
    }

    /// Position along the body, 0 right after the sync to 1 after the body; `None` for those that
    /// no line on a chart should join (implicit, at entry).
    pub fn position(self) -> Option<f64> {
        match self {
            Trigger::Segment { at, of } => Some(f64::from(at) / f64::from(of)),
            Trigger::After => Some(1.0),
            Trigger::Implicit | Trigger::AtEntry | Trigger::Site(_) => None,
        }
    }

    /// Sorts triggers in order of time: at entry, then along the body, after, implicit (exit). Sites
    /// are taken to be numbered in their order; of several the last counts.
    pub fn order(self) -> f64 {
        match self {
            Trigger::AtEntry => -1.0,
            Trigger::Segment { at, of } => f64::from(at) / f64::from(of),
            Trigger::Site(sites) if sites.triggers == 0 => 2.5,
            // Between 1 and 2: later sites later, then later syncs.
            Trigger::Site(sites) => {
                let bits = f64::from(u32::MAX) + 1.0;
                let last =
                    f64::from(sites.triggers.ilog2()) + f64::from(sites.triggers) / bits / 2.0;
                1.0 + (last + f64::from(sites.syncs) / bits / bits) / f64::from(u32::BITS)
            }
            Trigger::After => 2.0,
            Trigger::Implicit => 3.0,
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trigger::Implicit => f.pad("implicit"),
            Trigger::AtEntry => f.pad("at-entry"),
            Trigger::Segment { at, of } => f.pad(&format!("{at}/{of}")),
            Trigger::After => f.pad("after"),
            Trigger::Site(sites) => sites.fmt(f),
        }
    }
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "implicit" => return Ok(Trigger::Implicit),
            "at-entry" => return Ok(Trigger::AtEntry),
            "after" => return Ok(Trigger::After),
            _ if text.starts_with("site-") => return text.parse().map(Trigger::of_sites),
            _ => {}
        }
        let expected = || {
            let nearest = nearest_trigger(text);
            format!(
                "'{text}' is not a trigger{nearest}: implicit, at-entry, after, or k/n with k from \
                 0 to n and n from 1 to {MAX_SEGMENTS} (4/8)"
            )
        };
        let (at, of) = text.split_once('/').ok_or_else(expected)?;
        let at: u32 = at.parse().map_err(|_| expected())?;
        let of: u32 = of.parse().map_err(|_| expected())?;
        if of == 0 || of > MAX_SEGMENTS || at > of {
            return Err(expected());
        }
        Ok(Trigger::Segment { at, of })
    }
}

/// `, did you mean X` for a word that is nearly the name of a trigger.
fn nearest_trigger(text: &str) -> String {
    const NEAR: usize = 3;
    let distance = |name: &str| edit_distance(&text.to_ascii_lowercase(), name);
    let names = ["implicit", "at-entry", "after"];
    match names.into_iter().min_by_key(|name| distance(name)) {
        Some(name) if distance(name) <= NEAR && text.len() <= 2 * name.len() => {
            format!(", did you mean {name}")
        }
        _ => String::new(),
    }
}

/// Levenshtein's distance: the fewest insertions, deletions and replacements, in bytes.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

impl Serialize for Trigger {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Trigger {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Who issues the trigger in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TriggerBy {
    /// One thread, as soon as it gets there; it counts for its block.
    #[default]
    Thread,
    /// One thread, after a block barrier.
    Block,
}

/// Work before the grid dependency sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum PreambleKind {
    /// No work.
    None,
    /// A fixed number of fused multiply-adds.
    #[default]
    Alu,
    /// Spins until a deadline; cannot show contention.
    Spin,
    /// Prefetches the start of the body's region into L2.
    PrefetchL2,
    /// Copies the start of the body's region into shared memory.
    PrefetchSmem,
}

/// Work after the grid dependency sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum BodyKind {
    /// A fixed number of fused multiply-adds, issue-bound.
    Fma,
    /// Streams a fixed number of bytes from HBM; nodes read disjoint regions.
    Hbm,
    /// Streams a fixed number of bytes that stay in L2.
    L2,
    /// Spins until absolute deadlines; cannot show contention.
    Spin,
    /// No work: one thread passes the primary's value on. The hop alone.
    None,
    /// The user's own kernels (`pdl kernel`).
    #[value(hide = true)]
    Kernel,
}

impl BodyKind {
    /// Whether the body reads a region of memory, so that a preamble can prefetch it.
    pub fn streams(self) -> bool {
        matches!(self, BodyKind::Hbm | BodyKind::L2)
    }
}

/// State of the L2 when a sample begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum L2 {
    /// As the sample before left it.
    #[default]
    Hot,
    /// Flushed before each sample by streaming four times its size, outside the timed region.
    Rotated,
}

/// How chains follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Mode {
    /// One chain, drained before the next; its first node has a full dependency.
    #[default]
    Isolated,
    /// Chains back to back; the first node of each has the arm's dependency.
    Pipelined,
}

/// Gives a `ValueEnum` the one name it has on the command line, in files and in tables.
macro_rules! named {
    ($($kind:ty),*) => { $(
        impl $kind {
            /// The name used on the command line, in every file and table.
            pub fn name(self) -> String {
                self.to_possible_value().expect("no value is skipped").get_name().to_owned()
            }
        }
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.name())
            }
        }
    )* };
}
named!(TriggerBy, PreambleKind, BodyKind, L2, Mode, Arm);

/// One way to run the same chain.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Arm {
    /// Stream launches of the native kernel over full dependencies: a baseline.
    Stream,
    /// The stream baseline a second time: the noise floor of stream arms.
    StreamAa,
    /// Stream launches of the programmatic kernel over full dependencies: a control.
    StreamFull,
    /// Stream launches with the programmatic attribute: a subject.
    StreamPdl,
    /// A graph of native kernels over full edges: the baseline.
    Graph,
    /// The graph baseline a second time: the noise floor of graph arms.
    GraphAa,
    /// A graph of the programmatic kernel over full edges: a control.
    GraphFull,
    /// A graph over programmatic edges: the subject.
    GraphPdl,
    /// A graph over launch-completion edges.
    GraphCompletion,
    /// A graph over programmatic edges, a release/acquire flag a block in place of the sync: a
    /// bound outside the documented contract.
    Flags,
    /// One cooperative kernel with a grid barrier a hop.
    Persistent,
    /// One fixed kernel, for drift.
    Sentinel,
}

impl Arm {
    /// How the arm's nodes reach the device.
    pub fn submission(self) -> Submission {
        match self {
            Arm::Stream | Arm::StreamAa | Arm::StreamFull | Arm::StreamPdl => Submission::Stream,
            _ => Submission::Graph,
        }
    }

    /// What each hop of the arm waits for.
    pub fn dependency(self) -> Dependency {
        match self {
            Arm::StreamPdl | Arm::GraphPdl | Arm::Flags => Dependency::Programmatic,
            Arm::GraphCompletion => Dependency::LaunchCompletion,
            _ => Dependency::Full,
        }
    }

    /// The arm that this one's effect is measured against; `None` for a baseline and the sentinel.
    pub fn baseline(self) -> Option<Arm> {
        match self {
            Arm::Stream | Arm::Graph | Arm::Sentinel => None,
            Arm::StreamAa | Arm::StreamFull | Arm::StreamPdl => Some(Arm::Stream),
            _ => Some(Arm::Graph),
        }
    }

    /// Whether the arm is its baseline a second time: their difference is the noise floor.
    pub fn is_again(self) -> bool {
        matches!(self, Arm::StreamAa | Arm::GraphAa)
    }

    /// Whether the arm runs native kernels, without sync and trigger, one after another.
    pub fn is_native(self) -> bool {
        matches!(self, Arm::Stream | Arm::StreamAa | Arm::Graph | Arm::GraphAa)
    }

    /// The arm with the same machine code over full dependencies.
    pub fn full_control(self) -> Option<Arm> {
        match self {
            Arm::StreamPdl => Some(Arm::StreamFull),
            Arm::GraphPdl | Arm::GraphCompletion => Some(Arm::GraphFull),
            _ => None,
        }
    }

    /// Whether the arm is run once a trigger; the others have one position or none.
    pub fn sweeps_trigger(self) -> bool {
        matches!(self, Arm::StreamFull | Arm::StreamPdl | Arm::GraphFull | Arm::GraphPdl)
    }

    /// The trigger of an arm that does not sweep it; `None` where there is no trigger at all.
    pub fn fixed_trigger(self) -> Option<Trigger> {
        match self {
            Arm::GraphCompletion => Some(Trigger::Implicit),
            Arm::Flags => Some(Trigger::AtEntry),
            _ => None,
        }
    }
}

/// The most threads a block may have on any GPU.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// The most blocks a cluster may have on any GPU (8 is portable, 16 needs an opt-in).
pub const MAX_CLUSTER_BLOCKS: u32 = 16;
/// The most dynamic shared memory a block may have on any GPU: 227 KiB.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;
/// The most blocks a one-dimensional grid may have.
pub const MAX_GRID_BLOCKS: u32 = i32::MAX as u32;

/// The launch configuration of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shape {
    /// Blocks in the grid.
    pub grid_blocks: u32,
    /// Threads in a block.
    pub block_threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Blocks in a cluster; 1 launches without clusters.
    pub cluster_blocks: u32,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { grid_blocks: 132, block_threads: 128, shared_bytes: 0, cluster_blocks: 1 }
    }
}

/// Threads of a warp.
pub const WARP_THREADS: u32 = 32;

impl Shape {
    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.block_threads.div_ceil(WARP_THREADS)
    }

    /// Checks what no GPU could launch.
    ///
    /// # Errors
    /// A usage error that names the field and its bound.
    pub fn validate(&self) -> Result<()> {
        let at_most = |what: &str, value: u32, most: u32| match value {
            0 => Err(Error::usage(format!("use {what} 0"), "it must be at least 1")),
            v if v > most => Err(Error::usage(
                format!("use {what} {v}"),
                format!("no GPU allows more than {most}"),
            )),
            _ => Ok(()),
        };
        at_most("--grid", self.grid_blocks, MAX_GRID_BLOCKS)?;
        at_most("--block", self.block_threads, MAX_BLOCK_THREADS)?;
        at_most("--cluster", self.cluster_blocks, MAX_CLUSTER_BLOCKS)?;
        if self.shared_bytes > MAX_SHARED_BYTES {
            return Err(Error::usage(
                format!("use --shared-kib {}", self.shared_bytes.div_ceil(1024)),
                "no GPU allows more than 227 KiB a block",
            ));
        }
        if !self.grid_blocks.is_multiple_of(self.cluster_blocks) {
            return Err(Error::usage(
                format!("use --cluster {}", self.cluster_blocks),
                format!("{} blocks are not a whole number of clusters", self.grid_blocks),
            )
            .remedy("give a --grid that --cluster divides"));
        }
        Ok(())
    }
}

/// What a piece of work is asked to be, before it is calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Target {
    /// A time, in nanoseconds.
    Ns(f64),
    /// Bytes a node, for bodies that stream.
    Bytes(u64),
}

/// A preamble: the kind, what was asked for, and the calibrated amount.
///
/// `units` are, per block: fused multiply-adds a thread (ALU), nanoseconds (spin), or bytes
/// (prefetch).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Preamble {
    /// The kind of work.
    pub kind: PreambleKind,
    /// The time asked for, in nanoseconds.
    pub target_ns: f64,
    /// The calibrated amount; 0 before calibration.
    pub units: u64,
}

/// A body: the kind, what was asked for, and the calibrated amount.
///
/// `units` are, per block: fused multiply-adds a thread (FMA), bytes (HBM, L2), or nanoseconds
/// (spin). Of the user's own kernels they are the place, in the manifest's list, of the axis values
/// that the chain has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Body {
    /// The kind of work.
    pub kind: BodyKind,
    /// The time or the bytes asked for.
    pub target: Target,
    /// The calibrated amount; 0 before calibration.
    pub units: u64,
}

/// Nodes joined one after another: what every arm runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Chain {
    /// Kernels in the chain; hops are one less.
    pub nodes: u32,
    /// Launch configuration of every node.
    pub shape: Shape,
    /// Work before the sync.
    pub preamble: Preamble,
    /// Work after the sync.
    pub body: Body,
    /// Where a block triggers, for the arms that do.
    pub trigger: Trigger,
    /// Who triggers.
    pub trigger_by: TriggerBy,
    /// State of the L2 when a sample begins.
    pub l2: L2,
    /// How chains follow one another.
    pub mode: Mode,
}

/// The most nodes of a chain.
pub const MAX_NODES: u32 = 100_000;
/// Bytes of one load of a body that streams: a block reads whole ones.
const VECTOR_BYTES: u64 = 16;
/// The longest preamble or body that can be asked for: one second.
pub const MAX_WORK_NS: f64 = 1e9;

impl Default for Chain {
    /// The chain of the main job: 50 nodes of 132 blocks of 128 threads, a preamble of 2 µs and a
    /// body of 4 µs of multiply-adds, no trigger, isolated, L2 hot.
    fn default() -> Self {
        Chain {
            nodes: 50,
            shape: Shape::default(),
            preamble: Preamble { kind: PreambleKind::Alu, target_ns: 2000.0, units: 0 },
            body: Body { kind: BodyKind::Fma, target: Target::Ns(4000.0), units: 0 },
            trigger: Trigger::Implicit,
            trigger_by: TriggerBy::Thread,
            l2: L2::Hot,
            mode: Mode::Isolated,
        }
    }
}

impl Chain {
    /// Edges of the chain.
    pub fn hops(&self) -> u32 {
        self.nodes - 1
    }

    /// The chain with another number of nodes.
    pub fn with_nodes(self, nodes: u32) -> Chain {
        Chain { nodes, ..self }
    }

    /// The chain with another trigger.
    pub fn with_trigger(self, trigger: Trigger) -> Chain {
        Chain { trigger, ..self }
    }

    /// The chain with another shape of its nodes.
    pub fn with_shape(self, shape: Shape) -> Chain {
        Chain { shape, ..self }
    }

    /// The chain with other work before the sync, of so many µs.
    pub fn with_preamble_us(self, kind: PreambleKind, us: f64) -> Chain {
        Chain { preamble: Preamble { kind, target_ns: us * 1e3, units: 0 }, ..self }
    }

    /// The chain with other work after the sync, of so many µs.
    pub fn with_body_us(self, kind: BodyKind, us: f64) -> Chain {
        Chain { body: Body { kind, target: Target::Ns(us * 1e3), units: 0 }, ..self }
    }

    /// Whether its amounts of work are given, so that nothing is left to calibrate: another run
    /// settled them.
    pub fn has_amounts(&self) -> bool {
        // Of the user's own kernels it is a place in a list.
        self.body.kind != BodyKind::Kernel && (self.preamble.units > 0 || self.body.units > 0)
    }

    /// Checks what no GPU could run.
    ///
    /// # Errors
    /// A usage error that names the flag and its bound.
    pub fn validate(&self) -> Result<()> {
        if self.nodes < 2 || self.nodes > MAX_NODES {
            return Err(Error::usage(
                format!("use --nodes {}", self.nodes),
                format!("a chain has at least 2 nodes and at most {MAX_NODES}"),
            ));
        }
        self.shape.validate()?;
        if self.body.kind == BodyKind::Kernel {
            return Err(Error::usage("use --body-kind kernel", "it stands for your own kernels")
                .remedy("use pdl kernel FILE"));
        }
        time("--preamble-us", self.preamble.target_ns)?;
        if let Target::Ns(ns) = self.body.target {
            time("--body-us", ns)?;
        }
        let prefetches =
            matches!(self.preamble.kind, PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem);
        if prefetches && !self.body.kind.streams() {
            return Err(Error::usage(
                format!(
                    "use --preamble-kind {} with --body-kind {}",
                    self.preamble.kind, self.body.kind
                ),
                "there is nothing to prefetch",
            )
            .remedy("use --body-kind hbm or l2"));
        }
        if matches!(self.body.target, Target::Bytes(_)) && !self.body.kind.streams() {
            return Err(Error::usage(
                format!("use --body-bytes with --body-kind {}", self.body.kind),
                "only hbm and l2 bodies move bytes",
            )
            .remedy("use --body-us"));
        }
        if let Target::Bytes(bytes) = self.body.target {
            let blocks = self.shape.grid_blocks;
            if bytes < VECTOR_BYTES * u64::from(blocks) {
                return Err(Error::usage(
                    format!("use --body-bytes {bytes} with a grid of {blocks}"),
                    format!("each block reads at least {VECTOR_BYTES} bytes"),
                ));
            }
        }
        Ok(())
    }
}

/// A time of work must be a number from zero to a second.
fn time(flag: &str, ns: f64) -> Result<()> {
    if ns.is_finite() && (0.0..=MAX_WORK_NS).contains(&ns) {
        return Ok(());
    }
    Err(Error::usage(
        format!("use {flag} {}", ns / 1e3),
        "it must be a number from 0 to 1000000 microseconds",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_read_back_as_they_are_written() {
        for trigger in Trigger::defaults() {
            assert_eq!(trigger.to_string().parse(), Ok(trigger));
        }
        assert_eq!(Trigger::defaults().len(), 12);
    }

    #[test]
    fn sites_read_back_as_they_are_written_and_stand_in_order() {
        let texts = [
            "site-0",
            "site-1",
            "site-0+1",
            "site-2.sync-1",
            "site-2",
            "site-31",
            "site-1+31",
            "site-none.sync-2",
            "implicit",
        ];
        let triggers: Vec<Trigger> = texts.iter().map(|text| text.parse().unwrap()).collect();
        for (trigger, text) in triggers.iter().zip(texts) {
            assert_eq!(trigger.to_string(), text);
        }
        assert!(triggers.is_sorted_by(|a, b| a.order() < b.order()), "{triggers:?}");
        assert_eq!("site-none".parse(), Ok(Trigger::Implicit));
        for bad in ["site-", "site-32", "site-x", "site-1+", "site-1.sync-", "site--1"] {
            assert!(bad.parse::<Trigger>().unwrap_err().contains("no site"), "{bad}");
        }
    }

    #[test]
    fn bad_triggers_are_refused_with_what_is_allowed() {
        for text in ["", "9/8", "1/0", "-1/8", "4/65", "entry", "1/8/2", "0x1/8", "1 /8"] {
            let error = text.parse::<Trigger>().unwrap_err();
            assert!(error.contains("k/n"), "{text}: {error}");
        }
    }

    #[test]
    fn a_trigger_that_is_nearly_right_gets_the_right_one() {
        let cases = [
            ("implict", Some("implicit")),
            ("Implicit", Some("implicit")),
            ("at_entry", Some("at-entry")),
            ("entry", Some("at-entry")),
            ("aftr", Some("after")),
            ("9/8", None),
            ("x", None),
            ("before-the-store", None),
        ];
        for (text, expected) in cases {
            let error = text.parse::<Trigger>().unwrap_err();
            let suggested =
                error.split("did you mean ").nth(1).map(|rest| &rest[..rest.find(':').unwrap()]);
            assert_eq!(suggested, expected, "{error}");
        }
    }

    #[test]
    fn shapes_that_no_gpu_allows_are_usage_errors() {
        let good = Shape::default();
        assert!(good.validate().is_ok());
        let bad = [
            Shape { grid_blocks: 0, ..good },
            Shape { block_threads: 0, ..good },
            Shape { block_threads: 1025, ..good },
            Shape { cluster_blocks: 0, ..good },
            Shape { cluster_blocks: 17, ..good },
            Shape { cluster_blocks: 5, ..good },
            Shape { shared_bytes: MAX_SHARED_BYTES + 1, ..good },
        ];
        for shape in bad {
            let error = shape.validate().unwrap_err();
            assert_eq!(error.kind(), crate::error::Kind::Usage, "{shape:?}");
        }
    }

    #[test]
    fn every_effect_has_a_baseline_with_its_own_submission() {
        for arm in Arm::value_variants() {
            if let Some(baseline) = arm.baseline() {
                assert_eq!(baseline.submission(), arm.submission(), "{arm}");
                assert_eq!(baseline.baseline(), None);
            }
        }
    }
}
