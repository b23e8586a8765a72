//! Reads what `nvdisasm -c` prints: functions, instructions, and where their branches lead.

use std::collections::HashMap;

/// Whether an instruction executes when it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// No predicate, or the one that is always true.
    Always,
    /// A predicate that the machine code computes.
    Sometimes,
    /// `@!PT`: padding, and what the compiler switched off.
    Never,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'a> {
    /// Byte offset in its section.
    pub(super) offset: u64,
    /// Its predicate.
    pub(super) guard: Guard,
    /// Operation with its modifiers: `LDG.E.CONSTANT`.
    pub(super) operation: &'a str,
    /// What follows the operation, without annotations.
    pub(super) operands: &'a str,
    /// The labels of `(*"BRANCH_TARGETS …"*)`, comma separated.
    pub(super) annotated: Option<&'a str>,
}

impl<'a> Instruction<'a> {
    /// The operation without modifiers.
    pub(super) fn stem(&self) -> &'a str {
        self.operation.split('.').next().unwrap_or(self.operation)
    }

    /// Whether a modifier of the operation is `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.operation.split('.').skip(1).any(|modifier| modifier == name)
    }

    /// The label of a direct branch or call.
    pub(super) fn label(&self) -> Option<&'a str> {
        let from = self.operands.find("`(")? + 2;
        let to = self.operands[from..].rfind(')')?;
        Some(&self.operands[from..from + to])
    }

    /// Operation and operands as they were printed, one space between them.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.operation, self.operands).trim_end().to_owned()
    }
}

/// One code section.
#[derive(Clone, Debug)]
pub(super) struct Function<'a> {
    /// Mangled name.
    pub(super) name: &'a str,
    /// Its instructions are `first..end` of the listing.
    pub(super) first: usize,
    /// One past its last instruction.
    pub(super) end: usize,
    /// Instructions that a label stands at.
    pub(super) labelled: Vec<usize>,
}

/// A listing of one cubin.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing<'a> {
    /// `sm_90a`; empty when the listing does not say.
    pub(super) target: &'a str,
    /// Every instruction, section by section.
    pub(super) instructions: Vec<Instruction<'a>>,
    /// Sections, in order.
    pub(super) functions: Vec<Function<'a>>,
    /// Index of the instruction that a label or a symbol stands at.
    pub(super) labels: HashMap<&'a str, usize>,
}

impl<'a> Listing<'a> {
    /// Reads a listing; lines that are neither code, label nor section are passed over.
    pub(super) fn parse(text: &'a str) -> Listing<'a> {
        let mut listing = Listing::default();
        for line in text.lines() {
            listing.line(line);
        }
        listing.close();
        listing
    }

    fn line(&mut self, line: &'a str) {
        let trimmed = line.trim();
        if let Some(section) = trimmed.strip_prefix(".section") {
            self.close();
            if let Some(name) = code_section(section) {
                let first = self.instructions.len();
                self.functions.push(Function { name, first, end: first, labelled: Vec::new() });
            }
        } else if let Some(target) = trimmed.strip_prefix(".target") {
            self.target = target.trim();
        } else if let Some(instruction) = instruction(trimmed) {
            self.instructions.push(instruction);
        } else if let Some(label) = label(line) {
            let at = self.instructions.len();
            self.labels.insert(label, at);
            if let Some(function) = self.functions.last_mut() {
                function.labelled.push(at);
            }
        }
    }

    fn close(&mut self) {
        let end = self.instructions.len();
        if let Some(function) = self.functions.last_mut() {
            // Sections that hold no code close nothing twice: no instruction comes between.
            function.end = end;
        }
    }
}

fn code_section(rest: &str) -> Option<&str> {
    let name = rest.trim_start().split(',').next()?.trim_matches(|c| c == '"' || c == ' ');
    name.strip_prefix(".text.")
}

/// Labels begin in the first column.
fn label(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_suffix(':')?;
    let plain = !name.is_empty() && !name.contains([' ', '\t', '"']);
    (plain && !name.starts_with("//")).then_some(name)
}

/// `/*0050*/  @P0 BRA `(.L_x_0) ;`
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (offset, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let offset = u64::from_str_radix(offset, 16).ok()?;
    // Older architectures pair instructions in braces.
    let rest = rest.trim_start_matches([' ', '\t', '{']);
    let (code, annotation) = match rest.split_once("(*") {
        Some((code, annotation)) => (code, Some(annotation)),
        None => (rest, None),
    };
    let code = code.split(';').next().unwrap_or(code).trim();
    let (guard, code) = guard(code);
    let (operation, operands) = code.split_once([' ', '\t']).unwrap_or((code, ""));
    if operation.is_empty() {
        return None;
    }
    let annotated = annotation
        .and_then(|text| text.split_once("BRANCH_TARGETS"))
        .and_then(|(_, targets)| targets.split('"').next())
        .map(str::trim);
    Some(Instruction { offset, guard, operation, operands: operands.trim(), annotated })
}

fn guard(code: &str) -> (Guard, &str) {
    let Some(predicated) = code.strip_prefix('@') else { return (Guard::Always, code) };
    let (predicate, rest) = predicated.split_once([' ', '\t']).unwrap_or((predicated, ""));
    let guard = match predicate {
        "PT" | "UPT" => Guard::Always,
        "!PT" | "!UPT" => Guard::Never,
        _ => Guard::Sometimes,
    };
    (guard, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_taken_apart() {
        for (line, offset, guard, operation, operands, label, annotated) in [
            ("/*0010*/  ACQBULK ;", 0x10, Guard::Always, "ACQBULK", "", None, None),
            (
                "/*1a0*/ @!P0 BRA P1, `(.L_x_3) ;",
                0x1a0,
                Guard::Sometimes,
                "BRA",
                "P1, `(.L_x_3)",
                Some(".L_x_3"),
                None,
            ),
            (
                "/*0020*/ @!UPT UIADD3 URZ, URZ, URZ, URZ ;",
                0x20,
                Guard::Never,
                "UIADD3",
                "URZ, URZ, URZ, URZ",
                None,
                None,
            ),
            ("/*0030*/ @PT EXIT ;", 0x30, Guard::Always, "EXIT", "", None, None),
            (
                "/*00b0*/ BRX R2 -0xc0   (*\"BRANCH_TARGETS .L_x_5,.L_x_6\"*);",
                0xb0,
                Guard::Always,
                "BRX",
                "R2 -0xc0",
                None,
                Some(".L_x_5,.L_x_6"),
            ),
            (
                "/*0090*/ CALL.REL.NOINC `($_Z1kPf$_Z6helperf) ;",
                0x90,
                Guard::Always,
                "CALL.REL.NOINC",
                "`($_Z1kPf$_Z6helperf)",
                Some("$_Z1kPf$_Z6helperf"),
                None,
            ),
        ] {
            let found = instruction(line).unwrap();
            assert_eq!(found.offset, offset, "{line}");
            assert_eq!(found.guard, guard, "{line}");
            assert_eq!((found.operation, found.operands), (operation, operands), "{line}");
            assert_eq!((found.label(), found.annotated), (label, annotated), "{line}");
        }
    }

    #[test]
    fn sections_bound_functions_and_labels_stand_at_instructions() {
        let text = "\t.target\tsm_90a\n\
            \t.section\t.text.one,\"ax\",@progbits\none:\n.text.one:\n   /*0000*/ NOP ;\n.L_x_1:\n   \
            /*0010*/ EXIT ;\n\t.section\t.nv.shared.one,\"aw\",@nobits\n\
            \t.section\t.text.two,\"ax\",@progbits\ntwo:\n   /*0000*/ EXIT ;\n";
        let listing = Listing::parse(text);
        assert_eq!(listing.target, "sm_90a");
        let bounds: Vec<_> = listing.functions.iter().map(|f| (f.name, f.first, f.end)).collect();
        assert_eq!(bounds, [("one", 0, 2), ("two", 2, 3)]);
        assert_eq!(listing.labels[".L_x_1"], 1);
        assert_eq!(listing.labels["two"], 2);
    }

    #[test]
    fn what_is_no_listing_has_no_code() {
        for text in ["", "hello", "/*zz*/ NOP ;", "/*0000*/", "/*0000*/ ;"] {
            assert!(Listing::parse(text).instructions.is_empty(), "{text}");
        }
    }
}
