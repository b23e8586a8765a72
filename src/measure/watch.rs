//! Whether a sample was taken in the circumstances of the ones before it.

use crate::device::{Flag, Health, USUAL_RANGE};
use crate::stats;

/// Values from which there is a usual one.
const USUAL_FROM: usize = 3;

/// What the rounds so far were like, and what this one is. The sentinel runs first in its round,
/// so that its news reaches every sample beside it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    clocks_mhz: Vec<f64>,
    usual_mhz: Option<f64>,
    sentinel_ns: Vec<f64>,
    /// Of every sample of the round.
    flags: Vec<Flag>,
}

impl Watch {
    /// A round begins, with the device in this state.
    pub(super) fn round(&mut self, health: &Health) {
        self.clocks_mhz.extend(health.sm_mhz.map(f64::from));
        self.usual_mhz = usual(&self.clocks_mhz);
        self.flags.clear();
        if !health.throttle.is_empty() {
            self.flags.push(Flag::Throttled);
        }
        if health.other_processes.is_some_and(|others| others > 0) {
            self.flags.push(Flag::CoTenant);
        }
    }

    /// The sentinel of this round took so long, ns.
    pub(super) fn sentinel(&mut self, duration_ns: f64) {
        if usual(&self.sentinel_ns).is_some_and(|usual| unusual(duration_ns, usual)) {
            self.flags.push(Flag::Drift);
        }
        self.sentinel_ns.push(duration_ns);
    }

    /// Flags of a sample of this round, at whose end the SM clock was `sm_mhz`.
    pub(super) fn flags(&self, sm_mhz: Option<u32>) -> Vec<Flag> {
        let mut flags = self.flags.clone();
        if let (Some(mhz), Some(usual)) = (sm_mhz, self.usual_mhz)
            && unusual(f64::from(mhz), usual)
        {
            flags.push(Flag::Clock);
        }
        flags
    }
}

fn usual(values: &[f64]) -> Option<f64> {
    (values.len() >= USUAL_FROM).then(|| stats::median(values)).flatten()
}

fn unusual(value: f64, usual: f64) -> bool {
    (value - usual).abs() > USUAL_RANGE * usual
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sm_mhz: u32) -> Health {
        Health { sm_mhz: Some(sm_mhz), other_processes: Some(0), ..Health::default() }
    }

    #[test]
    fn what_leaves_its_usual_range_is_flagged_and_nothing_else() {
        let mut watch = Watch::default();
        // (clock of the round and of the sample, sentinel, flags)
        let rounds: [(u32, u32, f64, &[Flag]); 7] = [
            (1980, 1755, 9000.0, &[]), // Nothing is usual yet.
            (1980, 1980, 6000.0, &[]),
            (1980, 1965, 6050.0, &[]),
            (1965, 1980, 6059.0, &[]),
            (1980, 1950, 6060.0, &[Flag::Clock]),
            (1980, 1980, 6200.0, &[Flag::Drift]),
            (1755, 1755, 5900.0, &[Flag::Drift, Flag::Clock]),
        ];
        for (round, (before, after, sentinel_ns, expected)) in rounds.into_iter().enumerate() {
            watch.round(&at(before));
            watch.sentinel(sentinel_ns);
            assert_eq!(watch.flags(Some(after)), expected, "round {round}");
        }
        watch.round(&Health::default());
        assert_eq!(watch.flags(None), [], "what is not told is not flagged");
    }

    #[test]
    fn throttling_and_neighbours_mark_their_round_alone() {
        let mut watch = Watch::default();
        let slowed = Health { throttle: vec!["sw-power-cap".into()], ..at(1980) };
        for (health, expected) in [
            (slowed.clone(), vec![Flag::Throttled]),
            (Health { other_processes: Some(2), ..at(1980) }, vec![Flag::CoTenant]),
            (Health { other_processes: Some(1), ..slowed }, vec![Flag::Throttled, Flag::CoTenant]),
            (at(1980), vec![]),
            (Health { other_processes: None, ..at(1980) }, vec![]),
        ] {
            watch.round(&health);
            assert_eq!(watch.flags(Some(1980)), expected, "{health:?}");
        }
    }
}
