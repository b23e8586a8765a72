//! How long a plan takes, told before it starts.

use std::fmt;
use std::time::Duration;

use super::plan::{LONG_FACTOR, Plan};
use crate::chain::{Arm, Body, BodyKind, Chain, Mode, Submission, Target};
use crate::record::PlanPoint;

/// Device time that a plan takes: groups end when their effects are known well enough, so between
/// that of the fewest rounds and that of the most. On an H200 five recorded runs took 0.70 to 0.97
/// times what is expected of the rounds that they had; twice or half is still no surprise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// With the fewest rounds.
    pub least: Duration,
    /// With the most rounds, or at the end of the budget.
    pub most: Duration,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |time: Duration| time.as_secs_f64().ceil();
        match (whole(self.least), whole(self.most)) {
            (least, most) if least == most => write!(f, "{least} s"),
            (least, most) => write!(f, "{least} to {most} s"),
        }
    }
}

impl Plan {
    /// Time that `groups` of the plan are expected to take. From the work asked for and constants
    /// of an H200.
    pub fn expected(&self, groups: &[&[PlanPoint]]) -> Expected {
        let sum = |rounds: u32| groups.iter().map(|group| self.group_time(group, rounds)).sum();
        let warm_up = self.stopping.warm_up;
        let total = |rounds| Duration::from_secs_f64(sum(rounds)) + warm_up;
        Expected { least: total(self.stopping.rounds_min), most: total(self.stopping.rounds_max) }
    }

    /// Seconds that one group takes with `rounds` rounds, or until its budget ends it.
    fn group_time(&self, group: &[PlanPoint], rounds: u32) -> f64 {
        let arms = || group.iter().flat_map(|p| p.arms.iter().map(|arm| (p.chain, *arm)));
        let stopping = &self.stopping;
        // Stamped runs, the oracle, capture and instantiation, at both lengths.
        let preparing = 0.015 + 1e-9 * 5.0 * sample_ns(&group[0].chain, Arm::Graph, 1);
        let preparing = preparing * arms().count() as f64;
        let round = |factor| 1e-9 * arms().map(|(c, arm)| sample_ns(&c, arm, factor)).sum::<f64>();
        let long = match group[0].chain.mode {
            Mode::Isolated => f64::from(stopping.long_rounds.min(rounds)) * round(LONG_FACTOR),
            Mode::Pipelined => 0.0,
        };
        let measured = f64::from(rounds) * round(1) + long;
        let left = stopping.group_budget.as_secs_f64() - preparing;
        preparing + measured.min(left.max(round(1))) + stopping.warm_up.as_secs_f64() / 10.0
    }
}

/// Time of one sample, ns: 1.4 µs a hop, 4.5 µs to queue a stream launch, 60 µs around the chain.
fn sample_ns(chain: &Chain, arm: Arm, factor: u32) -> f64 {
    const HOP_NS: f64 = 1400.0;
    const QUEUE_NS: f64 = 4500.0;
    const SAMPLE_NS: f64 = 60_000.0;
    let chains = if chain.mode == Mode::Pipelined { 8.0 } else { 1.0 };
    let nodes = f64::from(chain.nodes) * f64::from(factor) * chains;
    let queue = if arm.submission() == Submission::Stream { QUEUE_NS } else { 0.0 };
    SAMPLE_NS + nodes * (chain.preamble.target_ns + body_ns(&chain.body) + HOP_NS + queue)
}

/// The body as asked for; bytes at the bandwidth of an H200.
fn body_ns(body: &Body) -> f64 {
    const BYTES_A_NS: f64 = 4000.0;
    match (body.target, body.kind) {
        (_, BodyKind::None) => 0.0,
        (Target::Ns(ns), _) => ns,
        (Target::Bytes(bytes), BodyKind::L2) => bytes as f64 / BYTES_A_NS / 1.5,
        (Target::Bytes(bytes), _) => bytes as f64 / BYTES_A_NS,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::read_run;

    #[test]
    fn recorded_runs_took_what_is_expected_of_their_rounds() {
        let plots = Path::new(env!("CARGO_MANIFEST_DIR")).join("plots");
        let mut runs = 0;
        for entry in std::fs::read_dir(plots).unwrap() {
            let path = entry.unwrap().path();
            if !path.join("manifest.json").exists() {
                continue;
            }
            let run = read_run(&path).unwrap();
            if run.manifest.what != "sweep" {
                continue;
            }
            let plan = Plan::from_record(&run.manifest.plan, 0).unwrap();
            let mut expected = plan.stopping.warm_up.as_secs_f64();
            for group in plan.groups() {
                let own = |point: &str| group.iter().any(|p| p.point == point);
                let samples = run.samples.iter().filter(|s| own(&s.point));
                let rounds = samples.map(|s| s.round + 1).max().unwrap_or(0);
                expected += plan.group_time(group, rounds);
            }
            let ratio = run.end.unwrap().wall_s / expected;
            println!("{}: {ratio:.2} of {expected:.1} s", path.display());
            assert!((0.5..2.0).contains(&ratio), "{}: {ratio:.2}", path.display());
            runs += 1;
        }
        assert!(runs >= 5);
    }
}
