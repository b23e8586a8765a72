//! One group as a race: arms and triggers leave it as soon as they are credibly slower.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Sink;
use super::calibrate::calibrate;
use super::group::{Entry, Turn, prepare_all, skip_all, warm_up};
use super::plan::Plan;
use super::rounds::sentinel_first;
use super::watch::Watch;
use crate::chain::{Arm, Chain, Trigger};
use crate::device::Device;
use crate::error::{Kind, Result};
use crate::interrupt;
use crate::record::PlanPoint;
use crate::tune::{Fate, Field, Standing, Tolerance};

/// One way to run the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Point of the plan.
    pub point: String,
    /// Arm.
    pub arm: Arm,
    /// Trigger; `None` for the baselines.
    pub trigger: Option<Trigger>,
    /// Predicted period, ns; `None` without a prediction.
    pub predicted_ns: Option<f64>,
    /// What became of it.
    pub fate: Fate,
    /// Durations by round, ns; `None` where a flag left the sample out.
    pub durations: Vec<Option<f64>>,
}

/// How a race ended.
#[derive(Clone, Debug)]
pub struct Raced {
    /// The candidates, in order of the plan.
    pub candidates: Vec<Candidate>,
    /// The last standing; indices are those of `candidates`. `None` when nothing could be run.
    pub standing: Option<Standing>,
    /// Samples, those of controls included.
    pub samples: usize,
    /// Rounds.
    pub rounds: u32,
    /// Device time of the rounds.
    pub took: Duration,
    /// Nodes of the chain.
    pub nodes: u32,
}

/// A period that a model predicts for a chain in an arm, ns; `None` for what it does not cover.
pub type Predict<'a> = &'a dyn Fn(&Chain, Arm) -> Option<f64>;

/// Races the candidates of one group, with the A/A arm and the sentinel beside them.
///
/// # Errors
/// A fault of the device, an interruption, or an error of the sink.
pub fn race_group(
    device: &dyn Device,
    plan: &Plan,
    points: &[PlanPoint],
    predict: Predict,
    sink: &mut dyn Sink,
) -> Result<Raced> {
    let calibrated = match calibrate(device, &points[0].chain) {
        Ok(calibrated) => calibrated,
        Err(error) if error.kind() == Kind::Unsupported => {
            skip_all(points, &error, sink)?;
            return Ok(Raced::nothing());
        }
        Err(error) => return Err(error),
    };
    let mut entries = prepare_all(device, plan, points, &calibrated, sink)?;
    if entries.is_empty() {
        return Ok(Raced::nothing());
    }
    warm_up(device, plan, points[0].group, &mut entries)?;
    let trigger = |entry: &Entry| {
        let point = points.iter().find(|point| point.point == *entry.point);
        point.and_then(|point| point.trigger).or(entry.arm.fixed_trigger())
    };
    let candidates: Vec<Candidate> = entries
        .iter()
        .map(|entry| {
            let trigger = trigger(entry);
            let chain = trigger.map_or(calibrated.chain, |t| calibrated.chain.with_trigger(t));
            Candidate {
                point: entry.point.to_string(),
                arm: entry.arm,
                trigger,
                predicted_ns: predict(&chain, entry.arm),
                fate: Fate::Running,
                durations: Vec::new(),
            }
        })
        .collect();
    Track { device, plan, sink, candidates, watch: Watch::default() }.run(&mut entries)
}

impl Raced {
    fn nothing() -> Raced {
        Raced {
            candidates: Vec::new(),
            standing: None,
            samples: 0,
            rounds: 0,
            took: Duration::ZERO,
            nodes: 0,
        }
    }
}

/// Controls are sampled in every round and cannot win.
fn control(arm: Arm) -> bool {
    arm.is_again() || arm == Arm::Sentinel
}

/// References stay to the end, so that the saved time of the winner is paired in every round.
fn reference(arm: Arm) -> bool {
    control(arm) || arm.baseline().is_none()
}

struct Track<'a> {
    device: &'a dyn Device,
    plan: &'a Plan,
    sink: &'a mut dyn Sink,
    candidates: Vec<Candidate>,
    watch: Watch,
}

impl Track<'_> {
    fn run(mut self, entries: &mut [Entry]) -> Result<Raced> {
        let stopping = self.plan.stopping;
        let tolerance = Tolerance { ns: stopping.margin_us * 1e3, ratio: stopping.margin_ratio };
        // Indices of the field are those of the racers.
        let racers: Vec<usize> =
            (0..entries.len()).filter(|&i| !control(self.candidates[i].arm)).collect();
        let predicted: Vec<_> = racers.iter().map(|&i| self.candidates[i].predicted_ns).collect();
        let nodes = entries[0].nodes;
        let mut field = Field::new(nodes, tolerance, &predicted);
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        let began = self.device.now();
        let mut standing = None;
        let (mut rounds, mut samples) = (0, 0);
        while rounds < stopping.rounds_max {
            let running = field.running();
            let mut order: Vec<usize> = (0..entries.len())
                .filter(|&i| {
                    let racer = racers.iter().position(|&r| r == i);
                    reference(self.candidates[i].arm)
                        || racer.is_some_and(|racer| running.contains(&racer))
                })
                .collect();
            order.shuffle(&mut rng);
            self.round(entries, &sentinel_first(entries, &order), rounds)?;
            samples += order.len();
            rounds += 1;
            for &racer in &running {
                field.record(racer, entries[racers[racer]].last_ns());
            }
            standing = field.judge();
            let part = f64::from(rounds) / f64::from(stopping.rounds_max);
            self.sink.progress("racing", part);
            let spent = self.device.now() - began;
            let settled = standing.as_ref().is_some_and(|standing| standing.settled);
            // Verdicts against the baseline need as many rounds as a family of this size does.
            if (settled && rounds >= stopping.rounds_min) || spent > stopping.group_budget {
                break;
            }
        }
        for (racer, &fate) in racers.iter().zip(field.fates()) {
            self.candidates[*racer].fate = fate;
        }
        for (candidate, entry) in self.candidates.iter_mut().zip(entries.iter_mut()) {
            candidate.durations = std::mem::take(&mut entry.durations);
        }
        if let Some(standing) = &mut standing {
            standing.leader = racers[standing.leader];
            standing.equals.iter_mut().for_each(|equal| *equal = racers[*equal]);
            standing.behind.iter_mut().for_each(|(behind, _)| *behind = racers[*behind]);
        }
        let took = self.device.now() - began;
        Ok(Raced { candidates: self.candidates, standing, samples, rounds, took, nodes })
    }

    fn round(&mut self, entries: &mut [Entry], order: &[usize], round: u32) -> Result<()> {
        self.watch.round(&self.device.health());
        for (place, &index) in order.iter().enumerate() {
            interrupt::check("go on racing")?;
            let turn = Turn { round, order: place as u32, long: false, resumed: false };
            let row = entries[index].sample(self.device, turn, &mut self.watch)?;
            self.sink.sample(row)?;
        }
        Ok(())
    }
}
