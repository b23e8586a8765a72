//! One arm by itself, chain after chain: what a harness that knows nothing of pairing asks for.

use std::time::{Duration, Instant};

use crate::chain::{Arm, Chain};
use crate::device::{Device, Flag, Prepared, Sample};
use crate::error::{Error, Kind, Result};
use crate::interrupt;

/// Samples in a row that a flag may exclude before the arm is given up.
const EXCLUDED_MAX: u32 = 8;
/// Longest sleep between two looks at whether the user asked to stop.
const STEP: Duration = Duration::from_millis(10);

/// A chain in one arm, prepared and verified, that is timed without a partner.
pub struct Unpaired<'d> {
    prepared: Box<dyn Prepared + 'd>,
    nodes: u32,
    place: String,
}

impl<'d> Unpaired<'d> {
    /// Prepares a calibrated chain and compares its values with the oracle's.
    ///
    /// # Errors
    /// A point that this device cannot run, a fault, or [`Kind::Wrong`] for a wrong value.
    pub fn new(device: &'d dyn Device, chain: &Chain, arm: Arm) -> Result<Unpaired<'d>> {
        let place = match arm.sweeps_trigger() {
            true => format!("{arm} trigger {}", chain.trigger),
            false => arm.to_string(),
        };
        let mut prepared = device.prepare(chain, arm).map_err(|error| error.at(&place))?;
        let mismatches = prepared.verify().map_err(|error| error.at(&place))?.mismatches;
        let unpaired = Unpaired { prepared, nodes: chain.nodes, place };
        match mismatches {
            0 => Ok(unpaired),
            _ => Err(unpaired.wrong(mismatches)),
        }
    }

    /// Runs `chains` chains one after another and returns the sum of their periods (duration ÷
    /// nodes) on the device's clock.
    ///
    /// **Takes at least as long as the chains do on the device's clock.** On a GPU it does by
    /// itself. A simulated chain costs the host next to nothing, and a harness that plans by the
    /// host's clock would plan without end.
    ///
    /// # Errors
    /// A fault, an interruption, a wrong value, or flags that exclude every sample.
    pub fn periods(&mut self, chains: u64) -> Result<Duration> {
        let began = Instant::now();
        let mut total_ns = 0.0;
        for _ in 0..chains {
            total_ns += self.sample()?.duration_ns;
        }
        let device_time = nanoseconds(total_ns);
        while let Some(rest) = device_time.checked_sub(began.elapsed()).filter(|d| !d.is_zero()) {
            interrupt::check("go on measuring")?;
            std::thread::sleep(rest.min(STEP));
        }
        Ok(nanoseconds(total_ns / f64::from(self.nodes)))
    }

    /// A sample that no flag excludes.
    fn sample(&mut self) -> Result<Sample> {
        let mut seen: Vec<Flag> = Vec::new();
        for _ in 0..EXCLUDED_MAX {
            interrupt::check("go on measuring")?;
            let sample = self.prepared.sample().map_err(|error| error.at(&self.place))?;
            if sample.mismatches > 0 {
                return Err(self.wrong(sample.mismatches));
            }
            if !sample.flags.iter().any(|flag| flag.excludes()) {
                return Ok(sample);
            }
            seen.extend(sample.flags);
        }
        seen.sort();
        seen.dedup();
        let names: Vec<&str> = seen.iter().map(|flag| flag.name()).collect();
        Err(Error::failed(
            format!("time {}", self.place),
            format!("{EXCLUDED_MAX} samples in a row are flagged {}", names.join("|")),
        )
        .remedy("measure without the gate (PDL_NO_GATE=1)"))
    }

    fn wrong(&self, mismatches: u64) -> Error {
        let cause = format!("{mismatches} values differ from the oracle's");
        Error::new(Kind::Wrong, format!("time {}", self.place), cause)
    }
}

/// A time of the device, to a nanosecond.
fn nanoseconds(ns: f64) -> Duration {
    Duration::from_nanos(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::*;
    use crate::sim::SimDevice;

    fn chain() -> Chain {
        Chain {
            preamble: Preamble { kind: PreambleKind::Spin, target_ns: 2000.0, units: 2000 },
            body: Body { kind: BodyKind::Spin, target: Target::Ns(4000.0), units: 4000 },
            ..Chain::default()
        }
    }

    #[test]
    fn periods_add_up_and_take_their_time() {
        let device = SimDevice::quick(1);
        let mut alone = Unpaired::new(&device, &chain(), Arm::Graph).unwrap();
        let one = device.prepare(&chain(), Arm::Graph).unwrap().sample().unwrap().duration_ns;
        for chains in [1, 20] {
            let began = Instant::now();
            let sum_ns = alone.periods(chains).unwrap().as_nanos() as f64;
            let host_ns = began.elapsed().as_nanos() as f64;
            let expected_ns = chains as f64 * one / 50.0;
            assert!((sum_ns / expected_ns - 1.0).abs() < 0.2, "{chains}: {sum_ns} {expected_ns}");
            assert!(host_ns > 49.0 * sum_ns, "{chains}: {host_ns} on the host, {sum_ns} a node");
        }
        assert_eq!(alone.periods(0).unwrap(), Duration::ZERO);
    }

    #[test]
    fn a_wrong_value_is_never_timed() {
        let device = SimDevice::quick(1).with_fault(3, 7);
        let error = Unpaired::new(&device, &chain(), Arm::GraphPdl).err().unwrap();
        assert_eq!(error.kind(), Kind::Wrong);
        assert!(error.to_string().contains("graph-pdl trigger implicit"), "{error}");
    }
}
