//! Arguments of a chain file against the parameters of kernels: number and sizes, which the cubin
//! says, and types, which the mangled name of a C++ kernel does.

use crate::chain_file::{Arg, Element, Loaded, ResolvedNode};
use crate::compile::KernelCode;
use crate::error::Result;

/// How far the arguments of a chain were compared with the parameters of its kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Kernels whose cubin says number and sizes.
    pub sized: Vec<String>,
    /// Kernels whose name says the types too.
    pub typed: Vec<String>,
    /// Kernels of which nothing is known.
    pub unknown: Vec<String>,
    /// What is most likely a mistake, and could be meant.
    pub doubts: Vec<String>,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pointer,
    Integer,
    Float,
    /// A struct, an enumeration: nothing is known.
    Other,
}

impl Arguments {
    /// Compares the arguments of a node, the `at`th of the file, with its kernel's parameters.
    pub(super) fn check(
        &mut self,
        loaded: &Loaded,
        at: usize,
        node: &ResolvedNode,
        kernel: &KernelCode,
    ) -> Result<()> {
        let known = |names: &[String]| names.contains(&kernel.short);
        let types = types(&kernel.demangled);
        let types = types.filter(|types| types.len() == kernel.parameters.len());
        let level = match (kernel.parameters.is_empty(), &types) {
            (false, Some(_)) => &mut self.typed,
            (false, None) => &mut self.sized,
            // A C++ name without parameters says that there are none.
            (true, Some(_)) => &mut self.typed,
            (true, None) => &mut self.unknown,
        };
        if !known(level) {
            level.push(kernel.short.clone());
        }
        if kernel.parameters.is_empty() && types.is_none() {
            return Ok(());
        }
        let given: &[Arg] = loaded.file.nodes[at].args.as_ref().map_or(&[], |args| args.get_ref());
        let place = loaded.file.nodes[at].args.as_ref().map_or(node.span.clone(), |a| a.span());
        sizes(node, given, kernel, types.as_deref())
            .and_then(|()| match &types {
                Some(types) => self.kinds(loaded, node, given, kernel, types),
                None => Ok(()),
            })
            .map_err(|cause| {
                loaded.error(place, cause).remedy(
                    "args gives one value a parameter, in their order and of their types: a \
                     buffer's name for a pointer, or a typed number such as { i32 = 4 }",
                )
            })
    }

    fn kinds(
        &mut self,
        loaded: &Loaded,
        node: &ResolvedNode,
        given: &[Arg],
        kernel: &KernelCode,
        types: &[String],
    ) -> std::result::Result<(), String> {
        for (at, (arg, wanted)) in given.iter().zip(types).enumerate() {
            let place = || format!("argument {} of {}", at + 1, kernel.demangled);
            let null = node.args[at].bytes.iter().all(|&byte| byte == 0);
            let fits = match (arg, kind(wanted)) {
                (Arg::Buffer { .. }, Kind::Float) => false,
                (Arg::Integer { .. }, Kind::Pointer) => null,
                (Arg::Integer { .. }, Kind::Float) => false,
                (Arg::Float { .. }, Kind::Pointer | Kind::Integer) => false,
                _ => true,
            };
            if !fits {
                let (given, number) = (named(arg), at + 1);
                return Err(format!(
                    "{} is {given}, and parameter {number} is of type {wanted}",
                    place()
                ));
            }
            let Arg::Buffer { name, .. } = arg else { continue };
            let Some(buffer) = loaded.file.buffers.get(name) else { continue };
            let doubt = pointee(wanted)
                .filter(|wanted| *wanted != buffer.element)
                // Bytes are memory for anything.
                .filter(|_| !matches!(buffer.element, Element::I8 | Element::U8));
            if doubt.is_some() {
                let element = format!("{:?}", buffer.element).to_lowercase();
                let doubt = format!("{} is {wanted}, and buffer {name} holds {element}", place());
                if !self.doubts.contains(&doubt) {
                    self.doubts.push(doubt);
                }
            }
        }
        Ok(())
    }
}

/// `buffer x`, `an i32`.
fn named(arg: &Arg) -> String {
    match arg {
        Arg::Buffer { .. } => arg.to_string(),
        Arg::Integer { signed: true, .. } | Arg::Float { .. } => format!("an {arg}"),
        Arg::Bytes(bytes) => format!("{} bytes", bytes.len()),
        _ => format!("a {arg}"),
    }
}

fn sizes(
    node: &ResolvedNode,
    given: &[Arg],
    kernel: &KernelCode,
    types: Option<&[String]>,
) -> std::result::Result<(), String> {
    let wanted = kernel.parameters.len();
    if wanted != given.len() {
        let s = if wanted == 1 { "" } else { "s" };
        let are = if given.len() == 1 { "is" } else { "are" };
        let name = &kernel.demangled;
        return Err(format!("{name} takes {wanted} argument{s}, and {} {are} given", given.len()));
    }
    let pairs = kernel.parameters.iter().zip(&node.args).enumerate();
    for (at, (&(_, size), packed)) in pairs {
        if size as usize != packed.bytes.len() {
            let parameter = types.map_or_else(String::new, |types| format!(" ({})", types[at]));
            return Err(format!(
                "argument {number} of {} is {} of {} bytes, and parameter {number}{parameter} has \
                 {size}",
                kernel.demangled,
                named(&given[at]),
                packed.bytes.len(),
                number = at + 1,
            ));
        }
    }
    Ok(())
}

/// The types of the parameters, as a demangled name writes them; `None` for a name that is no C++
/// name.
fn types(demangled: &str) -> Option<Vec<String>> {
    let inner = demangled.strip_suffix(')')?;
    let mut depth = 1;
    let open = inner.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let mut all = vec![String::new()];
    let mut depth = 0;
    for c in inner[open + 1..].chars() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            _ => {}
        }
        match (c, depth) {
            (',', 0) => all.push(String::new()),
            _ => all.last_mut()?.push(c),
        }
    }
    let all: Vec<String> = all.iter().map(|text| text.trim().to_owned()).collect();
    match all.as_slice() {
        [one] if one.is_empty() || one == "void" => Some(Vec::new()),
        _ => Some(all),
    }
}

fn kind(text: &str) -> Kind {
    let text = text.trim_end_matches("restrict").trim_end();
    match text {
        _ if text.ends_with('*') => Kind::Pointer,
        "float" | "double" => Kind::Float,
        "bool" | "char" | "signed char" | "unsigned char" | "short" | "unsigned short" | "int"
        | "unsigned int" | "unsigned" | "long" | "unsigned long" | "long long"
        | "unsigned long long" => Kind::Integer,
        _ => Kind::Other,
    }
}

/// What a pointer to floating-point numbers points to; integers are read for anything.
fn pointee(text: &str) -> Option<Element> {
    let text = text.trim_end_matches("restrict").trim_end().strip_suffix('*')?;
    let words = text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile"));
    match words.collect::<Vec<_>>().as_slice() {
        ["float"] => Some(Element::F32),
        ["double"] => Some(Element::F64),
        ["__half"] => Some(Element::F16),
        ["__nv_bfloat16"] => Some(Element::Bf16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_from_the_name() {
        for (name, expected) in [
            ("first(float*)", Some(&["float*"][..])),
            (
                "void second<3, (int)4>(float const*, std::array<int, 4>, void (*)(int, int))",
                Some(&["float const*", "std::array<int, 4>", "void (*)(int, int)"]),
            ),
            ("none()", Some(&[])),
            ("void none<1>(void)", Some(&[])),
            ("triton_add", None),
        ] {
            let found = types(name);
            let found = found.as_ref().map(|f| f.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn kinds_and_what_is_pointed_to() {
        for (text, expected, to) in [
            ("float const*", Kind::Pointer, Some(Element::F32)),
            ("__half const* restrict", Kind::Pointer, Some(Element::F16)),
            ("__nv_bfloat16*", Kind::Pointer, Some(Element::Bf16)),
            ("float**", Kind::Pointer, None),
            ("uint4*", Kind::Pointer, None),
            ("unsigned long", Kind::Integer, None),
            ("double", Kind::Float, None),
            ("__half", Kind::Other, None),
            ("pair", Kind::Other, None),
        ] {
            assert_eq!((kind(text), pointee(text)), (expected, to), "{text}");
        }
    }
}
