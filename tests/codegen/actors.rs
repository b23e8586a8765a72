//! What the compiler made of the conformance test's kernels: a verdict about the GPU must not be
//! one about a load that was moved.

use crate::sass::Kernel;
use crate::shipped::{ARCHITECTURES, disassembly};

/// What a kernel does, in order of address: `S` sync, `T` trigger, `R` load from the L2, `L` plain
/// load, `N` non-coherent load, `F` fence, `W` store, `G` read of the global timer.
fn events(kernel: &Kernel) -> String {
    let event = |instruction: &String| {
        let has = |part: &str| instruction.split(['.', ' ', ',']).any(|found| found == part);
        let opcode = instruction.split([' ', '.']).next().unwrap_or_default();
        match opcode {
            "ACQBULK" => Some('S'),
            "PREEXIT" => Some('T'),
            "LDG" if has("CONSTANT") => Some('N'),
            "LDG" if has("STRONG") => Some('R'),
            "LDG" => Some('L'),
            "MEMBAR" => Some('F'),
            "STG" => Some('W'),
            "CS2R" | "CS2UR" | "S2R" | "S2UR" if instruction.contains("GLOBALTIMER") => Some('G'),
            _ => None,
        }
    };
    kernel.code.0.iter().filter_map(event).collect()
}

fn kernel(arch: u32, name: &str) -> Option<String> {
    let kernels = disassembly()?;
    let found = kernels.iter().find(|k| k.arch == arch && k.name.contains(name));
    Some(events(found.unwrap_or_else(|| panic!("sm_{arch} {name}"))))
}

#[test]
fn an_actor_reads_what_it_should_see_after_the_sync_below_it() {
    for arch in ARCHITECTURES {
        let Some(events) = kernel(arch, "pdl_actor_args") else { return };
        let (above, below) = events.split_once('S').unwrap_or_else(|| panic!("{arch}: {events}"));
        let count = |part: &str, event: char| part.matches(event).count();
        let place = format!("sm_{arch}: {events}");
        // At entry and before the sync; after it, after the write, and all threads at the end.
        assert_eq!((count(above, 'T'), count(below, 'T')), (2, 3), "{place}");
        assert!(!below.contains('S'), "one sync: {place}");
        assert!(above.contains('R'), "the read before the sync goes to the L2: {place}");
        // A plain load or a store above the sync was moved there. The compiler may place code that
        // runs later at a lower address, but not these: it places them in the order of the source.
        assert!(!above.contains('L') && !above.contains('W'), "{place}");
        assert!(below.contains('L') && !below.contains('R'), "{place}");
        assert!(!events.contains('N'), "no load is free to move: {place}");
        // The stamp of a trigger is taken before it, and the last ones end a spin.
        assert_eq!(events.matches("GT").count(), 5, "{place}");
        // The moment of release comes right after the sync.
        assert!(below.starts_with('G'), "{place}");
        assert!(below.find('F') < below.find('T').map(|_| below.rfind("GT").unwrap()), "{place}");
    }
}

#[test]
fn the_tally_triggers_in_the_primary_and_reads_below_the_sync_in_the_secondary() {
    for arch in ARCHITECTURES {
        let Some(primary) = kernel(arch, "tally_primary") else { return };
        assert!(primary.starts_with("TL") && !primary.contains('S'), "sm_{arch}: {primary}");
        let Some(secondary) = kernel(arch, "tally_secondary") else { return };
        assert!(secondary.starts_with("GSL"), "sm_{arch}: {secondary}");
        assert!(!secondary.contains('N') && !secondary.contains('T'), "sm_{arch}: {secondary}");
    }
}
