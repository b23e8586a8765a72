//! `pdl doctor`: what this machine can do, one live hop, and what stands in the way.

use super::{device, terminal};
use crate::chain::*;
use crate::cli::{BackendChoice, DoctorArgs, SimulatedArgs};
use crate::device::{Backend, Device, Facts};
use crate::error::Result;
use crate::measure::calibrate;
use crate::units::{or_absent, us};

/// One line of the result.
macro_rules! say {
    ($($text:tt)*) => { terminal::line(format_args!($($text)*)) };
}

/// Prints what there is. Never fails for lack of a GPU.
pub fn doctor(args: &DoctorArgs) -> Result<()> {
    say!("pdl {} ({})", env!("CARGO_PKG_VERSION"), revision())?;
    let opened = match device::open(
        args.backend,
        1,
        device::Without::default(),
        &SimulatedArgs::default(),
    ) {
        Ok(opened) => opened,
        Err(error) if args.backend == BackendChoice::Auto => {
            return say!("gpu         not usable: {error}");
        }
        Err(error) => return Err(error),
    };
    if let Some(note) = &opened.note {
        say!("gpu         {note}")?;
    }
    let device = opened.device.as_ref();
    facts(device.facts())?;
    instruments(device.facts())?;
    health(device)?;
    hop(device)?;
    obstacles(device.facts())
}

fn revision() -> &'static str {
    match env!("PDL_REVISION") {
        "" => "revision unknown",
        revision => revision,
    }
}

fn cuda(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn facts(f: &Facts) -> Result<()> {
    say!("device      {}, compute capability {}.{}", f.label(), f.capability.0, f.capability.1)?;
    if f.backend == Backend::Gpu {
        say!("            {}", f.uuid)?;
        let driver = if f.driver.is_empty() { "unknown" } else { &f.driver };
        say!(
            "driver      {driver}, serves CUDA {}; runtime {}",
            cuda(f.driver_cuda),
            cuda(f.runtime_cuda)
        )?;
    }
    say!(
        "size        {} SMs, {} MiB L2, {:.0} GiB memory, {} KiB shared memory a block",
        f.sm_count,
        f.l2_bytes >> 20,
        f.memory_bytes as f64 / f64::from(1 << 30),
        f.block_shared_bytes / 1024
    )?;
    let yes = |value: Option<bool>| match value {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    say!("modes       ECC {}, MIG {}, MPS {}", yes(f.ecc), yes(f.mig), yes(f.mps))
}

fn instruments(f: &Facts) -> Result<()> {
    let skew = f.timer_skew_ns.map_or("unknown".into(), |ns| format!("{ns} ns"));
    say!("timer       step {} ns, offsets between SMs up to {skew}", f.timer_step_ns)?;
    match &f.no_gate {
        None => say!("gate        works; the queue holds {} launches", f.queue_depth),
        Some(reason) => say!("gate        not used: {reason}"),
    }
}

fn health(device: &dyn Device) -> Result<()> {
    let health = device.health();
    let or = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    say!(
        "now         SM {} MHz of {}, {} °C, throttled: {}, other processes: {}",
        or(health.sm_mhz.map(|v| v.to_string())),
        or(device.facts().sm_mhz_max.map(|v| v.to_string())),
        or(health.temperature_c.map(|v| v.to_string())),
        if health.throttle.is_empty() { "no".into() } else { health.throttle.join(", ") },
        or(health.other_processes.map(|v| v.to_string())),
    )
}

/// One small chain with full and programmatic edges, verified.
fn hop(device: &dyn Device) -> Result<()> {
    let chain = Chain {
        nodes: 50,
        shape: Shape { grid_blocks: device.facts().sm_count, ..Shape::default() },
        preamble: Preamble { kind: PreambleKind::Alu, target_ns: 2000.0, units: 0 },
        body: Body { kind: BodyKind::Fma, target: Target::Ns(4000.0), units: 0 },
        trigger: Trigger::Segment { at: 0, of: DEFAULT_SEGMENTS },
        trigger_by: TriggerBy::Thread,
        l2: L2::Hot,
        mode: Mode::Isolated,
    };
    let chain = calibrate(device, &chain)?.chain.with_trigger(chain.trigger);
    let mut periods = Vec::new();
    for arm in [Arm::GraphFull, Arm::GraphPdl] {
        let mut prepared = device.prepare(&chain, arm)?;
        let verification = prepared.verify()?;
        let mut samples = Vec::new();
        for _ in 0..21 {
            samples.push(prepared.sample()?.duration_ns / f64::from(chain.nodes));
        }
        periods.push(crate::stats::median(&samples));
        let stamps = prepared.stamps(1)?.map(|stamps| stamps.reduce()).unwrap_or_default();
        say!(
            "hop         {arm}: {} a node, launch gap {}, {} of {} values right",
            or_absent(periods.last().copied().flatten(), us),
            or_absent(stamps.launch_gap_ns, us),
            verification.checked - verification.mismatches,
            verification.checked
        )?;
    }
    if let [Some(full), Some(programmatic)] = periods[..] {
        say!(
            "            programmatic launches save about {} a hop here",
            us(full - programmatic)
        )?;
    }
    Ok(())
}

/// What a user should change before trusting small numbers.
fn obstacles(f: &Facts) -> Result<()> {
    let mut found = Vec::new();
    if f.backend == Backend::Sim {
        found.push(
            "no GPU of compute capability 9.0 or newer: every number is SIMULATED".to_owned(),
        );
    }
    if f.clocks_locked == Some(false) {
        found.push(
            "no lock of the clocks was seen: arms are interleaved and paired to bear it".into(),
        );
    }
    if let Some(reason) = &f.no_gate {
        found.push(format!("{reason}: stream arms include host launch time"));
    }
    if f.mig == Some(true) || f.mps == Some(true) {
        found.push("MIG or MPS is on: measured as found, others may share the device".into());
    }
    if found.is_empty() {
        found.push("nothing".into());
    }
    say!("in the way  {}", found.join("\n            "))
}
