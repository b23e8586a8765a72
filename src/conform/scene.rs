//! What runs: actors, and what stands between them.

/// When a block triggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// Never: it counts when the block exits.
    #[default]
    Never,
    /// First instruction.
    AtEntry,
    /// After the first spin, before the sync.
    BeforeSync,
    /// Right after the sync.
    AfterSync,
    /// After the block's writes, behind a block barrier.
    AfterWrite,
}

/// What a block does: spin, sync, spin, write, spin. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// When it triggers.
    pub trigger: Moment,
    /// Whether it syncs.
    pub sync: bool,
    /// Whether it returns before the sync, without a write.
    pub returns: bool,
    /// Whether a fence follows its writes.
    pub fence: bool,
    /// From its begin to the sync.
    pub before_ns: u32,
    /// From the sync to the write.
    pub body_ns: u32,
    /// From the write to its end.
    pub after_ns: u32,
}

/// Blocks of an actor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Grid {
    /// One block an SM.
    #[default]
    Device,
    /// Half as many blocks as there are SMs, in whole clusters of 8.
    Half,
    /// So many.
    Blocks(u32),
    /// So many times what the device holds at once, with [`Grid::WAVE_SHARED_BYTES`] a block.
    Waves(f64),
}

impl Grid {
    /// Shared memory of a block of several waves, so that a wave is a few hundred blocks: with the
    /// kernel's own, less than the 48 KiB that need no opt-in.
    pub const WAVE_SHARED_BYTES: u32 = 47 * 1024;
}

/// Blocks that play an actor's second role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// None.
    #[default]
    None,
    /// The last.
    LastBlock,
    /// The second half.
    SecondHalf,
}

/// Priority of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// That of the stream, without the attribute.
    #[default]
    Default,
    /// The highest there is.
    Highest,
    /// The lowest there is.
    Lowest,
}

/// The event that a launch records by an attribute; the next actor runs in a second stream that
/// waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Programmatic: fires when all blocks have triggered.
    Programmatic,
    /// Programmatic, with `triggerAtBlockStart`.
    AtBlockStart,
    /// Launch completion.
    LaunchCompletion,
}

/// A kernel of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actor {
    /// What the blocks do: the second role is that of `rest`.
    pub roles: [Role; 2],
    /// Blocks that play the second role.
    pub rest: Rest,
    /// Blocks.
    pub grid: Grid,
    /// Blocks of a cluster; 0 and 1 launch without.
    pub cluster_blocks: u32,
    /// With the programmatic attribute.
    pub programmatic: bool,
    /// With the cooperative attribute.
    pub cooperative: bool,
    /// Priority.
    pub priority: Priority,
    /// Event that the launch records.
    pub event: Option<Event>,
    /// Triggers by its last thread in place of its first.
    pub last_thread_triggers: bool,
    /// All threads trigger once more at their end.
    pub retriggers: bool,
    /// Actors whose words it reads, before the sync and after it: two at most.
    pub reads: Vec<usize>,
    /// The code built for compute capability 8.0: the sync is gone. Reads what it is told, and
    /// nothing else of the above but `programmatic` applies.
    pub below_90: bool,
}

/// What stands between two kernels of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// A memset of 4 KiB.
    Memset,
    /// A copy of 4 KiB on the device.
    Memcpy,
    /// An event record, event without timing.
    Record,
    /// An event record, event with timing.
    TimedRecord,
    /// An event record that becomes a node of a graph.
    RecordNode,
    /// A wait for an event that another stream records behind a kernel of 5 µs.
    Wait,
    /// A host function.
    HostFunction,
    /// A single-precision product of two 256 × 256 matrices by cuBLAS.
    Blas,
}

/// A step of a scene.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A kernel.
    Actor(Actor),
    /// Anything else.
    Between(Between),
}

/// Port of the primary that an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A full dependency.
    Full,
    /// Programmatic.
    Programmatic,
    /// Programmatic, when all blocks have begun.
    LaunchCompletion,
}

/// An edge between two actors of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The primary.
    pub from: usize,
    /// The secondary.
    pub to: usize,
    /// Port.
    pub port: Port,
}

/// How the graph of a scene came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// Captured and instantiated.
    #[default]
    Plain,
    /// Cloned; the original is destroyed before the clone is instantiated.
    Cloned,
    /// Instantiated, launched, destroyed, and instantiated again.
    Reinstantiated,
    /// Instantiated with other times, launched, and updated to these.
    Updated,
}

/// Everything that one repetition does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// In the order of submission.
    pub steps: Vec<Step>,
    /// Edges of a graph that is built node by node; empty: captured.
    pub edges: Vec<Edge>,
    /// How the graph came about.
    pub usage: Usage,
    /// A second stream keeps every SM busy meanwhile.
    pub busy: bool,
}

impl Role {
    /// Triggers at entry, spins for `body_ns`, writes: the primary of most scenes.
    pub fn primary(body_ns: u32) -> Role {
        Role { trigger: Moment::AtEntry, body_ns, ..Role::default() }
    }

    /// Syncs, does nothing else, never triggers.
    pub fn syncs() -> Role {
        Role { sync: true, ..Role::default() }
    }

    /// The same role with another trigger.
    pub fn trigger(self, trigger: Moment) -> Role {
        Role { trigger, ..self }
    }
}

impl Actor {
    /// All blocks play `role`; a plain launch.
    pub fn new(role: Role) -> Actor {
        Actor { roles: [role; 2], ..Actor::default() }
    }

    /// Launched with the programmatic attribute; reads what the actors `reads` wrote.
    pub fn secondary(role: Role, reads: &[usize]) -> Actor {
        Actor { programmatic: true, reads: reads.to_vec(), ..Actor::new(role) }
    }

    /// The same, where the blocks of `rest` play another role.
    pub fn rest(mut self, rest: Rest, role: Role) -> Actor {
        self.rest = rest;
        self.roles[1] = role;
        self
    }

    /// The same with another grid.
    pub fn grid(self, grid: Grid) -> Actor {
        Actor { grid, ..self }
    }
}

impl Scene {
    /// Actors one after another.
    pub fn line(actors: impl IntoIterator<Item = Actor>) -> Scene {
        Scene { steps: actors.into_iter().map(Step::Actor).collect(), ..Scene::default() }
    }

    /// Actors with these edges.
    pub fn graph(actors: impl IntoIterator<Item = Actor>, edges: &[(usize, usize, Port)]) -> Scene {
        let edge = |&(from, to, port): &(usize, usize, Port)| Edge { from, to, port };
        Scene { edges: edges.iter().map(edge).collect(), ..Scene::line(actors) }
    }

    /// The actors, in order.
    pub fn actors(&self) -> impl Iterator<Item = &Actor> {
        self.steps.iter().filter_map(|step| match step {
            Step::Actor(actor) => Some(actor),
            Step::Between(_) => None,
        })
    }

    /// The same scene with half of every body: what a graph is updated from.
    pub fn halved(&self) -> Scene {
        let mut scene = self.clone();
        for step in &mut scene.steps {
            if let Step::Actor(actor) = step {
                for role in &mut actor.roles {
                    role.body_ns /= 2;
                }
            }
        }
        scene
    }
}
