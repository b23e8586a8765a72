//! Noise of samples, ns a hop.

use std::cell::RefCell;
use std::rc::Rc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The noise of one prepared chain.
pub trait Source {
    /// Noise of the `count`-th sample, taken at `now_ns`, ns a hop.
    fn next(&mut self, count: u32, now_ns: f64) -> f64;
}

/// Noise in closed form. All terms are added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Model {
    /// Correlation of an arm's own noise from round to round.
    pub memory: f64,
    /// Part of the samples that are slower by an exponential time, and its mean in standard
    /// deviations of the own noise.
    pub tail: Option<(f64, f64)>,
    /// The same in every arm but baselines.
    pub lopsided: bool,
    /// Two states of every arm: their distance in standard deviations, and the probability of
    /// changing from one round to the next.
    pub modes: Option<(f64, f64)>,
    /// Slower by this in the course of a second, ns a hop, all arms alike.
    pub drift_ns_s: f64,
    /// Common noise, in standard deviations of the own noise, with a memory of this many ns.
    pub common: Option<(f64, f64)>,
    /// Every prepared chain differs from others of its kind by up to this, ns a hop.
    pub instance_ns: f64,
}

/// Noise that all arms share.
#[derive(Debug)]
pub struct Common {
    rng: ChaCha8Rng,
    value: f64,
    at_ns: f64,
}

impl Common {
    pub fn new(seed: u64) -> Rc<RefCell<Common>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let value = normal(&mut rng);
        Rc::new(RefCell::new(Common { rng, value, at_ns: 0.0 }))
    }

    fn at(&mut self, now_ns: f64, memory_ns: f64) -> f64 {
        let kept = (-(now_ns - self.at_ns) / memory_ns).exp();
        self.value = kept * self.value + (1.0 - kept * kept).sqrt() * normal(&mut self.rng);
        self.at_ns = now_ns;
        self.value
    }
}

/// One chain's noise of a [`Model`].
pub struct Parametric {
    pub model: Model,
    pub sd_ns: f64,
    pub baseline: bool,
    pub common: Rc<RefCell<Common>>,
    pub rng: ChaCha8Rng,
    own: f64,
    state: bool,
    offset_ns: f64,
    centre_ns: f64,
}

impl Parametric {
    pub fn new(
        model: Model,
        sd_ns: f64,
        baseline: bool,
        centre: f64,
        common: &Rc<RefCell<Common>>,
        mut rng: ChaCha8Rng,
    ) -> Parametric {
        let own = normal(&mut rng);
        let state = rng.random::<bool>();
        let offset_ns = model.instance_ns * (2.0 * rng.random::<f64>() - 1.0);
        let centre_ns = if baseline { 0.0 } else { centre * sd_ns };
        let common = common.clone();
        Parametric { model, sd_ns, baseline, common, rng, own, state, offset_ns, centre_ns }
    }
}

impl Source for Parametric {
    fn next(&mut self, _count: u32, now_ns: f64) -> f64 {
        let model = self.model;
        let memory = model.memory;
        self.own = memory * self.own + (1.0 - memory * memory).sqrt() * normal(&mut self.rng);
        let mut noise = self.own;
        if let Some((part, mean)) = model.tail
            && !(self.baseline && model.lopsided)
            && self.rng.random::<f64>() < part
        {
            noise -= mean * (1.0 - self.rng.random::<f64>()).ln();
        }
        if let Some((distance, change)) = model.modes {
            if self.rng.random::<f64>() < change {
                self.state = !self.state;
            }
            noise += if self.state { distance / 2.0 } else { -distance / 2.0 };
        }
        if let Some((size, memory_ns)) = model.common {
            noise += size * self.common.borrow_mut().at(now_ns, memory_ns);
        }
        noise * self.sd_ns - self.centre_ns + self.offset_ns + model.drift_ns_s * now_ns / 1e9
    }
}

/// By how much the median of (own − baseline) is off zero, in standard deviations: what an arm
/// whose noise is not the baseline's has to be shifted by, so that the truth is the truth.
pub fn centre(model: &Model) -> f64 {
    if !model.lopsided {
        return 0.0;
    }
    let common = Common::new(0);
    let rng = |seed| ChaCha8Rng::seed_from_u64(seed);
    let mut own = Parametric::new(*model, 1.0, false, 0.0, &common, rng(1));
    let mut base = Parametric::new(*model, 1.0, true, 0.0, &common, rng(2));
    let mut differences: Vec<f64> =
        (0..2_000_000).map(|n| own.next(n, 0.0) - base.next(n, 0.0)).collect();
    let middle = differences.len() / 2;
    *differences.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// A standard normal number (Box and Muller).
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
