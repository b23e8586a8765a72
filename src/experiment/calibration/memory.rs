//! Bandwidth as the slope between two sizes, and the first byte of a body that reads one load.
//!
//! The reads are those of the harness's own streaming bodies: what its kernels reach, not what the
//! data sheet promises.

use super::cell::{Cell, LOAD_BYTES, PLAIN, STAMPED, Series, chain, stream};
use super::moments::Moments;
use super::quantity::{Quantity, paired};
use super::{Bench, Tick};
use crate::chain::{Arm, BodyKind, L2};
use crate::device::{Clocks, Timed};
use crate::error::{Kind, Result};
use crate::interrupt;

/// Shapes that stream: blocks an SM, threads a block. The fastest counts.
const SHAPES: [(u32, u32); 3] = [(1, 512), (2, 512), (4, 256)];
/// Nodes of the chains that stream much, and of those that stream little.
const NODES: (u32, u32) = (4, 16);
/// Nodes of the chains whose first byte is timed.
const LATENCY_NODES: u32 = 24;
/// Threads of a block that keeps few loads in flight, and of one that keeps an SM busy.
const FEW_THREADS: u32 = 32;
const SM_THREADS: u32 = 1024;
/// Largest copy; both buffers must fit.
const COPY_BYTES: (u64, u64) = (256 << 20, 512 << 20);

/// Bandwidths in bytes a ns, latencies in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Large streaming reads from device memory, and blocks an SM and threads that reached it.
    pub hbm: Option<(Quantity, (u32, u32))>,
    /// Streaming reads that hit L2, likewise.
    pub l2: Option<(Quantity, (u32, u32))>,
    /// What one SM takes in from L2.
    pub sm: Option<Quantity>,
    /// Device memory to device memory, both directions counted.
    pub copy: Option<Quantity>,
    /// First byte from device memory.
    pub hbm_latency: Option<Quantity>,
    /// First byte from L2.
    pub l2_latency: Option<Quantity>,
    /// Bytes that a thread of a streaming body keeps in flight.
    pub thread_in_flight: Option<Quantity>,
}

/// Two sizes of one chain.
fn pair(nodes: u32, kind: BodyKind, bytes: [u64; 2], (blocks, threads): (u32, u32)) -> [Cell; 2] {
    bytes.map(|bytes| {
        let mut chain = chain(nodes, blocks, stream(kind, bytes, blocks));
        chain.shape.block_threads = threads;
        Cell { chain, arm: Arm::Graph, reading: PLAIN }
    })
}

/// Pairs of sizes, then the two bodies of one load a block.
pub fn cells(sms: u32, l2_bytes: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (a_sm, threads) in SHAPES {
        let bytes = [l2_bytes * 3 / 2, l2_bytes * 3];
        cells.extend(pair(NODES.0, BodyKind::Hbm, bytes, (a_sm * sms, threads)));
    }
    for (a_sm, threads) in SHAPES {
        let bytes = [l2_bytes / 8, l2_bytes / 4];
        cells.extend(pair(NODES.1, BodyKind::L2, bytes, (a_sm * sms, threads)));
    }
    cells.extend(pair(NODES.1, BodyKind::L2, [128 << 10, 512 << 10], (1, SM_THREADS)));
    let mut few = pair(NODES.0, BodyKind::Hbm, [2 << 20, 8 << 20], (sms, FEW_THREADS));
    few.iter_mut().for_each(|cell| cell.chain.l2 = L2::Rotated);
    cells.extend(few);
    for (kind, l2) in [(BodyKind::Hbm, L2::Rotated), (BodyKind::L2, L2::Hot)] {
        let mut chain = chain(LATENCY_NODES, sms, stream(kind, LOAD_BYTES * u64::from(sms), sms));
        chain.l2 = l2;
        cells.push(Cell { chain, arm: Arm::GraphFull, reading: STAMPED });
    }
    cells
}

#[derive(Clone, Copy)]
struct Row {
    events_ns: f64,
    body_ns: Option<f64>,
}

/// Measures memory; `tail` is what a block does after its work.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tail: Option<Quantity>, tick: &mut Tick) -> Result<Found> {
    let facts = bench.device.facts();
    let cells = cells(bench.sms, facts.l2_bytes);
    let reduce = |_: &Cell, clocks: &Clocks| Row {
        events_ns: clocks.events_ns,
        body_ns: clocks.stamps.as_ref().and_then(|stamps| Moments::of(stamps).release_to_end),
    };
    let all = bench.rounds(&cells, 5, reduce, tick)?;
    let rate = |first: usize| rate(&cells[first..first + 2], &all[first..first + 2]);
    let fastest = |first: usize| {
        let rates =
            SHAPES.iter().zip(0..).filter_map(|(&shape, n)| Some((rate(first + 2 * n)?, shape)));
        rates.max_by(|a, b| a.0.value.total_cmp(&b.0.value))
    };
    let pairs = 2 * SHAPES.len();
    let beyond_tail =
        |series: &Series<Row>| Some(bench.stamped(&series.values(|row| row.body_ns))?.minus(tail?));
    let latencies = &all[2 * pairs + 4..];
    let hbm_latency = beyond_tail(&latencies[0]);
    // Little's law: bytes in flight are the rate times the latency.
    let threads = f64::from(bench.sms * FEW_THREADS);
    let thread_in_flight = rate(2 * pairs + 2)
        .zip(hbm_latency)
        .map(|(rate, latency)| rate.times(latency.value / threads));
    Ok(Found {
        hbm: fastest(0),
        l2: fastest(pairs),
        sm: rate(2 * pairs),
        copy: copy(bench)?,
        hbm_latency,
        l2_latency: beyond_tail(&latencies[1]),
        thread_in_flight,
    })
}

/// Bytes a ns between the two sizes of one chain.
fn rate(cells: &[Cell], series: &[Series<Row>]) -> Option<Quantity> {
    let bytes = |cell: &Cell| {
        let blocks = u64::from(cell.chain.shape.grid_blocks);
        (u64::from(cell.chain.nodes) * cell.chain.body.units * blocks) as f64
    };
    let added = bytes(&cells[1]) - bytes(&cells[0]);
    let rates = paired(&series[0].rounds, &series[1].rounds, |small, large| {
        added / (large.events_ns - small.events_ns)
    });
    Quantity::median(&rates)
}

/// Both directions of a copy, bytes a ns; `None` where the device cannot tell or has no room.
fn copy(bench: &Bench) -> Result<Option<Quantity>> {
    let Some(instruments) = bench.device.instruments() else { return Ok(None) };
    let (small, large) = COPY_BYTES;
    let both = instruments.copy(small).and_then(|s| Ok((s, instruments.copy(large)?)));
    let (mut small_copy, mut large_copy) = match both {
        Ok(both) => both,
        Err(error) if error.kind() == Kind::Unsupported => return Ok(None),
        Err(error) => return Err(error),
    };
    let once = |timed: &mut dyn Timed| -> Result<Option<f64>> {
        interrupt::check("go on measuring")?;
        let clocks = timed.time()?;
        Ok((!clocks.excluded()).then_some(clocks.events_ns))
    };
    let mut rates = Vec::new();
    for round in 0..=bench.effort.rounds {
        let (a, b) = (once(small_copy.as_mut())?, once(large_copy.as_mut())?);
        // The first touches pages that nothing has.
        if let (Some((a, b)), true) = (a.zip(b), round > 0) {
            rates.push(2.0 * (large - small) as f64 / (b - a));
        }
    }
    Ok(Quantity::median(&rates))
}
