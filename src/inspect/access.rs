//! Which instructions touch global memory.

use super::sass::{Guard, Instruction};

/// What an instruction may do to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    /// Reads values.
    pub(super) load: bool,
    /// Writes values.
    pub(super) store: bool,
    /// Reads through a path that is not coherent with writes of other kernels in flight:
    /// `ld.global.nc`, textures.
    pub(super) non_coherent: bool,
}

impl Access {
    const LOAD: Access = Access { load: true, store: false, non_coherent: false };
    const STORE: Access = Access { load: false, store: true, non_coherent: false };
    const BOTH: Access = Access { load: true, store: true, non_coherent: false };
    const TEXTURE: Access = Access { load: true, store: false, non_coherent: true };
}

/// Generic accesses count: where their address points is not in the code. Prefetches and cache
/// control do not: they move no value to a thread.
pub(super) fn of(instruction: &Instruction<'_>) -> Access {
    if instruction.guard == Guard::Never {
        return Access::default();
    }
    match instruction.stem() {
        "LD" | "LDG" => Access { non_coherent: instruction.has("CONSTANT"), ..Access::LOAD },
        "LDGSTS" | "UTMALDG" | "SULD" => Access::LOAD,
        "ST" | "STG" | "RED" | "REDG" | "UTMASTG" | "UTMAREDG" | "UBLKRED" | "SUST" => {
            Access::STORE
        }
        "ATOM" | "ATOMG" | "SUATOM" | "SURED" => Access::BOTH,
        "UBLKCP" => bulk_copy(instruction.operation),
        "TEX" | "TLD" | "TLD4" | "TXD" | "TEXS" | "TLDS" | "TLD4S" => Access::TEXTURE,
        _ => Access::default(),
    }
}

/// `UBLKCP.S.G` copies to shared from global memory: the destination comes first.
fn bulk_copy(operation: &str) -> Access {
    let mut spaces = operation.split('.').skip(1).filter(|part| matches!(*part, "S" | "G"));
    match (spaces.next(), spaces.next()) {
        (Some("S"), Some("G")) => Access::LOAD,
        (Some("G"), Some("S")) => Access::STORE,
        (Some("S"), Some("S")) => Access::default(),
        _ => Access::BOTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_accesses_are_told_from_the_rest() {
        // Operation, load, store, non-coherent.
        for (operation, load, store, non_coherent) in [
            ("LDG.E", true, false, false),
            ("LDG.E.128.CONSTANT", true, false, true),
            ("LDG.E.64.STRONG.SYS", true, false, false),
            ("LD.E.CONSTANT", true, false, true),
            ("LDGSTS.E.BYPASS.LTC128B.128", true, false, false),
            ("UTMALDG.4D.MULTICAST", true, false, false),
            ("UBLKCP.S.G", true, false, false),
            ("UBLKCP.G.S", false, true, false),
            ("TEX.SCR.LL", true, false, true),
            ("STG.E", false, true, false),
            ("REDG.E.ADD.STRONG.GPU", false, true, false),
            ("ATOMG.E.CAS.STRONG.GPU", true, true, false),
            ("UTMASTG.4D", false, true, false),
            ("LDS", false, false, false),
            ("LDL", false, false, false),
            ("LDC.64", false, false, false),
            ("LDGDEPBAR", false, false, false),
            ("LDSM.16.M88.4", false, false, false),
            ("STS", false, false, false),
            ("STL", false, false, false),
            ("ATOMS.ADD", false, false, false),
            ("CCTL.E.PF2", false, false, false),
            ("UTMAPF.L2.2D", false, false, false),
            ("REDUX", false, false, false),
        ] {
            let mut instruction = Instruction {
                offset: 0,
                guard: Guard::Sometimes,
                operation,
                operands: "",
                annotated: None,
            };
            assert_eq!(of(&instruction), Access { load, store, non_coherent }, "{operation}");
            instruction.guard = Guard::Never;
            assert_eq!(of(&instruction), Access::default(), "{operation}");
        }
    }
}
