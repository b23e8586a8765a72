//! Seeded noise of samples: part shared with the neighbours in time, part a sample's own.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::profile::NoiseLevel;

/// The device's noise; one sequence for all samples in the order they are taken.
#[derive(Debug)]
pub struct Noise {
    rng: ChaCha8Rng,
    level: NoiseLevel,
    shared: f64,
}

impl Noise {
    /// The sequence of `seed`.
    pub fn new(seed: u64, level: &NoiseLevel) -> Noise {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = Noise { rng, level: level.clone(), shared: 0.0 };
        noise.shared = noise.normal();
        noise
    }

    /// The factor by which the next sample differs from the model.
    pub fn factor(&mut self) -> f64 {
        let memory = self.level.memory_ratio.value;
        self.shared = memory * self.shared + (1.0 - memory * memory).sqrt() * self.normal();
        let shared = self.level.shared_ratio.value.sqrt() * self.shared;
        let own = (1.0 - self.level.shared_ratio.value).sqrt() * self.normal();
        1.0 + self.level.sample_ratio.value * (shared + own)
    }

    /// A standard normal number (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.rng.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.rng.random::<f64>()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BUILT_IN;

    #[test]
    fn noise_has_the_spread_of_the_profile_and_neighbours_share_it() {
        let level = &BUILT_IN.noise;
        let mut noise = Noise::new(7, level);
        let x: Vec<f64> =
            (0..20_000).map(|_| (noise.factor() - 1.0) / level.sample_ratio.value).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let lag = x.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>()
            / x.len() as f64
            / variance;
        assert!(mean.abs() < 0.05, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        let wanted = level.shared_ratio.value * level.memory_ratio.value;
        assert!((lag - wanted).abs() < 0.05, "{lag}");
    }
}
