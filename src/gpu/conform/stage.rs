//! A scene on the device: where its actors leave words and stamps, and how it is submitted.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::result::memcpy_dtoh_sync;
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError, sys as driver};

use super::old::Reads;
use super::{Bench, Runner};
use crate::conform::{
    Actor, Between, Block, Event, Grid, Moment, Priority, Repetition, Rest, Role, Scene, Step,
};
use crate::error::{Error, Result};
use crate::gpu::driver::{fault, launch_fault};
use crate::gpu::memory::{address, memory_error, raw};
use crate::gpu::shim::{self, ActorArgs, ActorLaunch, ActorRole, ActorStamp, sys};

/// Threads of a block.
const THREADS: u32 = sys::PDL_ACTOR_THREADS;
/// Actor i writes this plus i + 1; a word that nobody wrote is 0.
const VALUE: u64 = 0xC0DE_0000;
/// Parts of the scratch memory, bytes from its begin: what memsets and copies write, and the words
/// of actors that belong to no scene.
const COPY_AT: u64 = 64 << 10;
const WORDS_AT: u64 = 1 << 20;
/// Bytes of a memset and of a copy.
const SMALL_BYTES: usize = 4096;
/// Spin of the kernel that another stream runs before the event of [`Between::Wait`].
const SIDE_NS: u32 = 5000;
/// Spin of the kernel that keeps the SMs busy: longer than any scene that asks for it.
const BUSY_NS: u32 = 250_000;

/// A scene with its memory: stamps of all actors, then words of all actors.
pub struct Stage<'a> {
    /// What all scenes share.
    pub bench: &'a Bench<'a>,
    /// What runs.
    pub scene: &'a Scene,
    arena: CudaSlice<u8>,
    stamp_bytes: usize,
    places: Vec<Place>,
}

struct Place {
    grid_blocks: u32,
    /// Device addresses.
    stamps: u64,
    words: u64,
}

impl<'a> Stage<'a> {
    /// Allocates for the scene.
    pub fn new<'b>(bench: &'a Bench<'b>, scene: &'a Scene) -> Result<Stage<'a>>
    where
        'b: 'a,
    {
        let grids: Vec<u32> = scene.actors().map(|actor| bench.grid_blocks(actor)).collect();
        let blocks: u64 = grids.iter().map(|&grid| u64::from(grid)).sum();
        let stamp_bytes = blocks * size_of::<ActorStamp>() as u64;
        let bytes = stamp_bytes + blocks * u64::from(THREADS) * 8;
        let stream = &bench.gpu.stream;
        let arena = stream
            .alloc_zeros::<u8>(bytes as usize)
            .map_err(|error| memory_error("a scene", bytes, error))?;
        let mut stamps = address(&arena, stream);
        let mut words = stamps + stamp_bytes;
        let places = grids.iter().map(|&grid_blocks| {
            let place = Place { grid_blocks, stamps, words };
            stamps += u64::from(grid_blocks) * size_of::<ActorStamp>() as u64;
            words += u64::from(grid_blocks) * u64::from(THREADS) * 8;
            place
        });
        let places = places.collect();
        Ok(Stage { bench, scene, arena, stamp_bytes: stamp_bytes as usize, places })
    }

    /// What actor `index` does.
    pub fn args(&self, actor: &Actor, index: usize) -> ActorArgs {
        let place = &self.places[index];
        let mut args = ActorArgs {
            words: place.words as *mut u64,
            value: value(index),
            stamps: place.stamps as *mut ActorStamp,
            jitter_ns: self.bench.jitter_address(),
            roles: actor.roles.map(role),
            split: match actor.rest {
                Rest::None => place.grid_blocks,
                Rest::LastBlock => place.grid_blocks - 1,
                Rest::SecondHalf => place.grid_blocks / 2,
            },
            trigger_thread: if actor.last_thread_triggers { THREADS - 1 } else { 0 },
            retriggers: actor.retriggers.into(),
            ..Default::default()
        };
        for (slot, &of) in actor.reads.iter().enumerate() {
            args.reads[slot] = self.places[of].words as *const u64;
            args.read_words[slot] = u64::from(self.places[of].grid_blocks) * u64::from(THREADS);
            args.expected[slot] = value(of);
        }
        args
    }

    /// How actor `index` is launched.
    pub fn launch(&self, actor: &Actor, index: usize) -> ActorLaunch {
        let (lowest, highest) = self.bench.priorities;
        let event_kind = match actor.event {
            None => sys::PDL_EVENT_NONE,
            Some(Event::Programmatic) => sys::PDL_EVENT_PROGRAMMATIC,
            Some(Event::AtBlockStart) => sys::PDL_EVENT_AT_BLOCK_START,
            Some(Event::LaunchCompletion) => sys::PDL_EVENT_LAUNCH_COMPLETION,
        };
        ActorLaunch {
            event: self.bench.events.attribute.cu_event().cast(),
            event_kind,
            grid_blocks: self.places[index].grid_blocks,
            cluster_blocks: actor.cluster_blocks.max(1),
            shared_bytes: match actor.grid {
                Grid::Waves(_) => Grid::WAVE_SHARED_BYTES,
                _ => 0,
            },
            programmatic: actor.programmatic.into(),
            cooperative: actor.cooperative.into(),
            prioritised: (actor.priority != Priority::Default).into(),
            priority: if actor.priority == Priority::Highest { highest } else { lowest },
        }
    }

    /// Queues the scene's steps on the streams, or says why one was refused.
    pub fn submit(&self, scene: &Scene) -> Result<(), String> {
        let (main, side) = (&self.bench.gpu.stream, &self.bench.side);
        let events = &self.bench.events;
        if scene.steps.contains(&Step::Between(Between::Wait)) {
            join(main, &events.fork, side)?;
            self.bench.idle_actor(side, 1, SIDE_NS)?;
            events.side.record(side).map_err(refusal("record an event"))?;
        }
        let mut index = 0;
        let mut stream = main;
        for step in &scene.steps {
            match step {
                Step::Between(between) => self.between(*between)?,
                Step::Actor(actor) => {
                    self.actor(actor, index, stream)?;
                    index += 1;
                    if actor.event.is_some() {
                        side.wait(&events.attribute).map_err(refusal("wait for the event"))?;
                        stream = side;
                    }
                }
            }
        }
        if Arc::ptr_eq(stream, side) {
            join(side, &events.join, main)?;
        }
        Ok(())
    }

    fn actor(&self, actor: &Actor, index: usize, stream: &Arc<CudaStream>) -> Result<(), String> {
        let (launch, args) = (self.launch(actor, index), self.args(actor, index));
        if actor.below_90 {
            let old = self.bench.old().as_ref()?;
            let reads = Reads {
                words: args.reads[0] as u64,
                count: args.read_words[0],
                expected: args.expected[0],
                stamps: args.stamps as u64,
            };
            return old.launch(stream.cu_stream(), launch.grid_blocks, THREADS, &reads);
        }
        // SAFETY: the arena, the jitter and the event outlive the drained streams.
        unsafe { shim::launch_actor(raw(stream), &launch, &args) }
            .map_err(|error| format!("launch a kernel: {error}"))
    }

    fn between(&self, between: Between) -> Result<(), String> {
        /// `CU_EVENT_RECORD_EXTERNAL`.
        const EXTERNAL: u32 = 1;
        let bench = self.bench;
        let (main, events) = (&bench.gpu.stream, &bench.events);
        let (stream, scratch) = (main.cu_stream(), address(&bench.scratch, main));
        // SAFETY: the scratch memory and the events outlive the drained streams; the host function
        // touches nothing.
        let code = unsafe {
            match between {
                Between::Memset => driver::cuMemsetD32Async(scratch, 0, SMALL_BYTES / 4, stream),
                Between::Memcpy => {
                    driver::cuMemcpyDtoDAsync_v2(scratch + COPY_AT, scratch, SMALL_BYTES, stream)
                }
                Between::Record => driver::cuEventRecord(events.plain.cu_event(), stream),
                Between::TimedRecord => driver::cuEventRecord(events.timed.cu_event(), stream),
                Between::RecordNode => {
                    driver::cuEventRecordWithFlags(events.plain.cu_event(), stream, EXTERNAL)
                }
                Between::Wait => driver::cuStreamWaitEvent(stream, events.side.cu_event(), 0),
                Between::HostFunction => {
                    driver::cuLaunchHostFunc(stream, Some(nothing), std::ptr::null_mut())
                }
                Between::Blas => return bench.blas().as_ref()?.product(),
            }
        };
        code.result().map_err(refusal("queue what stands between"))
    }

    /// Clears, runs once, reads. The inner error is a refusal.
    pub fn repetition(
        &self,
        runner: &Runner,
        jitter_ns: u32,
        gated: bool,
    ) -> Result<Result<Repetition, String>> {
        let what = "run a scene";
        let fail = |error: DriverError| fault(what, error);
        let (gpu, events) = (self.bench.gpu, &self.bench.events);
        let stream = gpu.stream.cu_stream();
        // SAFETY: the arena and the jitter are live, and nothing on the device uses them now.
        unsafe {
            driver::cuMemsetD8Async(self.base(), 0, self.arena.len(), stream)
                .result()
                .map_err(fail)?;
            let jitter = self.bench.jitter_address() as u64;
            driver::cuMemsetD32Async(jitter, jitter_ns, 1, stream).result().map_err(fail)?;
        }
        if self.scene.busy {
            let busy = &self.bench.busy;
            let blocks = gpu.sm_count();
            self.bench.idle_actor(busy, blocks, BUSY_NS).map_err(|e| Error::failed(what, e))?;
            events.busy.record(busy).map_err(fail)?;
        }
        let submitted = match runner {
            Runner::Graph(executable) => executable.launch(&gpu.stream),
            Runner::Stream => {
                use crate::device::Device;
                let closed = match gated && gpu.facts().no_gate.is_none() {
                    true => Some(
                        gpu.gate
                            .close(raw(&gpu.stream))
                            .map_err(|error| launch_fault(what, error))?,
                    ),
                    false => None,
                };
                let submitted = self.submit(self.scene);
                drop(closed);
                submitted
            }
        };
        if let Err(reason) = submitted {
            return Ok(Err(reason));
        }
        gpu.done.record(&gpu.stream).map_err(fail)?;
        gpu.wait(&gpu.done, what)?;
        if self.scene.busy {
            gpu.wait(&events.busy, what)?;
        }
        self.read().map(Ok)
    }

    fn base(&self) -> u64 {
        address(&self.arena, &self.bench.gpu.stream)
    }

    fn read(&self) -> Result<Repetition> {
        let what = "read the stamps of a scene";
        let mut bytes = vec![0_u8; self.stamp_bytes];
        // SAFETY: the arena begins with that many bytes of stamps, and the device is done.
        unsafe { memcpy_dtoh_sync(&mut bytes, self.base()) }.map_err(|error| fault(what, error))?;
        let mut stamps = bytes
            .chunks_exact(size_of::<ActorStamp>())
            // SAFETY: a stamp is plain numbers, and the chunk is of its size.
            .map(|chunk| unsafe { chunk.as_ptr().cast::<ActorStamp>().read_unaligned() });
        let mut actors = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let blocks: Vec<Block> =
                stamps.by_ref().take(place.grid_blocks as usize).map(block).collect();
            if blocks.iter().any(|block| block.begin_ns == 0 || block.end_ns == 0) {
                let cause = format!("a block of kernel {index} left no stamp");
                return Err(Error::failed(what, cause));
            }
            actors.push(blocks);
        }
        Ok(Repetition { actors })
    }
}

impl Bench<'_> {
    fn grid_blocks(&self, actor: &Actor) -> u32 {
        /// The largest cluster that needs no opt-in.
        const CLUSTER: u32 = 8;
        let sms = self.gpu.sm_count();
        match actor.grid {
            Grid::Device => sms,
            Grid::Half => (sms / 2 / CLUSTER * CLUSTER).max(CLUSTER),
            Grid::Blocks(blocks) => blocks.max(1),
            Grid::Waves(waves) => (waves * f64::from(self.wave_blocks * sms)).max(1.0) as u32,
        }
    }

    fn jitter_address(&self) -> *const u32 {
        address(&self.jitter, &self.gpu.stream) as *const u32
    }

    /// Queues a kernel that belongs to no scene and spins.
    fn idle_actor(
        &self,
        stream: &Arc<CudaStream>,
        grid_blocks: u32,
        body_ns: u32,
    ) -> Result<(), String> {
        let launch = ActorLaunch { grid_blocks, cluster_blocks: 1, ..Default::default() };
        let spins = role(Role { body_ns, ..Role::default() });
        let args = ActorArgs {
            words: (address(&self.scratch, &self.gpu.stream) + WORDS_AT) as *mut u64,
            jitter_ns: self.jitter_address(),
            roles: [spins; 2],
            split: grid_blocks,
            ..Default::default()
        };
        // SAFETY: the scratch memory has room for the words of 4,096 blocks and outlives the
        // drained streams.
        unsafe { shim::launch_actor(raw(stream), &launch, &args) }
            .map_err(|error| format!("launch a kernel of another stream: {error}"))
    }
}

/// What `to` gets from here on waits for what `from` has.
fn join(from: &Arc<CudaStream>, event: &CudaEvent, to: &Arc<CudaStream>) -> Result<(), String> {
    event.record(from).map_err(refusal("record an event"))?;
    to.wait(event).map_err(refusal("wait for an event"))
}

fn refusal(what: &str) -> impl Fn(DriverError) -> String + '_ {
    move |error| format!("{what}: {error}")
}

fn value(index: usize) -> u64 {
    VALUE + index as u64 + 1
}

fn role(role: Role) -> ActorRole {
    ActorRole {
        trigger: match role.trigger {
            Moment::Never => sys::PDL_MOMENT_NEVER,
            Moment::AtEntry => sys::PDL_MOMENT_AT_ENTRY,
            Moment::BeforeSync => sys::PDL_MOMENT_BEFORE_SYNC,
            Moment::AfterSync => sys::PDL_MOMENT_AFTER_SYNC,
            Moment::AfterWrite => sys::PDL_MOMENT_AFTER_WRITE,
        },
        sync: role.sync.into(),
        returns: role.returns.into(),
        fence: role.fence.into(),
        before_ns: role.before_ns,
        body_ns: role.body_ns,
        after_ns: role.after_ns,
        reserved: 0,
    }
}

fn block(stamp: ActorStamp) -> Block {
    Block {
        begin_ns: stamp.begin_ns,
        trigger_ns: stamp.trigger_ns,
        release_ns: stamp.release_ns,
        end_ns: stamp.end_ns,
        returned: stamp.returned != 0,
        early_stale: stamp.early_stale,
        late_stale: stamp.late_stale,
    }
}

/// The host function between two kernels.
unsafe extern "C" fn nothing(_: *mut c_void) {}

const _: () = assert!(size_of::<ActorStamp>() == 64);
