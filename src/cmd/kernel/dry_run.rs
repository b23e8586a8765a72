//! What `pdl kernel` would measure, what was checked of it without a device, and what was not.

use std::fmt::Write;

use super::super::{dry_run, terminal};
use super::chain::Ready;
use crate::chain_file::Resolved;
use crate::cli::KernelArgs;
use crate::error::Result;
use crate::kernel::{self, Arguments};
use crate::measure::Plan;
use crate::record::{KernelVariant, PlanPoint};
use crate::units::bytes;

/// All of it.
#[derive(serde::Serialize)]
struct DryRun {
    name: String,
    /// Sets of axis values.
    variants: Vec<KernelVariant>,
    points: Vec<PlanPoint>,
    cubins: usize,
    /// Those that were not in the cache.
    compiled: usize,
    /// Of the largest set of axis values: every buffer with its copies.
    buffer_bytes: u64,
    /// What is most likely a mistake.
    warnings: Vec<String>,
    checked: Vec<String>,
    not_checked: Vec<String>,
}

/// Prints the plan.
///
/// # Errors
/// A form that it has not, or files that hold something else than the chain file says.
pub fn print(args: &KernelArgs, ready: &Ready, plan: &Plan) -> Result<()> {
    let json = dry_run::as_json(args.format)?;
    for variant in &ready.build.variants {
        kernel::check_files(&ready.loaded, variant)?;
    }
    let record = ready.record(args);
    let cubins = &ready.build.cubins;
    let largest = largest(&ready.build.variants);
    let mut found = DryRun {
        name: record.name.clone(),
        variants: record.variants,
        points: plan.points.clone(),
        cubins: cubins.len(),
        compiled: cubins.iter().filter(|cubin| !cubin.cached).count(),
        buffer_bytes: largest.map_or(0, Resolved::memory_bytes),
        warnings: ready.build.arguments.doubts.clone(),
        checked: Vec::new(),
        not_checked: Vec::new(),
    };
    checks(&mut found, args, ready);
    if json {
        return terminal::print(&dry_run::json(&found)?);
    }
    terminal::print(&text(&found, plan, largest))
}

/// The set of axis values whose buffers take most.
fn largest(variants: &[Resolved]) -> Option<&Resolved> {
    variants.iter().max_by_key(|variant| variant.memory_bytes())
}

fn text(found: &DryRun, plan: &Plan, largest: Option<&Resolved>) -> String {
    let mut text = format!("{}\n", found.name);
    // Pipelined groups come behind the isolated ones and are of the same sets.
    for (variant, points) in found.variants.iter().cycle().zip(plan.groups()) {
        let axes = variant.axes_text();
        let axes = if axes.is_empty() { String::new() } else { format!("{axes}: ") };
        let _ = writeln!(text, "{axes}{}, {}", variant.nodes_text(), points[0].chain.mode);
        for point in points {
            let trigger = point.trigger.map_or("no trigger".to_owned(), |t| t.to_string());
            let names: Vec<String> = point.arms.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "  {} {trigger:<12} {}", point.point, names.join(" "));
        }
    }
    let _ = writeln!(text, "cubins: {} ({} of them compiled now)", found.cubins, found.compiled);
    let axes = largest.filter(|_| found.variants.len() > 1).map(|variant| {
        let pairs = variant.axes.iter().map(|(name, value)| format!("{name} = {value}"));
        format!(", the most of any set (at {})", pairs.collect::<Vec<_>>().join(", "))
    });
    let _ = writeln!(
        text,
        "device memory: {} in buffers with their copies{}; what the chain writes of it is kept \
         at least twice more, to restore and to compare",
        bytes(found.buffer_bytes),
        axes.unwrap_or_default()
    );
    for line in &found.checked {
        let _ = writeln!(text, "checked: {line}");
    }
    for line in &found.not_checked {
        let _ = writeln!(text, "not checked: {line}");
    }
    text
}

fn checks(found: &mut DryRun, args: &KernelArgs, ready: &Ready) {
    let checked = &mut found.checked;
    checked.push(format!(
        "every kernel was found in machine code for {}, at every choice of sites",
        ready.arch
    ));
    checked.push("a block's threads, registers and shared memory: no more than any SM has".into());
    let Arguments { sized, typed, unknown, .. } = &ready.build.arguments;
    let list = |names: &[String]| names.join(", ");
    if !typed.is_empty() {
        checked.push(format!(
            "arguments of {}: number, sizes, and whether each is a pointer, a whole or a \
             floating-point number",
            list(typed)
        ));
    }
    if !sized.is_empty() {
        checked.push(format!("arguments of {}: number and sizes", list(sized)));
        found
            .not_checked
            .push(format!("types of the arguments of {}: only a C++ name tells them", list(sized)));
    }
    if !unknown.is_empty() {
        found.not_checked.push(format!(
            "arguments of {}: its machine code does not say what it takes",
            list(unknown)
        ));
    }
    match args.unsafe_no_sync {
        true => found.not_checked.push("syncs: --unsafe-no-sync".into()),
        false => checked.push(
            "every kernel behind a programmatic edge has a sync in its machine code; not that \
             every path through it comes by (pdl inspect looks at that)"
                .into(),
        ),
    }
    if ready.loaded.names_arrays() {
        checked.push("type and length of every .npy file".into());
    }
    found.not_checked.push(
        "whether the memory is there, and what this device allows a block and a cluster: that takes \
         a GPU"
            .into(),
    );
    found.not_checked.push("results and races: pdl kernel FILE --check, with a GPU".into());
}
