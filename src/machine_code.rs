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
const ELF: [u8; 4] = *b"\x7fELF";
/// FNV-1a, 64 bits (Fowler, Noll, Vo).
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0000_0100_0000_01b3;

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
    for_each_kernel(bytes, |kernel, code| {
        found.insert(kernel, count(code));
    });
    found
}

/// Hash of the machine code of each kernel, keyed as in [`scan`]: equal bytes have equal hashes.
pub fn hashes(bytes: &[u8]) -> HashMap<(u32, String), u64> {
    let mut found = HashMap::new();
    for_each_kernel(bytes, |kernel, code| {
        found.insert(kernel, hash(code));
    });
    found
}

fn for_each_kernel(bytes: &[u8], mut visit: impl FnMut((u32, String), &[u8])) {
    let mut at = 0;
    while let Some(next) = find_elf(bytes, at) {
        // Fields that point past the end are refused by the parser, and the ELF is passed over.
        let _ = visit_cubin(&bytes[next..], &mut visit);
        at = next + ELF.len();
    }
}

/// The next ELF at or after `from`. Eight bytes at a time where none of them can be its first:
/// the programs that are scanned have a hundred megabytes when they carry debug information.
pub(crate) fn find_elf(bytes: &[u8], from: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const FIRST: u64 = u64::from_ne_bytes([ELF[0]; 8]);
    let mut at = from;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= ELF.len()) {
        if let Some(&word) = rest.first_chunk() {
            let zero_where_first = u64::from_ne_bytes(word) ^ FIRST;
            if zero_where_first.wrapping_sub(ONES) & !zero_where_first & HIGH == 0 {
                at += word.len();
                continue;
            }
        }
        if rest.starts_with(&ELF) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn visit_cubin(
    bytes: &[u8],
    visit: &mut impl FnMut((u32, String), &[u8]),
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
        visit((arch, String::from_utf8_lossy(kernel).into_owned()), code);
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

fn hash(code: &[u8]) -> u64 {
    code.iter().fold(HASH_START, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(HASH_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // From the authors' test vectors.
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(hash(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn an_elf_is_found_wherever_it_begins() {
        for before in 0..20 {
            for after in 0..10 {
                let mut bytes = vec![0x7f; before];
                bytes.extend(ELF);
                bytes.extend(vec![b'E'; after]);
                assert_eq!(find_elf(&bytes, 0), Some(before), "{before} {after}");
                assert_eq!(find_elf(&bytes, before + 1), None, "{before} {after}");
            }
        }
        assert_eq!(find_elf(&ELF[..3], 0), None);
        assert_eq!(find_elf(&ELF, 9), None);
    }

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
