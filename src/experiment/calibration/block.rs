//! What a block does beside its work, and how fast it computes.

use super::cell::{AFTER_SYNC, Cell, STAMPED, Series, chain, fma, spin};
use super::moments::Moments;
use super::quantity::{Quantity, paired};
use super::{Bench, Tick};
use crate::chain::{Arm, Trigger, TriggerBy};
use crate::error::Result;

const NODES: u32 = 24;
/// Spin of the bodies, ns.
const BODY_NS: u64 = 4_000;
/// The same where a launch has to hide in it.
const LONG_BODY_NS: u64 = 8_000;
/// Multiply-adds a thread: about 8 and 32 µs with a warp a scheduler.
const UNITS: (u64, u64) = (14_400, 57_600);

/// The constants of a block, one an SM.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// End of the work to the block's end, ns.
    pub tail: Option<Quantity>,
    /// End of the work to a trigger after the last store, ns.
    pub after: Option<Quantity>,
    /// What a block barrier before the trigger adds to it, ns.
    pub barrier_trigger: Option<Quantity>,
    /// The longest body of a node − the shortest, ns.
    pub drain: Option<Quantity>,
    /// SM cycles a multiply-add of a warp that has its scheduler to itself.
    pub lone_warp_cycles: Option<Quantity>,
    /// SM clock by its cycles and the global timer, MHz.
    pub sm_mhz: Option<Quantity>,
    /// Registers a thread of the kernels.
    pub thread_registers: Option<u32>,
}

/// Every chain.
pub fn cells(sms: u32) -> [Cell; 6] {
    let full = |body, trigger: Trigger| Cell {
        chain: chain(NODES, sms, body).with_trigger(trigger),
        arm: Arm::GraphFull,
        reading: STAMPED,
    };
    let by = |trigger_by| {
        let mut cell = full(spin(LONG_BODY_NS), AFTER_SYNC);
        cell.arm = Arm::GraphPdl;
        cell.chain.trigger_by = trigger_by;
        cell
    };
    [
        full(spin(BODY_NS), AFTER_SYNC),
        full(spin(BODY_NS), Trigger::After),
        by(TriggerBy::Thread),
        by(TriggerBy::Block),
        full(fma(UNITS.0), AFTER_SYNC),
        full(fma(UNITS.1), AFTER_SYNC),
    ]
}

/// Measures the block.
///
/// # Errors
/// A fault, an interruption, or a wrong value.
pub fn measure(bench: &Bench, tick: &mut Tick) -> Result<Found> {
    let reduce = |_: &Cell, clocks: &crate::device::Clocks| {
        clocks.stamps.as_ref().map(Moments::of).unwrap_or_default()
    };
    let all = bench.rounds(&cells(bench.sms), 3, reduce, tick)?;
    let [spins, after, by_thread, by_block, short, long] = &all[..] else {
        return Ok(Found::default());
    };
    let beyond = |series: &Series<Moments>, of: fn(Moments) -> Option<f64>| {
        bench.stamped(&series.values(|m| of(m).map(|ns| ns - BODY_NS as f64)))
    };
    let both = |of: fn(&Moments) -> Option<f64>| {
        paired(&short.rounds, &long.rounds, |short, long| {
            of(&long).zip(of(&short)).map_or(f64::NAN, |(long, short)| long - short)
        })
    };
    let cycles = both(|m| m.body_cycles);
    let times = both(|m| m.release_to_end);
    let clock: Vec<f64> = cycles.iter().zip(&times).map(|(c, ns)| 1e3 * c / ns).collect();
    let added = (UNITS.1 - UNITS.0) as f64;
    let a_unit: Vec<f64> = cycles.iter().map(|cycles| cycles / added).collect();
    let sm_mhz = Quantity::median(&clock);
    let spread = Quantity::median(&long.values(|m| m.body_cycles_spread));
    Ok(Found {
        tail: beyond(spins, |m| m.release_to_end),
        after: beyond(after, |m| m.release_to_trigger),
        barrier_trigger: bench.stamped(&paired(&by_block.rounds, &by_thread.rounds, |b, t| {
            b.release_to_begin.zip(t.release_to_begin).map_or(f64::NAN, |(b, t)| b - t)
        })),
        drain: spread.zip(sm_mhz).map(|(cycles, mhz)| cycles.times(1e3 / mhz.value)),
        lone_warp_cycles: Quantity::median(&a_unit),
        sm_mhz,
        thread_registers: long.proof.registers,
    })
}
