//! The archive that was built, and this very program, which has it linked in.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use pdl_lab::machine_code::{Counts, scan};

use crate::rules::{Family, Instance};
use crate::sass::{Kernel, parse};

/// Architectures with machine code, as build.rs has them.
pub const ARCHITECTURES: [u32; 3] = [90, 100, 120];
pub const ARCHIVE: &str = env!("PDL_SHIM_ARCHIVE");
const CUOBJDUMP: &str = env!("PDL_CUOBJDUMP");

/// What the disassembler says of the archive; `None` says why there is none and skips.
pub fn disassembly() -> Option<&'static [Kernel]> {
    static KERNELS: OnceLock<Result<Vec<Kernel>, String>> = OnceLock::new();
    match KERNELS.get_or_init(|| cuobjdump("-sass").map(|text| parse(&text))) {
        Ok(kernels) => Some(kernels),
        Err(reason) => skip(reason),
    }
}

fn skip<T>(reason: &str) -> Option<T> {
    let required = std::env::var("PDL_REQUIRE")
        .is_ok_and(|all| all.split(',').any(|name| name.trim() == "codegen"));
    assert!(!required, "PDL_REQUIRE=codegen: {reason}");
    eprintln!("skipped: {reason}");
    None
}

/// Why the tools cannot be used, or what cuobjdump prints.
fn cuobjdump(flag: &str) -> Result<String, String> {
    for (what, path) in [("the archive of the shim", ARCHIVE), ("cuobjdump", CUOBJDUMP)] {
        if path.is_empty() {
            return Err(format!("this program was built without {what}"));
        }
        if !Path::new(path).exists() {
            return Err(format!("{what} is gone from where it was when this program was built"));
        }
    }
    let output = Command::new(CUOBJDUMP).arg(flag).arg(ARCHIVE).output();
    let output = output.map_err(|error| format!("cuobjdump does not start: {error}"))?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What this program holds. The shim is linked in only because something might be called.
fn this_program() -> &'static HashMap<(u32, String), Counts> {
    static FOUND: OnceLock<HashMap<(u32, String), Counts>> = OnceLock::new();
    FOUND.get_or_init(|| {
        std::hint::black_box(pdl_lab::gpu::open as *const ());
        scan(&std::fs::read(std::env::current_exe().unwrap()).unwrap())
    })
}

/// Two sets that should be equal; what only one of them holds.
fn same<T: Ord + Debug>(found: &BTreeSet<T>, expected: &BTreeSet<T>) {
    let missing: Vec<&T> = expected.difference(found).collect();
    let more: Vec<&T> = found.difference(expected).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, not expected {more:?}");
}

#[test]
fn every_instance_is_there_for_every_architecture() {
    let Some(kernels) = disassembly() else { return };
    let mut expected = BTreeSet::new();
    for arch in ARCHITECTURES {
        expected.extend(Instance::all().into_iter().map(|instance| (arch, instance)));
    }
    let found = kernels.iter().filter_map(|k| Some((k.arch, Instance::of(&k.name)?)));
    same(&found.collect(), &expected);
}

#[test]
fn syncs_triggers_loads_and_stores_are_where_the_template_arguments_say() {
    let Some(kernels) = disassembly() else { return };
    let mut wrong = Vec::new();
    for kernel in kernels {
        if let Some(instance) = Instance::of(&kernel.name)
            && let Err(cause) = instance.check(&kernel.code)
        {
            wrong.push(format!("sm_{} {instance:?}: {cause}", kernel.arch));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn service_kernels_neither_sync_nor_trigger_nor_spill() {
    let Some(kernels) = disassembly() else { return };
    // The race checks and the conformance test have kernels of their own: see mistakes.rs, actors.rs
    // and replay.rs.
    let own = ["pdl_check_args", "pdl_actor_args", "pdl_tally", "6replay"];
    let service = |kernel: &&Kernel| {
        Instance::of(&kernel.name).is_none() && !own.iter().any(|args| kernel.name.contains(args))
    };
    let services: Vec<&Kernel> = kernels.iter().filter(service).collect();
    for arch in ARCHITECTURES {
        for name in ["gate", "fill", "flush", "check", "timer_step", "skew"] {
            let mangled = format!("{}{name}E", name.len());
            let found = services.iter().filter(|k| k.arch == arch && k.name.contains(&mangled));
            assert_eq!(found.count(), 1, "sm_{arch} {name}");
        }
    }
    for kernel in services {
        for opcode in ["ACQBULK", "PREEXIT", "LDL", "STL"] {
            let found = kernel.code.places(opcode);
            assert!(found.is_empty(), "sm_{} {}: {opcode} at {found:?}", kernel.arch, kernel.name);
        }
    }
}

#[test]
fn a_sync_and_a_trigger_that_change_places_are_noticed_in_every_kernel_with_both() {
    let Some(kernels) = disassembly() else { return };
    let mut changed = 0;
    for kernel in kernels {
        let Some(instance) = Instance::of(&kernel.name) else { continue };
        let (syncs, triggers) = (kernel.code.places("ACQBULK"), kernel.code.places("PREEXIT"));
        if let (&[sync], &[trigger, ..]) = (&syncs[..], &triggers[..]) {
            let mut code = kernel.code.clone();
            code.0.swap(sync, trigger);
            assert!(instance.check(&code).is_err(), "sm_{} {instance:?}", kernel.arch);
            changed += 1;
        }
    }
    let both = Instance::all().into_iter().filter(|i| i.syncs() == 1 && i.triggers() == 1);
    assert_eq!(changed, ARCHITECTURES.len() * both.count());
}

/// The library's own reader, which the proof of a run rests on, against the disassembler.
#[test]
fn the_reader_of_machine_code_agrees_with_the_disassembler() {
    let Some(kernels) = disassembly() else { return };
    let expected: BTreeMap<(u32, String), Counts> = kernels
        .iter()
        .map(|kernel| {
            let count = |opcode| kernel.code.places(opcode).len() as u32;
            let counts = Counts { syncs: count("ACQBULK"), triggers: count("PREEXIT") };
            ((kernel.arch, kernel.name.clone()), counts)
        })
        .collect();
    let found = scan(&std::fs::read(ARCHIVE).unwrap());
    same(&found.keys().cloned().collect(), &expected.keys().cloned().collect());
    let linked = this_program();
    for (kernel, counts) in &expected {
        assert_eq!(found[kernel], *counts, "{kernel:?} in the archive");
        assert_eq!(linked.get(kernel), Some(counts), "{kernel:?} in this program");
    }
}

/// Needs no tool, so it holds in a pack too.
#[test]
fn this_program_carries_every_instance_with_its_syncs_and_triggers() {
    let linked: HashMap<(u32, Instance), &Counts> = this_program()
        .iter()
        .filter_map(|((arch, name), counts)| Some(((*arch, Instance::of(name)?), counts)))
        .collect();
    for arch in ARCHITECTURES {
        for instance in Instance::all() {
            let counts = linked[&(arch, instance)];
            assert_eq!(counts.syncs as usize, instance.syncs(), "sm_{arch} {instance:?}");
            assert_eq!(counts.triggers as usize, instance.triggers(), "sm_{arch} {instance:?}");
        }
    }
}

/// GPUs newer than the newest machine code get theirs from this.
#[test]
fn ptx_of_compute_90_has_syncs_and_triggers_as_often_as_the_template_arguments_say() {
    let Some(text) = cuobjdump("-ptx").map_or_else(|reason| skip(&reason), Some) else { return };
    let mut instances = BTreeSet::new();
    for kernel in text.split(".entry ").skip(1) {
        let (name, code) = kernel.split_once('(').unwrap();
        let Some(instance) = Instance::of(name.trim()) else { continue };
        let count = |instruction| code.matches(instruction).count();
        assert_eq!(count("griddepcontrol.wait;"), instance.syncs(), "{instance:?}");
        let triggers = count("griddepcontrol.launch_dependents;");
        assert_eq!(triggers, instance.triggers(), "{instance:?}");
        let constant = count("ld.global.nc");
        assert_eq!(constant > 0, instance.family == Family::Native, "{instance:?}: {constant}");
        instances.insert(instance);
    }
    same(&instances, &Instance::all().into_iter().collect());
    let targets: BTreeSet<&str> = text.lines().filter(|line| line.starts_with(".target")).collect();
    assert_eq!(targets.into_iter().collect::<Vec<_>>(), [".target sm_90"]);
}
