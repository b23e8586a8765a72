//! What a race found, as plain data.

use serde::Serialize;

use crate::chain::{Arm, BodyKind, Shape, Target, Trigger};
use crate::device::Device;
use crate::measure::{Candidate, Plan, Raced, Stopping};
use crate::record::{KernelRun, PlanPoint, Verdict};
use crate::stats::{CONFIDENCE, Interval, estimate_median, median};
use crate::tune::{Fate, Standing};
use crate::units::us;

/// Half the width takes four times the rounds.
const ROUNDS_FOR_HALF: f64 = 4.0;

/// Everything that is printed.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Product name, SIMULATED where it is.
    pub device: String,
    /// Driver; empty when simulated.
    pub driver: String,
    /// One race a group.
    pub races: Vec<Race>,
}

/// One chain's race.
#[derive(Debug, Serialize)]
pub struct Race {
    /// Shape of the chain.
    pub shape: Shape,
    /// Body.
    pub body: BodyKind,
    /// What was asked for, ns or bytes, in words.
    pub work: String,
    /// The fastest, and the later triggers that are as good; `None` when nothing could be run.
    pub winner: Option<Lane>,
    /// What to use: the latest trigger of the winner's equals in its arm.
    pub recommended: Option<Lane>,
    /// All candidates, fastest first.
    pub lanes: Vec<Lane>,
    /// Of your own kernels in a graph, at the trigger of the best graph arm: which kinds of edges are
    /// worth being programmatic. Empty where there is one kind, or where no graph arm saves time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<EdgeLane>,
    /// Whether no candidate could credibly be faster by more than the tolerance.
    pub settled: bool,
    /// What counts as equal, ns a hop.
    pub tolerance_ns: f64,
    /// Samples taken, controls included.
    pub samples: usize,
    /// Samples of a sweep over the same candidates: all arms and controls in the fewest rounds that
    /// its correction for many comparisons needs, and its long chains.
    pub sweep_samples: usize,
    /// Rounds.
    pub rounds: u32,
    /// Device time, s.
    pub took_s: f64,
    /// What intervals half as wide would cost, s.
    pub surer_s: Option<f64>,
    /// Half the width of the widest interval among those that are left, ns a hop.
    pub half_width_ns: Option<f64>,
}

/// One kind of edges.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeLane {
    /// Kernel before the edge.
    pub primary: String,
    /// Kernel after it.
    pub secondary: String,
    /// Edges of the kind.
    pub edges: usize,
    /// What it saves beside the rest of the chosen set, ns a hop.
    pub saved_ns: Option<f64>,
    /// 95 % interval of the same.
    pub saved_interval_ns: Option<Interval>,
    /// What may be said.
    pub verdict: Verdict,
    /// Whether it is worth it.
    pub chosen: bool,
}

/// One candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Arm.
    pub arm: Arm,
    /// Trigger.
    pub trigger: Option<Trigger>,
    /// Median period, ns.
    pub period_ns: Option<f64>,
    /// Predicted period, ns.
    pub predicted_ns: Option<f64>,
    /// (baseline chain − chain) ÷ hops, ns, median of paired differences.
    pub saved_ns: Option<f64>,
    /// 95 % interval of the same.
    pub saved_interval_ns: Option<Interval>,
    /// Slower than the winner, ns a hop, median.
    pub behind_ns: Option<f64>,
    /// Rounds it took part in.
    pub rounds: usize,
    /// `winner`, `equal`, `behind`, `open` (not credibly slower), or `left`.
    pub state: &'static str,
}

impl Findings {
    /// From the races of `plan`'s groups; `own`: the user's own kernels, where it is they that race.
    pub fn new(
        device: &dyn Device,
        plan: &Plan,
        raced: &[Raced],
        own: Option<&KernelRun>,
    ) -> Findings {
        let groups = plan.groups();
        let races = groups.iter().zip(raced).map(|(points, raced)| {
            let work = own.and_then(|own| own.work(&points[0].chain));
            let race = race(points, raced);
            Race { work: work.unwrap_or_else(|| race.work.clone()), ..race }
        });
        let facts = device.facts();
        Findings { device: facts.label(), driver: facts.driver.clone(), races: races.collect() }
    }
}

fn race(points: &[PlanPoint], raced: &Raced) -> Race {
    let chain = &points[0].chain;
    let racing =
        |candidate: &&Candidate| !(candidate.arm.is_again() || candidate.arm == Arm::Sentinel);
    let standing = raced.standing.as_ref();
    let lanes: Vec<(usize, Lane)> = raced
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| racing(candidate))
        .map(|(index, _)| (index, lane(raced, index)))
        .collect();
    let find = |index: usize| lanes.iter().find(|(i, _)| *i == index).map(|(_, lane)| lane.clone());
    let recommended = standing.and_then(|standing| find(recommended(raced, standing)));
    let widths = standing.into_iter().flat_map(|standing| &standing.behind);
    let widest = widths.filter_map(|(_, interval)| interval.map(|i| (i.hi - i.lo) / 2.0));
    let took_s = raced.took.as_secs_f64();
    let mut sorted: Vec<Lane> = lanes.iter().map(|(_, lane)| lane.clone()).collect();
    sorted.sort_by(|a, b| {
        let period = |lane: &Lane| lane.period_ns.unwrap_or(f64::INFINITY);
        period(a).total_cmp(&period(b))
    });
    let alive = sorted.iter().filter(|lane| lane.state != "left").count();
    Race {
        shape: chain.shape,
        body: chain.body.kind,
        work: format!(
            "preamble {} {}, body {} {}",
            chain.preamble.kind,
            us(chain.preamble.target_ns),
            chain.body.kind,
            match chain.body.target {
                Target::Ns(ns) => us(ns),
                Target::Bytes(bytes) => format!("{bytes} B"),
            }
        ),
        winner: standing.and_then(|standing| find(standing.leader)),
        recommended,
        settled: standing.is_some_and(|standing| standing.settled),
        tolerance_ns: standing.map_or(0.0, |standing| standing.tolerance_ns),
        samples: raced.samples,
        sweep_samples: sweep_samples(&raced.candidates),
        rounds: raced.rounds,
        took_s,
        surer_s: surer_s(raced, alive),
        half_width_ns: widest.reduce(f64::max),
        lanes: sorted,
        edges: Vec::new(),
    }
}

/// Only those that are left go on: the time of a sample is about the same for all.
fn surer_s(raced: &Raced, alive: usize) -> Option<f64> {
    let sample_s = raced.took.as_secs_f64() / raced.samples.max(1) as f64;
    let more = f64::from(raced.rounds) * (ROUNDS_FOR_HALF - 1.0);
    // The controls and the baselines come along.
    const BESIDE: f64 = 4.0;
    (raced.samples > 0).then_some(more * (alive as f64 + BESIDE) * sample_s)
}

/// As many as a sweep with its default stopping rule takes at least.
fn sweep_samples(candidates: &[Candidate]) -> usize {
    // Each programmatic candidate has its full control in a sweep.
    let controls = candidates.iter().filter(|c| c.arm.full_control().is_some()).count();
    let arms = candidates.len() + controls;
    let effects = candidates.iter().filter(|c| c.arm.baseline().is_some()).count() + controls;
    let stopping = Stopping::default().for_effects(effects);
    arms * (stopping.rounds_min + stopping.long_rounds) as usize
}

/// The latest trigger among the leader's equals of the leader's arm: the least parking.
fn recommended(raced: &Raced, standing: &Standing) -> usize {
    let leader = &raced.candidates[standing.leader];
    let order = |index: &usize| raced.candidates[*index].trigger.map_or(0.0, Trigger::order);
    let same = standing.equals.iter().filter(|i| raced.candidates[**i].arm == leader.arm);
    same.copied().max_by(|a, b| order(a).total_cmp(&order(b))).unwrap_or(standing.leader)
}

fn lane(raced: &Raced, index: usize) -> Lane {
    let own = &raced.candidates[index];
    let base = own.arm.baseline().and_then(|arm| raced.candidates.iter().find(|c| c.arm == arm));
    let hops = f64::from(raced.nodes.saturating_sub(1).max(1));
    let paired = |other: &Candidate, sign: f64| -> Vec<f64> {
        let pairs = other.durations.iter().zip(&own.durations);
        pairs.filter_map(|(o, s)| Some(sign * ((*o)? - (*s)?) / hops)).collect()
    };
    let saved = base.and_then(|base| estimate_median(&paired(base, 1.0), CONFIDENCE));
    let standing = raced.standing.as_ref();
    let leader = standing.map(|standing| &raced.candidates[standing.leader]);
    let durations: Vec<f64> = own.durations.iter().flatten().copied().collect();
    Lane {
        arm: own.arm,
        trigger: own.trigger,
        period_ns: median(&durations).map(|ns| ns / f64::from(raced.nodes.max(1))),
        predicted_ns: own.predicted_ns,
        saved_ns: saved.map(|saved| saved.median),
        saved_interval_ns: saved.and_then(|saved| saved.interval),
        behind_ns: leader.and_then(|leader| median(&paired(leader, -1.0))),
        rounds: durations.len(),
        state: match (standing, own.fate) {
            (Some(standing), _) if standing.leader == index => "winner",
            (Some(standing), Fate::Running) if standing.equals.contains(&index) => "equal",
            (Some(standing), Fate::Running) if behind(standing, index) => "behind",
            (_, Fate::Running) => "open",
            (_, Fate::Left { .. }) => "left",
        },
    }
}

/// Whether a candidate that is still in is slower by more than the tolerance, at 95 %.
fn behind(standing: &Standing, index: usize) -> bool {
    let interval = standing.behind.iter().find(|(i, _)| *i == index).and_then(|(_, i)| *i);
    interval.is_some_and(|interval| interval.lo > standing.tolerance_ns)
}
