//! The calibration section of a profile, the slope of placement, and what to warn of.

use super::{Effort, Everything, Quantity, block};
use crate::device::{Backend, Facts};
use crate::profile::{Calibration, Difference, SignedCost};

/// A clock that differs by more than this from what NVML calls the highest is worth a word.
const CLOCK_RATIO: f64 = 0.02;

impl Everything {
    /// Time between the begins of two blocks, ns: the slope of first to last begin over the number
    /// of blocks, from one block an SM on. A constant offset between SMs cancels in a slope.
    pub(super) fn block_ns(&self) -> Option<Quantity> {
        let spread = &self.hops.begin_spread;
        let sms = self.sms;
        let at = |blocks: u32| spread.iter().find(|(n, _)| *n == blocks).map(|(_, q)| *q);
        let (one, four) = (at(sms)?, at(4 * sms)?);
        Some(four.minus(one).times(1.0 / f64::from(3 * sms)))
    }
}

/// What was found beside the model's constants, without who measured when.
pub fn section(facts: &Facts, effort: &Effort, found: Everything) -> Calibration {
    let mut warnings = found.agreement.warnings.clone();
    warnings.extend(clock(facts, &found.block));
    warnings.extend(skipped(&found));
    let fixed = found.hops.fixed_work;
    let constant = |quantity: Option<Quantity>, experiment: &str| {
        quantity.map(|quantity| quantity.constant(experiment))
    };
    let host = found.host.unwrap_or_default();
    Calibration {
        program: String::new(),
        ended: String::new(),
        wall_s: 0.0,
        rounds: effort.rounds,
        uuid: facts.uuid.clone(),
        warnings,
        copy_bytes_per_ns: constant(
            found.memory.copy,
            "memory: copies of 256 and 512 MiB in device memory, slope, both directions",
        ),
        sm_clock_mhz: constant(
            found.block.sm_mhz,
            "block: SM cycles / global timer between 14,400 and 57,600 multiply-adds",
        ),
        ungated_ns: constant(
            found.instruments.ungated,
            "instruments: 50-node graph without - with the gate",
        ),
        fixed_work_launch_ns: constant(
            fixed.launch,
            "hops: stamps of graph chains of fixed work, trigger 0/8",
        ),
        fixed_work_release_ns: constant(
            fixed.release,
            "hops: stamps of graph chains of fixed work, trigger 0/8",
        ),
        fixed_work_full_gap_ns: constant(
            fixed.full_gap,
            "hops: stamps of graph chains of fixed work, full edges",
        ),
        empty: found.empty.hops,
        signed: signed(&found.instruments),
        launches: host.launches,
        attribute: host.attribute,
        agreement: found.agreement.rows,
    }
}

fn signed(costs: &super::instruments::Found) -> Vec<SignedCost> {
    let all = [
        ("stamps over full edges, a node", costs.stamp, "stamped - unstamped chains, slope"),
        (
            "stamps over programmatic edges, a node",
            costs.stamp_programmatic,
            "stamped - unstamped chains at 0/8, slope",
        ),
        ("the gate, a hop", costs.gate_hop, "gated - ungated graph chains, slope"),
    ];
    let cost = |(name, cost, experiment): (&str, Option<Quantity>, &str)| {
        Some(SignedCost {
            name: name.to_owned(),
            cost: Difference::from(cost?),
            experiment: format!("instruments: {experiment}"),
        })
    };
    all.into_iter().filter_map(cost).collect()
}

/// The clock that the SMs' own cycles tell, against the highest that NVML names.
fn clock(facts: &Facts, block: &block::Found) -> Option<String> {
    let (found, most) = (block.sm_mhz?, f64::from(facts.sm_mhz_max?));
    let off = found.value / most - 1.0;
    (off.abs() > CLOCK_RATIO && facts.backend == Backend::Gpu).then(|| {
        format!(
            "SMs ran at {:.0} MHz by their own cycles, the highest clock is {most:.0}: constants in \
             ns belong to the clock they were measured at",
            found.value
        )
    })
}

/// Experiments that gave nothing, so that the profile holds guesses.
fn skipped(found: &Everything) -> Vec<String> {
    let lacking = [
        ("no grid's full gap", found.hops.graph.iter().all(|hop| hop.full_gap.is_none())),
        ("no stream hop", found.hops.stream.iter().all(|hop| hop.launch.is_none())),
        ("no read bandwidth", found.memory.hbm.is_none()),
        ("no event pair", found.instruments.event_pair.is_none()),
        ("no wall clock", found.agreement.rows.iter().all(|row| row.wall_ns.is_none())),
    ];
    let lacking = lacking.iter().filter(|(_, lacks)| *lacks);
    lacking.map(|(what, _)| format!("{what} could be measured: the profile assumes it")).collect()
}
