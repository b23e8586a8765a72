//! Does the verdict procedure keep its promises? Families of effects whose truth is known are
//! measured by the product's own protocol, stopping rule included, and judged by its own analysis:
//! how often do 95 % intervals cover the truth, how often is an effect claimed where there is none,
//! and how often is one of 0.05 µs a hop found? Prints CSV.
//!
//!     cargo run --release --example validation [FAMILIES [NOISE]]

mod device;
mod family;
mod noise;
mod recorded;

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use pdl_lab::chain::{Arm, BodyKind, Chain, Submission};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use device::World;
use family::{Score, Size, measure};
use noise::{Common, Model, Parametric, Source, centre};

struct Scene {
    model: Model,
    real: Option<Rc<recorded::Recorded>>,
    orders: [Rc<Vec<usize>>; 2],
    centre: f64,
    seed: u64,
    common: Rc<RefCell<Common>>,
    /// One in so many arms has an effect of ±this, ns.
    effect: (u64, f64),
    count: std::cell::Cell<u64>,
}

fn hash(seed: u64, chain: &Chain, arm: Arm) -> u64 {
    let mut h = DefaultHasher::new();
    (seed, chain.body.kind.name(), chain.trigger.to_string(), arm, chain.nodes).hash(&mut h);
    h.finish()
}

impl Scene {
    fn sd(chain: &Chain, arm: Arm) -> f64 {
        match (chain.body.kind, arm.submission()) {
            (BodyKind::Fma, Submission::Graph) => 7.0,
            (BodyKind::Fma, _) => 10.0,
            (_, Submission::Graph) => 17.0,
            _ => 30.0,
        }
    }
    fn truth(&self, chain: &Chain, arm: Arm) -> (f64, f64) {
        let period = match (chain.body.kind, arm.submission()) {
            (BodyKind::Fma, Submission::Graph) => 7100.0,
            (BodyKind::Fma, _) => 7900.0,
            (_, Submission::Graph) => 7800.0,
            _ => 9200.0,
        };
        if arm.baseline().is_none() || arm.is_native() {
            return (0.0, period);
        }
        let h = hash(self.seed ^ 0x5555, chain, arm);
        let (every, size) = self.effect;
        let saved = if every > 0 && h.is_multiple_of(every) {
            if (h >> 32) & 1 == 0 { size } else { -size }
        } else {
            0.0
        };
        (saved, period)
    }
}

impl World for Scene {
    fn source(&self, chain: &Chain, arm: Arm) -> (Box<dyn Source>, f64, f64) {
        let (saved, period) = self.truth(chain, arm);
        self.count.set(self.count.get() + 1);
        let rng = ChaCha8Rng::seed_from_u64(self.seed.wrapping_mul(1000) + self.count.get());
        let base = arm.baseline().is_none() || arm.is_native();
        if let Some(real) = &self.real {
            let order = self.orders[usize::from(chain.body.kind == BodyKind::Hbm)].clone();
            let (noise, width_ns) = real.noise[&recorded::slot(chain, arm)].clone();
            return (Box::new(recorded::Redrawn { noise, order, width_ns, rng }), period, saved);
        }
        let source =
            Parametric::new(self.model, Self::sd(chain, arm), base, self.centre, &self.common, rng);
        (Box::new(source), period, saved)
    }
}

fn run(real: bool, model: Model, size: Size, effect: (u64, f64), families: u64) -> Score {
    let centre = centre(&model);
    let threads = 2;
    let scores: Vec<Score> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|t| {
                scope.spawn(move || {
                    let mut score = Score::default();
                    let real = real.then(|| {
                        Rc::new(recorded::Recorded::read(std::path::Path::new(
                            "plots/trigger-sweep-h200",
                        )))
                    });
                    for f in (t..families).step_by(threads as usize) {
                        let mut rng = ChaCha8Rng::seed_from_u64(f ^ 0xabc);
                        let n = real.as_ref().map_or(1, |r| r.rounds);
                        let orders =
                            [recorded::draw(n, 1000, &mut rng), recorded::draw(n, 1000, &mut rng)];
                        let scene = Scene {
                            real: real.clone(),
                            orders,
                            model,
                            centre,
                            seed: f + 1,
                            common: Common::new(f),
                            effect,
                            count: Default::default(),
                        };
                        let measured = measure(&scene, size, f);
                        score.add(&measured, &|c, a| scene.truth(c, a));
                    }
                    score
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let mut total = Score::default();
    for s in &scores {
        total.merge(s);
    }
    total
}

fn main() {
    let arg = |n: usize| std::env::args().nth(n);
    let n: u64 = arg(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let iid = Model::default();
    let models: Vec<(&str, Model)> = vec![
        ("iid", iid),
        ("tail", Model { tail: Some((0.1, 20.0)), ..iid }),
        ("lopsided", Model { tail: Some((0.3, 10.0)), lopsided: true, ..iid }),
        ("ar0.3", Model { memory: 0.3, ..iid }),
        ("ar0.6", Model { memory: 0.6, ..iid }),
        ("modes-iid", Model { modes: Some((6.0, 0.5)), ..iid }),
        ("modes-5", Model { modes: Some((6.0, 0.1)), ..iid }),
        ("modes-2r", Model { modes: Some((2.0, 0.1)), ..iid }),
        ("modes-10", Model { modes: Some((6.0, 0.05)), ..iid }),
        ("drift", Model { drift_ns_s: 50.0, ..iid }),
        ("common", Model { common: Some((3.0, 20e6)), ..iid }),
        ("recorded", iid),
        ("instances", Model { instance_ns: 8.0, ..iid }),
    ];
    println!(
        "noise,family,effect_ns,families,false_families_percent,graph_coverage_percent,\
         stream_coverage_percent,power_percent,rounds,no_effect_equivalent_percent,device_s"
    );
    for (name, model) in models {
        if arg(2).is_some_and(|f| !name.contains(&f)) {
            continue;
        }
        for (size, mult) in [(Size::Pair, 20), (Size::Quick, 20), (Size::Sweep, 1)] {
            for effect in [(0, 0.0), (4, 50.0)] {
                if size != Size::Sweep && effect.0 > 0 {
                    continue;
                }
                let s = run(name == "recorded", model, size, effect, n * mult);
                let part =
                    |a: u64, b: u64| if b == 0 { f64::NAN } else { 100.0 * a as f64 / b as f64 };
                let cell = |value: f64| match value.is_nan() {
                    true => String::new(),
                    false => format!("{value:.2}"),
                };
                println!(
                    "{name},{},{},{},{},{},{},{},{:.1},{},{:.1}",
                    format!("{size:?}").to_lowercase(),
                    effect.1,
                    s.families,
                    cell(part(s.false_families, s.families)),
                    cell(part(s.covering[0], s.intervals[0])),
                    cell(part(s.covering[1], s.intervals[1])),
                    cell(part(s.found, s.real)),
                    s.rounds as f64 / s.groups as f64,
                    cell(part(s.none_equivalent, s.none)),
                    s.seconds / s.families as f64,
                );
            }
        }
    }
}
