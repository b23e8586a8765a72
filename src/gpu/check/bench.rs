//! One case's rows, expected values, stamps and state on the device.

use std::time::Duration;

use cudarc::driver::{CudaEvent, CudaGraph, CudaSlice};

use super::super::driver::{Gpu, fault, launch_fault};
use super::super::memory::{address, memory_error, raw};
use super::super::shim::{self, CheckArgs, CheckJudge, CheckStamp, CheckState, sys};
use super::{Effort, kernel, launch};
use crate::chain::Trigger;
use crate::check::{Code, CounterExample, Input, Layout, Measured, expected, identify, seeds};
use crate::device::Device;
use crate::error::Result;
use crate::interrupt;

/// The oracle's values of all rounds may take this much.
const EXPECTED_BYTES: u64 = 16 << 20;
/// Neighbouring repetitions have different values, so that a stale one is wrong.
const ROUNDS: std::ops::RangeInclusive<u64> = 2..=64;
/// Repetitions queued before the host looks: long enough to keep the device busy.
pub const BATCH: u64 = 128;
/// What an overlap must exceed where the timer's skew is unknown, ns.
const UNKNOWN_SKEW_NS: u64 = 1000;

/// How a repetition reaches the device.
pub enum Runner {
    /// One graph launch.
    Graph(CudaGraph),
    /// One launch a kernel.
    Stream,
}

/// A layout on the device: rows, the oracle's rows, stamps and the judge's state.
pub struct Bench<'a> {
    gpu: &'a Gpu,
    layout: &'a Layout,
    rounds: u32,
    margin_ns: u64,
    seed: u64,
    sleeps_ns: [u32; sys::PDL_CHECK_SLEEPS as usize],
    records: CudaSlice<u64>,
    expected: CudaSlice<u64>,
    seeds: CudaSlice<u64>,
    stage: CudaSlice<u64>,
    stamps: CudaSlice<u64>,
    state: CudaSlice<u8>,
    done: &'a CudaEvent,
}

impl<'a> Bench<'a> {
    /// Allocates for `layout` and computes the oracle's values of every round.
    pub fn new(gpu: &'a Gpu, layout: &'a Layout, effort: &Effort) -> Result<Bench<'a>> {
        assert!(layout.nodes.len() <= sys::PDL_CHECK_NODES as usize, "the state holds every node");
        let values = layout.rows() * layout.width();
        let rounds = (EXPECTED_BYTES / (values * 8)).clamp(*ROUNDS.start(), *ROUNDS.end()) as u32;
        let all_seeds: Vec<u64> = (0..rounds).flat_map(|round| seeds(layout, round)).collect();
        let all: Vec<u64> = (0..rounds).flat_map(|round| expected(layout, round)).collect();
        let bytes = (all.len() as u64 + all_seeds.len() as u64 + 2 * values) * 8;
        let fail = |error| memory_error("the check's rows", bytes, error);
        let stamp_words = layout.nodes.len() * layout.shape.grid_blocks as usize * 2;
        let facts = gpu.facts();
        let stream = &gpu.stream;
        Ok(Bench {
            gpu,
            layout,
            rounds,
            margin_ns: facts.timer_step_ns + facts.timer_skew_ns.unwrap_or(UNKNOWN_SKEW_NS),
            seed: effort.seed,
            sleeps_ns: effort.sleeps.table_ns[..].try_into().expect("the table has its length"),
            records: stream.alloc_zeros(values as usize).map_err(fail)?,
            expected: stream.clone_htod(&all).map_err(fail)?,
            seeds: stream.clone_htod(&all_seeds).map_err(fail)?,
            stage: stream.alloc_zeros(3 * layout.width() as usize).map_err(fail)?,
            stamps: stream.alloc_zeros(stamp_words).map_err(fail)?,
            state: stream.clone_htod(bytes_of(&fresh_state())).map_err(fail)?,
            done: &gpu.done,
        })
    }

    fn row(&self, row: u64) -> u64 {
        address(&self.records, &self.gpu.stream) + row * self.layout.width() * 8
    }

    fn judge(&self) -> CheckJudge {
        let stream = &self.gpu.stream;
        CheckJudge {
            state: address(&self.state, stream) as *mut CheckState,
            records: self.row(0) as *mut u64,
            expected: address(&self.expected, stream) as *const u64,
            count: self.layout.rows() * self.layout.width(),
            stamps: address(&self.stamps, stream) as *mut CheckStamp,
            margin_ns: self.margin_ns,
            nodes: self.layout.nodes.len() as u32,
            grid_blocks: self.layout.shape.grid_blocks,
            idle_nodes: self.layout.idle_nodes(),
            reach: self.layout.reach,
            rounds: self.rounds,
            reserved: 0,
        }
    }

    /// Runs poison and judge over nothing: kernels load lazily, and a load inside a capture is not
    /// allowed everywhere.
    pub fn warm(&mut self) -> Result<()> {
        let what = "load the judge";
        let stream = &self.gpu.stream;
        let nothing = CheckJudge { count: 0, nodes: 0, ..self.judge() };
        // SAFETY: as in `submit_repetition`.
        let launched = unsafe {
            shim::launch_check_poison(raw(stream), &nothing)
                .and_then(|()| shim::launch_check_judge(raw(stream), &nothing))
        };
        launched.map_err(|error| launch_fault(what, error))?;
        stream
            .memcpy_htod(bytes_of(&fresh_state()), &mut self.state)
            .map_err(|error| fault(what, error))
    }

    /// The address of the node's input in round 0 and its arguments.
    fn node(&self, index: usize) -> (u64, CheckArgs) {
        let (stream, layout) = (&self.gpu.stream, self.layout);
        let node = &layout.nodes[index];
        let (input, input_stride) = match node.input {
            Input::Seeds => (address(&self.seeds, stream), layout.width()),
            Input::Slot(slot) => (self.row(layout.slot_row(slot)), 0),
        };
        let stamps = index as u64 * u64::from(layout.shape.grid_blocks);
        let stamps = stamps * size_of::<CheckStamp>() as u64;
        let args = CheckArgs {
            // The count is the state's first word.
            repetition: address(&self.state, stream) as *const u64,
            input_stride,
            late_input: input as *const u64,
            output: self.row(layout.slot_row(node.output)) as *mut u64,
            first: self.row(layout.first_row(index)) as *mut u64,
            late: self.row(layout.late_row(index)) as *mut u64,
            stage: address(&self.stage, stream) as *mut u64,
            stamps: (address(&self.stamps, stream) + stamps) as *mut CheckStamp,
            seed: self.seed,
            sleeps_ns: self.sleeps_ns,
            node: index as u32,
            trigger: match node.trigger {
                Trigger::AtEntry => sys::PDL_TRIGGER_AT_ENTRY,
                Trigger::Segment { .. } => sys::PDL_TRIGGER_AFTER_SYNC,
                Trigger::Implicit | Trigger::After | Trigger::Site(_) => sys::PDL_TRIGGER_IMPLICIT,
            },
            rounds: self.rounds,
            block_shift: layout.block_shift,
            active_blocks: if node.idle { 0 } else { layout.shape.grid_blocks },
            steps: 1,
            clears: layout.clears.into(),
            reserved: 0,
        };
        (input, args)
    }

    /// Queues poison, nodes and judge.
    pub fn submit_repetition(&self) -> Result<()> {
        let stream = raw(&self.gpu.stream);
        let judge = self.judge();
        // SAFETY: every address belongs to this bench, which outlives the drained stream.
        let launched = (|| unsafe {
            shim::launch_check_poison(stream, &judge)?;
            for (index, node) in self.layout.nodes.iter().enumerate() {
                let (input, args) = self.node(index);
                let launch = launch(&self.layout.shape, node.full);
                shim::launch_check_node(stream, &launch, &kernel(node.kernel), &args, input)?;
            }
            shim::launch_check_judge(stream, &judge)
        })();
        launched.map_err(|error| launch_fault("launch a repetition", error))
    }

    /// Runs `repetitions` more and reads what the judge knows.
    pub fn run(&self, runner: &Runner, repetitions: u64) -> Result<CheckState> {
        let what = "run the repetitions";
        let mut left = repetitions;
        while left > 0 {
            interrupt::check("go on checking")?;
            let batch = left.min(BATCH);
            for _ in 0..batch {
                match runner {
                    Runner::Graph(graph) => graph.launch().map_err(|error| fault(what, error))?,
                    Runner::Stream => self.submit_repetition()?,
                }
            }
            self.done.record(&self.gpu.stream).map_err(|error| fault(what, error))?;
            self.gpu.wait(self.done, what)?;
            left -= batch;
        }
        let bytes = self.gpu.stream.clone_dtoh(&self.state).map_err(|error| fault(what, error))?;
        // SAFETY: the state is plain numbers, and the device wrote all of its bytes.
        Ok(unsafe { bytes.as_ptr().cast::<CheckState>().read_unaligned() })
    }

    /// What was measured, from the judge's state.
    pub fn measured(&self, state: &CheckState, code: Code, took: Duration) -> Measured {
        let known = |ns: i64| (ns != i64::MIN).then_some(ns);
        Measured {
            repetitions: state.repetitions,
            wrong: state.wrong,
            co_resident: state.co_resident,
            mismatches: state.mismatches,
            values: self.layout.rows() * self.layout.width(),
            overlap_ns: known(state.overlap_ns),
            margin_ns: self.margin_ns,
            seconds: took.as_secs_f64(),
            first: (state.first_repetition != u64::MAX).then(|| self.counter_example(state)),
            code,
        }
    }

    fn counter_example(&self, state: &CheckState) -> CounterExample {
        let round = (state.first_repetition % u64::from(self.rounds)) as u32;
        let index = state.first_index;
        let (record, node) = self.layout.record(index);
        let at = (index % self.layout.width()) as u32;
        let threads = self.layout.shape.block_threads;
        CounterExample {
            repetition: state.first_repetition + 1,
            node,
            block: at / threads,
            thread: at % threads,
            record,
            found: format!("{:#018x}", state.first_found),
            expected: format!("{:#018x}", expected(self.layout, round)[index as usize]),
            found_is: identify(self.layout, index, state.first_found, round, self.rounds),
            overlap_ns: (state.first_overlap_ns != i64::MIN).then_some(state.first_overlap_ns),
        }
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // Nodes may still be running, and they write what is freed next.
        let _ = self.gpu.stream.synchronize();
    }
}

fn fresh_state() -> CheckState {
    CheckState {
        first_repetition: u64::MAX,
        first_overlap_ns: i64::MIN,
        overlap_ns: i64::MIN,
        candidate: u64::MAX,
        begin_ns: [u64::MAX; sys::PDL_CHECK_NODES as usize],
        ..Default::default()
    }
}

fn bytes_of(state: &CheckState) -> &[u8] {
    let pointer = std::ptr::from_ref(state).cast::<u8>();
    // SAFETY: a struct of plain numbers without padding (see below), borrowed for as long.
    unsafe { std::slice::from_raw_parts(pointer, size_of::<CheckState>()) }
}

const _: () = assert!(size_of::<CheckState>() == 10 * 8 + 2 * 16 * 8 + 8);
const _: () = assert!(std::mem::offset_of!(CheckState, repetitions) == 0);
const _: () = assert!(size_of::<CheckStamp>() == 16);
