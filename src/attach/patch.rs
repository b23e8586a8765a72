//! The lines to change so that the chosen edges become programmatic where the graph is captured.

use std::fmt::Write;

use super::report::Report;
use crate::chain::Dependency;

/// What to change, kind by kind, and what each change obliges to. Comments are C's, so that the
/// text can be pasted beside the launches.
pub fn patch(report: &Report) -> String {
    let mut text = String::new();
    for row in &report.kinds {
        let kind = &report.listing.kinds[row.kind as usize];
        let chosen: Vec<u32> =
            row.edges.iter().copied().filter(|edge| report.chosen_edges.contains(edge)).collect();
        if chosen.is_empty() {
            continue;
        }
        let launches = match chosen.len() == kind.edges.len() {
            true => format!("every launch of it after {}", kind.primary),
            false => format!(
                "{} of its {} launches after {}: those of edges {chosen:?}",
                chosen.len(),
                kind.edges.len(),
                kind.primary
            ),
        };
        let _ = write!(
            text,
            "// {}: {launches}\n{}\
             // obliges: nothing before its sync may read what {} writes, nor write what it reads\n\n",
            kind.secondary,
            lines(report.options.dependency),
            kind.primary,
        );
    }
    if text.is_empty() {
        return "// no edge is worth changing\n".into();
    }
    if report.options.unsafe_no_sync {
        text.insert_str(0, "// UNSAFE: secondaries without a sync were let pass\n");
    }
    text
}

fn lines(dependency: Dependency) -> &'static str {
    match dependency {
        Dependency::LaunchCompletion => {
            "//   an edge {type cudaGraphDependencyTypeProgrammatic, from_port \
             cudaGraphKernelNodePortLaunchCompletion}: edit the captured graph\n"
        }
        _ => {
            "attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;  // Triton: \
             launch_pdl=True\n\
             attribute.val.programmaticStreamSerializationAllowed = 1;\n"
        }
    }
}
