//! Runs the scenes of the conformance test on the device.

mod blas;
mod exec;
mod old;
mod stage;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUevent_flags, cuCtxGetStreamPriorityRange};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::blas::Blas;
use self::exec::{Executable, Graph};
use self::old::Old;
use self::stage::Stage;
use super::driver::{Gpu, fault, launch_fault};
use super::memory::{address, memory_error, raw};
use super::shim::{self, Tally as Counters};
use crate::conform::{
    Between, Case, DeviceFacts, Form, Grid, Outcome, Repetition, Rule, RuleFinding, Scene, Step,
    Tally, Test, lossy_query, many_launches,
};
use crate::device::{Device, EdgeCount};
use crate::error::{Error, Result};
use crate::interrupt;

/// Fewest repetitions of a case in one form, whatever its budget.
const REPETITIONS_MIN: u64 = 20;
/// What a difference must exceed where the timer's skew is unknown, ns.
const UNKNOWN_SKEW_NS: u64 = 1000;
/// Longest jitter added to a body: several launch latencies, and little beside 10 µs, ns.
const JITTER_NS: u32 = 2000;
/// Launches queued before the host looks at the clock.
const LAUNCHES_AT_ONCE: u32 = 10_000;
/// Memory that memsets, copies and actors without a place of their own write.
const SCRATCH_BYTES: usize = 4 << 20;

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seed of the jitter.
    pub seed: u64,
    /// Time for one case in one form.
    pub case_budget: Duration,
    /// Most repetitions of one case in one form.
    pub repetitions: u64,
    /// Launches of the graph that is launched again and again.
    pub launches: u64,
    /// Time for them.
    pub launches_budget: Duration,
}

/// Streams, events and memory that all scenes share.
pub struct Bench<'a> {
    gpu: &'a Gpu,
    side: Arc<CudaStream>,
    busy: Arc<CudaStream>,
    events: Events,
    scratch: CudaSlice<u8>,
    jitter: CudaSlice<u32>,
    old: OnceCell<Result<Old, String>>,
    blas: OnceCell<Result<Blas, String>>,
    /// Lowest and highest priority of a launch.
    priorities: (i32, i32),
    /// Blocks of several waves that an SM holds.
    wave_blocks: u32,
    random: ChaCha8Rng,
    effort: Effort,
}

/// One event a purpose; those between kernels differ in timing.
struct Events {
    fork: CudaEvent,
    side: CudaEvent,
    attribute: CudaEvent,
    join: CudaEvent,
    plain: CudaEvent,
    timed: CudaEvent,
    busy: CudaEvent,
}

impl Events {
    fn new(gpu: &Gpu) -> Result<Events, DriverError> {
        let event = |flags| gpu.stream.context().new_event(Some(flags));
        let plain = || event(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Events {
            fork: plain()?,
            side: plain()?,
            attribute: plain()?,
            join: plain()?,
            plain: plain()?,
            timed: event(CUevent_flags::CU_EVENT_DEFAULT)?,
            busy: plain()?,
        })
    }
}

/// What became of a scene.
enum Ran {
    /// It ran: its edges, and what else is known.
    Done(Vec<EdgeCount>, String),
    /// It could not be submitted, and why.
    Refused(String),
}

/// A form that is ready to run.
enum Runner {
    Stream,
    Graph(Executable),
}

impl<'a> Bench<'a> {
    /// Allocates, and loads what would otherwise be loaded behind a closed gate.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(gpu: &'a Gpu, effort: Effort) -> Result<Bench<'a>> {
        let what = "prepare the conformance test";
        let fail = |error: DriverError| fault(what, error);
        let context = gpu.stream.context();
        let wave_blocks = shim::actor_blocks_per_sm(Grid::WAVE_SHARED_BYTES)
            .map_err(|error| launch_fault(what, error))?;
        let mut priorities = (0, 0);
        // SAFETY: two live ints.
        unsafe { cuCtxGetStreamPriorityRange(&mut priorities.0, &mut priorities.1) }
            .result()
            .map_err(fail)?;
        Ok(Bench {
            gpu,
            side: context.new_stream().map_err(fail)?,
            busy: context.new_stream().map_err(fail)?,
            events: Events::new(gpu).map_err(fail)?,
            scratch: gpu
                .stream
                .alloc_zeros(SCRATCH_BYTES)
                .map_err(|error| memory_error("the scenes", SCRATCH_BYTES as u64, error))?,
            jitter: gpu.stream.alloc_zeros(1).map_err(fail)?,
            old: OnceCell::new(),
            blas: OnceCell::new(),
            priorities,
            wave_blocks,
            random: ChaCha8Rng::seed_from_u64(effort.seed),
            effort,
        })
    }

    /// The device as findings name it.
    pub fn device(&self) -> DeviceFacts {
        let facts = self.gpu.facts();
        DeviceFacts {
            name: facts.name.clone(),
            capability: facts.capability,
            sm_count: facts.sm_count,
            driver: facts.driver.clone(),
            driver_cuda: facts.driver_cuda,
            runtime_cuda: facts.runtime_cuda,
            timer_step_ns: facts.timer_step_ns,
            timer_skew_ns: facts.timer_skew_ns,
            margin_ns: self.margin_ns(),
        }
    }

    fn margin_ns(&self) -> u64 {
        let facts = self.gpu.facts();
        facts.timer_step_ns + facts.timer_skew_ns.unwrap_or(UNKNOWN_SKEW_NS)
    }

    /// Puts one rule to the test.
    ///
    /// # Errors
    /// A fault or a hang of the device, or an interruption.
    pub fn run(&mut self, rule: &Rule) -> Result<RuleFinding> {
        let outcomes = match &rule.test {
            Test::Scenes(cases) => {
                let mut forms: Vec<(Form, Vec<Outcome>)> = Vec::new();
                for form in Form::ALL {
                    let mut outcomes = Vec::new();
                    for case in cases.iter().filter(|case| case.forms.include(form)) {
                        let place = format!("{} ({}), {}", rule.id, form.name(), case.name);
                        outcomes.extend(self.case(case, form).map_err(|e| e.at(&place))?);
                    }
                    forms.push((form, outcomes));
                }
                forms
            }
            Test::LossyQuery => vec![(Form::Graph, self.lossy_query()?)],
            Test::ManyLaunches => vec![(Form::Graph, self.many_launches()?)],
        };
        Ok(RuleFinding::new(rule, outcomes))
    }

    fn case(&mut self, case: &Case, form: Form) -> Result<Vec<Outcome>> {
        let mut tally = Tally::new(&case.name, &case.claims, self.margin_ns());
        if let Some(reason) = self.missing(&case.scene) {
            return Ok(tally.not_tested(&reason));
        }
        Ok(match self.scene(&case.scene, form, &mut |repetition| tally.add(repetition))? {
            Ran::Done(edges, note) => {
                let mut outcomes = tally.outcomes(&edges);
                for outcome in outcomes.iter_mut().filter(|outcome| outcome.reason.is_empty()) {
                    outcome.reason.clone_from(&note);
                }
                outcomes
            }
            Ran::Refused(reason) => tally.not_tested(&reason),
        })
    }

    /// What a scene needs and this machine lacks.
    fn missing(&self, scene: &Scene) -> Option<String> {
        let uses = |between| scene.steps.contains(&Step::Between(between));
        if uses(Between::Blas)
            && let Err(reason) = self.blas()
        {
            return Some(reason.clone());
        }
        if scene.actors().any(|actor| actor.below_90)
            && let Err(reason) = self.old()
        {
            return Some(reason.clone());
        }
        None
    }

    fn blas(&self) -> &Result<Blas, String> {
        self.blas.get_or_init(|| Blas::open(&self.gpu.stream))
    }

    fn old(&self) -> &Result<Old, String> {
        self.old.get_or_init(Old::load)
    }

    fn scene(
        &mut self,
        scene: &Scene,
        form: Form,
        on_repetition: &mut dyn FnMut(&Repetition),
    ) -> Result<Ran> {
        let offsets: Vec<u32> =
            (0..self.effort.repetitions).map(|_| self.random.random_range(0..=JITTER_NS)).collect();
        let stage = Stage::new(self, scene)?;
        let (runner, edges) = match form {
            // What the same calls mean, untimed; where they cannot be captured nothing is said.
            Form::Stream => {
                let edges = Graph::of(&stage).and_then(|graph| graph.edges());
                (Runner::Stream, edges.unwrap_or_default())
            }
            Form::Graph => match Executable::of(&stage) {
                Ok((executable, edges)) => (Runner::Graph(executable), edges),
                Err(reason) => return self.refused(reason),
            },
        };
        // The first loads whatever is loaded lazily; without the gate, since a load waits for it.
        if let Err(reason) = stage.repetition(&runner, 0, false)? {
            return self.refused(reason);
        }
        let since = Instant::now();
        for (done, &jitter_ns) in offsets.iter().enumerate() {
            interrupt::check("go on testing")?;
            if done as u64 >= REPETITIONS_MIN && since.elapsed() > self.effort.case_budget {
                break;
            }
            match stage.repetition(&runner, jitter_ns, true)? {
                Ok(repetition) => on_repetition(&repetition),
                Err(reason) => return self.refused(reason),
            }
        }
        let note = match scene.actors().any(|actor| actor.below_90) {
            true => self.old().as_ref().map(Old::versions).unwrap_or_default(),
            false => String::new(),
        };
        Ok(Ran::Done(edges, note))
    }

    /// Drains what was submitted before the refusal.
    fn refused(&self, reason: String) -> Result<Ran> {
        for stream in [&self.gpu.stream, &self.side, &self.busy] {
            stream.synchronize().map_err(|error| fault("drain a refused scene", error))?;
        }
        Ok(Ran::Refused(reason))
    }

    fn lossy_query(&self) -> Result<Vec<Outcome>> {
        use crate::conform::{Actor, Role};
        let answer = |programmatic| {
            let second = Actor { programmatic, ..Actor::new(Role::syncs()) };
            let scene = Scene::line([Actor::new(Role::default()), second]);
            let stage = Stage::new(self, &scene)?;
            let graph = Graph::of(&stage).map_err(|e| Error::failed("capture two kernels", e))?;
            // SAFETY: the graph lives until the end of this closure.
            Ok(unsafe { shim::graph_edges_without_data(graph.raw().cast()) })
        };
        Ok(lossy_query(answer(true)?, answer(false)?))
    }

    fn many_launches(&self) -> Result<Vec<Outcome>> {
        let what = "launch a graph again and again";
        let stream = &self.gpu.stream;
        let fail = |error: DriverError| fault(what, error);
        let counters = stream.alloc_zeros::<u64>(size_of::<Counters>() / 8).map_err(fail)?;
        let at = address(&counters, stream);
        let once = || {
            // SAFETY: the counters outlive the drained stream.
            unsafe { shim::launch_tally(raw(stream), at) }.map_err(|error| error.to_string())
        };
        let failed = |reason: String| Error::failed(what, reason);
        // Kernels load lazily. One launch counts as one.
        once().map_err(failed)?;
        let graph = Graph::captured(stream, once).map_err(failed)?;
        let edges = graph.edges().map_err(failed)?;
        let executable = graph.instantiate(stream).map_err(failed)?;
        stream.synchronize().map_err(fail)?;
        let since = Instant::now();
        let mut launches = 0;
        while launches < self.effort.launches && since.elapsed() < self.effort.launches_budget {
            interrupt::check("go on testing")?;
            let left = self.effort.launches - launches;
            let now = left.min(u64::from(LAUNCHES_AT_ONCE)) as u32;
            for _ in 0..now {
                executable.launch(stream).map_err(failed)?;
            }
            self.gpu.done.record(stream).map_err(fail)?;
            self.gpu.wait(&self.gpu.done, what)?;
            launches += u64::from(now);
        }
        let seconds = since.elapsed().as_secs_f64();
        let counts = stream.clone_dtoh(&counters).map_err(fail)?;
        let [count, seen, wrong, ahead, _] = counts[..] else {
            return Err(Error::failed(what, "the counters are not those of the kernels"));
        };
        if (count, seen) != (launches + 1, launches + 1) {
            let cause = format!("{launches} launches, the kernels counted {count} and {seen}");
            return Err(Error::failed(what, cause));
        }
        // The launch that loaded the kernels is left out, where it says nothing against a rule.
        Ok(many_launches((launches, wrong, ahead.min(launches)), seconds, &edges))
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // Actors may still be running, and they write what is freed next.
        for stream in [&self.gpu.stream, &self.side, &self.busy] {
            let _ = stream.synchronize();
        }
    }
}

const _: () = assert!(size_of::<Counters>() == 5 * 8);
