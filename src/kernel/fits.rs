//! Whether a block of a kernel fits any SM: what its machine code takes, and what the launch adds.

use crate::chain_file::{Loaded, ResolvedNode};
use crate::compile::KernelCode;
use crate::error::Result;

/// Registers of an SM, and the most that a block may have (CUDA C++ Programming Guide, technical
/// specifications per compute capability: 9.0 to 12.x).
const SM_REGISTERS: u64 = 65_536;
/// A warp's registers are given out in so many at a time (same place).
const REGISTER_UNIT: u64 = 256;
const WARP: u64 = 32;
/// Shared memory of an SM, bytes (same place: 228 KiB for 9.0 and 10.0, less for 12.x). A block may have
/// 227 KiB; the last belongs to CUDA, and cubins of today count it as the kernel's.
const SM_SHARED_BYTES: u32 = 228 * 1024;

/// Refuses a launch that no GPU could run.
///
/// # Errors
/// What does not fit, at the place of the file that asks for it.
pub(super) fn check(
    loaded: &Loaded,
    at: usize,
    node: &ResolvedNode,
    kernel: &KernelCode,
) -> Result<()> {
    let of = &loaded.file.nodes[at];
    let threads = node.threads();
    if let Some(registers) = kernel.registers
        && block_registers(threads, registers) > SM_REGISTERS
    {
        let cause = format!(
            "a block of {threads} threads of {} takes {} registers ({registers} a thread), and an SM \
             has {SM_REGISTERS}",
            kernel.short,
            block_registers(threads, registers)
        );
        return Err(loaded.error(of.block.span(), cause).remedy(
            "give smaller blocks, or fewer registers: __launch_bounds__ in the source, or the flag \
             --maxrregcount=64",
        ));
    }
    let whole = kernel.shared_bytes.saturating_add(node.shared_bytes);
    if whole > SM_SHARED_BYTES {
        let cause = format!(
            "a block of {} takes {whole} bytes of shared memory, {} of them by its machine code and \
             {} by its launch, and no SM has more than {SM_SHARED_BYTES}",
            kernel.short, kernel.shared_bytes, node.shared_bytes
        );
        let place = of.shared.as_ref().map_or(node.span.clone(), |shared| shared.span());
        return Err(loaded.error(place, cause).remedy("make one of them smaller"));
    }
    Ok(())
}

fn block_registers(threads: u32, registers: u32) -> u64 {
    let warp = (u64::from(registers) * WARP).next_multiple_of(REGISTER_UNIT);
    u64::from(threads).div_ceil(WARP) * warp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_given_out_by_the_warp() {
        // Blocks of 1,024 threads fit with 64 registers a thread, and no more.
        for (threads, registers, expected) in [
            (1024, 64, 65_536),
            (1024, 65, 73_728),
            (32, 1, 256),
            (33, 24, 1536),
            (256, 255, 65_536),
        ] {
            assert_eq!(block_registers(threads, registers), expected, "{threads} × {registers}");
        }
    }
}
