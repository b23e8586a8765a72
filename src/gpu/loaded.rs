//! Loading a kernel, and what this device cannot launch, said before the driver does.

use super::driver::Gpu;
use super::nodes;
use super::shim::{self, Kernel, KernelInfo};
use crate::chain::{Arm, Chain};
use crate::device::{Device, Proof};
use crate::error::{Error, Result};

/// What this device cannot launch, said before the driver does.
pub fn fits_device(gpu: &Gpu, chain: &Chain) -> Result<()> {
    let facts = gpu.facts();
    let shared = nodes::shared_bytes(chain);
    if shared > facts.block_shared_bytes {
        return Err(Error::unsupported(
            format!("give a block {} KiB of shared memory", shared.div_ceil(1024)),
            format!("{} allows {} KiB", facts.name, facts.block_shared_bytes / 1024),
        )
        .remedy("use a smaller --shared-kib, a shorter --preamble-us, or a larger --grid"));
    }
    Ok(())
}

/// Loads the kernel that `arm` runs and checks that the chain's shape fits it.
pub fn load(gpu: &Gpu, chain: &Chain, arm: Arm, kernel: &Kernel) -> Result<KernelInfo> {
    let launch = nodes::launch(chain, arm.dependency());
    let info = shim::prepare(kernel, &launch)
        .map_err(|error| Error::unsupported("load the kernel at this shape", error))?;
    let shape = chain.shape;
    if info.max_threads < shape.block_threads as i32 || info.blocks_per_sm < 1 {
        return Err(Error::unsupported(
            format!("fit a block of {} threads on an SM", shape.block_threads),
            format!(
                "its {} registers a thread leave room for {}",
                info.registers, info.max_threads
            ),
        ));
    }
    if info.clusters == 0 {
        return Err(Error::unsupported(
            format!("place a cluster of {} blocks", shape.cluster_blocks),
            "no part of this GPU holds one at this shape",
        )
        .remedy("use a smaller --cluster, --block or --shared-kib"));
    }
    let resident = info.blocks_per_sm as u64 * u64::from(gpu.facts().sm_count);
    if arm == Arm::Persistent && u64::from(shape.grid_blocks) > resident {
        return Err(Error::unsupported(
            format!("run {} persistent blocks", shape.grid_blocks),
            format!("the device holds {resident} at once"),
        ));
    }
    if arm == Arm::Persistent && shape.cluster_blocks > 1 {
        return Err(Error::unsupported(
            "run the persistent arm in clusters",
            "its grid barrier does not know them",
        ));
    }
    Ok(info)
}

/// What is known of the loaded kernel; edges are read from the capture.
pub fn proof(gpu: &Gpu, info: KernelInfo) -> Proof {
    let name = shim::kernel_name(&info);
    let binary_version = info.binary_version as u32;
    let counts = gpu.code.counts(binary_version, &name);
    Proof {
        ptx_version: Some(info.ptx_version as u32),
        binary_version: Some(binary_version),
        syncs: counts.map(|counts| counts.syncs),
        triggers: counts.map(|counts| counts.triggers),
        paths: gpu.code.paths(binary_version, &name),
        registers: Some(info.registers as u32),
        local_bytes: Some(info.local_bytes as u32),
        blocks_per_sm: Some(info.blocks_per_sm as u32),
        edges: Vec::new(),
        kernel: name,
    }
}
