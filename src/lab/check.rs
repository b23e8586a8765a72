//! Whether a chain computes what it should.

use crate::chain::{Arm, Chain};
use crate::device::{Device, Mismatch, Proof};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::measure::calibrate;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What was armed: edges as they were read back, syncs and triggers in the machine code.
    pub proof: Proof,
    /// Times that the chain was run.
    pub repetitions: u32,
    /// Values compared: blocks × nodes × repetitions.
    pub values: u64,
    /// Values that differ from the oracle's.
    pub wrong: u64,
    /// The first of them.
    pub first: Option<Mismatch>,
}

impl Checked {
    /// Whether every value was right.
    pub fn is_right(&self) -> bool {
        self.wrong == 0
    }
}

/// Runs `chain` in `arm` again and again, and compares every value of every block and node with the
/// host's oracle. Memory is poisoned before each run.
///
/// It finds what goes wrong at this trigger and shape. Adversarial primaries and mutants are the work
/// of `pdl check`.
///
/// ```
/// use pdl_lab::{Arm, Chain, SimDevice, check};
///
/// let chain = Chain::default().with_nodes(8).with_trigger("at-entry".parse()?);
/// let found = check(&SimDevice::quick(1), &chain, Arm::GraphPdl, 5)?;
/// assert!(found.is_right() && found.proof.armed());
/// assert_eq!(found.values, 5 * 8 * 132);
///
/// // A device on which block 7 of node 3 writes a wrong value: it and all that follows is found.
/// let broken = SimDevice::quick(1).with_fault(3, 7);
/// let found = check(&broken, &chain, Arm::GraphPdl, 1)?;
/// assert!(!found.is_right());
/// assert_eq!(found.first.map(|first| first.node), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) for a chain that no device could run, and for no repetition;
/// [`Kind::Unsupported`](crate::Kind::Unsupported) where this device cannot run it;
/// [`Kind::Failed`](crate::Kind::Failed) for a fault of the device. Wrong values are no error.
pub fn check(device: &dyn Device, chain: &Chain, arm: Arm, repetitions: u32) -> Result<Checked> {
    chain.validate()?;
    if repetitions == 0 {
        return Err(Error::usage("check the chain", "no repetition would check nothing"));
    }
    let chain = match chain.has_amounts() {
        true => *chain,
        false => calibrate(device, chain)?.chain,
    };
    let mut prepared = device.prepare(&chain, arm)?;
    let mut checked =
        Checked { proof: prepared.proof().clone(), repetitions, values: 0, wrong: 0, first: None };
    for _ in 0..repetitions {
        interrupt::check("go on checking")?;
        let found = prepared.verify()?;
        checked.values += found.checked;
        checked.wrong += found.mismatches;
        checked.first = checked.first.or(found.first);
    }
    Ok(checked)
}
