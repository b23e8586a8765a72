//! What the compiler made of the race check's kernels: the correct ones read and write below the
//! sync alone, and each mutant's mistake is in its machine code.

use std::collections::{HashMap, HashSet};

use pdl_lab::machine_code::hashes;

use crate::sass::Kernel;
use crate::shipped::{ARCHITECTURES, ARCHIVE, disassembly};

/// What a kernel does, in order of address: `S` sync, `T` trigger, `L` load of values, `N`
/// non-coherent load, `W` store, `X` exit. Volatile loads are left out.
fn events(kernel: &Kernel) -> String {
    let event = |instruction: &String| {
        let opcode = instruction.split(' ').next().unwrap_or_default();
        let has = |modifier: &str| opcode.split('.').any(|part| part == modifier);
        match opcode.split('.').next().unwrap_or_default() {
            "ACQBULK" => Some('S'),
            "PREEXIT" => Some('T'),
            "EXIT" => Some('X'),
            "LDG" if has("CONSTANT") => Some('N'),
            "LDG" if !has("STRONG") => Some('L'),
            "STG" => Some('W'),
            _ => None,
        }
    };
    kernel.code.0.iter().filter_map(event).collect()
}

/// Events of the check's kernels by architecture and name.
fn all() -> Option<HashMap<(u32, String), String>> {
    let kernels = disassembly()?.iter().filter(|kernel| kernel.name.contains("pdl_check_args"));
    Some(kernels.map(|kernel| ((kernel.arch, kernel.name.clone()), events(kernel))).collect())
}

/// What is above and below the one sync.
fn around_the_sync(events: &str) -> (&str, &str) {
    let (above, below) = events.split_once('S').expect("there is a sync");
    assert!(!below.contains('S'), "one sync: {events}");
    (above, below)
}

fn straight(number: u32) -> String {
    format!("_ZN3pdl8straightIL16pdl_check_kernel{number}EEEv14pdl_check_argsPKm")
}

fn plain(name: &str) -> String {
    format!("_ZN3pdl{}{name}E14pdl_check_argsPKm", name.len())
}

fn ring(slots: u32) -> String {
    format!("_ZN3pdl4ringILj{slots}EEEv14pdl_check_argsPKm")
}

#[test]
fn correct_kernels_of_the_check_read_and_write_below_the_sync_alone() {
    let Some(kernels) = all() else { return };
    for arch in ARCHITECTURES {
        let of = |name: &str| kernels[&(arch, name.to_owned())].as_str();
        for name in [straight(0), plain("loop")] {
            let (above, below) = around_the_sync(of(&name));
            assert!(!above.contains(['L', 'N', 'W', 'X']), "sm_{arch} {name}: {above}");
            assert!(below.contains('L') && below.contains('W'), "sm_{arch} {name}: {below}");
            assert!(!below.contains('N'), "sm_{arch} {name}: {below}");
            assert!(above.contains('T') && below.contains('T'), "sm_{arch} {name}: both triggers");
        }
        // The ring stages above its sync, and reads below it.
        let (above, below) = around_the_sync(of(&ring(3)));
        assert_eq!(above.matches('W').count(), 1, "sm_{arch}: {above}");
        assert!(!above.contains(['L', 'N']), "sm_{arch}: {above}");
        assert!(below.contains('L') && !below.contains('N'), "sm_{arch}: {below}");
    }
}

#[test]
fn every_mistake_of_a_mutant_is_in_its_machine_code() {
    let Some(kernels) = all() else { return };
    for arch in ARCHITECTURES {
        let of = |name: &str| kernels[&(arch, name.to_owned())].as_str();
        assert!(!of(&straight(1)).contains('S'), "sm_{arch}: no sync");
        // Kernel, and what stands above its sync that does not in the correct one.
        for (name, mistake) in [
            (straight(2), 'L'),
            (straight(4), 'X'),
            (straight(5), 'W'),
            // The compiler moved it there.
            (plain("loop_restrict"), 'N'),
        ] {
            let (above, _) = around_the_sync(of(&name));
            assert!(above.contains(mistake), "sm_{arch} {name}: {above}");
        }
        around_the_sync(of(&straight(3)));
        around_the_sync(of(&ring(2)));
    }
}

/// Needs no tool.
#[test]
fn the_hash_tells_every_kernel_of_the_check_from_every_other() {
    let Ok(archive) = std::fs::read(ARCHIVE) else {
        eprintln!("skipped: the archive of the shim is not where it was built");
        return;
    };
    let hashes = hashes(&archive);
    for arch in ARCHITECTURES {
        let mut names: Vec<String> = (0..6).map(straight).collect();
        names.extend(["loop", "loop_restrict", "fault", "hang"].map(plain));
        names.extend([ring(2), ring(3)]);
        let count = names.len();
        let found: HashSet<u64> = names.into_iter().map(|name| hashes[&(arch, name)]).collect();
        assert_eq!(found.len(), count, "sm_{arch}");
    }
}
