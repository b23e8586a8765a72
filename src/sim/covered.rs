//! What the event-driven model does not cover, and says so.

use crate::chain::{BodyKind, Chain, L2};
use crate::error::{Error, Result};
use crate::oracle;
use crate::profile::Profile;

/// Part of a node's region that does not stay in L2 until the next node reads it: none of one that
/// L2 keeps, all of one that is larger than L2.
pub fn missed(profile: &Profile, chain: &Chain) -> f64 {
    if chain.body.kind != BodyKind::L2 || chain.l2 != L2::Hot {
        return 1.0;
    }
    let keeps = profile.memory.l2_keeps_bytes.value;
    let beyond = (profile.device.l2_bytes as f64 - keeps).max(1.0);
    ((bytes(chain) - keeps) / beyond).clamp(0.0, 1.0)
}

/// Checks that the model covers `chain`.
///
/// # Errors
/// Unsupported for an L2 body whose region stays in L2 in part: how much of it is a matter of
/// addresses and of the order in which blocks read them, and measured periods of such regions differ
/// by more than half at one size.
pub fn check(profile: &Profile, chain: &Chain) -> Result<()> {
    let missed = missed(profile, chain);
    if chain.body.kind != BodyKind::L2 || missed == 0.0 || missed == 1.0 {
        return Ok(());
    }
    let mb = |bytes: f64| bytes / 1e6;
    let cause = format!(
        "a node reads {:.1} MB, and between {:.0} and {:.0} MB stays in L2 in part, which the model \
         does not cover",
        mb(bytes(chain)),
        mb(profile.memory.l2_keeps_bytes.value),
        mb(profile.device.l2_bytes as f64)
    );
    Err(Error::unsupported("predict a body that reads L2", cause)
        .remedy("use a shorter body or fewer blocks, or measure"))
}

fn bytes(chain: &Chain) -> f64 {
    oracle::node_words(chain) as f64 * 4.0
}

#[cfg(test)]
mod tests {
    use super::super::tests::hbm;
    use super::*;
    use crate::chain::{Body, PreambleKind};
    use crate::profile::BUILT_IN;

    #[test]
    fn regions_stay_all_or_in_part_or_not_at_all() {
        let chain = hbm(PreambleKind::None, 0);
        let grid = f64::from(chain.shape.grid_blocks);
        // (MB of a node, missed at least, at most, covered)
        for (mb, least, most, covered) in
            [(30.0, 0.0, 0.0, true), (50.0, 0.01, 0.99, false), (70.0, 1.0, 1.0, true)]
        {
            let units = (mb * 1e6 / grid / 16.0) as u64 * 16;
            let body = Body { kind: BodyKind::L2, units, ..chain.body };
            let hot = Chain { body, ..chain };
            let found = missed(&BUILT_IN, &hot);
            assert!((least..=most).contains(&found), "{mb}: {found}");
            assert_eq!(check(&BUILT_IN, &hot).is_ok(), covered, "{mb}");
            // What comes from HBM anyway is covered at any size.
            let cold = Chain { l2: L2::Rotated, ..hot };
            assert!(missed(&BUILT_IN, &cold) == 1.0 && check(&BUILT_IN, &cold).is_ok());
        }
    }
}
