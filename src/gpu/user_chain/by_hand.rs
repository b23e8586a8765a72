//! A chain of the user's kernels beside the same chain written by hand in C++ (`cuda/by_hand.cpp`):
//! the same cubins and the same memory, launched by other code.

use std::ffi::{CString, c_void};
use std::fmt::Display;
use std::time::{Duration, Instant};

use super::UserChains;
use super::prepared::UserChain;
use crate::chain::{Arm, Chain, Dependency, Submission};
use crate::chain_file::Edge;
use crate::device::{Flag, Sample};
use crate::error::{Error, Result};
use crate::gpu::driver::{fault, launch_fault};
use crate::gpu::memory::raw;
use crate::gpu::shim::{self, RawStream, sys};
use crate::interrupt;

/// Who launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// This program, as in every run.
    Pdl,
    /// The chain written by hand.
    Hand,
    /// The same a second time: what two instances of one thing differ by.
    Again,
}

impl Launcher {
    /// All of them.
    pub const ALL: [Launcher; 3] = [Launcher::Pdl, Launcher::Hand, Launcher::Again];
}

/// One arm of a chain, by this program and by hand.
pub struct ByHand<'a> {
    ready: UserChain<'a>,
    hands: [Hand; 2],
}

/// A chain of `cuda/by_hand.cpp`.
struct Hand(*mut sys::pdl_by_hand);

impl Drop for Hand {
    fn drop(&mut self) {
        // SAFETY: made by `pdl_by_hand_create`; the stream is drained after every use.
        unsafe { sys::pdl_by_hand_destroy(self.0) };
    }
}

impl<'a> UserChains<'a> {
    /// Prepares `chain` in `arm` three times: as [`prepare`](crate::device::Device::prepare) does, and
    /// twice by hand.
    ///
    /// # Errors
    /// Those of `prepare`, or of the CUDA runtime.
    pub fn by_hand<'b>(&'b self, chain: &Chain, arm: Arm) -> Result<ByHand<'b>> {
        let ready = UserChain::new(self, chain, arm)?;
        let hands = [self.hand(&ready)?, self.hand(&ready)?];
        Ok(ByHand { ready, hands })
    }

    fn hand(&self, ready: &UserChain) -> Result<Hand> {
        let fail = |error: &dyn Display| Error::failed("write the chain by hand", error);
        let (variant, ..) = self.variant(&ready.chain)?;
        let code = UserChains::code(&ready.chain, ready.arm)?;
        let nodes = self.build.nodes(variant, code).unwrap_or_default();
        let kernels = nodes.iter().map(|&node| CString::new(&*self.build.kernel(node).name));
        let kernels: Vec<CString> = kernels.collect::<Result<_, _>>().map_err(|e| fail(&e))?;
        let args = ready.launches.iter().map(|launch| {
            let bytes = launch.args().iter();
            bytes.map(|arg| (arg.as_ptr().cast::<c_void>(), arg.len() as u32)).unzip()
        });
        let args: Vec<(Vec<*const c_void>, Vec<u32>)> = args.collect();
        let programmatic = ready.arm.dependency() == Dependency::Programmatic;
        let launches = ready.launches.iter().zip(&args).enumerate().map(|(at, (launch, args))| {
            let (config, node) = (launch.config(), at % nodes.len());
            sys::pdl_hand_launch {
                cubin: self.build.cubins[nodes[node].cubin].bytes.as_ptr().cast(),
                kernel: kernels[node].as_ptr(),
                args: args.0.as_ptr(),
                arg_bytes: args.1.as_ptr(),
                arg_count: args.0.len() as u32,
                grid: config.grid,
                block: config.block,
                cluster: config.cluster,
                shared_bytes: config.shared_bytes,
                programmatic: u32::from(
                    programmatic && at > 0 && ready.edges[at] == Edge::Programmatic,
                ),
            }
        });
        let launches: Vec<sys::pdl_hand_launch> = launches.collect();
        let mut made = std::ptr::null_mut();
        // SAFETY: every pointer is into something that lives to the end of this function, but for the
        // cubins, which the build owns.
        let created =
            unsafe { sys::pdl_by_hand_create(launches.as_ptr(), launches.len() as u32, &mut made) };
        shim::check(created).map_err(|error| fail(&error))?;
        let hand = Hand(made);
        if ready.arm.submission() == Submission::Graph {
            // SAFETY: a live stream and a live chain.
            shim::check(unsafe { sys::pdl_by_hand_build(self.stream(), hand.0) })
                .map_err(|error| fail(&error))?;
        }
        Ok(hand)
    }

    fn stream(&self) -> RawStream {
        raw(&self.gpu.stream)
    }
}

impl ByHand<'_> {
    fn queue(&self, by: Launcher) -> Result<()> {
        let hand = match by {
            Launcher::Pdl => return self.ready.run(),
            Launcher::Hand => &self.hands[0],
            Launcher::Again => &self.hands[1],
        };
        // SAFETY: the chain is live, and so is the memory that its arguments name.
        shim::check(unsafe { sys::pdl_by_hand_launch(self.ready.device.stream(), hand.0) })
            .map_err(|error| launch_fault("launch the chain written by hand", error))
    }

    /// The chain's duration on the device, between events behind the gate; its results are compared.
    ///
    /// # Errors
    /// A fault or an interruption.
    pub fn sample(&self, by: Launcher) -> Result<Sample> {
        interrupt::check("go on measuring")?;
        let gpu = self.ready.device.gpu;
        self.ready.buffers.clear_differences()?;
        let mut flags = Vec::new();
        let timing =
            gpu.timed(gpu.gated(), &mut flags, || self.queue(by), || self.ready.check())?;
        let mismatches = self.ready.buffers.verification()?.mismatches;
        if mismatches > 0 {
            flags.push(Flag::Wrong);
        }
        Ok(Sample { duration_ns: timing.events_ns, flags, mismatches })
    }

    /// Host time to queue the chain `chains` times behind a closed gate, so that the device takes up
    /// nothing meanwhile. `None` where a time-out opened it.
    ///
    /// # Errors
    /// A fault or an interruption.
    pub fn host(&self, by: Launcher, chains: u32) -> Result<Option<Duration>> {
        interrupt::check("go on measuring")?;
        let (gpu, what) = (self.ready.device.gpu, "measure the host's cost");
        let closed = match gpu.gated() {
            true => Some(gpu.gate.close(raw(&gpu.stream)).map_err(|e| launch_fault(what, e))?),
            false => None,
        };
        let began = Instant::now();
        let queued = (0..chains).try_for_each(|_| self.queue(by));
        let elapsed = began.elapsed();
        let gated = closed.is_some();
        drop(closed);
        self.ready.check()?;
        gpu.stream.synchronize().map_err(|error| fault(what, error))?;
        queued?;
        Ok((!gated || gpu.gate.flags().is_empty()).then_some(elapsed))
    }
}
