//! The checks themselves: a kernel as it should be passes, and one that is not is told so.

use std::collections::BTreeSet;

use crate::rules::{Family, Instance};
use crate::sass::{Code, parse};

const NAME: &str = "_ZN3pdl5chainIL11pdl_trigger3EL8pdl_body0ELb0EEEv14pdl_chain_args";

/// A kernel that triggers after its sync, as the disassembler prints it: short, but with all that
/// the rules ask for.
fn listing() -> String {
    let mut lines = vec!["S2R R0, SR_TID.X".to_owned()];
    lines.extend(vec!["FFMA R1, R1, R2, R3".to_owned(); 32]);
    lines.extend(["LDGSTS.E.BYPASS.128 [R5], [R6.64]", "@P1 CCTL.E.PF2 [R8]"].map(str::to_owned));
    lines.extend(["ACQBULK", "@!P1 PREEXIT", "LDG.E.64 R4, desc[UR6][R4.64]"].map(str::to_owned));
    lines.extend(vec!["FFMA R1, R1, R2, R3".to_owned(); 32]);
    lines.extend(["@P0 EXIT", "STG.E.64 desc[UR6][R4.64], R6", "EXIT"].map(str::to_owned));
    let mut text = format!("arch = sm_90\n\tcode for sm_90\n\t\tFunction : {NAME}\n");
    for (place, line) in lines.iter().enumerate() {
        let (address, padding) = (place * 16, " ".repeat(20));
        text += &format!(
            "        /*{address:04x}*/{padding}{line} ;{padding}/* 0x00000a00ff017b82 */\n"
        );
        text += &format!("{}/* 0x000ff00000000800 */\n", " ".repeat(60));
    }
    text
}

fn code() -> Code {
    parse(&listing()).remove(0).code
}

fn after_sync() -> Instance {
    Instance { family: Family::Chain("AFTER_SYNC"), body: "FMA", stamped: false }
}

#[test]
fn a_listing_is_read_as_its_instructions_without_predicates() {
    let kernels = parse(&listing());
    assert_eq!(kernels.len(), 1);
    assert_eq!((kernels[0].arch, kernels[0].name.as_str()), (90, NAME));
    assert_eq!(Instance::of(NAME), Some(after_sync()));
    let code = &kernels[0].code;
    assert_eq!(code.0.len(), 73);
    assert_eq!(code.places("PREEXIT"), [36]);
    assert_eq!(code.places("LDG"), [37], "LDGSTS is another opcode");
    assert_eq!(code.places("CCTL.PF2").len(), 1);
    assert!(code.places("LDG.CONSTANT").is_empty());
}

#[test]
fn every_instance_is_listed_once_and_read_back_from_its_name() {
    let all: BTreeSet<Instance> = Instance::all().into_iter().collect();
    assert_eq!(all.len(), (6 + 1 + 1) * 5 * 2 + 5, "six triggers, five bodies");
    assert_eq!(all.len(), Instance::all().len());
    let table = [
        ("_ZN3pdl6nativeIL8pdl_body1ELb1EEEv14pdl_chain_args", Family::Native, "STREAM", true),
        (
            "_ZN3pdl5flagsIL8pdl_body2ELb0EEEv14pdl_chain_args9pdl_flags",
            Family::Flags,
            "STREAM_NARROW",
            false,
        ),
        ("_ZN3pdl10persistentIL8pdl_body0EEEv14pdl_chain_args", Family::Persistent, "FMA", false),
    ];
    for (name, family, body, stamped) in table {
        let instance = Instance { family, body, stamped };
        assert_eq!(Instance::of(name), Some(instance));
        assert!(all.contains(&instance));
    }
    assert_eq!(Instance::of("_ZN3pdl43_GLOBAL__N__34eb62e5_10_service_cu_f833e4204gateEPKj"), None);
}

#[test]
fn a_kernel_as_it_should_be_passes() {
    assert_eq!(after_sync().check(&code()), Ok(()));
}

#[test]
fn every_deviation_is_told() {
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change); 13] = [
        ("trigger above the sync", |code| code.swap(35, 36)),
        ("load above the trigger", |code| code.swap(36, 37)),
        ("load above the sync", |code| code.swap(35, 37)),
        ("copy below the sync", |code| code.swap(33, 35)),
        ("store above the sync", |code| code.swap(0, 71)),
        ("no sync", |code| drop(code.remove(35))),
        ("no trigger", |code| drop(code.remove(36))),
        ("a second trigger", |code| code.insert(40, "PREEXIT".to_owned())),
        ("preamble below the sync", |code| code.swap(3, 35)),
        ("body above the load", |code| code.swap(37, 69)),
        ("spilled registers", |code| code.insert(40, "STL [R1], R7".to_owned())),
        ("no preamble", |code| drop(code.drain(1..33))),
        ("read-only load", |code| code[37] = "LDG.E.64.CONSTANT R4, [R4.64]".to_owned()),
    ];
    for (what, change) in changes {
        let mut changed = code();
        change(&mut changed.0);
        assert!(after_sync().check(&changed).is_err(), "{what}");
    }
}

#[test]
fn the_same_code_is_refused_under_another_trigger() {
    let at_entry = Instance { family: Family::Chain("AT_ENTRY"), ..after_sync() };
    let error = at_entry.check(&code()).unwrap_err();
    assert!(error.contains("trigger at 36, preamble at 1"), "{error}");
    for trigger in ["IMPLICIT", "IN_BODY", "BEFORE_STORE", "AFTER"] {
        let other = Instance { family: Family::Chain(trigger), ..after_sync() };
        assert!(other.check(&code()).is_err(), "{trigger}");
    }
    for family in [Family::Native, Family::Flags, Family::Persistent] {
        assert!(Instance { family, ..after_sync() }.check(&code()).is_err(), "{family:?}");
    }
}
