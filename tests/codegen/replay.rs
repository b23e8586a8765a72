//! The kernels that graphs made elsewhere are checked with: the race check rests on where the
//! stand-in triggers, and its tests on consumers that read where they claim to.

use crate::sass::Kernel;
use crate::shipped::{ARCHITECTURES, disassembly};

/// What a kernel does, in order of address: `S` sync, `T` trigger, `L` load, `W` store.
fn events(kernel: &Kernel) -> String {
    let event = |instruction: &String| match instruction.split([' ', '.']).next()? {
        "ACQBULK" => Some('S'),
        "PREEXIT" => Some('T'),
        "LDG" | "LD" => Some('L'),
        "STG" | "ST" => Some('W'),
        _ => None,
    };
    kernel.code.0.iter().filter_map(event).collect()
}

#[test]
fn kernels_of_the_race_check_do_what_their_names_say() {
    // (part of the mangled name, events)
    let expected = [
        ("consumerILb1E", "STLW"),
        ("consumerILb0E", "TLW"),
        ("early_writer", "WSTLW"),
        ("6replay7witness", "W"),
    ];
    for arch in ARCHITECTURES {
        let Some(kernels) = disassembly() else { return };
        let find = |name: &str| {
            let found = kernels.iter().find(|k| k.arch == arch && k.name.contains(name));
            events(found.unwrap_or_else(|| panic!("sm_{arch} {name}")))
        };
        for (name, expected) in expected {
            assert_eq!(find(name), expected, "sm_{arch} {name}");
        }
        let stand_in = find("6replay8stand_in");
        assert!(stand_in.starts_with('T'), "it triggers first: sm_{arch} {stand_in}");
        assert!(!stand_in.contains('S'), "it waits for nothing: sm_{arch} {stand_in}");
    }
}
