//! Chains whose triggers are followed by a sleep: what a kernel still has to write is written late,
//! and whoever reads it too early reads what was there before, wherever it lies.
//!
//! The race check of an edge sees what lies in the chain file's buffers. This one sees every value
//! that reaches one of them in the end, by whatever way: variables of a module, memory behind a
//! pointer, kernels further back than the one before.

use super::UserChains;
use super::prepared::UserChain;
use super::race::REPEATS;
use crate::chain::{Arm, Chain};
use crate::device::{Prepared, Verification};
use crate::error::Result;
use crate::kernel::{Code, DelayedRun};

/// Runs of each form: each takes a delay a launch, no more.
const RUNS: u32 = 3;

impl UserChains<'_> {
    /// Runs a chain over programmatic edges with a sleep behind every trigger, and compares it with
    /// the same code over full edges. Empty where there is no trigger, or that code was not compiled.
    ///
    /// # Errors
    /// The device's, or results that cannot be compared.
    pub fn delayed(&self, chain: &Chain) -> Result<Vec<DelayedRun>> {
        let trigger = chain.trigger;
        let Some(code) = Code::delayed(trigger) else { return Ok(Vec::new()) };
        let (variant, resolved, _) = self.variant(chain)?;
        if self.build.nodes(variant, code).is_none() {
            return Ok(Vec::new());
        }
        let chain = Chain { nodes: resolved.nodes.len() as u32 * REPEATS, ..*chain };
        let mut found = Vec::new();
        for arm in [Arm::GraphPdl, Arm::StreamPdl] {
            let mut prepared = UserChain::of_code(self, &chain, arm, code, code)?;
            let mut worst = Verification::default();
            for _ in 0..RUNS {
                let verification = prepared.verify()?;
                if verification.mismatches >= worst.mismatches {
                    worst = verification;
                }
            }
            found.push(DelayedRun {
                trigger,
                submission: arm.submission(),
                checked_bytes: worst.checked,
                wrong_bytes: worst.mismatches,
                place: worst.place,
            });
        }
        self.buffers(variant, REPEATS)?.forget(code);
        Ok(found)
    }
}
