//! From a chain file to the machine code of every node at every site.

use std::collections::HashMap;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::{Arguments, Target, fits, lookup};
use crate::chain::{Sites, Trigger};
use crate::chain_file::{Edge, Loaded, Resolved, ResolvedNode};
use crate::compile::{Cache, Compiled, Failure, Job, KernelCode, Nvcc, check_flag, compile_all};
use crate::error::{Error, Kind, Result};

/// The triggers whose syncs differ: where a kernel triggers is nothing to the edge before it.
pub fn distinct_syncs(triggers: &[Trigger]) -> Vec<Trigger> {
    let mut distinct: Vec<Trigger> = Vec::new();
    for &trigger in triggers {
        if distinct.iter().all(|known| known.sites().syncs != trigger.sites().syncs) {
            distinct.push(trigger);
        }
    }
    distinct
}

/// Machine code of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Marks compile to nothing: the baseline.
    Off,
    /// With these sites.
    Sites(Sites),
    /// With these sites and stamps.
    Stamped(Sites),
    /// With these sites, and a sleep of so many ns behind every trigger.
    Check(Sites, u32),
}

/// Sleep behind every trigger of a delayed chain, ns: what a launch takes many times over.
pub const DELAY_NS: u32 = 100_000;

impl Code {
    /// The code that a subject and its control run at a trigger.
    pub fn at(trigger: Trigger) -> Code {
        Code::Sites(trigger.sites())
    }

    /// The code that triggers there and has no sync: what a race check must catch.
    pub fn without_sync(trigger: Trigger) -> Code {
        Code::Sites(Sites { syncs: 0, ..trigger.sites() })
    }

    /// The code that sleeps behind each trigger; `None` where there is no trigger to sleep behind.
    pub fn delayed(trigger: Trigger) -> Option<Code> {
        let sites = trigger.sites();
        (sites.triggers != 0).then_some(Code::Check(sites, DELAY_NS))
    }

    fn flags(self) -> Vec<String> {
        let sites = |sites: Sites| {
            vec![
                format!("-DPDL_TRIGGER_SITES={:#x}", sites.triggers),
                format!("-DPDL_SYNC_SITES={:#x}", sites.syncs),
            ]
        };
        match self {
            Code::Off => vec!["-DPDL_OFF".into()],
            Code::Sites(chosen) => sites(chosen),
            Code::Stamped(chosen) => [sites(chosen), vec!["-DPDL_STAMPS".into()]].concat(),
            Code::Check(chosen, ns) => {
                [sites(chosen), vec![format!("-DPDL_CHECK_NS={ns}")]].concat()
            }
        }
    }
}

/// The code of one node: a cubin and a kernel in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCode {
    /// Place in [`Build::cubins`].
    pub cubin: usize,
    /// Place in its kernels.
    pub kernel: usize,
}

/// Everything that was compiled.
#[derive(Debug)]
pub struct Build {
    /// Each once.
    pub cubins: Vec<Compiled>,
    /// Sets of axis values, resolved.
    pub variants: Vec<Resolved>,
    /// How far arguments were compared with parameters.
    pub arguments: Arguments,
    nodes: HashMap<(usize, Code), Vec<NodeCode>>,
}

impl Build {
    /// Compiles every variant with every code, in parallel.
    ///
    /// # Errors
    /// The compiler's, or a kernel or arguments that do not fit.
    pub fn new(
        loaded: &Loaded,
        codes: &[Code],
        target: &Target,
        nvcc: Option<&Nvcc>,
        cache: &Cache,
    ) -> Result<Build, Failure> {
        for flag in &loaded.file.flags {
            check_flag(flag.get_ref()).map_err(|cause| loaded.error(flag.span(), cause))?;
        }
        let variants: Vec<Resolved> =
            loaded.variants()?.iter().map(|axes| loaded.resolve(axes)).collect::<Result<_>>()?;
        let mut jobs: Vec<Job> = Vec::new();
        // Of each variant and code, the job of each source.
        let mut of: Vec<((usize, Code), Vec<usize>)> = Vec::new();
        for (at, variant) in variants.iter().enumerate() {
            for &code in codes {
                let places = (0..loaded.file.sources.len())
                    .map(|source| add(&mut jobs, job(loaded, variant, code, source, target)));
                of.push(((at, code), places.collect()));
            }
        }
        let all = |failure| {
            let nodes: Vec<ResolvedNode> = variants.iter().flat_map(|v| v.nodes.clone()).collect();
            lookup::explain(loaded, &nodes, failure)
        };
        let cubins = compile_all(nvcc, cache, &jobs).map_err(all)?;
        for (job, cubin) in jobs.iter().zip(&cubins) {
            target.demand(&job.source, cubin)?;
        }
        let mut nodes = HashMap::new();
        let mut arguments = Arguments::default();
        for ((variant, code), sources) in of {
            let found = variants[variant].nodes.iter().enumerate().map(|(at, node)| {
                let found = lookup::find(loaded, node, &sources, &cubins)?;
                let kernel = &cubins[found.cubin].kernels[found.kernel];
                arguments.check(loaded, at, node, kernel)?;
                fits::check(loaded, at, node, kernel)?;
                Ok(found)
            });
            nodes.insert((variant, code), found.collect::<Result<Vec<_>>>()?);
        }
        Ok(Build { cubins, variants, arguments, nodes })
    }

    /// The code of every node of a variant; `None` where it was not compiled.
    pub fn nodes(&self, variant: usize, code: Code) -> Option<&[NodeCode]> {
        self.nodes.get(&(variant, code)).map(Vec::as_slice)
    }

    /// SHA-256 of what is timed: launches, arguments, fills and the machine code of every trigger.
    pub fn fingerprint(&self, triggers: &[Trigger]) -> String {
        let of: Vec<_> = self.cubins.iter().map(|cubin| Sha256::digest(&cubin.bytes)).collect();
        let mut all = Sha256::new();
        for (at, variant) in self.variants.iter().enumerate() {
            for code in std::iter::once(Code::Off).chain(triggers.iter().map(|&t| Code::at(t))) {
                for node in self.nodes(at, code).unwrap_or_default() {
                    all.update(of[node.cubin]);
                    all.update(self.kernel(*node).name.as_bytes());
                }
            }
            // Where the file says it is nothing to what is timed.
            let still = |node: &ResolvedNode| ResolvedNode { span: 0..0, ..node.clone() };
            let nodes: Vec<ResolvedNode> = variant.nodes.iter().map(still).collect();
            all.update(format!("{:?} {nodes:?} {}", variant.buffers, variant.repeat));
        }
        all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A node's kernel.
    pub fn kernel(&self, node: NodeCode) -> &KernelCode {
        &self.cubins[node.cubin].kernels[node.kernel]
    }

    /// Kernels that would stand behind a programmatic edge without a sync in their machine code, at
    /// each trigger.
    pub fn without_sync(&self, triggers: &[Trigger]) -> Vec<(Trigger, String)> {
        let mut found = Vec::new();
        for (at, variant) in self.variants.iter().enumerate() {
            for &trigger in triggers {
                let Some(codes) = self.nodes(at, Code::at(trigger)) else { continue };
                for (node, &code) in variant.nodes.iter().zip(codes) {
                    let bare = self.kernel(code).syncs.is_empty();
                    let entry = (trigger, node.kernel.clone());
                    if node.edge == Edge::Programmatic && bare && !found.contains(&entry) {
                        found.push(entry);
                    }
                }
            }
        }
        found
    }

    /// Refuses kernels without a sync behind programmatic edges.
    ///
    /// # Errors
    /// Exit code 4, with the kernels and what to do.
    pub fn demand_syncs(&self, triggers: &[Trigger]) -> Result<()> {
        let found = self.without_sync(triggers);
        let Some((trigger, kernel)) = found.first() else { return Ok(()) };
        let cause = format!("{kernel} has no sync in its machine code at {trigger}");
        Err(Error::new(Kind::Wrong, "put it behind a programmatic edge", cause).remedy(
            "put PDL_SYNC_SITE(n) before it first reads what an earlier kernel writes, or write \
             edge = \"full\" in its node; --unsafe-no-sync measures it all the same and marks \
             every output",
        ))
    }
}

/// Place of the job that makes what `job` does. Jobs that differ in template instances alone are
/// one: the compiler is started once.
fn add(jobs: &mut Vec<Job>, job: Job) -> usize {
    let same = |known: &Job| {
        (&known.source, &known.arch, &known.flags, &known.include)
            == (&job.source, &job.arch, &job.flags, &job.include)
    };
    match jobs.iter().position(same) {
        Some(at) => {
            for instance in job.instances {
                if !jobs[at].instances.contains(&instance) {
                    jobs[at].instances.push(instance);
                }
            }
            at
        }
        None => {
            jobs.push(job);
            jobs.len() - 1
        }
    }
}

fn job(loaded: &Loaded, variant: &Resolved, code: Code, source: usize, target: &Target) -> Job {
    let file = &loaded.file;
    let path: PathBuf = loaded.folder.join(file.sources[source].get_ref());
    let is_cu = path.extension().is_some_and(|extension| extension == "cu");
    let mut job = Job {
        source: path,
        arch: target.arch.clone(),
        flags: Vec::new(),
        include: Vec::new(),
        instances: Vec::new(),
    };
    if job.source.extension().is_some_and(|extension| extension == "ptx") {
        let flags = file.flags.iter().map(|flag| flag.get_ref());
        job.flags = flags.filter(|flag| flag.starts_with("-O")).cloned().collect();
    }
    // PTX and cubins have no marks: one job for all codes.
    if !is_cu {
        return job;
    }
    job.flags = file.flags.iter().map(|flag| flag.get_ref().clone()).collect();
    job.flags.extend(code.flags());
    for define in &file.defines {
        let name = define.get_ref();
        job.flags.push(format!("-D{name}={}", variant.axes.get(name).copied().unwrap_or_default()));
    }
    job.include = file.include.iter().map(|folder| loaded.folder.join(folder.get_ref())).collect();
    let only = file.sources.iter().filter(|s| s.get_ref().ends_with(".cu")).count() == 1;
    for node in &variant.nodes {
        let name = &node.kernel;
        let here = node.source.map_or(only, |named| named == source);
        let instance = name.contains('<') && name.ends_with('>');
        if instance && here && !job.instances.contains(name) {
            job.instances.push(name.clone());
        }
    }
    job
}
