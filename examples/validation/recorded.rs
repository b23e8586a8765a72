//! Noise as it was recorded: the rounds of a real run, drawn again in blocks, all arms together.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use pdl_lab::chain::{Arm, Chain};
use pdl_lab::record::read_run;
use pdl_lab::stats::median;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::noise::Source;

/// Mean length of a block, rounds.
const BLOCK: f64 = 3.0;

/// Body, arm and trigger.
type Slot = (String, Arm, String);

pub fn slot(chain: &Chain, arm: Arm) -> Slot {
    let trigger = if arm.sweeps_trigger() { chain.trigger.to_string() } else { String::new() };
    (chain.body.kind.name(), arm, trigger)
}

/// Residuals of every arm of a run, ns a hop, by round.
pub struct Recorded {
    pub noise: BTreeMap<Slot, (Rc<Vec<f64>>, f64)>,
    pub rounds: usize,
}

impl Recorded {
    pub fn read(path: &Path) -> Recorded {
        let run = read_run(path).expect("the recorded run is there");
        let mut noise: BTreeMap<Slot, BTreeMap<u32, f64>> = BTreeMap::new();
        let chains: BTreeMap<&str, &Chain> =
            run.manifest.plan.points.iter().map(|p| (p.point.as_str(), &p.chain)).collect();
        let mut hops;
        for s in &run.samples {
            let chain = chains[&*s.point];
            if s.nodes != chain.nodes {
                continue;
            }
            hops = f64::from(chain.nodes - 1);
            noise.entry(slot(chain, s.arm)).or_default().insert(s.round, s.duration_ns / hops);
        }
        let rounds = noise.values().map(|n| n.len()).min().expect("the run has arms");
        let mut centred = BTreeMap::new();
        let get = |k: &Slot| -> Vec<f64> { noise[k].values().copied().take(rounds).collect() };
        for key in noise.keys() {
            let own = get(key);
            let value = match key.1.baseline() {
                None => {
                    let m = median(&own).unwrap();
                    own.iter().map(|v| v - m).collect()
                }
                Some(b) => {
                    let base = get(&(key.0.clone(), b, String::new()));
                    let m = median(&base).unwrap();
                    let d: Vec<f64> = base.iter().zip(&own).map(|(b, o)| b - o).collect();
                    let c = smooth_median(&d, bandwidth(&base).hypot(bandwidth(&own)));
                    own.iter().map(|v| v + c - m).collect::<Vec<f64>>()
                }
            };
            centred.insert(key.clone(), (Rc::new(value), bandwidth(&own)));
        }
        Recorded { noise: centred, rounds }
    }
}

/// Bandwidth of a kernel (Silverman), ns.
fn bandwidth(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let q = |level| pdl_lab::stats::quantile(values, level).unwrap();
    0.9 * sd.min((q(0.75) - q(0.25)) / 1.34) * n.powf(-0.2)
}

/// Median of the values, each with a normal error of this width.
fn smooth_median(values: &[f64], width: f64) -> f64 {
    let normal = Normal::standard();
    let below = |x: f64| {
        values.iter().map(|v| normal.cdf((x - v) / width)).sum::<f64>() / values.len() as f64
    };
    let (mut lo, mut hi) = (
        values.iter().copied().fold(f64::MAX, f64::min),
        values.iter().copied().fold(f64::MIN, f64::max),
    );
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        if below(middle) < 0.5 { lo = middle } else { hi = middle }
    }
    (lo + hi) / 2.0
}

/// The order in which one family draws the rounds.
pub fn draw(rounds: usize, count: usize, rng: &mut ChaCha8Rng) -> Rc<Vec<usize>> {
    let mut at = rng.random_range(0..rounds);
    Rc::new(
        (0..count)
            .map(|_| {
                at = if rng.random::<f64>() < 1.0 / BLOCK {
                    rng.random_range(0..rounds)
                } else {
                    (at + 1) % rounds
                };
                at
            })
            .collect(),
    )
}

pub struct Redrawn {
    pub noise: Rc<Vec<f64>>,
    pub order: Rc<Vec<usize>>,
    pub width_ns: f64,
    pub rng: ChaCha8Rng,
}

impl Source for Redrawn {
    fn next(&mut self, count: u32, _now_ns: f64) -> f64 {
        let round = self.order[count as usize % self.order.len()];
        self.noise[round] + self.width_ns * crate::noise::normal(&mut self.rng)
    }
}
