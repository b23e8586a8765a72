//! A library with a launch hook: which edges of what it launches are worth being programmatic.

use std::fmt::Write;
use std::path::Path;

#[cfg(feature = "cuda")]
pub use with_gpu::run;

use super::super::{dry_run, terminal};
use crate::cli::KernelArgs;
use crate::error::Result;
use crate::kernel::{HookKernel, hook_file};

#[cfg(not(feature = "cuda"))]
pub fn run(args: &KernelArgs, library: &Path) -> Result<()> {
    use crate::error::{Error, Kind};
    let cause = "this program was built without the cuda feature";
    if args.dry_run {
        return without_gpu(args, library, cause);
    }
    Err(Error::new(Kind::NoGpu, "use the GPU", cause)
        .remedy("--dry-run shows what the file of the library says without a GPU"))
}

/// What can be said of a library where nothing can be captured.
fn without_gpu(args: &KernelArgs, library: &Path, why: &str) -> Result<()> {
    let file = hook_file(library)?;
    if dry_run::as_json(args.format)? {
        let found = serde_json::json!({ "hook": file, "not_checked": unseen(why) });
        return terminal::print(&dry_run::json(&found)?);
    }
    let mut text = format!("{}: exports {}\n", library.display(), file.exports.join(", "));
    for kernel in &file.kernels {
        let HookKernel { name, arch, syncs, triggers } = kernel;
        let _ = writeln!(text, "  {name}, sm_{arch}: syncs {syncs}, triggers {triggers}");
    }
    match file.kernels.as_slice() {
        [] => {
            text += "  no kernel in uncompressed machine code: build it with --no-compress, or its \
                       syncs are unknown\n"
        }
        kernels if kernels.iter().all(|kernel| kernel.syncs == 0) => {
            text += "  no kernel has a sync: every edge would be refused\n";
        }
        _ => {}
    }
    text += "checked: it is a shared library, and exports the hook\n";
    for line in unseen(why) {
        let _ = writeln!(text, "not checked: {line}");
    }
    terminal::print(&text)
}

fn unseen(why: &str) -> [String; 2] {
    [
        format!("nodes and edges of what pdl_launch queues, which take a GPU to capture ({why})"),
        "results and races: pdl kernel --library LIB --check, with a GPU".into(),
    ]
}

#[cfg(feature = "cuda")]
mod with_gpu {
    use std::rc::Rc;

    use jiff::Timestamp;

    use super::super::super::device;
    use super::*;
    use crate::attach::{self, Flips, Options, Progress};
    use crate::chain::{Dependency, Submission};
    use crate::cli::Format;
    use crate::error::{Error, Kind};
    use crate::gpu::user_graph::UserGraph;
    use crate::gpu::{Hook, StreamForm};
    use crate::interrupt;
    use crate::kernel::{Checked, CheckedEdge, EdgeRace};
    use crate::record::{directory, write_atomically};
    use crate::units::us;

    /// Rounds of the stream form.
    const ROUNDS: usize = 30;

    pub fn run(args: &KernelArgs, library: &Path) -> Result<()> {
        // What is wrong with the file is known before a device is asked.
        hook_file(library)?;
        let gpu = match device::open_own(args.no_gate, args.deadline_s) {
            Err(error) if args.dry_run => return without_gpu(args, library, error.cause()),
            gpu => Rc::new(gpu?),
        };
        let hook = Rc::new(Hook::open(library, &args.hook_argument)?);
        let mut graph = hook.attach(&gpu)?;
        if args.dry_run {
            return terminal::print(&match dry_run::as_json(args.format)? {
                true => dry_run::json(graph.listing())?,
                false => attach::listing_table(graph.listing()),
            });
        }
        if args.check {
            return check(args, &mut graph);
        }
        let original = graph.variant(&Flips::none(), Dependency::Full)?;
        let stream = hook.stream_form(&gpu, &original, &hook.memory()?, ROUNDS)?;
        if stream.wrong_bytes > 0 {
            let cause = format!("stream and graph differ in {} bytes", stream.wrong_bytes);
            return Err(Error::new(Kind::Wrong, format!("trust {}", library.display()), cause)
                .remedy("give pdl_reset: a run must not depend on the one before"));
        }
        let options = Options {
            seed: args.seed,
            unsafe_no_sync: args.unsafe_no_sync,
            refine: !args.quick,
            ..Options::default()
        };
        let mut watch = |_: &Progress| true;
        let report = graph.attribute(&options, &mut watch)?;
        let folder = directory(args.out.as_deref(), "kernel", Timestamp::now())?;
        let whole = serde_json::json!({ "stream": stream, "report": report });
        let json = serde_json::to_string_pretty(&whole)
            .map_err(|error| Error::failed("write the report as JSON", error))?
            + "\n";
        write_atomically(&folder.join("edges.json"), json.as_bytes())?;
        write_atomically(&folder.join("edges.html"), attach::report_page(&report)?.as_bytes())?;
        match args.format {
            Format::Json => terminal::print(&json)?,
            _ => terminal::print(&(attach::report_table(&report) + &stream_text(&stream)))?,
        }
        terminal::note(folder.display());
        Ok(())
    }

    /// Checks every edge in both forms, also those whose secondary has no sync.
    fn check(args: &KernelArgs, graph: &mut UserGraph) -> Result<()> {
        const FORMS: [Submission; 2] = [Submission::Graph, Submission::Stream];
        let options = Options { seed: args.seed, ..Options::default() };
        let listing = graph.listing().clone();
        let name = |node: u32| listing.kernel(node).map_or_else(String::new, |k| k.short_name());
        let mut checked = Checked::default();
        for edge in listing.edges.iter().filter(|edge| edge.kind.is_some()) {
            interrupt::check("check edges for races")?;
            let races = graph.races(edge.index, &FORMS, &options)?;
            for (submission, race) in FORMS.into_iter().zip(races) {
                let (primary, secondary) = (name(edge.from), name(edge.to));
                let node = edge.to as usize;
                let found = EdgeRace { primary, secondary, node, submission, race };
                let (axes, trigger, without_sync) = (Default::default(), None, None);
                checked.edges.push(CheckedEdge { axes, trigger, found, without_sync });
            }
        }
        super::super::check::tell(args, &checked)
    }

    fn stream_text(stream: &StreamForm) -> String {
        format!(
            "The same launches one by one into a stream take {}, as a graph over the edges of the \
             capture {} ({} rounds).\n",
            us(stream.stream_ns),
            us(stream.graph_ns),
            stream.rounds
        )
    }
}
