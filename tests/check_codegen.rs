//! What the compiler made of the check's kernels: the correct ones read and write only below the
//! sync, and each mutant's mistake is in its machine code. Needs the disassembler, no GPU.
#![cfg(feature = "cuda")]

use std::collections::{HashMap, HashSet};
use std::process::Command;

use pdl_lab::machine_code::scan;

const ARCHITECTURES: [u32; 3] = [90, 100, 120];

/// The memory accesses and syncs of a kernel in order of address: `S` sync, `T` trigger, `L` load
/// of values, `N` non-coherent load, `W` store, `X` conditional exit. Volatile loads are left out.
fn events(arch: u32) -> Option<HashMap<String, String>> {
    let (tool, archive) = (env!("PDL_CUOBJDUMP"), env!("PDL_SHIM_ARCHIVE"));
    if tool.is_empty() || archive.is_empty() {
        let required = std::env::var("PDL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|r| r == "disassembler"), "no disassembler was found");
        eprintln!("skipped: no disassembler was found when this was built (script/toolkit)");
        return None;
    }
    let output =
        Command::new(tool).args(["-sass", "-arch", &format!("sm_{arch}"), archive]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut kernels = HashMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(function) = line.trim().strip_prefix("Function : ") {
            name = function.to_owned();
        } else if let Some(event) = event(line) {
            kernels.entry(name.clone()).or_insert_with(String::new).push(event);
        }
    }
    Some(kernels)
}

fn event(line: &str) -> Option<char> {
    let code = line.split("*/").nth(1)?.trim();
    let (predicate, code) = match code.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map(|(_, code)| (true, code.trim()))?,
        None => (false, code),
    };
    match code.split([' ', ';']).next()? {
        "ACQBULK" => Some('S'),
        "PREEXIT" => Some('T'),
        "EXIT" if predicate => Some('X'),
        load if load.starts_with("LDG") && load.contains("CONSTANT") => Some('N'),
        load if load.starts_with("LDG") && !load.contains("STRONG") => Some('L'),
        store if store.starts_with("STG") => Some('W'),
        _ => None,
    }
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
fn correct_kernels_read_and_write_below_the_sync_alone() {
    for arch in ARCHITECTURES {
        let Some(kernels) = events(arch) else { return };
        for name in [straight(0), plain("loop")] {
            let (above, below) = around_the_sync(&kernels[&name]);
            assert!(!above.contains(['L', 'N', 'W']), "sm_{arch} {name}: {above}");
            assert!(below.contains('L') && below.contains('W'), "sm_{arch} {name}: {below}");
            assert!(!below.contains('N'), "sm_{arch} {name}: {below}");
            assert!(above.contains('T') && below.contains('T'), "sm_{arch} {name}: both triggers");
        }
        // The ring stages above its sync, and reads below it.
        let (above, below) = around_the_sync(&kernels[&ring(3)]);
        assert!(
            above.matches('W').count() == 1 && !above.contains(['L', 'N']),
            "sm_{arch}: {above}"
        );
        assert!(below.contains('L') && !below.contains('N'), "sm_{arch}: {below}");
    }
}

#[test]
fn every_mistake_is_in_the_machine_code() {
    for arch in ARCHITECTURES {
        let Some(kernels) = events(arch) else { return };
        assert!(!kernels[&straight(1)].contains('S'), "sm_{arch}: no sync");
        // Kernel, what stands above its sync and does not in the correct one.
        for (name, above_the_sync) in [
            (straight(2), 'L'),
            (straight(4), 'X'),
            (straight(5), 'W'),
            // The compiler moved it there.
            (plain("loop_restrict"), 'N'),
        ] {
            let (above, _) = around_the_sync(&kernels[&name]);
            assert!(above.contains(above_the_sync), "sm_{arch} {name}: {above}");
            let (correct, _) = around_the_sync(&kernels[&straight(0)]);
            assert!(!correct.contains(above_the_sync), "sm_{arch}: {correct}");
        }
        around_the_sync(&kernels[&straight(3)]);
        around_the_sync(&kernels[&ring(2)]);
    }
}

#[test]
fn the_hash_tells_every_kernel_from_every_other() {
    let archive = env!("PDL_SHIM_ARCHIVE");
    if archive.is_empty() {
        eprintln!("skipped: a pack holds no path of its archive");
        return;
    }
    let code = scan(&std::fs::read(archive).unwrap());
    for arch in ARCHITECTURES {
        let mut names: Vec<String> = (0..6).map(straight).collect();
        names.extend(["loop", "loop_restrict", "fault", "hang"].map(plain));
        names.extend([ring(2), ring(3)]);
        let count = names.len();
        let hashes: HashSet<u64> = names.into_iter().map(|name| code[&(arch, name)].hash).collect();
        assert_eq!(hashes.len(), count, "sm_{arch}");
        assert_eq!(code[&(arch, straight(0))].syncs, 1);
        assert_eq!(code[&(arch, straight(1))].syncs, 0);
    }
}
