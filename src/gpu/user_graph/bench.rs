//! Runs executables that work on the same memory: poisons, resets, times behind the gate, compares.

use std::rc::Rc;

use cudarc::driver::result::{memcpy_dtoh_sync, memcpy_htod_sync};
use cudarc::driver::{CudaSlice, DriverError, sys};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::graph::Executable;
use super::memory::{Memory, Region};
use crate::attach::{RawSample, Rounds};
use crate::chain::{Arm, Chain};
use crate::device::{Device, Flag};
use crate::error::{Error, Kind, Result};
use crate::gpu::driver::{Gpu, condition_fault, fault, launch_fault};
use crate::gpu::memory::{address, memory_error, raw};
use crate::gpu::replay;
use crate::gpu::shim::Difference;
use crate::interrupt;
use crate::record::SampleRow;

/// Poison of ordinary runs: a float of these bytes is no number, an index of them is below zero.
pub(super) const POISON: u8 = 0xff;
/// Another one, to tell what is not written and what depends on the poison.
const OTHER_POISON: u8 = 0xa5;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Bytes compared.
    pub bytes: u64,
    /// Bytes that differ.
    pub wrong_bytes: u64,
    /// Region and offset of the first.
    pub first: Option<(String, u64)>,
    /// Its device address.
    pub address: Option<u64>,
}

/// One timed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// From the event before the launch to the event after it, ns.
    pub duration_ns: f64,
    /// What was noticed.
    pub flags: Vec<Flag>,
    /// Bytes of the outputs that differ from the original's.
    pub wrong_bytes: u64,
}

/// Why an output cannot be compared.
enum Spoiled {
    /// Nothing of it is written.
    Unwritten(String),
    /// A byte, at this offset, depends on what the memory held.
    Depends(String, u64),
}

/// Memory that executables work on, and what the original leaves in it.
pub struct Bench {
    gpu: Rc<Gpu>,
    memory: Memory,
    regions: Vec<Region>,
    /// Of each output, what the original wrote.
    reference: Vec<CudaSlice<u8>>,
    differences: Differences,
}

/// Begin of the allocation at an address; `None` where the driver knows none.
fn allocation(address: u64) -> Option<u64> {
    let (mut begin, mut bytes) = (0, 0);
    // SAFETY: writes two live numbers; an address that is none is an error.
    let found = unsafe { sys::cuMemGetAddressRange_v2(&mut begin, &mut bytes, address) };
    found.result().ok().map(|()| begin)
}

impl Bench {
    /// A bench on `memory`. [`take_reference`](Self::take_reference) comes next.
    ///
    /// # Errors
    /// Memory that cannot be compared, or that does not fit twice.
    pub fn new(gpu: Rc<Gpu>, memory: Memory) -> Result<Bench> {
        memory.validate()?;
        let regions = memory.regions(allocation);
        let mut reference = Vec::new();
        for output in &memory.outputs {
            let what = format!("what {} should hold", output.name);
            // SAFETY: written by `take_reference` before anything reads it.
            let copy = unsafe { gpu.stream.alloc::<u8>(output.bytes as usize) };
            reference.push(copy.map_err(|error| memory_error(&what, output.bytes, error))?);
        }
        let differences = Differences::new(&gpu, reference.len())?;
        let bench = Bench { gpu, memory, regions, reference, differences };
        bench.gpu.stream.synchronize().map_err(|error| fault("allocate", error))?;
        Ok(bench)
    }

    /// The device.
    pub fn gpu(&self) -> &Rc<Gpu> {
        &self.gpu
    }

    /// What the owner calls the memory at an address.
    pub(super) fn name_at(&self, address: u64) -> String {
        self.memory.name_at(address)
    }

    /// Outputs and buffers, each byte once.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Runs the original and keeps its outputs. Its results must not differ from run to run, nor
    /// depend on what the memory held before.
    ///
    /// # Errors
    /// They do; or the device's.
    pub fn take_reference(&mut self, original: &Executable) -> Result<()> {
        let what = "compare results bit by bit";
        self.run(original, POISON)?;
        self.keep_outputs()?;
        let again = self.verify(original)?;
        if let Some((region, offset)) = &again.first {
            let cause = format!(
                "two runs of the original graph differ in {} bytes of {region}, first at {offset}",
                again.wrong_bytes
            );
            return Err(Error::new(Kind::Refused, what, cause).remedy(
                "give a reset that restores what the graph changes and reads again, and use kernels \
                 whose results do not depend on the order of atomics",
            ));
        }
        self.run(original, OTHER_POISON)?;
        let other = self.compare()?;
        if other.wrong_bytes == 0 {
            return Ok(());
        }
        match self.spoiled()? {
            None => Ok(()),
            Some(Spoiled::Unwritten(region)) => {
                let cause = format!("the graph writes nothing of {region}");
                Err(Error::new(Kind::Refused, what, cause).remedy(
                    "name the tensor that the captured code wrote: one that was made again after the \
                     capture is another; or leave it out",
                ))
            }
            Some(Spoiled::Depends(region, offset)) => {
                let cause = format!(
                    "the original graph reads poisoned memory before it writes it: {region} at \
                     {offset} depends on the poison"
                );
                Err(Error::new(Kind::Refused, what, cause).remedy(
                    "leave inputs out of outputs and buffers, or give a reset that restores them",
                ))
            }
        }
    }

    /// What two poisons made different: an output whose every byte holds the poison itself was not
    /// written; a byte that differs otherwise depends on it.
    fn spoiled(&self) -> Result<Option<Spoiled>> {
        let stream = &self.gpu.stream;
        let fail = |error: DriverError| fault("read the outputs", error);
        for (output, copy) in self.memory.outputs.iter().zip(&self.reference) {
            let first = stream.clone_dtoh(copy).map_err(fail)?;
            let mut other = vec![0_u8; output.bytes as usize];
            // SAFETY: the owner's promise: live device memory of that many bytes.
            unsafe { memcpy_dtoh_sync(&mut other, output.address) }.map_err(fail)?;
            let poisoned = |(&first, &other): (&u8, &u8)| (first, other) == (POISON, OTHER_POISON);
            if first.iter().zip(&other).all(poisoned) {
                return Ok(Some(Spoiled::Unwritten(output.name.clone())));
            }
            let unlike = first
                .iter()
                .zip(&other)
                .position(|(first, other)| first != other && !poisoned((first, other)));
            if let Some(offset) = unlike {
                return Ok(Some(Spoiled::Depends(output.name.clone(), offset as u64)));
            }
        }
        Ok(None)
    }

    /// Poisons, resets and runs, and compares the outputs with the original's.
    ///
    /// # Errors
    /// The device's, or those of the reset.
    pub fn verify(&mut self, executable: &Executable) -> Result<Comparison> {
        self.run(executable, POISON)?;
        self.compare()
    }

    /// One timed run: poison → reset → gate → event → launch → event → drain, then the comparison.
    ///
    /// # Errors
    /// The device's, those of the reset, or an interruption.
    pub fn timed(&mut self, executable: &Executable) -> Result<Timed> {
        interrupt::check("go on measuring")?;
        let what = "run the graph";
        self.prepare(POISON)?;
        let gpu = &*self.gpu;
        let gated = gpu.facts().no_gate.is_none();
        let mut flags = Vec::new();
        gpu.conditioner.condition(&gpu.stream).map_err(condition_fault)?;
        let closed = match gated {
            true => Some(gpu.gate.close(raw(&gpu.stream)).map_err(|e| launch_fault(what, e))?),
            false => None,
        };
        gpu.start.record(&gpu.stream).map_err(|error| fault(what, error))?;
        executable.launch(&gpu.stream)?;
        gpu.end.record(&gpu.stream).map_err(|error| fault(what, error))?;
        gpu.done.record(&gpu.stream).map_err(|error| fault(what, error))?;
        drop(closed);
        gpu.wait(&gpu.done, what)?;
        match gated {
            true => flags.extend(gpu.gate.flags()),
            false => flags.push(Flag::NoGate),
        }
        let ms = gpu.start.elapsed_ms(&gpu.end).map_err(|error| fault(what, error))?;
        let wrong_bytes = self.compare()?.wrong_bytes;
        if wrong_bytes > 0 {
            flags.push(Flag::Wrong);
        }
        Ok(Timed { duration_ns: f64::from(ms) * 1e6, flags, wrong_bytes })
    }

    /// Times every executable once a round, in shuffled order behind the fixed kernel, for `rounds`
    /// rounds. Samples with a flag that excludes are `None`.
    ///
    /// # Errors
    /// As [`timed`](Self::timed).
    pub fn rounds(&mut self, arms: &[&Executable], rounds: u32, seed: u64) -> Result<Rounds> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut found = Rounds::new(arms.len());
        let mut order: Vec<usize> = (0..arms.len()).collect();
        // The first launch of an instance costs more than the rest.
        for arm in arms {
            self.timed(arm)?;
        }
        // Its work is its own, whatever the chain.
        let gpu = self.gpu.clone();
        let mut sentinel = gpu.prepare(&Chain::default(), Arm::Sentinel)?;
        for round in 0..rounds {
            order.shuffle(&mut random);
            let fixed = sentinel.sample()?;
            let sample = |variant, place, duration_ns, flags| RawSample {
                variant,
                round,
                order: place,
                duration_ns: SampleRow::stored_ns(duration_ns),
                sm_mhz: gpu.sm_mhz(),
                flags,
            };
            found.push(sample(None, 0, fixed.duration_ns, fixed.flags));
            for (&arm, place) in order.iter().zip(1..) {
                let timed = self.timed(arms[arm])?;
                found.wrong_bytes[arm] = found.wrong_bytes[arm].max(timed.wrong_bytes);
                found.push(sample(Some(arm as u32), place, timed.duration_ns, timed.flags));
            }
        }
        Ok(found)
    }

    /// Poisons everything and restores what the owner's reset restores.
    pub(super) fn prepare(&mut self, poison: u8) -> Result<()> {
        let stream = self.gpu.stream.clone();
        for region in &self.regions {
            // SAFETY: the owner's promise: live device memory of that many bytes.
            unsafe {
                sys::cuMemsetD8Async(
                    region.address,
                    poison,
                    region.bytes as usize,
                    stream.cu_stream(),
                )
            }
            .result()
            .map_err(|error| fault(&format!("poison {}", region.name), error))?;
        }
        if let Some(reset) = &mut self.memory.reset {
            // What the poison still writes must not overtake work of other streams.
            stream.synchronize().map_err(|error| fault("poison the buffers", error))?;
            reset(stream.cu_stream().cast())?;
        }
        stream.context().synchronize().map_err(|error| fault("reset the inputs", error))
    }

    /// Poisons, resets, runs, drains.
    pub(super) fn run(&mut self, executable: &Executable, poison: u8) -> Result<()> {
        self.prepare(poison)?;
        executable.launch(&self.gpu.stream)?;
        self.drain("run the graph")
    }

    /// Waits for the stream, and gives the device up when it hangs.
    pub(super) fn drain(&self, what: &str) -> Result<()> {
        let gpu = &*self.gpu;
        gpu.done.record(&gpu.stream).map_err(|error| fault(what, error))?;
        gpu.wait(&gpu.done, what)
    }

    fn keep_outputs(&mut self) -> Result<()> {
        for (output, copy) in self.memory.outputs.iter().zip(&self.reference) {
            let to = address(copy, &self.gpu.stream);
            copy_device(&self.gpu, to, output.address, output.bytes)?;
        }
        self.drain("keep the outputs")
    }

    fn compare(&self) -> Result<Comparison> {
        self.differences.compare(&self.gpu, &self.memory.outputs, &self.reference)
    }
}

/// Counters that comparisons on the device count into.
pub(super) struct Differences(CudaSlice<Difference>);

// SAFETY: two numbers; zero is a value of each.
unsafe impl cudarc::driver::DeviceRepr for Difference {}

impl Differences {
    /// For so many regions.
    pub fn new(gpu: &Gpu, regions: usize) -> Result<Differences> {
        // SAFETY: written before every use.
        let counters = unsafe { gpu.stream.alloc::<Difference>(regions.max(1)) };
        counters.map(Differences).map_err(|error| memory_error("counters", 16, error))
    }

    /// Compares regions with copies of them. Waits for the stream.
    pub fn compare(
        &self,
        gpu: &Gpu,
        regions: &[Region],
        copies: &[CudaSlice<u8>],
    ) -> Result<Comparison> {
        let what = "compare the memory";
        let fail = |error: DriverError| fault(what, error);
        let stream = &gpu.stream;
        let clear = vec![Difference { bytes: 0, first: u64::MAX }; regions.len()];
        let base = address(&self.0, stream);
        // SAFETY: as many counters as there are regions, and nothing on the device uses them.
        unsafe { memcpy_htod_sync(base, &clear) }.map_err(fail)?;
        for (index, (region, copy)) in regions.iter().zip(copies).enumerate() {
            let at = base + (index * size_of::<Difference>()) as u64;
            let copy = address(copy, stream);
            // SAFETY: both hold that many bytes; the counters are these.
            unsafe { replay::launch_compare(raw(stream), region.address, copy, region.bytes, at) }
                .map_err(|error| launch_fault(what, error))?;
        }
        let found = stream.clone_dtoh(&self.0).map_err(fail)?;
        let mut all = Comparison::default();
        for (region, difference) in regions.iter().zip(&found) {
            all.bytes += region.bytes;
            all.wrong_bytes += difference.bytes;
            if difference.bytes > 0 && all.first.is_none() {
                all.first = Some((region.name.clone(), difference.first));
                all.address = Some(region.address + difference.first);
            }
        }
        Ok(all)
    }
}

/// Queues a copy between two places of device memory.
pub(super) fn copy_device(gpu: &Gpu, to: u64, from: u64, bytes: u64) -> Result<()> {
    // SAFETY: both are live device memory of that many bytes: this program's or the owner's promise.
    unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, gpu.stream.cu_stream()) }
        .result()
        .map_err(|error| fault("copy device memory", error))
}
