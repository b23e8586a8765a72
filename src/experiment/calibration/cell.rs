//! What one experiment runs: chains in arms, each once a round, in shuffled order.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Tick;
use crate::chain::*;
use crate::device::{Clocks, Device, Prepared, Proof, Reading};
use crate::error::{Error, Kind, Result};
use crate::interrupt;
pub use crate::oracle::LOAD_BYTES;

/// The usual way to run a chain: as samples are.
pub const PLAIN: Reading = Reading { gated: true, stamped: false };
/// The stamped instance of it.
pub const STAMPED: Reading = Reading { gated: true, stamped: true };

/// One chain in one arm, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The chain; its amounts of work are set.
    pub chain: Chain,
    /// Arm.
    pub arm: Arm,
    /// How it is run.
    pub reading: Reading,
}

impl Cell {
    /// Time that preparing it and so many rounds are expected to take. From the work asked for and
    /// constants of an H200: 1.5 µs a hop, 4.5 µs to queue a stream launch, 0.15 ms around a run
    /// and twice that with stamps, 20 ms to prepare.
    pub fn expected(&self, rounds: u32) -> Duration {
        let stamps = if self.reading.stamped { 2.0 } else { 1.0 };
        let chain = &self.chain;
        let queue_ns = if self.arm.submission() == Submission::Stream { 4500.0 } else { 0.0 };
        let flush_ns = if chain.l2 == L2::Rotated { 200_000.0 } else { 0.0 };
        let body_ns = match chain.body.kind {
            BodyKind::None | BodyKind::Kernel => 0.0,
            BodyKind::Fma => chain.body.units as f64 / 1.8,
            BodyKind::Spin => chain.body.units as f64,
            BodyKind::Hbm | BodyKind::L2 => {
                1000.0 + chain.body.units as f64 * f64::from(chain.shape.grid_blocks) / 3000.0
            }
        };
        let nodes = f64::from(chain.nodes);
        let run_ns = 150_000.0 * stamps + flush_ns + nodes * (1500.0 + body_ns + queue_ns);
        let prepare_ns = 20e6 * stamps + 3.0 * run_ns;
        Duration::from_secs_f64(1e-9 * (prepare_ns + f64::from(rounds) * run_ns))
    }

    /// As it is named in errors and skip reasons.
    fn place(&self) -> String {
        let chain = &self.chain;
        let trigger = if self.arm.sweeps_trigger() {
            format!(" trigger {}", chain.trigger)
        } else {
            String::new()
        };
        format!(
            "{}{trigger}, {} nodes of {} blocks, body {}",
            self.arm, chain.nodes, chain.shape.grid_blocks, chain.body.kind
        )
    }
}

/// What a cell gave, round by round.
#[derive(Clone, Debug)]
pub struct Series<T> {
    /// One entry a round; `None` where a flag left the run out.
    pub rounds: Vec<Option<T>>,
    /// What was armed; default where nothing was prepared.
    pub proof: Proof,
    /// Why there is nothing.
    pub skipped: Option<String>,
}

impl<T: Copy> Series<T> {
    /// The rounds that count, through `of`; numbers that are none are left out.
    pub fn values(&self, of: impl Fn(T) -> Option<f64>) -> Vec<f64> {
        let values = self.rounds.iter().flatten().filter_map(|&row| of(row));
        values.filter(|value| value.is_finite()).collect()
    }
}

/// Runs every cell once a round in shuffled order and keeps what `reduce` makes of each reading. A
/// cell that this device cannot run is skipped.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn rounds<T>(
    device: &dyn Device,
    cells: &[Cell],
    count: u32,
    seed: u64,
    reduce: impl Fn(&Cell, &Clocks) -> T,
    tick: &mut Tick,
) -> Result<Vec<Series<T>>> {
    let mut ready = Vec::new();
    let mut all: Vec<Series<T>> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        interrupt::check("prepare the chain")?;
        tick.part(index as f64 / (2 * cells.len()) as f64);
        let mut series = Series { rounds: Vec::new(), proof: Proof::default(), skipped: None };
        match prepare(device, cell) {
            Ok(prepared) => {
                series.proof = prepared.proof().clone();
                ready.push((index, prepared));
            }
            Err(error) if error.kind() == Kind::Unsupported => {
                series.skipped = Some(error.cause().to_owned());
            }
            Err(error) => return Err(error),
        }
        all.push(series);
    }
    let mut order: Vec<usize> = (0..ready.len()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..count {
        tick.part(0.5 + f64::from(round) / f64::from(2 * count));
        order.shuffle(&mut rng);
        for &place in &order {
            interrupt::check("go on measuring")?;
            let (index, prepared) = &mut ready[place];
            let cell = &cells[*index];
            let clocks = read(prepared.as_mut(), cell)?;
            let kept = clocks.filter(|clocks| !clocks.excluded());
            all[*index].rounds.push(kept.map(|clocks| reduce(cell, &clocks)));
        }
    }
    Ok(all)
}

/// Prepares, verifies, and runs it once, since a first run is never like the second.
fn prepare<'d>(device: &'d dyn Device, cell: &Cell) -> Result<Box<dyn Prepared + 'd>> {
    let named = |error: Error| error.at(&cell.place());
    let mut prepared = device.prepare(&cell.chain, cell.arm).map_err(named)?;
    let mismatches = prepared.verify().map_err(named)?.mismatches;
    if mismatches > 0 {
        let cause = format!("{mismatches} values differ from the oracle's");
        let action = format!("calibrate with {}", cell.place());
        return Err(Error::new(Kind::Wrong, action, cause)
            .remedy("pdl check looks for the race; nothing here can be trusted until then"));
    }
    if read(prepared.as_mut(), cell)?.is_none() {
        return Err(Error::unsupported(format!("stamp {}", cell.place()), "it has no stamps"));
    }
    Ok(prepared)
}

fn read(prepared: &mut dyn Prepared, cell: &Cell) -> Result<Option<Clocks>> {
    let clocks = prepared.clocks(cell.reading).map_err(|error| error.at(&cell.place()))?;
    let wrong = |clocks: &Clocks| clocks.flags.contains(&crate::device::Flag::Wrong);
    match clocks {
        Some(clocks) if wrong(&clocks) => {
            let action = format!("calibrate with {}", cell.place());
            Err(Error::new(Kind::Wrong, action, "values differ from the oracle's"))
        }
        other => Ok(other),
    }
}

/// A chain of `grid_blocks` blocks of 128 threads without a preamble.
pub fn chain(nodes: u32, grid_blocks: u32, body: Body) -> Chain {
    Chain {
        nodes,
        shape: Shape { grid_blocks, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::None, target_ns: 0.0, units: 0 },
        body,
        trigger: Trigger::Implicit,
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    }
}

/// No work: the hop alone.
pub fn no_body() -> Body {
    Body { kind: BodyKind::None, target: Target::Ns(0.0), units: 0 }
}

/// A body that spins for `ns`.
pub fn spin(ns: u64) -> Body {
    Body { kind: BodyKind::Spin, target: Target::Ns(ns as f64), units: ns }
}

/// A body of `units` multiply-adds a thread.
pub fn fma(units: u64) -> Body {
    Body { kind: BodyKind::Fma, target: Target::Ns(0.0), units }
}

/// A body that streams `bytes` a node over `grid_blocks` blocks, in whole loads.
pub fn stream(kind: BodyKind, bytes: u64, grid_blocks: u32) -> Body {
    let units = (bytes / u64::from(grid_blocks)).next_multiple_of(LOAD_BYTES);
    Body { kind, target: Target::Bytes(units * u64::from(grid_blocks)), units }
}

/// The trigger right after the own sync.
pub const AFTER_SYNC: Trigger = Trigger::Segment { at: 0, of: DEFAULT_SEGMENTS };
