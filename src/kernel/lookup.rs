//! From the name of a node's kernel to its machine code, or to why there is none.

use super::build::NodeCode;
use crate::chain_file::{Loaded, ResolvedNode, nearest, suggestion};
use crate::compile::{Compiled, Failure, INSTANCE_FILE};
use crate::error::{Error, Result};

/// What says where names come from.
const AS_WRITTEN: &str = "write the name as the source does, with its namespace";

/// The kernel of a node in the cubins of its sources.
pub(super) fn find(
    loaded: &Loaded,
    node: &ResolvedNode,
    sources: &[usize],
    cubins: &[Compiled],
) -> Result<NodeCode> {
    let wanted = |source: usize| node.source.is_none_or(|named| named == source);
    let looked: Vec<usize> =
        sources.iter().enumerate().filter(|(at, _)| wanted(*at)).map(|(_, &cubin)| cubin).collect();
    let mut found = looked.iter().filter_map(|&cubin| {
        let kernel = cubins[cubin].kernel(&node.kernel)?;
        let kernel = cubins[cubin].kernels.iter().position(|other| other == kernel)?;
        Some(NodeCode { cubin, kernel })
    });
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            let cause = format!("several sources have a kernel {}", node.kernel);
            Err(loaded.error(node.span.clone(), cause).remedy("say which with source = \"…\""))
        }
        (None, _) => {
            let made = looked.iter().flat_map(|&cubin| &cubins[cubin].kernels);
            Err(unknown(loaded, node, made.map(|kernel| kernel.short.clone()).collect()))
        }
    }
}

/// No source has the kernel of a node: what there is, templates without an instance among it.
fn unknown(loaded: &Loaded, node: &ResolvedNode, mut names: Vec<String>) -> Error {
    let templates = loaded.kernel_templates();
    names.extend(templates.iter().map(|template| format!("{template}<…>")));
    names.sort_unstable();
    names.dedup();
    let near = suggestion(&node.kernel, names.iter().map(String::as_str));
    let list = if names.is_empty() { "none".into() } else { names.join(", ") };
    let cause = format!("no source has a kernel {}{near}; kernels: {list}", node.kernel);
    let remedy = match (node.kernel.contains('<'), templates.contains(&node.kernel)) {
        (true, _) => "say with source = \"…\" which source makes the template instance".to_owned(),
        (_, true) => format!("name an instance of the template, such as {}<128>", node.kernel),
        _ => AS_WRITTEN.to_owned(),
    };
    loaded.error(node.span.clone(), cause).remedy(remedy)
}

/// A failure of the compiler that is about an instance which a node names, in one line; any other as
/// it is.
pub(super) fn explain(loaded: &Loaded, nodes: &[ResolvedNode], failure: Failure) -> Failure {
    let Some((instance, said)) = of_instance(&failure) else { return failure };
    let Some(node) = nodes.iter().find(|node| node.kernel == *instance) else { return failure };
    let templates = loaded.kernel_templates();
    let list: Vec<String> = templates.iter().map(|name| format!("{name}<…>")).collect();
    let list = if list.is_empty() { "none".into() } else { list.join(", ") };
    let name = instance.split('<').next().unwrap_or(instance);
    let own = name.rsplit("::").next().unwrap_or(name);
    let near = nearest(own, templates.iter().map(String::as_str));
    let hint = near.filter(|near| *near != own);
    let hint = hint.map_or_else(String::new, |near| format!(", did you mean {near}<…>"));
    let cause = format!("nvcc makes no kernel {instance}: {said}{hint}; kernel templates: {list}");
    let error = loaded.error(node.span.clone(), cause).remedy(
        "write an instance as C++ does: the template's name with its namespace, and one argument for \
         each of its parameters, such as gemv<128>",
    );
    Failure { error, said: String::new(), instances: Box::default() }
}

/// The instance and the first error of the compiler that names its line.
fn of_instance(failure: &Failure) -> Option<(&String, String)> {
    failure.said.lines().find_map(|line| {
        // `input.cu(2): error: …`; the first line includes the source.
        let (_, rest) = line.split_once(INSTANCE_FILE)?;
        let (number, rest) = rest.strip_prefix('(')?.split_once(')')?;
        let (_, said) = rest.split_once("error: ").or_else(|| rest.split_once("error:"))?;
        let number: usize = number.parse().ok()?;
        let instance = failure.instances.get(number.checked_sub(2)?)?;
        Some((instance, said.trim().to_owned()))
    })
}
