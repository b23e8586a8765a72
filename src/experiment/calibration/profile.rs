//! From what the experiments found to a device profile. What was not measured is taken from the
//! built-in profile, and says so.

use super::quantity::rounded;
use super::{Effort, Everything, Quantity, block, hops, host, memory};
use crate::chain::Arm;
use crate::device::{Backend, Facts, Regime};
use crate::profile::{
    BUILT_IN, BlockCosts, BoundKnot, Constant, DeviceFacts, HopKnot, Hops, Host, Instruments,
    Issue, Memory, NoiseLevel, Origin, PROFILE_SCHEMA, Placement, Profile,
};

/// Shared memory that the system keeps of a block, and warp schedulers of an SM: the same on every
/// GPU of 9.0 and 10.0 (CUDA C++ Programming Guide, compute capabilities).
const RESERVED_SHARED_BYTES: u32 = 1024;
const SM_SCHEDULERS: u32 = 4;
/// Blocks of the largest portable cluster.
const CLUSTER_BLOCKS: u32 = 8;

/// A measured constant, or what stands in for it.
fn constant(found: Option<Quantity>, experiment: &str, otherwise: &Constant) -> Constant {
    match found {
        Some(quantity) => quantity.constant(experiment),
        None => not_measured(otherwise, "this device could not run its experiment"),
    }
}

fn not_measured(otherwise: &Constant, why: &str) -> Constant {
    let from = format!("not measured ({why}); the built-in {} profile's", BUILT_IN.name);
    Constant::assumed(otherwise.value, from)
}

/// The profile of the device with `facts`, without its calibration section.
pub fn assemble(facts: &Facts, effort: &Effort, found: &Everything) -> Profile {
    let (major, minor) = PROFILE_SCHEMA;
    let (origin, on) = match facts.backend {
        Backend::Gpu => (Origin::Measured, facts.name.clone()),
        Backend::Sim => (Origin::Simulated, facts.label()),
    };
    let quick = if effort.quick { " --quick" } else { "" };
    let host = if effort.host { " --host" } else { "" };
    let driver = if facts.driver.is_empty() { "none" } else { &facts.driver };
    Profile {
        schema_version: format!("{major}.{minor}"),
        name: name(&facts.name),
        origin,
        provenance: format!(
            "pdl calibrate{quick}{host} --seed {} on one {on}, driver {driver}; 95 % intervals over \
             {} rounds of one run, those of stamps with half a step of the timer ({} ns) at both \
             ends; offsets between SMs ({}) are in none",
            effort.seed,
            effort.rounds,
            facts.timer_step_ns,
            facts.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("up to {ns} ns")),
        ),
        device: device(facts, &found.block),
        hops: Hops {
            graph: knots(&found.hops.graph, &BUILT_IN.hops.graph, "graph"),
            stream: knots(&found.hops.stream, &BUILT_IN.hops.stream, "stream"),
            bounds: bounds(&found.hops.bounds, found.block.tail),
        },
        block: block(found),
        placement: placement(found),
        issue: Issue {
            lone_warp_cycles: constant(
                found.block.lone_warp_cycles,
                "block: SM cycles between 14,400 and 57,600 multiply-adds, a warp a scheduler",
                &BUILT_IN.issue.lone_warp_cycles,
            ),
        },
        memory: memory(&found.memory),
        instruments: instruments(facts, found),
        host: self::host(found),
        noise: noise(found),
        calibration: None,
    }
}

/// `NVIDIA H200` is `h200`.
fn name(product: &str) -> String {
    let words = product.to_lowercase();
    let words = words.split_whitespace().filter(|&word| word != "nvidia");
    let name: Vec<&str> = words.collect();
    if name.is_empty() { "gpu".to_owned() } else { name.join("-") }
}

fn device(facts: &Facts, block: &block::Found) -> DeviceFacts {
    let cuda = |version: u32| match version {
        0 => String::new(),
        v => format!("{}.{}", v / 1000, v % 1000 / 10),
    };
    let measured = block.sm_mhz.map(|mhz| mhz.value.round() as u32);
    DeviceFacts {
        product: facts.name.clone(),
        capability: facts.capability,
        sm_count: facts.sm_count,
        sm_threads: facts.sm_threads,
        sm_blocks: facts.sm_blocks,
        sm_registers: facts.sm_registers,
        sm_shared_bytes: facts.sm_shared_bytes,
        block_shared_bytes: facts.block_shared_bytes,
        reserved_shared_bytes: RESERVED_SHARED_BYTES,
        cluster_blocks: CLUSTER_BLOCKS,
        sm_schedulers: SM_SCHEDULERS,
        sm_mhz: measured.or(facts.sm_mhz_max).unwrap_or(BUILT_IN.device.sm_mhz),
        l2_bytes: facts.l2_bytes,
        memory_bytes: facts.memory_bytes,
        driver: facts.driver.clone(),
        toolkit: cuda(facts.runtime_cuda),
    }
}

fn knots(found: &[hops::Hop], otherwise: &[HopKnot], submission: &str) -> Vec<HopKnot> {
    let knot = |hop: &hops::Hop| {
        let near = nearest(otherwise, hop.blocks, |knot| knot.blocks);
        let of = |quantity, what: &str, near: &Constant| {
            let experiment = format!("hops: stamps of {submission} chains of 8 us spins, {what}");
            constant(quantity, &experiment, near)
        };
        HopKnot {
            blocks: hop.blocks,
            full_gap_ns: of(hop.full_gap, "full edges", &near.full_gap_ns),
            launch_ns: of(hop.launch, "trigger 0/8", &near.launch_ns),
            exit_launch_ns: of(hop.exit_launch, "implicit trigger", &near.exit_launch_ns),
            entry_ns: of(hop.entry, "full edges, no preamble", &near.entry_ns),
            release_ns: of(hop.release, "trigger 0/8", &near.release_ns),
        }
    };
    found.iter().map(knot).collect()
}

fn bounds(found: &[hops::Bound], tail: Option<Quantity>) -> Vec<BoundKnot> {
    let knot = |bound: &hops::Bound| {
        let near = nearest(&BUILT_IN.hops.bounds, bound.blocks, |knot| knot.blocks);
        let barrier = bound.persistent_hop.zip(tail).map(|(hop, tail)| hop.minus(tail));
        BoundKnot {
            blocks: bound.blocks,
            completion_launch_ns: constant(
                bound.completion_launch,
                "hops: stamps of the first hop over launch-completion edges",
                &near.completion_launch_ns,
            ),
            flag_ns: constant(bound.flag, "hops: stamps of the flags arm", &near.flag_ns),
            barrier_ns: constant(
                barrier,
                "hops: slope of the persistent arm between 50 and 200 nodes - spin - tail",
                &near.barrier_ns,
            ),
        }
    };
    found.iter().map(knot).collect()
}

/// The knot at the nearest grid.
fn nearest<T>(knots: &[T], blocks: u32, of: impl Fn(&T) -> u32) -> &T {
    let nearest = knots.iter().min_by_key(|knot| of(knot).abs_diff(blocks));
    nearest.expect("the built-in profile has knots")
}

fn block(found: &Everything) -> BlockCosts {
    let (block, built_in) = (&found.block, &BUILT_IN.block);
    BlockCosts {
        tail_ns: constant(
            block.tail,
            "block: stamps, release to end of a 4 us spin, one block an SM",
            &built_in.tail_ns,
        ),
        after_ns: constant(
            block.after,
            "block: stamps, release to trigger after the last store of a 4 us spin",
            &built_in.after_ns,
        ),
        code_cost_ns: constant(
            found.empty.code_cost,
            "empty: graph-full at 0/8 - graph, slope between 50 and 200 nodes",
            &built_in.code_cost_ns,
        ),
        barrier_trigger_ns: constant(
            block.barrier_trigger,
            "block: stamps, release to the next begin, triggered by block - by thread",
            &built_in.barrier_trigger_ns,
        ),
        thread_registers: block.thread_registers.unwrap_or(built_in.thread_registers),
    }
}

fn placement(found: &Everything) -> Placement {
    let (placement, built_in) = (&found.placement, &BUILT_IN.placement);
    Placement {
        block_ns: constant(
            found.block_ns(),
            "hops: stamps, first to last begin, slope between one and four blocks an SM",
            &built_in.block_ns,
        ),
        refill_ns: constant(
            placement.refill,
            "placement: stamps of two waves, end of a block to the begin in its slot",
            &built_in.refill_ns,
        ),
        drain_ns: constant(
            found.block.drain,
            "block: SM cycles, longest - shortest body of fixed work",
            &built_in.drain_ns,
        ),
        run_ahead_nodes: constant(
            placement.run_ahead,
            "placement: stamps of 24 nodes of one block that trigger at entry",
            &built_in.run_ahead_nodes,
        ),
    }
}

fn memory(found: &memory::Found) -> Memory {
    let built_in = &BUILT_IN.memory;
    let shape = |found: Option<(Quantity, (u32, u32))>| match found {
        Some((_, (blocks, threads))) => format!("{blocks} blocks an SM of {threads} threads"),
        None => String::new(),
    };
    Memory {
        hbm_bytes_per_ns: constant(
            found.hbm.map(|hbm| hbm.0),
            &format!("memory: reads of 1.5 and 3 times L2, slope, {}", shape(found.hbm)),
            &built_in.hbm_bytes_per_ns,
        ),
        hbm_latency_ns: constant(
            found.hbm_latency,
            "memory: stamps of a body of one load, L2 flushed, - tail",
            &built_in.hbm_latency_ns,
        ),
        l2_bytes_per_ns: constant(
            found.l2.map(|l2| l2.0),
            &format!("memory: reads of an eighth and a quarter of L2, slope, {}", shape(found.l2)),
            &built_in.l2_bytes_per_ns,
        ),
        l2_latency_ns: constant(
            found.l2_latency,
            "memory: stamps of a body of one load that stays in L2, - tail",
            &built_in.l2_latency_ns,
        ),
        sm_bytes_per_ns: constant(
            found.sm,
            "memory: one block of 1,024 threads reads 128 and 512 KiB from L2, slope",
            &built_in.sm_bytes_per_ns,
        ),
        thread_in_flight_bytes: constant(
            found.thread_in_flight,
            "memory: rate of 32 threads an SM, L2 flushed, x first byte",
            &built_in.thread_in_flight_bytes,
        ),
    }
}

fn instruments(facts: &Facts, found: &Everything) -> Instruments {
    let (costs, built_in) = (&found.instruments, &BUILT_IN.instruments);
    let timer = |of: fn(&crate::device::TimerReading) -> Option<u64>| {
        let all: Vec<f64> = costs.timer.iter().filter_map(of).map(|ns| ns as f64).collect();
        Quantity::median(&all)
    };
    let depth = f64::from(facts.queue_depth);
    Instruments {
        event_pair_ns: constant(
            costs.event_pair,
            "instruments: two events with nothing between, gated",
            &built_in.event_pair_ns,
        ),
        stamp_ns: constant(
            costs.stamp,
            "instruments: stamped - unstamped chains over full edges, slope",
            &built_in.stamp_ns,
        ),
        gate_ns: constant(
            costs.wall_around,
            "instruments: host time of an empty pair - its events; at most, the host's poll is in it",
            &built_in.gate_ns,
        ),
        timer_step_ns: constant(
            timer(|reading| Some(reading.step_ns)),
            "instruments: smallest step in 10,000 reads",
            &built_in.timer_step_ns,
        ),
        timer_skew_ns: constant(
            timer(|reading| reading.skew_ns),
            "instruments: round trips between SMs, the largest difference",
            &built_in.timer_skew_ns,
        ),
        queue_depth: match facts.queue_depth {
            0 => not_measured(&built_in.queue_depth, "the gate cannot be used"),
            _ => Constant::measured(depth, (depth, depth), "smallest of three tries, gated"),
        },
    }
}

fn host(found: &Everything) -> Host {
    let built_in = &BUILT_IN.host;
    let call = |arm: Arm, regime: Regime, otherwise: &Constant| {
        let launch = found.host.as_ref().and_then(|host| host::call_of(host, arm, regime));
        match launch {
            Some(launch) => launch.call_ns.clone(),
            None => not_measured(otherwise, "pdl calibrate --host does"),
        }
    };
    let graph_launch = call(Arm::GraphFull, Regime::HostBound, &built_in.graph_launch_ns);
    let graph_node = found.host.as_ref().and_then(|host| host.graph_node);
    // A launch of 50 nodes holds what 50 nodes add.
    let nodes = f64::from(host::GRAPH_NODES.0);
    let bare = match graph_node {
        Some(node) if !graph_launch.assumed => shifted(&graph_launch, node.value * nodes),
        _ => graph_launch.clone(),
    };
    // The samples that were timed hold one graph launch each.
    let launch = if graph_launch.assumed { 0.0 } else { graph_launch.value };
    let shift = |quantity: Quantity| {
        let interval = quantity.interval.map(|end| end - launch);
        Quantity { value: quantity.value - launch, interval }
    };
    Host {
        stream_launch_ns: call(Arm::StreamFull, Regime::HostBound, &built_in.stream_launch_ns),
        stream_pdl_launch_ns: call(
            Arm::StreamPdl,
            Regime::HostBound,
            &built_in.stream_pdl_launch_ns,
        ),
        queued_launch_ns: call(Arm::StreamFull, Regime::GpuBound, &built_in.queued_launch_ns),
        queued_pdl_launch_ns: call(
            Arm::StreamPdl,
            Regime::GpuBound,
            &built_in.queued_pdl_launch_ns,
        ),
        graph_launch_ns: bare,
        graph_node_ns: match graph_node {
            Some(node) => node.constant("host: graph launches of 200 - of 50 nodes, host-bound"),
            None => not_measured(&built_in.graph_node_ns, "pdl calibrate --host does"),
        },
        prepare_node_ns: constant(
            found.noise.prepare_node,
            "noise: graphs of 100 - of 50 nodes prepared",
            &built_in.prepare_node_ns,
        ),
        sample_ns: constant(
            found.noise.sample.map(shift),
            if graph_launch.assumed {
                "noise: host time of a graph sample - its duration, one launch included"
            } else {
                "noise: host time of a graph sample - its duration - one launch"
            },
            &built_in.sample_ns,
        ),
    }
}

/// A constant less `ns`, never below zero.
fn shifted(constant: &Constant, ns: f64) -> Constant {
    let less = |end: f64| rounded((end - ns).max(0.0));
    Constant {
        value: less(constant.value),
        lo: constant.lo.map(less),
        hi: constant.hi.map(less),
        experiment: format!("{} - its nodes", constant.experiment),
        assumed: constant.assumed,
    }
}

fn noise(found: &Everything) -> NoiseLevel {
    let (noise, built_in) = (&found.noise, &BUILT_IN.noise);
    let not_done = "no experiment of pdl calibrate gives it";
    NoiseLevel {
        sample_ratio: constant(
            noise.sample_ratio,
            "noise: spread of neighbouring samples of a 50-node graph chain",
            &built_in.sample_ratio,
        ),
        shared_ratio: not_measured(&built_in.shared_ratio, not_done),
        memory_ratio: not_measured(&built_in.memory_ratio, not_done),
        first_slower_ratio: constant(
            noise.first_slower,
            "noise: first sample against the next five, 16 chains",
            &built_in.first_slower_ratio,
        ),
    }
}
