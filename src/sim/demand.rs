//! From a chain and an arm to what the event-driven model runs.

use super::events::{Fetch, Fires, Gaps, IssueRates, Link, MemoryRates, Piece, Wait, Work};
use super::fixed::sm_ghz;
use super::load::{Load, WIDE_THREADS};
use crate::chain::{
    Arm, BodyKind, Chain, Dependency, PreambleKind, Submission, Trigger, TriggerBy, WARP_THREADS,
};

/// Vectors of 16 bytes that a thread of a streaming body loads a step; in large blocks half of it.
const STEP_VECTORS: u64 = 8;
const VECTOR_BYTES: u64 = 16;
/// Warps of a block on a scheduler, at most, that share its turns evenly to their end, and with the
/// blocks of their node that are at work with them: stamps of blocks of 128 to 640 threads.
const EVEN_WARPS: f64 = 5.0;

/// The work of `chain` in `arm`, whose load is `load`.
pub fn work(chain: &Chain, arm: Arm, load: &Load) -> Work {
    let (profile, hop) = (load.profile, &load.hop);
    let place_ns = profile.placement.block_ns.value;
    // Launches end with the last begin; the dispatcher begins with the first.
    let spread_ns = hop.spread_ns(load.resident);
    let code_cost_ns = match arm {
        Arm::Stream | Arm::Graph | Arm::GraphAa => profile.block.code_cost_ns.value,
        _ => 0.0,
    };
    let link = match (arm, arm.dependency()) {
        (Arm::Persistent, _) => Link::Stays,
        (_, Dependency::Full) => Link::Full(hop.full_gap_ns - spread_ns - code_cost_ns),
        (_, Dependency::LaunchCompletion) => Link::Begun(hop.completion_launch_ns - spread_ns),
        (_, Dependency::Programmatic) => Link::Programmatic {
            launch_ns: hop.launch_ns - spread_ns,
            exit_launch_ns: hop.exit_launch_ns - spread_ns,
        },
    };
    let wait = match (arm, arm.dependency()) {
        (Arm::Persistent, _) => Wait::Grid(hop.barrier_ns),
        (Arm::Flags, _) => Wait::Neighbour(hop.flag_ns),
        (_, Dependency::Full) => Wait::Nothing,
        _ => Wait::Grid(hop.release_ns),
    };
    let streams = load.stream;
    let latency_ns = streams.map_or(0.0, |stream| stream.latency_ns);
    let code_ns = trigger_code_ns(chain, arm, load);
    let head_ns = |own_ns: f64| own_ns + latency_ns + code_ns;
    Work {
        sms: profile.device.sm_count,
        slots: slots(chain, load),
        grid_blocks: chain.shape.grid_blocks,
        cluster_blocks: chain.shape.cluster_blocks,
        cluster_sms: profile.device.cluster_sms.clone(),
        run_ahead: match arm.submission() {
            Submission::Graph => profile.placement.run_ahead_nodes.value as u32,
            Submission::Stream => profile.placement.stream_run_ahead_nodes.value as u32,
        },
        link,
        wait,
        fires: fires(chain, arm, load),
        launch_spread_ns: match arm.submission() {
            Submission::Graph => 0.0,
            Submission::Stream => profile.placement.stream_launch_spread_ns.value,
        },
        place_ns,
        refill_ns: profile.placement.refill_ns.value,
        entry_ns: hop.entry_ns,
        entry_trigger_ns: hop.entry_trigger_ns,
        freed_ns: profile.issue.freed_entry_ns.value,
        acquire_ns: hop.acquire_ns,
        preamble: preamble(chain, load),
        fetch: fetch(chain, load),
        head_ns: head_ns(load.head_ns),
        late_head_ns: head_ns(late_head_ns(load, chain)),
        body: body(chain, load),
        tail_ns: load.tail_ns,
        first_spread_ns: match chain.body.kind.streams() {
            true => profile.placement.stream_first_ns.value,
            false => 0.0,
        },
        bytes_spread: profile.placement.stream_bytes_spread.value,
        spread_ns: match chain.body.kind {
            BodyKind::Hbm | BodyKind::L2 => profile.placement.stream_drain_ns.value,
            _ => profile.placement.drain_ns.value,
        },
        spread_ratio: match chain.body.kind.streams() {
            true => profile.placement.stream_drain_ratio.value,
            false => 0.0,
        },
        issue: issue(chain, load),
        gaps: gaps(load),
        memory: memory(chain, load),
    }
}

/// Release to the body's work of a block that did not wait for it, ns: two warps of a scheduler are
/// served at a time, and the others work while these are on their way.
fn late_head_ns(load: &Load, chain: &Chain) -> f64 {
    load.head_ns * (2.0 / load.block_warps(chain)).min(1.0)
}

/// Warps that an SM holds, counted as those of a block in `issue` are: where only threads are
/// scarce there is room for part of a block.
fn slots(chain: &Chain, load: &Load) -> u32 {
    let device = &load.profile.device;
    let block = chain.shape.warps();
    let all = device.sm_threads / WARP_THREADS;
    let threads_bind = load.blocks_per_sm == all / block;
    let warps = if threads_bind { all } else { load.blocks_per_sm * block };
    match block % device.sm_schedulers {
        0 => warps / device.sm_schedulers,
        _ => warps,
    }
}

/// Gaps between the turns of a scheduler.
fn gaps(load: &Load) -> Gaps {
    let issue = &load.profile.issue;
    Gaps {
        exit_per_warp: issue.gap_exit_per_warp.value,
        quick_chance: issue.gap_quick_chance.value,
        lost_per_warp: issue.gap_lost_per_warp.value,
        lost_ns: issue.gap_lost_ns.value,
        entry_ns: issue.gap_entry_ns.value,
    }
}

/// Blocks' turns on the schedulers.
fn issue(chain: &Chain, load: &Load) -> IssueRates {
    let (issue, ghz) = (&load.profile.issue, sm_ghz(load.profile));
    let schedulers = load.profile.device.sm_schedulers;
    let warps = chain.shape.warps();
    let wide = load.block_warps(chain) > EVEN_WARPS;
    let more = warps % schedulers;
    IssueRates {
        lone: ghz / issue.lone_warp_cycles.value,
        scheduler: ghz / issue.busy_warp_cycles.value,
        elder: issue.elder_ratio.value,
        peer: if wide { issue.wide_peer_ratio.value } else { 1.0 },
        peer_spread: if wide { issue.wide_peer_spread.value } else { 0.0 },
        schedulers: if more == 0 { 1 } else { schedulers },
        warps: warps / schedulers,
        more,
    }
}

fn memory(chain: &Chain, load: &Load) -> MemoryRates {
    let memory = &load.profile.memory;
    let Some(stream) = load.stream else {
        return MemoryRates { block: 1.0, sm: 1.0, source: 1.0, beside_alu: 1.0, bend: 1.0 };
    };
    let in_flight = f64::from(chain.shape.block_threads) * memory.thread_in_flight_bytes.value;
    let narrow = if chain.shape.block_threads > WIDE_THREADS { 0.5 } else { 1.0 };
    MemoryRates {
        block: in_flight * narrow / stream.load_ns,
        sm: stream.sm_rate,
        source: stream.memory_rate,
        beside_alu: memory.beside_alu_ratio.value,
        bend: memory.bend_exponent.value,
    }
}

fn preamble(chain: &Chain, load: &Load) -> Piece {
    match chain.preamble.kind {
        PreambleKind::Alu => Piece::Issue(
            chain.preamble.units as f64 + load.profile.issue.preamble_instructions.value,
        ),
        _ => Piece::Fixed(load.preamble_ns),
    }
}

/// Bytes of a block's region, and those of them that the preamble fetches.
fn bytes(chain: &Chain) -> (u64, u64) {
    let all = chain.body.units / VECTOR_BYTES * VECTOR_BYTES;
    let fetched = match chain.preamble.kind {
        PreambleKind::PrefetchL2 | PreambleKind::PrefetchSmem if chain.body.kind.streams() => {
            chain.preamble.units.min(all)
        }
        _ => 0,
    };
    (all, fetched)
}

fn fetch(chain: &Chain, load: &Load) -> Option<Fetch> {
    let stream = load.stream?;
    let (_, fetched) = bytes(chain);
    let fetched = fetched as f64;
    let blocks = f64::from(load.resident);
    (fetched > 0.0).then(|| Fetch {
        bytes: fetched,
        latency_ns: stream.latency_ns,
        reading_ns: fetched * blocks / stream.near_rate,
    })
}

fn body(chain: &Chain, load: &Load) -> Piece {
    let units = chain.body.units as f64;
    match chain.body.kind {
        BodyKind::Fma => Piece::Issue(units + load.profile.issue.body_instructions.value),
        BodyKind::Spin => Piece::Fixed(units),
        BodyKind::None | BodyKind::Kernel => Piece::Fixed(0.0),
        BodyKind::Hbm | BodyKind::L2 => {
            let (all, fetched) = bytes(chain);
            Piece::Stream((all - fetched) as f64)
        }
    }
}

/// Where the arm's blocks trigger.
fn fires(chain: &Chain, arm: Arm, load: &Load) -> Fires {
    let trigger = match arm {
        arm if arm.sweeps_trigger() => chain.trigger,
        arm => arm.fixed_trigger().unwrap_or(Trigger::Implicit),
    };
    let hop = &load.hop;
    // A trigger at the very end launches no sooner than the exit does.
    let end = Fires::BeforeEnd((hop.launch_ns - hop.exit_launch_ns).max(0.0));
    match trigger {
        Trigger::Implicit | Trigger::Site(_) => Fires::Exit,
        Trigger::AtEntry => Fires::AtEntry,
        Trigger::Segment { at: 0, .. } => Fires::AfterSync,
        Trigger::After => end,
        Trigger::Segment { at, of } if at == of => end,
        Trigger::Segment { at, of } => {
            let part = part(chain, load, f64::from(at) / f64::from(of));
            if part > 0.0 { Fires::Work(part) } else { Fires::AfterSync }
        }
    }
}

/// The part of the body's work that is done at a trigger that stands at `position` of its steps.
fn part(chain: &Chain, load: &Load, position: f64) -> f64 {
    if chain.body.kind == BodyKind::Fma {
        // The node triggers when the slowest of its triggering warps does, and that one has its
        // scheduler nearly to itself: the others are done.
        let (issue, warps) = (&load.profile.issue, load.block_warps(chain));
        let last_warps = match warps {
            ..=EVEN_WARPS => &issue.few_straggler_warps,
            ..8.0 => &issue.straggler_warps,
            _ => &issue.many_straggler_warps,
        };
        let last = (last_warps.value / warps).min(1.0);
        return 1.0 - (1.0 - position) * last;
    }
    if !chain.body.kind.streams() {
        return position;
    }
    // A step begins once the loads of the step before have come: they stand where its own go.
    let narrow = chain.shape.block_threads > WIDE_THREADS;
    let vectors = if narrow { STEP_VECTORS / 2 } else { STEP_VECTORS };
    let step_bytes = u64::from(chain.shape.block_threads) * vectors * VECTOR_BYTES;
    let (all, fetched) = bytes(chain);
    let steps = all.div_ceil(step_bytes);
    let before = (steps as f64 * position).floor() as u64;
    ((before * step_bytes).min(all).saturating_sub(fetched)) as f64 / (all - fetched).max(1) as f64
}

/// What the instructions of the arm's trigger cost a node, ns.
fn trigger_code_ns(chain: &Chain, arm: Arm, load: &Load) -> f64 {
    let block = &load.profile.block;
    let barrier_ns = match chain.trigger_by {
        TriggerBy::Block => block.barrier_trigger_ns.value,
        TriggerBy::Thread => 0.0,
    };
    match (arm.sweeps_trigger(), chain.trigger) {
        (true, Trigger::Implicit) => 0.0,
        // The assembler makes other loops of a streaming body for each place of the trigger.
        (true, Trigger::AtEntry | Trigger::Segment { at: 0, .. })
            if chain.body.kind.streams() && chain.shape.block_threads <= WIDE_THREADS =>
        {
            block.stream_early_ns.value + barrier_ns
        }
        (true, Trigger::Segment { at, of })
            if at < of && chain.body.kind.streams() && chain.shape.block_threads > WIDE_THREADS =>
        {
            barrier_ns - block.narrow_gain_ns.value
        }
        (true, Trigger::Segment { at, of })
            if 0 < at && at < of && chain.body.kind == BodyKind::L2 =>
        {
            barrier_ns - block.l2_split_gain_ns.value
        }
        (true, Trigger::Segment { at, of })
            if 0 < at && at < of && chain.body.kind == BodyKind::Fma =>
        {
            let threads = f64::from(chain.shape.block_threads);
            block.trigger_ns.value + block.split_thread_ns.value * threads + barrier_ns
        }
        (true, _) => block.trigger_ns.value + barrier_ns,
        (false, _) if arm == Arm::Flags => block.trigger_ns.value + barrier_ns,
        (false, _) => 0.0,
    }
}
