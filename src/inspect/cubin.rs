//! What the ELF of a cubin says without disassembling: kernels, their resources, and the byte
//! patterns of sync and trigger.

use std::collections::HashMap;

use object::elf::{FileHeader64, SHT_NOBITS, STT_FUNC};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::machine_code::{self, Positions};

/// Mark of a kernel in a symbol's `st_other`; device functions lack it.
const ENTRY: u8 = 0x10;
const CODE: &str = ".text.";
const SHARED: &str = ".nv.shared.";
/// Attribute records of `.nv.info`: format with a sized value, and the attributes read here.
/// Checked against the disassembler's resource listing in the tests.
const SIZED: u8 = 4;
const REGISTERS: u8 = 0x2f;
const STACK: u8 = 0x12;
/// A record of `.nv.info.KERNEL` for each parameter: index, ordinal and offset (16 bits each), and a
/// word with the size in its upper 14 bits.
const PARAMETER: u8 = 0x17;
const INFO: &str = ".nv.info.";
/// Sections of variables in global memory, without and with a first value.
const VARIABLES: [&str; 2] = [".nv.global", ".nv.global.init"];

/// A cubin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cubin {
    /// 90 for sm_90 and sm_90a.
    pub(crate) arch: u32,
    /// Whether it is to be linked with others, whose functions its kernels may call.
    pub(super) relocatable: bool,
    /// Whether it has variables in global memory.
    pub(crate) variables: bool,
    /// Sections with code.
    pub(crate) functions: Vec<Function>,
}

/// One code section.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// Mangled name.
    pub(crate) name: String,
    /// Whether it can be launched.
    pub(crate) kernel: bool,
    /// Index of its symbol: how the disassembler is asked for it alone.
    pub(super) symbol: usize,
    /// Bytes of code.
    pub(super) code_bytes: u64,
    /// Offsets of syncs and triggers.
    pub(crate) positions: Positions,
    /// Registers a thread.
    pub(crate) registers: Option<u32>,
    /// Static shared memory a block, bytes.
    pub(crate) shared_bytes: u32,
    /// Local memory a thread, bytes; `None` when the compiler could not bound it.
    pub(super) local_bytes: Option<u32>,
    /// Offset and size of each parameter of a kernel, bytes, in order; empty where the cubin does
    /// not say.
    pub(crate) parameters: Vec<(u32, u32)>,
}

/// Reads a cubin; the error says what is wrong with it.
pub(crate) fn read(bytes: &[u8]) -> Result<Cubin, String> {
    parse(bytes).map_err(|error| match error {
        Malformed::Elf(error) => format!("it is damaged or truncated: {error}"),
        Malformed::NoCubin => "it is an ELF but no cubin".into(),
    })
}

/// The architecture, if the bytes are the head of a cubin.
pub(super) fn is_cubin(bytes: &[u8]) -> bool {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok();
    header.is_some_and(|header| header.e_machine.get(LittleEndian).0 == machine_code::EM_CUDA)
}

enum Malformed {
    Elf(object::read::Error),
    NoCubin,
}

impl From<object::read::Error> for Malformed {
    fn from(error: object::read::Error) -> Self {
        Malformed::Elf(error)
    }
}

fn parse(bytes: &[u8]) -> Result<Cubin, Malformed> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    if header.e_machine.get(endian).0 != machine_code::EM_CUDA {
        return Err(Malformed::NoCubin);
    }
    let sections = header.sections(endian, bytes)?;
    let symbols = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB)?;
    let mut kernels: HashMap<&[u8], (usize, bool)> = HashMap::new();
    let mut names: Vec<&[u8]> = Vec::new();
    for (index, symbol) in symbols.iter().enumerate() {
        let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
        names.push(name);
        if symbol.st_type() == STT_FUNC {
            kernels.insert(name, (index, symbol.st_other.0 & ENTRY != 0));
        }
    }
    let mut cubin = Cubin {
        arch: machine_code::architecture(header.e_flags.get(endian).0),
        relocatable: header.e_type.get(endian) == object::elf::ET_REL,
        variables: false,
        functions: Vec::new(),
    };
    let mut shared: HashMap<&[u8], u32> = HashMap::new();
    let mut parameters: HashMap<&[u8], Vec<(u32, u32)>> = HashMap::new();
    let mut attributes = Attributes::default();
    for section in sections.iter() {
        let name = sections.section_name(endian, section)?;
        if name == b".nv.info" {
            attributes.read(section.data(endian, bytes)?);
        } else if VARIABLES.iter().any(|variables| variables.as_bytes() == name) {
            cubin.variables = true;
        } else if let Some(kernel) = name.strip_prefix(INFO.as_bytes()) {
            parameters.insert(kernel, read_parameters(section.data(endian, bytes)?));
        } else if let Some(kernel) = name.strip_prefix(SHARED.as_bytes()) {
            shared.insert(kernel, section.sh_size.get(endian).try_into().unwrap_or(u32::MAX));
        } else if let Some(kernel) = name.strip_prefix(CODE.as_bytes()) {
            if section.sh_type.get(endian) == SHT_NOBITS {
                continue;
            }
            let Some(&(symbol, entry)) = kernels.get(kernel) else { continue };
            let code = section.data(endian, bytes)?;
            cubin.functions.push(Function {
                name: String::from_utf8_lossy(kernel).into_owned(),
                kernel: entry,
                symbol,
                code_bytes: code.len() as u64,
                positions: machine_code::positions(code),
                registers: None,
                shared_bytes: 0,
                local_bytes: None,
                parameters: Vec::new(),
            });
        }
    }
    for function in &mut cubin.functions {
        let index = function.symbol as u32;
        function.registers = attributes.registers.get(&index).copied();
        function.shared_bytes = shared.get(function.name.as_bytes()).copied().unwrap_or(0);
        let stack = attributes.stack_bytes.get(&index).copied();
        function.local_bytes = stack.filter(|&bytes| bytes != u32::MAX);
        function.parameters = parameters.remove(function.name.as_bytes()).unwrap_or_default();
    }
    Ok(cubin)
}

/// Attributes of functions, by symbol.
#[derive(Default)]
struct Attributes {
    registers: HashMap<u32, u32>,
    stack_bytes: HashMap<u32, u32>,
}

impl Attributes {
    fn read(&mut self, bytes: &[u8]) {
        for_each_record(bytes, |attribute, payload| {
            if let (Some(symbol), Some(value)) = (word(payload, 0), word(payload, 4)) {
                match attribute {
                    REGISTERS => drop(self.registers.insert(symbol, value)),
                    STACK => drop(self.stack_bytes.insert(symbol, value)),
                    _ => {}
                }
            }
        });
    }
}

/// Offsets and sizes, in the order of the parameters.
fn read_parameters(bytes: &[u8]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for_each_record(bytes, |attribute, payload| {
        if let (PARAMETER, Some(place), Some(size)) =
            (attribute, word(payload, 4), word(payload, 8))
        {
            found.push((place & 0xffff, place >> 16, size >> 18));
        }
    });
    found.sort_unstable();
    found.into_iter().map(|(_, offset, size)| (offset, size)).collect()
}

/// Attributes and payloads. A record is format, attribute and a 16-bit value, which for the sized
/// format is the length of what follows.
fn for_each_record(mut bytes: &[u8], mut visit: impl FnMut(u8, &[u8])) {
    while let [format, attribute, low, high, rest @ ..] = bytes {
        let length = if *format == SIZED { usize::from(*low) | usize::from(*high) << 8 } else { 0 };
        let Some(payload) = rest.get(..length) else { return };
        visit(*attribute, payload);
        bytes = &rest[length..];
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}
