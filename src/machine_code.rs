//! Sync and trigger in the machine code of kernels, read from the bytes of an ELF or of anything
//! that embeds uncompressed cubins: no disassembler is needed.

use std::collections::HashMap;

use object::elf::{FileHeader64, SHT_NOBITS};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader};

/// Machine number of NVIDIA's cubins in the ELF header.
pub(crate) const EM_CUDA: u16 = 190;
/// Bytes of one instruction, sm_70 and newer.
const INSTRUCTION_BYTES: usize = 16;
/// Opcode field of the first word.
const OPCODE: u64 = 0xfff;
/// `ACQBULK`: the grid dependency sync. Checked against the disassembler in tests/codegen.rs.
const ACQBULK: u64 = 0x82e;
/// `PREEXIT`: the trigger.
const PREEXIT: u64 = 0x82d;
const TEXT: &[u8] = b".text.";

/// Syncs and triggers of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `ACQBULK` instructions.
    pub syncs: u32,
    /// `PREEXIT` instructions.
    pub triggers: u32,
}

/// Counts by architecture (90 for sm_90) and mangled kernel name, for every cubin in `bytes`.
pub fn scan(bytes: &[u8]) -> HashMap<(u32, String), Counts> {
    let mut found = HashMap::new();
    let mut at = 0;
    while let Some(next) = find_elf(bytes, at) {
        // Fields that point past the end are refused by the parser, and the ELF is passed over.
        let _ = scan_cubin(&bytes[next..], &mut found);
        at = next + 4;
    }
    found
}

fn find_elf(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(4).position(|window| window == b"\x7fELF").map(|offset| from + offset)
}

fn scan_cubin(
    bytes: &[u8],
    found: &mut HashMap<(u32, String), Counts>,
) -> Result<(), object::read::Error> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    if header.e_machine.get(endian).0 != EM_CUDA {
        return Ok(());
    }
    let arch = architecture(header.e_flags.get(endian).0);
    let sections = header.sections(endian, bytes)?;
    for section in sections.iter() {
        let name = sections.section_name(endian, section)?;
        let Some(kernel) = name.strip_prefix(TEXT) else { continue };
        if section.sh_type.get(endian) == SHT_NOBITS {
            continue;
        }
        let code = section.data(endian, bytes)?;
        found.insert((arch, String::from_utf8_lossy(kernel).into_owned()), count(code));
    }
    Ok(())
}

/// The SM version in an ELF's flags: the second byte since CUDA 13, the first before.
pub(crate) fn architecture(flags: u32) -> u32 {
    let (first, second) = (flags & 0xff, flags >> 8 & 0xff);
    if second >= 50 { second } else { first }
}

fn count(code: &[u8]) -> Counts {
    let found = positions(code);
    Counts { syncs: found.syncs.len() as u32, triggers: found.triggers.len() as u32 }
}

/// Where syncs and triggers stand in the code of one section: byte offsets, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// `ACQBULK` instructions.
    pub syncs: Vec<u64>,
    /// `PREEXIT` instructions.
    pub triggers: Vec<u64>,
}

/// Finds syncs and triggers in the code of one section.
pub fn positions(code: &[u8]) -> Positions {
    let mut found = Positions::default();
    for (index, instruction) in code.chunks_exact(INSTRUCTION_BYTES).enumerate() {
        let word = u64::from_le_bytes(instruction[..8].try_into().expect("eight bytes"));
        let offset = (index * INSTRUCTION_BYTES) as u64;
        match word & OPCODE {
            ACQBULK => found.syncs.push(offset),
            PREEXIT => found.triggers.push(offset),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_counted_whatever_their_predicate() {
        let mut code = Vec::new();
        for word in [0x782e_u64, 0x782d, 0x982d, 0x7919] {
            code.extend(word.to_le_bytes());
            code.extend([0xff; 8]);
        }
        assert_eq!(count(&code), Counts { syncs: 1, triggers: 2 });
        assert_eq!(positions(&code), Positions { syncs: vec![0], triggers: vec![16, 32] });
    }

    #[test]
    fn bytes_that_only_look_like_an_elf_are_passed_over() {
        assert!(scan(b"xx\x7fELFyy\x7fELF").is_empty());
        assert!(scan(&[]).is_empty());
    }
}
