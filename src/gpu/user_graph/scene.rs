//! What one repetition of the race check runs: a stand-in, the secondary behind it, and two
//! witnesses, as a graph or as launches into a stream.
//!
//! In a graph the first witness stands behind a launch-completion edge. A stream has no such edge:
//! there the secondary records a launch-completion event, and the witness waits for it in a stream
//! of its own. A stream that waits for an event long before it fires may be woken long after it, so
//! that what [looks](Watch::Begin) for the begin is queued while the stand-in sleeps already; what
//! [times](Watch::End) the end is queued behind the gate, with nothing beside it.

use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::result::{memcpy_dtoh_sync, memcpy_htod_sync};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, sys};

use super::bench::Comparison;
use super::graph::{Executable, Graph};
use super::node_launch::NodeLaunch;
use super::records::{Pieces, Records};
use super::subject::UserGraph;
use crate::chain::{Dependency, Submission};
use crate::error::{Error, Result};
use crate::gpu::driver::{Gpu, fault, launch_fault};
use crate::gpu::memory::{address, memory_error, raw};
use crate::gpu::replay;
use crate::gpu::shim::{StandInArgs, StandInState};

const BUILD: &str = "build the race check";
const RUN: &str = "run the race check";

/// What one repetition left.
pub(super) struct Repetition {
    pub state: StandInState,
    /// When the node after the secondary's launch completion began.
    pub begun_ns: u64,
    /// When the node after the secondary's end began.
    pub ended_ns: u64,
    pub wrong: Comparison,
}

/// What a repetition in a stream watches; in a graph both are seen at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// When all blocks of the secondary had begun, queued without the gate.
    Begin,
    /// The same behind the gate.
    BeginGated,
    /// When the secondary ended.
    End,
}

/// The stand-in, the secondary and two witnesses.
pub(super) struct Scene {
    form: Form,
    /// Two words for the witnesses, then the stand-in's state.
    memory: CudaSlice<u64>,
}

enum Form {
    Graph(Executable),
    Stream(Streamed),
}

/// The same as launches.
struct Streamed {
    args: StandInArgs,
    secondary: NodeLaunch,
    programmatic: bool,
    begun: CudaEvent,
    seen: CudaEvent,
    beside: Arc<CudaStream>,
    /// Kernels load when they are first launched, which a closed gate forbids.
    loaded: Cell<bool>,
    // Dropped last: the arguments lie in its nodes.
    _graph: Graph,
}

impl Scene {
    /// The secondary behind a stand-in, over an edge that is `dependency`.
    pub fn new(
        subject: &UserGraph,
        secondary: u32,
        args: &StandInArgs,
        dependency: Dependency,
        submission: Submission,
    ) -> Result<Scene> {
        let gpu = subject.bench.gpu();
        let memory = gpu
            .stream
            .alloc_zeros::<u64>(2 + size_of::<StandInState>() / 8)
            .map_err(|error| memory_error("the stand-in", 64, error))?;
        let base = address(&memory, &gpu.stream);
        let (graph, nodes) = subject.copy()?;
        let secondary = nodes[secondary as usize];
        let args = StandInArgs { state: (base + 16) as *mut StandInState, ..*args };
        let form = match submission {
            Submission::Graph => {
                graph.keep_only(&nodes, |node| nodes[node] == secondary)?;
                Form::Graph(queued_as_graph(gpu, graph, secondary, &args, base, dependency)?)
            }
            Submission::Stream => {
                Form::Stream(Streamed::new(gpu, graph, secondary, args, dependency)?)
            }
        };
        Ok(Scene { form, memory })
    }

    /// Puts memory where it was before the primary, runs once, and compares.
    pub fn run(
        &self,
        subject: &UserGraph,
        records: &Records,
        pieces: &Pieces,
        stale: u32,
        watch: Watch,
    ) -> Result<Repetition> {
        if let Form::Stream(streamed) = &self.form
            && !streamed.loaded.replace(true)
        {
            self.once(subject, records, pieces, stale, Watch::Begin)?;
        }
        self.once(subject, records, pieces, stale, watch)
    }

    fn once(
        &self,
        subject: &UserGraph,
        records: &Records,
        pieces: &Pieces,
        stale: u32,
        watch: Watch,
    ) -> Result<Repetition> {
        let gpu = subject.bench.gpu().clone();
        let base = address(&self.memory, &gpu.stream);
        records.restore_before(&subject.bench)?;
        pieces.stage(&gpu, stale)?;
        subject.bench.drain(RUN)?;
        let fresh = StandInState {
            woke_ns: u64::MAX,
            end_ns: 0,
            early_bytes: 0,
            early_piece: u64::MAX,
            stale: stale.into(),
        };
        // SAFETY: the memory begins with two words, then the state; the stream is drained.
        unsafe {
            memcpy_htod_sync(base, &[u64::MAX; 2]).map_err(|error| fault(RUN, error))?;
            memcpy_htod_sync(base + 16, &[fresh]).map_err(|error| fault(RUN, error))?;
        }
        match &self.form {
            Form::Graph(executable) => executable.launch(&gpu.stream)?,
            Form::Stream(streamed) => streamed.queue(&gpu, base, watch)?,
        }
        subject.bench.drain(RUN)?;
        let mut times = [0_u64; 2];
        let mut state = [fresh];
        // SAFETY: as above.
        unsafe {
            memcpy_dtoh_sync(&mut times, base).map_err(|error| fault(RUN, error))?;
            memcpy_dtoh_sync(&mut state, base + 16).map_err(|error| fault(RUN, error))?;
        }
        let wrong = records.compare_with_end(&subject.bench)?;
        Ok(Repetition { state: state[0], begun_ns: times[0], ended_ns: times[1], wrong })
    }
}

fn queued_as_graph(
    gpu: &Gpu,
    graph: Graph,
    secondary: sys::CUgraphNode,
    args: &StandInArgs,
    base: u64,
    dependency: Dependency,
) -> Result<Executable> {
    let fail = |error| launch_fault(BUILD, error);
    // SAFETY: the pieces and this memory outlive the drained launches.
    let (stand_in, begun, ended) = unsafe {
        let raw = graph.raw().cast();
        (
            replay::add_stand_in(raw, args).map_err(fail)?,
            replay::add_witness(raw, base).map_err(fail)?,
            replay::add_witness(raw, base + 8).map_err(fail)?,
        )
    };
    graph.connect(stand_in.cast(), secondary, dependency)?;
    graph.connect(secondary, begun.cast(), Dependency::LaunchCompletion)?;
    graph.connect(secondary, ended.cast(), Dependency::Full)?;
    graph.instantiate(&gpu.stream)
}

impl Streamed {
    fn new(
        gpu: &Gpu,
        graph: Graph,
        secondary: sys::CUgraphNode,
        args: StandInArgs,
        dependency: Dependency,
    ) -> Result<Streamed> {
        let programmatic = match dependency {
            Dependency::Full => false,
            Dependency::Programmatic => true,
            Dependency::LaunchCompletion => {
                return Err(Error::unsupported(BUILD, "streams have no launch-completion edges"));
            }
        };
        // SAFETY: a kernel node of `graph`, which this struct keeps and does not change.
        let secondary = unsafe { NodeLaunch::of(secondary) }?;
        let context = gpu.stream.context();
        // A launch-completion event must not be timed.
        let event = || {
            let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
            context.new_event(Some(flags)).map_err(|error| fault(BUILD, error))
        };
        let beside = context.new_stream().map_err(|error| fault(BUILD, error))?;
        let (begun, seen) = (event()?, event()?);
        let loaded = Cell::new(false);
        Ok(Streamed { args, secondary, programmatic, begun, seen, beside, loaded, _graph: graph })
    }

    fn queue(&self, gpu: &Gpu, base: u64, watch: Watch) -> Result<()> {
        let fail = |error| launch_fault(RUN, error);
        let stream = &gpu.stream;
        let closed = match watch != Watch::Begin && gpu.gated() {
            true => Some(gpu.gate.close(raw(stream)).map_err(fail)?),
            false => None,
        };
        let begun = (watch != Watch::End).then(|| self.begun.cu_event());
        // SAFETY: the pieces, the state and the two words outlive the work, which is drained.
        unsafe {
            replay::launch_stand_in(raw(stream), &self.args).map_err(fail)?;
            self.secondary.queue(stream.cu_stream(), self.programmatic, begun)?;
        }
        if begun.is_some() {
            self.beside.wait(&self.begun).map_err(|error| fault(RUN, error))?;
            // SAFETY: as above: the stream that is drained waits for this one.
            unsafe { replay::launch_witness(raw(&self.beside), base) }.map_err(fail)?;
            self.seen.record(&self.beside).map_err(|error| fault(RUN, error))?;
            stream.wait(&self.seen).map_err(|error| fault(RUN, error))?;
        }
        // SAFETY: as above.
        unsafe { replay::launch_witness(raw(stream), base + 8) }.map_err(fail)?;
        drop(closed);
        Ok(())
    }
}
