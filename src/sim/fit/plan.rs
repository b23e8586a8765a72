//! Which constants are fitted to which rows, and in which order: each stage takes those before it
//! as they came out.

use crate::chain::{Arm, BodyKind, PreambleKind, Submission, Trigger};
use crate::profile::{DeviceFacts, Profile};
use crate::sim::validation::Measured;

/// A constant and between which values it is looked for, in its own unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Path in the profile.
    pub path: String,
    /// Least value.
    pub lo: f64,
    /// Largest value.
    pub hi: f64,
}

/// What the residual of a row is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Its period.
    Nothing,
    /// Its period over that of its baseline: errors that both share drop out.
    Baseline,
}

/// Constants that are fitted together.
pub struct Stage {
    /// What is fitted, in words.
    pub name: String,
    /// The constants.
    pub constants: Vec<Range>,
    /// What residuals are taken of.
    pub against: Against,
    /// Rows that identify the constants.
    rows: Box<dyn Fn(Row) -> bool + Sync>,
}

type Rows = fn(Row) -> bool;

/// Every stage in order. Bounds are wide: a constant that reaches them is not determined, or means
/// something else than it should.
pub fn stages(profile: &Profile) -> Vec<Stage> {
    let mut stages = hops(profile);
    stages.extend(work());
    stages.extend(triggers());
    stages.extend(programmatic());
    stages
}

/// Empty hops and spins at the blocks of every knot.
fn hops(profile: &Profile) -> Vec<Stage> {
    let mut stages = Vec::new();
    let knots = [
        (Submission::Graph, "graph", &profile.hops.graph),
        (Submission::Stream, "stream", &profile.hops.stream),
    ];
    for (submission, name, knots) in knots {
        for (at, knot) in knots.iter().enumerate() {
            let path = |field: &str| format!("hops.{name}[{at}].{field}");
            let blocks = knot.blocks;
            stages.push(Stage {
                name: format!("{name} hops of {blocks} blocks"),
                constants: vec![
                    range(path("full_gap_ns"), 50.0, 8000.0),
                    range(path("launch_ns"), 50.0, 8000.0),
                    range(path("exit_launch_ns"), 50.0, 8000.0),
                    range(path("release_ns"), 20.0, 6000.0),
                    range(path("entry_trigger_ns"), 0.0, 2000.0),
                ],
                against: Against::Nothing,
                rows: Box::new(move |row| {
                    row.bare()
                        && row.blocks() == blocks
                        && row.of(submission)
                        && (row.native() || row.control() || row.subject())
                }),
            });
        }
    }
    for (at, knot) in profile.hops.bounds.iter().enumerate() {
        let path = |field: &str| format!("hops.bounds[{at}].{field}");
        let blocks = knot.blocks;
        stages.push(Stage {
            name: format!("other arms' hops of {blocks} blocks"),
            constants: vec![
                range(path("completion_launch_ns"), 20.0, 8000.0),
                range(path("flag_ns"), 20.0, 8000.0),
                range(path("barrier_ns"), 20.0, 20000.0),
            ],
            against: Against::Nothing,
            rows: Box::new(move |row| {
                row.bare()
                    && row.blocks() == blocks
                    && matches!(row.row.arm, Arm::GraphCompletion | Arm::Flags | Arm::Persistent)
            }),
        });
    }
    stages
}

/// Bodies over full dependencies, whose kernels say nothing of a trigger.
fn work() -> Vec<Stage> {
    vec![
        stage(
            "computing bodies, one after another",
            &[
                ("issue.lone_warp_cycles", 0.8, 2.5),
                ("issue.busy_warp_cycles", 0.8, 2.0),
                ("issue.preamble_instructions", 0.0, 600.0),
                ("issue.body_instructions", 0.0, 600.0),
                ("block.tail_ns", 0.0, 1200.0),
                ("block.tail_thread_ns", 0.0, 1.0),
            ],
            |row| row.native() && row.computes() && row.one_wave(),
        ),
        stage(
            "computing blocks that share an SM",
            &[("issue.elder_ratio", 0.001, 1.0), ("issue.wide_peer_ratio", 0.2, 1.0)],
            |row| row.native() && row.computes() && row.blocks() > row.device.sm_count,
        ),
        stage(
            "streams from HBM",
            &[
                ("memory.hbm_bytes_per_ns", 1000.0, 20000.0),
                ("memory.hbm_latency_ns", 100.0, 3000.0),
                ("memory.hbm_load_ns", 100.0, 3000.0),
                ("memory.hbm_sm_bytes_per_ns", 10.0, 300.0),
                ("memory.bend_exponent", 1.0, 8.0),
            ],
            |row| row.native() && row.of(Submission::Graph) && row.body(BodyKind::Hbm),
        ),
        stage(
            "streams from HBM behind stream launches",
            &[("memory.hbm_stream_ns", 0.0, 3000.0)],
            |row| row.native() && row.of(Submission::Stream) && row.body(BodyKind::Hbm),
        ),
        stage(
            "streams from L2",
            &[
                ("memory.l2_bytes_per_ns", 2000.0, 40000.0),
                ("memory.l2_latency_ns", 50.0, 2000.0),
                ("memory.l2_load_ns", 50.0, 2000.0),
                ("memory.sm_bytes_per_ns", 20.0, 400.0),
            ],
            |row| row.native() && row.of(Submission::Graph) && row.body(BodyKind::L2),
        ),
    ]
}

/// What the instructions of sync and trigger cost: controls against their baselines.
fn triggers() -> Vec<Stage> {
    let paired = |name, constants: &[(&str, f64, f64)], rows: Rows| Stage {
        against: Against::Baseline,
        rows: Box::new(move |row| row.control() && rows(row)),
        ..stage(name, constants, rows)
    };
    vec![
        paired("instructions of the sync", &[("block.code_cost_ns", 0.0, 400.0)], |row| {
            row.implicit()
        }),
        paired(
            "instructions of a trigger in a computing body",
            &[("block.trigger_ns", 0.0, 400.0), ("block.split_thread_ns", 0.0, 1.0)],
            |row| !row.implicit() && row.computes(),
        ),
        paired(
            "loops of a streaming body with a trigger",
            &[
                ("block.stream_early_ns", 0.0, 600.0),
                ("block.narrow_gain_ns", 0.0, 600.0),
                ("block.l2_split_gain_ns", 0.0, 600.0),
            ],
            |row| !row.implicit() && row.streams(),
        ),
    ]
}

/// How nodes share SMs and memory: programmatic rows, and waves.
fn programmatic() -> Vec<Stage> {
    vec![
        stage("blocks that are placed", &[("placement.block_ns", 0.0, 3.0)], |row| {
            row.bare() && row.subject() && row.blocks() > 2 * row.device.sm_count
        }),
        stage(
            "launches and exits beside computing bodies",
            &[
                ("placement.drain_ns", 0.0, 1500.0),
                ("placement.stream_launch_spread_ns", 0.0, 3000.0),
            ],
            |row| row.subject() && row.computes(),
        ),
        stage(
            "triggers in computing bodies",
            &[
                ("placement.refill_ns", 0.0, 2000.0),
                ("issue.freed_entry_ns", 0.0, 1000.0),
                ("issue.gap_exit_per_warp", 0.0, 1.0),
                ("issue.gap_quick_chance", 0.01, 1.0),
                ("issue.gap_lost_per_warp", 0.0, 0.25),
                ("issue.few_straggler_warps", 0.1, 16.0),
                ("issue.straggler_warps", 0.1, 16.0),
                ("issue.many_straggler_warps", 0.1, 16.0),
            ],
            |row| row.subject() && row.computes() && !row.implicit(),
        ),
        stage(
            "streaming bodies beside preambles",
            &[
                ("memory.beside_alu_ratio", 0.01, 1.0),
                ("placement.stream_first_ns", 0.0, 4000.0),
                ("placement.stream_drain_ns", 0.0, 4000.0),
                ("placement.stream_drain_ratio", 0.0, 0.5),
                ("placement.stream_bytes_spread", 0.0, 1.0),
            ],
            |row| row.subject() && row.streams(),
        ),
    ]
}

fn stage(name: &str, constants: &[(&str, f64, f64)], rows: Rows) -> Stage {
    let constants =
        constants.iter().map(|&(path, lo, hi)| range(path.to_owned(), lo, hi)).collect();
    let name = name.to_owned();
    Stage { name, constants, against: Against::Nothing, rows: Box::new(rows) }
}

fn range(path: String, lo: f64, hi: f64) -> Range {
    Range { path, lo, hi }
}

/// A row on its device.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    row: &'a Measured,
    device: &'a DeviceFacts,
}

impl Row<'_> {
    /// Without work, or with work that nothing contends for.
    fn bare(self) -> bool {
        let (preamble, body) = (self.row.chain.preamble.kind, self.row.chain.body.kind);
        matches!(preamble, PreambleKind::None | PreambleKind::Spin)
            && matches!(body, BodyKind::None | BodyKind::Spin)
            && self.row.chain.shape.block_threads <= 128
    }

    fn blocks(self) -> u32 {
        self.row.chain.shape.grid_blocks
    }

    fn one_wave(self) -> bool {
        let shape = &self.row.chain.shape;
        let threads = shape.grid_blocks.saturating_mul(shape.block_threads.next_multiple_of(32));
        threads <= self.device.sm_threads * self.device.sm_count
    }

    /// Native kernels one after another; the second time they say nothing new.
    fn native(self) -> bool {
        self.row.arm.is_native() && !self.row.arm.is_again()
    }

    fn control(self) -> bool {
        matches!(self.row.arm, Arm::GraphFull | Arm::StreamFull)
    }

    fn subject(self) -> bool {
        matches!(self.row.arm, Arm::GraphPdl | Arm::StreamPdl)
    }

    fn implicit(self) -> bool {
        self.row.trigger == Some(Trigger::Implicit)
    }

    fn of(self, submission: Submission) -> bool {
        self.row.arm.submission() == submission
    }

    fn computes(self) -> bool {
        self.body(BodyKind::Fma)
    }

    fn streams(self) -> bool {
        self.row.chain.body.kind.streams()
    }

    /// Such a body behind a preamble that at most computes.
    fn body(self, kind: BodyKind) -> bool {
        self.row.chain.body.kind == kind
            && matches!(self.row.chain.preamble.kind, PreambleKind::None | PreambleKind::Alu)
    }
}

impl Stage {
    /// Whether a row of `device` identifies its constants.
    pub fn takes(&self, device: &DeviceFacts, row: &Measured) -> bool {
        (self.rows)(Row { row, device })
    }
}

#[cfg(test)]
mod tests {
    use super::super::constants::Constants;
    use super::*;
    use crate::profile::BUILT_IN;
    use crate::sim::validation::Sweep;

    #[test]
    fn every_stage_has_constants_of_the_profile_within_its_bounds_and_rows() {
        let constants = Constants::of(&BUILT_IN);
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("plots/fit-h200");
        let paths: Vec<_> =
            std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
        let sweeps = Sweep::read_all(&paths).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for stage in stages(&BUILT_IN) {
            for range in &stage.constants {
                let found = constants.get(&range.path);
                let value = found.unwrap_or_else(|| panic!("no {}", range.path)).value;
                assert!((range.lo..=range.hi).contains(&value), "{} {value}", range.path);
                assert!(seen.insert(range.path.clone()), "{} twice", range.path);
            }
            let rows = sweeps.iter().flat_map(|sweep| &sweep.rows);
            let rows = rows.filter(|row| stage.takes(&BUILT_IN.device, row)).count();
            assert!(rows > 0, "{} has no rows", stage.name);
        }
        assert!(seen.len() > 100);
    }
}
