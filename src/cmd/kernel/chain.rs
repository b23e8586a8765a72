//! The sweep of a chain file.

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;

use super::super::{sweep, terminal};
use super::{again, dry_run, first};
use crate::chain::{Mode, Trigger};
use crate::chain_file::{Loaded, Mark, read, sites};
use crate::cli::KernelArgs;
use crate::compile::{Cache, Failure, Nvcc};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::{self, Build, Checked, Code, Decision, Policy, Target};
use crate::measure::Plan;
use crate::record::{KernelRun, RunDir, write_atomically};

/// What is known before a device is asked.
pub struct Ready {
    pub loaded: Loaded,
    pub marks: Vec<Mark>,
    pub triggers: Vec<Trigger>,
    pub build: Build,
    pub arch: String,
    pub compiler: String,
    pub began: Instant,
}

impl Ready {
    /// What the manifest keeps.
    pub fn record(&self, args: &KernelArgs) -> KernelRun {
        let unsafe_no_sync = args.unsafe_no_sync;
        kernel::record(&self.loaded, &self.build, &self.triggers, &self.compiler, unsafe_no_sync)
    }
}

pub fn run(args: &KernelArgs, file: &Path) -> Result<()> {
    let mut loaded = read(file)?;
    for (axis, values) in &args.set {
        loaded.choose(axis, values)?;
    }
    let marks = loaded.marks()?;
    let triggers = chosen(args, loaded.triggers(sites(&marks))?)?;
    if args.timeline && !loaded.stamped() {
        let cause = "no source has both PDL_STAMP(begin) and PDL_STAMP(end)";
        return Err(Error::failed("draw the timeline", cause).remedy(
            "write them as the first and the last line of every kernel (docs/kernel.md); any other \
             name begins a phase of that name",
        ));
    }
    if args.dry_run {
        let ready = compile(args, loaded, marks, triggers, None)?;
        return dry_run::print(args, &ready, &plan(args, &ready));
    }
    measure(args, loaded, marks, triggers)
}

/// The triggers that `--trigger` names; all where it names none.
fn chosen(args: &KernelArgs, all: Vec<Trigger>) -> Result<Vec<Trigger>> {
    let unknown = args.trigger.iter().find(|&&trigger| {
        all.iter().all(|known| known.sites().triggers != trigger.sites().triggers)
    });
    if let Some(unknown) = unknown {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        let cause = format!("the chain file tries {}", names.join(", "));
        return Err(Error::usage(format!("use --trigger {unknown}"), cause)
            .remedy("name some of these, or mark the site in a source and list it in [sweep]"));
    }
    let mut kept = all;
    if !args.trigger.is_empty() {
        let asked = |trigger: &Trigger| {
            args.trigger.iter().any(|t| t.sites().triggers == trigger.sites().triggers)
        };
        kept.retain(asked);
    }
    if args.timeline {
        kept.truncate(1);
    }
    Ok(kept)
}

/// The target that was asked for, or that of the device; without one, of an H200.
fn target(args: &KernelArgs, loaded: &Loaded, device: Option<(u32, u32)>) -> Result<Target> {
    let named = match (&args.arch, &loaded.file.arch) {
        (Some(arch), _) => Target::named(arch).map_err(|cause| {
            Error::usage(format!("use --arch {arch}"), cause)
                .remedy("leave --arch out for that of the GPU (sm_90 without one)")
        })?,
        (None, Some(arch)) => Target::named(arch.get_ref()).map_err(|cause| {
            loaded.error(arch.span(), cause).remedy("leave arch out for that of the GPU")
        })?,
        (None, None) => {
            let (major, minor) = device.unwrap_or((9, 0));
            Target { arch: format!("sm_{major}{minor}"), capability: (major, minor) }
        }
    };
    // Without a device any machine code of the target will do.
    Ok(Target { capability: device.unwrap_or(named.capability), ..named })
}

fn compile(
    args: &KernelArgs,
    loaded: Loaded,
    marks: Vec<Mark>,
    triggers: Vec<Trigger>,
    capability: Option<(u32, u32)>,
) -> Result<Ready> {
    let began = Instant::now();
    let target = target(args, &loaded, capability)?;
    let cache = Cache::open(args.cache.as_deref())?;
    // Cubins alone need no compiler.
    let needed = loaded.file.sources.iter().any(|source| !source.get_ref().ends_with(".cubin"));
    let nvcc = if needed { Some(Nvcc::find()?) } else { None };
    // That of launch-completion edges is always needed.
    let mut codes = vec![Code::Off, Code::at(Trigger::Implicit)];
    codes.extend(triggers.iter().map(|&trigger| Code::at(trigger)));
    if capability.is_some() && loaded.stamped() && !args.check {
        codes.extend(triggers.iter().map(|trigger| Code::Stamped(trigger.sites())));
    }
    if capability.is_some() && !args.no_check && !args.timeline {
        codes.extend(triggers.iter().filter_map(|&trigger| Code::delayed(trigger)));
        codes.extend(kernel::distinct_syncs(&triggers).into_iter().map(Code::without_sync));
    }
    let build = Build::new(&loaded, &codes, &target, nvcc.as_ref(), &cache).map_err(tell)?;
    let mut said: Vec<&str> = Vec::new();
    for cubin in build.cubins.iter().filter(|cubin| !cubin.said.trim().is_empty()) {
        if !said.contains(&cubin.said.as_str()) {
            said.push(&cubin.said);
        }
    }
    said.iter().for_each(|text| terminal::raw(text));
    for doubt in &build.arguments.doubts {
        terminal::note(format_args!("warning: {doubt}"));
    }
    if args.unsafe_no_sync {
        for (trigger, kernel) in build.without_sync(&triggers) {
            terminal::note(format_args!(
                "UNSAFE: {kernel} has no sync at {trigger}: its results are luck"
            ));
        }
    } else {
        build.demand_syncs(&triggers)?;
        // Behind launch completion nothing but the sync stands between two kernels.
        build.demand_syncs(&[Trigger::Implicit])?;
    }
    let compiler = nvcc.map_or_else(String::new, |nvcc| nvcc.version);
    let arch = target.arch;
    Ok(Ready { loaded, marks, triggers, build, arch, compiler, began })
}

/// What the compiler said goes to the user as it is; the error says which source.
fn tell(failure: Failure) -> Error {
    if !failure.said.trim().is_empty() {
        terminal::raw(&failure.said);
    }
    failure.error
}

fn plan(args: &KernelArgs, ready: &Ready) -> Plan {
    let stopping = args.stopping(ready.build.variants.len());
    let plan = kernel::plan(&ready.build, &ready.triggers, args.l2, args.seed, stopping);
    match args.mode.contains(&Mode::Pipelined) {
        true => kernel::with_pipelined(plan),
        false => plan,
    }
}

#[cfg(feature = "cuda")]
fn measure(
    args: &KernelArgs,
    loaded: Loaded,
    marks: Vec<Mark>,
    triggers: Vec<Trigger>,
) -> Result<()> {
    use crate::gpu::UserChains;
    let gpu = std::rc::Rc::new(super::super::device::open_own(args.no_gate, args.deadline_s)?);
    let capability = gpu.facts().capability;
    let ready = compile(args, loaded, marks, triggers, Some(capability))?;
    let device = UserChains::new(&gpu, &ready.loaded, &ready.build);
    let plan = plan(args, &ready);
    if args.timeline {
        return super::timeline::timeline(args, &ready, &plan, &device);
    }
    let checked = match args.no_check {
        true => None,
        false => Some(super::check::check(args, &ready, &plan, &gpu, &device)?),
    };
    if args.check {
        return Ok(());
    }
    if args.tune {
        return super::tune::tune(args, &ready, plan, &gpu, &device);
    }
    record(args, &ready, &device, plan, checked.as_ref())
}

#[cfg(not(feature = "cuda"))]
fn measure(_: &KernelArgs, _: Loaded, _: Vec<Mark>, _: Vec<Trigger>) -> Result<()> {
    Err(Error::new(
        crate::error::Kind::NoGpu,
        "use the GPU",
        "this program was built without the cuda feature",
    )
    .remedy("--dry-run compiles, checks and shows the plan without a GPU"))
}

/// Measures, writes the run directory, prints the summary and the policy.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
fn record(
    args: &KernelArgs,
    ready: &Ready,
    device: &dyn Device,
    plan: Plan,
    checked: Option<&Checked>,
) -> Result<()> {
    let (plan, recorder) = match &args.resume {
        Some(path) => again::resume(args, ready, device, path, &plan)?,
        None => {
            let mut run = RunDir::create(args.out.as_deref(), "kernel", Timestamp::now())?;
            let mut manifest = sweep::manifest("kernel", device, &plan);
            manifest.kernel = Some(ready.record(args));
            run.write_manifest(&manifest)?;
            let untouched = sweep::untouched(&plan);
            (plan, sweep::Recorder::new(run, untouched))
        }
    };
    if let Some(checked) = checked {
        let text = serde_json::to_vec_pretty(checked)
            .map_err(|error| Error::failed("write the race check as JSON", error))?;
        write_atomically(&recorder.path().join("races.json"), &text)?;
    }
    let recorder = match ready.build.variants.len() {
        1 => recorder,
        sets => recorder.telling(first::teller(sets, ready.began)),
    };
    let finished = sweep::measure(args.format, device, &plan, recorder, None)?;
    let Some((summary, run)) = finished.measured else { return Ok(()) };
    let Some(policy) = Policy::of(&run.manifest, &summary) else { return Ok(()) };
    emit(args, ready, &policy)
}

#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
fn emit(args: &KernelArgs, ready: &Ready, policy: &Policy) -> Result<()> {
    if let Some(path) = &args.emit_header {
        write_atomically(path, kernel::header(policy).as_bytes())?;
        terminal::note(path.display());
    }
    if args.emit_patch {
        let best = policy.rows.iter().filter(|row| row.submission.name() == "graph");
        let best = best.filter_map(|row| match row.decision {
            Decision::On(trigger) => Some((row.saved_ns.unwrap_or(0.0), trigger)),
            Decision::Off => None,
        });
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
        let text = best.map_or_else(String::new, |(_, trigger)| {
            kernel::patch(&ready.marks, trigger, &ready.loaded.folder)
        });
        match text.is_empty() {
            true => terminal::note("no trigger site is worth a change of the source"),
            false => terminal::print(&text)?,
        }
    }
    Ok(())
}
