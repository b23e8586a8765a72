//! Machine code as `cuobjdump -sass` prints it.

/// One kernel for one architecture.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// 90 for sm_90.
    pub arch: u32,
    /// As the compiler mangled it.
    pub name: String,
    /// Instructions in the order of their addresses, predicates stripped: `STG.E.64 [R4.64], R6`.
    pub code: Code,
}

/// Every kernel of a disassembly.
pub fn parse(text: &str) -> Vec<Kernel> {
    let mut arch = None;
    let mut kernels: Vec<Kernel> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("arch = sm_") {
            arch = name.trim_end_matches(char::is_alphabetic).parse().ok();
        } else if let Some(name) = line.strip_prefix("Function : ") {
            let arch = arch.expect("the architecture is printed before its functions");
            kernels.push(Kernel { arch, name: name.to_owned(), code: Code::default() });
        } else if let (Some(kernel), Some(instruction)) = (kernels.last_mut(), instruction(line)) {
            kernel.code.0.push(instruction);
        }
    }
    kernels
}

/// The instruction of a line `/*0040*/  @!P1 PREEXIT ;  /* 0x… */`; `None` for other lines, such
/// as the second half of an encoding.
fn instruction(line: &str) -> Option<String> {
    let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    u64::from_str_radix(address, 16).ok()?;
    let text = rest.split(';').next()?.trim();
    let text = match text.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ')?.1.trim(),
        None => text,
    };
    Some(text.to_owned())
}

/// Instructions in order.
#[derive(Clone, Debug, Default)]
pub struct Code(pub Vec<String>);

impl Code {
    /// Places of the instructions that have this opcode and all of these modifiers: `LDG.STRONG`
    /// matches `LDG.E.64.STRONG.GPU`.
    pub fn places(&self, pattern: &str) -> Vec<usize> {
        let found = self.0.iter().enumerate().filter(|(_, text)| matches(text, pattern));
        found.map(|(place, _)| place).collect()
    }

    /// Places of the reads of the global timer.
    pub fn timer_reads(&self) -> Vec<usize> {
        let found = self.0.iter().enumerate().filter(|(_, text)| text.contains("SR_GLOBALTIMER"));
        found.map(|(place, _)| place).collect()
    }
}

fn matches(instruction: &str, pattern: &str) -> bool {
    // Most instructions are others, and there are many.
    if instruction.as_bytes().first() != pattern.as_bytes().first() {
        return false;
    }
    let opcode = instruction.split(' ').next().unwrap_or_default();
    let mut have = opcode.split('.');
    let mut want = pattern.split('.');
    have.next() == want.next() && want.all(|modifier| have.clone().any(|part| part == modifier))
}
