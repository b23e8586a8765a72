//! Sync and trigger in the text of PTX, which the driver compiles for GPUs that a file has no
//! machine code for.

use std::collections::{HashMap, HashSet};

/// The sync, in PTX.
const SYNC: &str = "griddepcontrol.wait";
/// The trigger, in PTX.
const TRIGGER: &str = "griddepcontrol.launch_dependents";

/// One PTX module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Module {
    /// `sm_90`, from `.target`; empty when it does not say.
    pub(super) target: String,
    /// Kernels, in order.
    pub(super) kernels: Vec<Kernel>,
}

/// One kernel of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Mangled name.
    pub(super) name: String,
    /// Lines with a sync, in the kernel or in a function that it calls.
    pub(super) syncs: Vec<u64>,
    /// Lines with a trigger.
    pub(super) triggers: Vec<u64>,
}

#[derive(Default)]
struct Body {
    entry: bool,
    syncs: Vec<u64>,
    triggers: Vec<u64>,
    words_of_calls: HashSet<String>,
}

/// Reads a module; text that is none has no kernels.
pub(super) fn read(text: &str) -> Module {
    let mut module = Module::default();
    let mut bodies: HashMap<String, Body> = HashMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut current: Option<String> = None;
    let mut depth = 0usize;
    let mut calling = false;
    for (number, line) in (1u64..).zip(text.lines()) {
        let line = line.split("//").next().unwrap_or(line).trim();
        if let Some(target) = line.strip_prefix(".target") {
            module.target = target.trim().split(',').next().unwrap_or("").trim().to_owned();
        }
        if depth == 0
            && let Some((name, entry)) = declared(line)
        {
            bodies.insert(name.clone(), Body { entry, ..Body::default() });
            order.push(name.clone());
            current = Some(name);
        }
        // A declaration without body ends before any brace.
        if depth == 0 && line.ends_with(';') {
            current = None;
        }
        if depth > 0
            && let Some(body) = current.as_ref().and_then(|name| bodies.get_mut(name))
        {
            calling |= line.split_whitespace().any(|w| w == "call" || w.starts_with("call."));
            if calling {
                body.words_of_calls.extend(words(line).map(str::to_owned));
                calling = !line.ends_with(';');
            }
            if line.contains(SYNC) {
                body.syncs.push(number);
            }
            if line.contains(TRIGGER) {
                body.triggers.push(number);
            }
        }
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
    }
    for name in order {
        if bodies.get(&name).is_some_and(|body| body.entry) {
            module.kernels.push(kernel(name, &bodies));
        }
    }
    module
}

/// The kernel or function that a line begins.
fn declared(line: &str) -> Option<(String, bool)> {
    let entry = line.split_whitespace().any(|word| word == ".entry");
    let func = line.split_whitespace().any(|word| word == ".func" || word.starts_with(".func("));
    if !entry && !func {
        return None;
    }
    let (_, rest) = line.split_once(if entry { ".entry" } else { ".func" })?;
    // A function may return a parameter in parentheses before its name.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1,
        None => rest,
    };
    let name = words(rest).next()?;
    Some((name.to_owned(), entry))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| !word.is_empty())
}

/// A kernel with what the functions contribute that it calls, directly or not.
fn kernel(name: String, bodies: &HashMap<String, Body>) -> Kernel {
    let mut kernel = Kernel { name: name.clone(), ..Kernel::default() };
    let mut seen: HashSet<&str> = HashSet::new();
    let mut work: Vec<&str> = vec![&name];
    while let Some(next) = work.pop() {
        let Some((function, body)) = bodies.get_key_value(next) else { continue };
        if seen.insert(function) {
            kernel.syncs.extend(&body.syncs);
            kernel.triggers.extend(&body.triggers);
            work.extend(body.words_of_calls.iter().map(String::as_str));
        }
    }
    kernel.syncs.sort_unstable();
    kernel.triggers.sort_unstable();
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 9.0
.target sm_90a, debug
.address_size 64
.extern .func (.param .b32 r) vprintf
(
.param .b64 a
);
.func (.param .b32 r) callee(
.param .b32 x
)
{
griddepcontrol.wait; // comment
ret;
}
.visible .entry direct(.param .u64 p)
.maxntid 128
{
griddepcontrol.launch_dependents;
{
griddepcontrol.wait;
}
ret;
}
.entry by_call(
.param .u64 p
)
{
call.uni (r0),
callee,
(p0);
// griddepcontrol.launch_dependents
ret;
}
.visible .entry neither()
{
ret;
}
";

    #[test]
    fn kernels_have_the_syncs_of_what_they_call() {
        let module = read(TEXT);
        assert_eq!(module.target, "sm_90a");
        let found: Vec<_> = module
            .kernels
            .iter()
            .map(|k| (k.name.as_str(), k.syncs.clone(), k.triggers.clone()))
            .collect();
        assert_eq!(
            found,
            [
                ("direct", vec![20], vec![18]),
                ("by_call", vec![12], vec![]),
                ("neither", vec![], vec![])
            ]
        );
    }

    #[test]
    fn text_that_is_no_ptx_has_no_kernels() {
        for text in ["", "hello {", "}}}}", ".entry", ".func ("] {
            assert_eq!(read(text).kernels, [], "{text}");
        }
    }
}
