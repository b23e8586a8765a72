//! From what the experiments found to a device profile. What was not measured is taken from the
//! built-in profile, and says so.

use super::quantity::rounded;
use super::{Effort, Everything, Quantity, hops, host, memory};
use crate::chain::Arm;
use crate::device::{Backend, Facts, Regime, TimerReading};
use crate::profile::{BUILT_IN, BoundKnot, Constant, HopKnot, Origin, PROFILE_SCHEMA, Profile};

/// Why a constant is assumed that no experiment gives, or whose experiment could not be run.
const NOT_MEASURED: &str = "not measured";
/// Why those of the host are.
const WITHOUT_HOST: &str = "not measured without --host";

/// Takes over what was measured; what was not stays assumed.
fn set(slot: &mut Constant, found: Option<Quantity>, experiment: &str) {
    if let Some(quantity) = found {
        *slot = quantity.constant(experiment);
    }
}

fn assumed(value: f64, why: &str) -> Constant {
    Constant::assumed(value, format!("{why}; the built-in {} profile's", BUILT_IN.name))
}

/// The built-in profile with every constant assumed: what stands in for what is not measured.
fn stand_in() -> Profile {
    fn assume(value: &mut toml::Value) {
        match value {
            toml::Value::Table(table) => {
                let number = table.get("value").and_then(toml::Value::as_float);
                match number.map(|number| toml::Value::try_from(assumed(number, NOT_MEASURED))) {
                    Some(Ok(toml::Value::Table(constant))) => *table = constant,
                    _ => table.iter_mut().for_each(|(_, value)| assume(value)),
                }
            }
            toml::Value::Array(array) => array.iter_mut().for_each(assume),
            _ => {}
        }
    }
    let mut value = toml::Value::try_from(&*BUILT_IN).expect("a profile is a table");
    assume(&mut value);
    value.try_into().expect("only constants were replaced, by constants")
}

/// The profile of the device with `facts`, without its calibration section.
pub fn assemble(facts: &Facts, effort: &Effort, found: &Everything) -> Profile {
    let mut profile = stand_in();
    who(&mut profile, facts, effort);
    device(&mut profile, facts, found);
    profile.hops.graph = knots(&found.hops.graph, &profile.hops.graph, "graph");
    profile.hops.stream = knots(&found.hops.stream, &profile.hops.stream, "stream");
    profile.hops.bounds = bounds(&found.hops.bounds, &profile.hops.bounds, found.block.tail);
    block(&mut profile, found);
    placement(&mut profile, found);
    set(
        &mut profile.issue.lone_warp_cycles,
        found.block.lone_warp_cycles,
        "block: SM cycles between 14,400 and 57,600 multiply-adds, a warp a scheduler",
    );
    memory(&mut profile, &found.memory);
    instruments(&mut profile, facts, found);
    host(&mut profile, found);
    noise(&mut profile, found);
    profile.calibration = None;
    profile
}

/// Name, origin and how it was made.
fn who(profile: &mut Profile, facts: &Facts, effort: &Effort) {
    let (major, minor) = PROFILE_SCHEMA;
    let (origin, on) = match facts.backend {
        Backend::Gpu => (Origin::Measured, facts.name.clone()),
        Backend::Sim => (Origin::Simulated, facts.label()),
    };
    let quick = if effort.quick { " --quick" } else { "" };
    let host = if effort.host { " --host" } else { "" };
    let driver = if facts.driver.is_empty() { "none" } else { &facts.driver };
    profile.schema_version = format!("{major}.{minor}");
    profile.name = name(&facts.name);
    profile.origin = origin;
    profile.provenance = format!(
        "pdl calibrate{quick}{host} --seed {} on one {on}, driver {driver}; 95 % intervals over {} \
         rounds of one run, those of stamps with half a step of the timer ({} ns) at both ends; \
         offsets between SMs ({}) are in none",
        effort.seed,
        effort.rounds,
        facts.timer_step_ns,
        facts.timer_skew_ns.map_or("unknown".to_owned(), |ns| format!("up to {ns} ns")),
    );
}

/// `NVIDIA H200` is `h200`.
fn name(product: &str) -> String {
    let words = product.to_lowercase();
    let name: Vec<&str> = words.split_whitespace().filter(|&word| word != "nvidia").collect();
    if name.is_empty() { "gpu".to_owned() } else { name.join("-") }
}

/// Facts; what the driver does not tell is the same on every GPU of 9.0, and stays.
fn device(profile: &mut Profile, facts: &Facts, found: &Everything) {
    let cuda = |version: u32| match version {
        0 => String::new(),
        v => format!("{}.{}", v / 1000, v % 1000 / 10),
    };
    let measured_mhz = found.block.sm_mhz.map(|mhz| mhz.value.round() as u32);
    let device = &mut profile.device;
    device.product = facts.name.clone();
    device.capability = facts.capability;
    device.sm_count = facts.sm_count;
    if device.cluster_sms.iter().sum::<u32>() != facts.sm_count {
        // Which SMs a cluster stays in is not known of this device: one group holds it anywhere.
        device.cluster_sms = vec![facts.sm_count];
    }
    device.sm_threads = facts.sm_threads;
    device.sm_blocks = facts.sm_blocks;
    device.sm_registers = facts.sm_registers;
    device.sm_shared_bytes = facts.sm_shared_bytes;
    device.block_shared_bytes = facts.block_shared_bytes;
    device.sm_mhz = measured_mhz.or(facts.sm_mhz_max).unwrap_or(device.sm_mhz);
    device.l2_bytes = facts.l2_bytes;
    device.memory_bytes = facts.memory_bytes;
    device.driver = facts.driver.clone();
    device.toolkit = cuda(facts.runtime_cuda);
}

fn knots(found: &[hops::Hop], otherwise: &[HopKnot], submission: &str) -> Vec<HopKnot> {
    let knot = |hop: &hops::Hop| {
        let mut knot = nearest(otherwise, hop.blocks, |knot| knot.blocks).clone();
        knot.blocks = hop.blocks;
        let of = |what: &str| format!("hops: stamps of {submission} chains of 8 us spins, {what}");
        set(&mut knot.full_gap_ns, hop.full_gap, &of("full edges"));
        set(&mut knot.launch_ns, hop.launch, &of("trigger 0/8"));
        set(&mut knot.exit_launch_ns, hop.exit_launch, &of("implicit trigger"));
        set(&mut knot.entry_ns, hop.entry, &of("full edges, no preamble"));
        set(&mut knot.release_ns, hop.release, &of("trigger 0/8"));
        knot
    };
    found.iter().map(knot).collect()
}

fn bounds(
    found: &[hops::Bound],
    otherwise: &[BoundKnot],
    tail: Option<Quantity>,
) -> Vec<BoundKnot> {
    let knot = |bound: &hops::Bound| {
        let mut knot = nearest(otherwise, bound.blocks, |knot| knot.blocks).clone();
        knot.blocks = bound.blocks;
        let barrier = bound.persistent_hop.zip(tail).map(|(hop, tail)| hop.minus(tail));
        set(
            &mut knot.completion_launch_ns,
            bound.completion_launch,
            "hops: stamps of the first hop over launch-completion edges",
        );
        set(&mut knot.flag_ns, bound.flag, "hops: stamps of the flags arm");
        set(
            &mut knot.barrier_ns,
            barrier,
            "hops: slope of the persistent arm between 50 and 200 nodes - spin - tail",
        );
        knot
    };
    found.iter().map(knot).collect()
}

/// The knot at the nearest grid.
fn nearest<T>(knots: &[T], blocks: u32, of: impl Fn(&T) -> u32) -> &T {
    let nearest = knots.iter().min_by_key(|knot| of(knot).abs_diff(blocks));
    nearest.expect("the built-in profile has knots")
}

fn block(profile: &mut Profile, found: &Everything) {
    let (costs, block) = (&mut profile.block, &found.block);
    set(
        &mut costs.tail_ns,
        block.tail,
        "block: stamps, release to end of a 4 us spin, one block an SM",
    );
    set(
        &mut costs.after_ns,
        block.after,
        "block: stamps, release to trigger after the last store of a 4 us spin",
    );
    set(
        &mut costs.code_cost_ns,
        found.empty.code_cost,
        "empty: graph-full at 0/8 - graph, slope between 50 and 200 nodes",
    );
    set(
        &mut costs.barrier_trigger_ns,
        block.barrier_trigger,
        "block: stamps, release to the next begin, triggered by block - by thread",
    );
    costs.thread_registers = block.thread_registers.unwrap_or(costs.thread_registers);
}

fn placement(profile: &mut Profile, found: &Everything) {
    let placement = &mut profile.placement;
    set(
        &mut placement.block_ns,
        found.block_ns(),
        "hops: stamps, first to last begin, slope between one and four blocks an SM",
    );
    set(
        &mut placement.refill_ns,
        found.placement.refill,
        "placement: stamps of two waves, end of a block to the begin in its slot",
    );
    set(
        &mut placement.drain_ns,
        found.block.drain,
        "block: SM cycles, longest - shortest body of fixed work",
    );
    set(
        &mut placement.run_ahead_nodes,
        found.placement.run_ahead,
        "placement: stamps of 24 nodes of one block that trigger at entry",
    );
}

fn memory(profile: &mut Profile, found: &memory::Found) {
    let memory = &mut profile.memory;
    let shape = |found: Option<(Quantity, (u32, u32))>| match found {
        Some((_, (blocks, threads))) => format!("{blocks} blocks an SM of {threads} threads"),
        None => String::new(),
    };
    set(
        &mut memory.hbm_bytes_per_ns,
        found.hbm.map(|hbm| hbm.0),
        &format!("memory: reads of 1.5 and 3 times L2, slope, {}", shape(found.hbm)),
    );
    set(
        &mut memory.hbm_latency_ns,
        found.hbm_latency,
        "memory: stamps of a body of one load, L2 flushed, - tail",
    );
    set(
        &mut memory.l2_bytes_per_ns,
        found.l2.map(|l2| l2.0),
        &format!("memory: reads of an eighth and a quarter of L2, slope, {}", shape(found.l2)),
    );
    set(
        &mut memory.l2_latency_ns,
        found.l2_latency,
        "memory: stamps of a body of one load that stays in L2, - tail",
    );
    set(
        &mut memory.sm_bytes_per_ns,
        found.sm,
        "memory: one block of 1,024 threads reads 128 and 512 KiB from L2, slope",
    );
    set(
        &mut memory.thread_in_flight_bytes,
        found.thread_in_flight,
        "memory: rate of 32 threads an SM, L2 flushed, x first byte",
    );
}

fn instruments(profile: &mut Profile, facts: &Facts, found: &Everything) {
    let (instruments, costs) = (&mut profile.instruments, &found.instruments);
    let timer = |of: fn(&TimerReading) -> Option<u64>| {
        let all: Vec<f64> = costs.timer.iter().filter_map(of).map(|ns| ns as f64).collect();
        Quantity::median(&all)
    };
    set(
        &mut instruments.event_pair_ns,
        costs.event_pair,
        "instruments: two events with nothing between, gated",
    );
    set(
        &mut instruments.stamp_ns,
        costs.stamp,
        "instruments: stamped - unstamped chains over full edges, slope",
    );
    set(
        &mut instruments.gate_ns,
        costs.wall_around,
        "instruments: host time of an empty pair - its events; at most, the host's poll is in it",
    );
    set(
        &mut instruments.timer_step_ns,
        timer(|reading| Some(reading.step_ns)),
        "instruments: smallest step in 10,000 reads",
    );
    set(
        &mut instruments.timer_skew_ns,
        timer(|reading| reading.skew_ns),
        "instruments: round trips between SMs, the largest difference",
    );
    if facts.queue_depth > 0 {
        let depth = f64::from(facts.queue_depth);
        let experiment = "instruments: launches behind the gate, smallest of three tries";
        instruments.queue_depth = Constant::measured(depth, (depth, depth), experiment);
    }
}

fn host(profile: &mut Profile, found: &Everything) {
    let host = &mut profile.host;
    let call = |slot: &mut Constant, arm: Arm, regime: Regime| {
        let launch = found.host.as_ref().and_then(|host| host::call_of(host, arm, regime));
        *slot = match launch {
            Some(launch) => launch.call_ns.clone(),
            None => assumed(slot.value, WITHOUT_HOST),
        };
    };
    call(&mut host.stream_launch_ns, Arm::StreamFull, Regime::HostBound);
    call(&mut host.stream_pdl_launch_ns, Arm::StreamPdl, Regime::HostBound);
    call(&mut host.queued_launch_ns, Arm::StreamFull, Regime::GpuBound);
    call(&mut host.queued_pdl_launch_ns, Arm::StreamPdl, Regime::GpuBound);
    call(&mut host.graph_launch_ns, Arm::GraphFull, Regime::HostBound);
    // The samples that were timed hold one graph launch each.
    let mut experiment = "noise: host time of a graph sample - its duration, one launch included";
    let mut sample = found.noise.sample;
    if !host.graph_launch_ns.assumed {
        experiment = "noise: host time of a graph sample - its duration - one launch";
        sample = sample.map(|sample| sample.plus(-host.graph_launch_ns.value));
    }
    set(&mut host.sample_ns, sample, experiment);
    // A launch of 50 nodes holds what 50 nodes add.
    match found.host.as_ref().and_then(|host| host.graph_node) {
        Some(node) => {
            host.graph_node_ns =
                node.constant("host: graph launches of 200 - of 50 nodes, host-bound");
            let nodes_ns = host.graph_node_ns.value * f64::from(host::GRAPH_NODES.0);
            host.graph_launch_ns = less(&host.graph_launch_ns, nodes_ns);
        }
        None => host.graph_node_ns = assumed(host.graph_node_ns.value, WITHOUT_HOST),
    }
    set(
        &mut host.prepare_node_ns,
        found.noise.prepare_node,
        "noise: graphs of 100 - of 50 nodes prepared",
    );
}

/// A constant less `ns`, never below zero.
fn less(constant: &Constant, ns: f64) -> Constant {
    let less = |end: f64| rounded((end - ns).max(0.0));
    Constant {
        value: less(constant.value),
        lo: constant.lo.map(less),
        hi: constant.hi.map(less),
        experiment: format!("{} - its nodes", constant.experiment),
        assumed: constant.assumed,
    }
}

fn noise(profile: &mut Profile, found: &Everything) {
    set(
        &mut profile.noise.sample_ratio,
        found.noise.sample_ratio,
        "noise: spread of neighbouring samples of a 50-node graph chain",
    );
    set(
        &mut profile.noise.first_slower_ratio,
        found.noise.first_slower,
        "noise: first sample against the next five, 16 chains",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_says_that_it_is_assumed_and_whose_it_is() {
        let stands_in = stand_in();
        assert_eq!(stands_in.validate(), Ok(()));
        assert_eq!(stands_in.memory.hbm_latency_ns.value, BUILT_IN.memory.hbm_latency_ns.value);
        let constants = BUILT_IN.to_toml().matches("experiment = ").count();
        assert_eq!(stands_in.assumed().len(), constants);
        let why = "not measured; the built-in h200 profile's";
        assert_eq!(stands_in.to_toml().matches(why).count(), constants);
    }

    #[test]
    fn a_product_gives_a_short_name() {
        for (product, expected) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"),
            ("", "gpu"),
            ("NVIDIA", "gpu"),
        ] {
            assert_eq!(name(product), expected);
        }
    }
}
