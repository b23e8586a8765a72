//! What a race found, as plain data and in words: the command prints it, its run keeps it in
//! tune.json, and the page of the run shows it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::analysis::obligation;
use crate::cells::Cells;
use crate::chain::{Arm, BodyKind, Shape, Trigger};
use crate::record::Verdict;
use crate::stats::Interval;
use crate::units::{ABSENT, format_interval, or_absent, signed_us, us, us_number};

/// Everything that is printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Product name, SIMULATED where it is.
    pub device: String,
    /// Driver; empty when simulated.
    pub driver: String,
    /// One race a group.
    pub races: Vec<Race>,
}

/// One chain's race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub state: String,
}

/// How to read the table of a race.
pub const LEGEND: &str = "\
predicted: by the event model over the built-in profile, SIMULATED; it orders the race and decides \
nothing. saved: against full\ndependencies in the same submission, µs a hop, median of paired \
differences and 95 % interval. behind: µs a hop slower than the\nwinner. equal: slower by at most the \
tolerance; behind: by more; open: it cannot be told; left: credibly slower, not sampled further.\n";

impl Lane {
    /// The arm with its trigger.
    fn name(&self) -> String {
        match self.trigger {
            Some(trigger) => format!("{} with the trigger {trigger}", self.arm),
            None => format!("{}, no programmatic launch", self.arm),
        }
    }
}

impl Race {
    /// The chain in words.
    pub fn chain(&self) -> String {
        // Each of the user's own kernels has its shape, and the work says which.
        if self.body == BodyKind::Kernel {
            return self.work.clone();
        }
        let shape = &self.shape;
        format!("{} blocks × {} threads, {}", shape.grid_blocks, shape.block_threads, self.work)
    }

    /// What to use, what it saves and what it obliges to: a sentence a line.
    pub fn answer(&self) -> String {
        let (Some(winner), Some(recommended)) = (&self.winner, &self.recommended) else {
            return "Nothing could be run: see points.jsonl for the reasons.".into();
        };
        let mut text = format!("Use {}", recommended.name());
        if let Some(saved) = recommended.saved_ns {
            let _ = write!(text, ": it saves {} a hop", signed_us(saved));
            if let Some(interval) = recommended.saved_interval_ns {
                let interval = format_interval(interval.lo, interval.hi);
                let _ = write!(text, " (95 % {interval})");
            }
        }
        text += ".";
        if winner.trigger != recommended.trigger {
            let name = winner.name();
            let _ = write!(text, " The fastest, {name}, is no more than the tolerance ahead.");
        }
        if let Some(trigger) = recommended.trigger {
            let _ = write!(text, "\nIt obliges: {}.", obligation(trigger));
        }
        if !self.settled {
            text +=
                "\nNOT SETTLED: another candidate may still be faster by more than the tolerance.";
        }
        text
    }

    /// All candidates, fastest first.
    pub fn table(&self) -> Cells {
        let row = |lane: &Lane| {
            vec![
                lane.arm.to_string(),
                lane.trigger.map_or_else(|| ABSENT.into(), |trigger| trigger.to_string()),
                or_absent(lane.period_ns, us_number),
                or_absent(lane.predicted_ns, us_number),
                saved(lane.saved_ns, lane.saved_interval_ns),
                or_absent(lane.behind_ns, us_number),
                lane.rounds.to_string(),
                lane.state.clone(),
            ]
        };
        let header =
            ["arm", "trigger", "µs/node", "predicted", "saved µs/hop", "behind", "rounds", "state"];
        Cells::new(&header, self.lanes.iter().map(row).collect(), &[2, 3, 4, 5, 6])
    }

    /// Which kinds of edges are worth it, in words and as a table; `None` where nobody asked.
    pub fn edges_table(&self) -> Option<(&'static str, Cells)> {
        let row = |lane: &EdgeLane| {
            vec![
                format!("{} → {}", lane.primary, lane.secondary),
                lane.edges.to_string(),
                saved(lane.saved_ns, lane.saved_interval_ns),
                format!("{:?}", lane.verdict).to_lowercase(),
                if lane.chosen { "programmatic" } else { "full" }.to_owned(),
            ]
        };
        let header = ["edge", "edges", "saved µs/hop", "verdict", "make it"];
        let answer = match self.edges.iter().filter(|lane| lane.chosen).count() {
            0 => "No kind of edge is worth being programmatic by itself.",
            n if n == self.edges.len() => "Every kind of edge is worth being programmatic.",
            _ => {
                "Not every kind of edge is worth being programmatic (edge = \"full\" in its node):"
            }
        };
        let cells = || Cells::new(&header, self.edges.iter().map(row).collect(), &[1, 2]);
        (!self.edges.is_empty()).then(|| (answer, cells()))
    }

    /// What it took, against a sweep, and what it would cost to be surer.
    pub fn cost(&self) -> String {
        let share = 100.0 * self.samples as f64 / self.sweep_samples.max(1) as f64;
        let mut text = format!(
            "{} samples in {} rounds, {:.1} s of device time; a sweep takes at least {} ({share:.0} \
             %). Tolerance {} a hop.",
            self.samples,
            self.rounds,
            self.took_s,
            self.sweep_samples,
            us(self.tolerance_ns),
        );
        if let (Some(surer), Some(half)) = (self.surer_s, self.half_width_ns) {
            let _ = write!(
                text,
                " The widest interval left is ±{}; half of it would take about {surer:.1} s more \
                 (--margin-us).",
                us(half)
            );
        }
        text
    }
}

/// A saved time with its interval.
fn saved(ns: Option<f64>, interval: Option<Interval>) -> String {
    let interval = interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", us_number(interval.lo), us_number(interval.hi))
    });
    format!("{}{interval}", or_absent(ns, us_number))
}
