//! Chains of the user's own kernels on the device: the same arms, gate, events and checks as this
//! program's chains have.

mod by_hand;
mod delayed;
mod guard;
mod launch;
mod memory;
mod module;
mod prepared;
mod race;
mod stamping;

pub use self::by_hand::{ByHand, Launcher};
pub use self::race::RaceSubject;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use self::launch::{Config, Launch};
use self::memory::{Buffers, External, Fills};
use self::module::{Function, Module};
use self::prepared::UserChain;
use super::driver::Gpu;
use crate::chain::{Arm, Chain, Trigger};
use crate::chain_file::{Loaded, Resolved};
use crate::device::{Device, Facts, Health, Prepared};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::kernel::{Build, Code, Written, check_outputs};

/// A device whose chains are those of a chain file.
pub struct UserChains<'a> {
    gpu: &'a Gpu,
    loaded: &'a Loaded,
    build: &'a Build,
    modules: RefCell<HashMap<usize, Rc<Module>>>,
    /// Of each stamped cubin, modules for the launches of one chain: to load one takes a millisecond.
    stamped: RefCell<HashMap<usize, Vec<Rc<Module>>>>,
    buffers: RefCell<HashMap<(usize, u32), Weak<Buffers>>>,
    /// Those that were asked for last stay: to fill them and to learn what is right takes a while.
    latest: RefCell<Option<Rc<Buffers>>>,
    fills: Fills,
}

impl<'a> UserChains<'a> {
    /// The chains of `loaded`, compiled as `build`, on `gpu`.
    pub fn new(gpu: &'a Gpu, loaded: &'a Loaded, build: &'a Build) -> UserChains<'a> {
        UserChains {
            gpu,
            loaded,
            build,
            modules: RefCell::default(),
            stamped: RefCell::default(),
            buffers: RefCell::default(),
            latest: RefCell::default(),
            fills: Fills::default(),
        }
    }

    /// The variant that a chain is of, and its repeats.
    fn variant(&self, chain: &Chain) -> Result<(usize, &'a Resolved, u32)> {
        let variant = chain.body.units as usize;
        let resolved = self.build.variants.get(variant).ok_or_else(|| {
            Error::failed("prepare the chain", format!("there is no variant {variant}"))
        })?;
        Ok((variant, resolved, chain.nodes / resolved.nodes.len() as u32))
    }

    /// The code that an arm runs.
    fn code(chain: &Chain, arm: Arm) -> Result<Code> {
        match arm {
            Arm::Stream | Arm::StreamAa | Arm::Graph | Arm::GraphAa => Ok(Code::Off),
            Arm::StreamFull | Arm::StreamPdl | Arm::GraphFull | Arm::GraphPdl => {
                Ok(Code::at(chain.trigger))
            }
            // Behind launch completion no trigger counts.
            Arm::GraphCompletion => Ok(Code::at(Trigger::Implicit)),
            _ => Err(Error::unsupported(
                format!("run the {arm} arm"),
                "your own kernels have no such version",
            )),
        }
    }

    fn module(&self, cubin: usize) -> Result<Rc<Module>> {
        if let Some(module) = self.modules.borrow().get(&cubin) {
            return Ok(module.clone());
        }
        let module = Rc::new(Module::load(&self.build.cubins[cubin].bytes, &self.loaded.name())?);
        self.modules.borrow_mut().insert(cubin, module.clone());
        Ok(module)
    }

    /// One of the modules of a stamped cubin, which no other launch of the chain has.
    fn stamped_module(&self, cubin: usize, place: usize) -> Result<Rc<Module>> {
        let mut all = self.stamped.borrow_mut();
        let own = all.entry(cubin).or_default();
        while own.len() <= place {
            own.push(Rc::new(Module::load(&self.build.cubins[cubin].bytes, &self.loaded.name())?));
        }
        Ok(own[place].clone())
    }

    /// Every launch of a chain, with addresses in `buffers`.
    fn launches(
        &self,
        variant: usize,
        code: Code,
        repeats: u32,
        buffers: &Buffers,
    ) -> Result<Vec<Launch>> {
        let resolved = &self.build.variants[variant];
        let nodes = self
            .build
            .nodes(variant, code)
            .ok_or_else(|| Error::failed("prepare the chain", "its code was not compiled"))?;
        let mut functions = Vec::new();
        for (node, &code) in resolved.nodes.iter().zip(nodes) {
            let function = self.module(code.cubin)?.function(&self.build.kernel(code).name)?;
            function.prepare(&Config::of(node), &node.kernel)?;
            functions.push(function);
        }
        Ok(self.place(resolved, repeats, buffers, &|at| functions[at % functions.len()]))
    }

    /// Launches of every node of every repeat; `function` gives the kernel of the launch at a place.
    fn place(
        &self,
        resolved: &Resolved,
        repeats: u32,
        buffers: &Buffers,
        function: &dyn Fn(usize) -> Function,
    ) -> Vec<Launch> {
        let mut launches: Vec<Launch> = Vec::new();
        for repeat in 0..repeats {
            for node in &resolved.nodes {
                let args = node.args.iter().map(|arg| {
                    let mut bytes = arg.bytes.clone();
                    for &(at, buffer, offset) in &arg.addresses {
                        let address = buffers.address(buffer, repeat, offset);
                        bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
                    }
                    bytes
                });
                let function = function(launches.len());
                let (config, name) = (Config::of(node), node.kernel.clone());
                launches.push(Launch::new(function, config, args.collect(), name));
            }
        }
        launches
    }

    /// The buffers that all arms of a chain share; what the stream arm leaves in them is known.
    fn buffers(&self, variant: usize, repeats: u32) -> Result<Rc<Buffers>> {
        let key = (variant, repeats);
        if let Some(buffers) = self.buffers.borrow().get(&key).and_then(Weak::upgrade) {
            return Ok(buffers);
        }
        // Room first: others may hold them still.
        self.latest.take();
        let buffers =
            Rc::new(Buffers::new(self.gpu, &self.build.variants[variant], repeats, &self.fills)?);
        self.learn(variant, Code::Off, repeats, &buffers)?;
        self.buffers.borrow_mut().insert(key, Rc::downgrade(&buffers));
        self.latest.replace(Some(buffers.clone()));
        Ok(buffers)
    }

    /// Whether a chain that runs a second time, with nothing put back, leaves what the first run left.
    fn runs_again(&self, chain: &Chain, buffers: &Buffers) -> Result<bool> {
        if let Some(known) = buffers.runs_again.get() {
            return Ok(known);
        }
        let what = "run the chain twice";
        let (variant, _, repeats) = self.variant(chain)?;
        let launches = self.launches(variant, Code::Off, repeats, buffers)?;
        buffers.clear_differences()?;
        for launch in launches.iter().chain(&launches) {
            // SAFETY: modules and buffers outlive the stream's work, which is drained below.
            unsafe { launch.queue(self.gpu.stream.cu_stream(), false) }?;
        }
        buffers.queue_comparison(Code::Off)?;
        buffers.restore()?;
        self.gpu.done.record(&self.gpu.stream).map_err(|e| super::driver::fault(what, e))?;
        self.gpu.wait(&self.gpu.done, what)?;
        let same = buffers.verification()?.mismatches == 0;
        buffers.runs_again.set(Some(same));
        Ok(same)
    }

    /// Runs the stream arm of `code` over full edges and keeps what it leaves.
    fn learn(&self, variant: usize, code: Code, repeats: u32, buffers: &Buffers) -> Result<()> {
        let launches = self.launches(variant, code, repeats, buffers)?;
        let resolved = &self.build.variants[variant];
        let run = || {
            for launch in &launches {
                // SAFETY: modules and buffers outlive the stream's work, which is drained below.
                unsafe { launch.queue(self.gpu.stream.cu_stream(), false) }?;
            }
            let what = "run the stream arm";
            self.gpu.done.record(&self.gpu.stream).map_err(|e| super::driver::fault(what, e))?;
            self.gpu.wait(&self.gpu.done, what).map_err(blame)
        };
        let verify = &self.loaded.file.verify;
        let check = |written: &[Written]| check_outputs(self.loaded, &resolved.axes, written);
        // A longer chain computes the same again, and a delay computes nothing.
        let named = !verify.npy.is_empty() || !verify.command.is_empty();
        let asked = named && !matches!(code, Code::Check(..));
        let external: Option<External> =
            if asked && repeats == resolved.repeat { Some(&check) } else { None };
        buffers.learn(self.loaded, code, &run, external)
    }
}

/// What to do about a kernel that reads or writes where nothing is.
fn blame(error: Error) -> Error {
    let bad = ["ILLEGAL_ADDRESS", "MISALIGNED_ADDRESS"];
    match bad.iter().any(|name| error.cause().contains(name)) {
        true => error.remedy(
            "a buffer may be too small for what a kernel does with it, or an argument another one: \
             compute-sanitizer shows the line",
        ),
        false => error,
    }
}

impl Device for UserChains<'_> {
    fn facts(&self) -> &Facts {
        self.gpu.facts()
    }

    fn now(&self) -> Duration {
        self.gpu.now()
    }

    fn health(&self) -> Health {
        self.gpu.health()
    }

    fn prepare<'b>(&'b self, chain: &Chain, arm: Arm) -> Result<Box<dyn Prepared + 'b>> {
        interrupt::check("prepare the chain")?;
        if arm == Arm::Sentinel {
            return self.gpu.prepare(chain, arm);
        }
        Ok(Box::new(UserChain::new(self, chain, arm)?))
    }

    fn begin_range(&self, name: &str) {
        self.gpu.begin_range(name);
    }

    fn end_range(&self) {
        self.gpu.end_range();
    }
}
