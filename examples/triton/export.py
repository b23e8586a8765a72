"""Compiles two Triton kernels for this GPU, writes their cubins and the chain file that runs them.

    python3 export.py && pdl kernel chain.toml

Needs torch and triton (3.4 or newer) where the GPU is. `--without-wait add` leaves that kernel's wait out:
`pdl kernel chain.toml --check --unsafe-no-sync` must catch it.
"""
import argparse
import pathlib

import numpy as np
import torch
import triton
import triton.language as tl

N = 1 << 20
BLOCK = 1024
FOLDER = pathlib.Path(__file__).parent


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr, WAIT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WAIT:
        tl.extra.cuda.gdc_wait()
    value = tl.load(x + at, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(y + at, value * 3.0, mask=at < n)


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr, WAIT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # x is an input of the chain: no kernel writes it, and it may be loaded before the wait.
    first = tl.load(x + at, mask=at < n)
    if WAIT:
        tl.extra.cuda.gdc_wait()
    second = tl.load(y + at, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(z + at, first + second, mask=at < n)


def export(kernel, pointers):
    """The compiled kernel; its cubin is written beside this file."""
    tensors = [torch.empty(N, device="cuda") for _ in range(pointers)]
    wait = kernel.__name__ not in options.without_wait
    grid = (N // BLOCK,)
    compiled = kernel.warmup(*tensors, N, BLOCK=BLOCK, WAIT=wait, grid=grid, launch_pdl=True)
    name = compiled.metadata.name
    (FOLDER / f"{name}.cubin").write_bytes(compiled.asm["cubin"])
    return compiled, name


def node(compiled, name, buffers):
    # Triton appends addresses of scratch memory that these kernels do not use.
    scratch = compiled.asm["ptx"].split(f".entry {name}(")[1].split(")")[0].count(".param")
    scratch -= len(buffers) + 1
    args = [f'"{buffer}"' for buffer in buffers] + [f"{{ i32 = {N} }}"] + ["{ u64 = 0 }"] * scratch
    return f"""
[[nodes]]
kernel = "{name}"
source = "{name}.cubin"
grid = {N // BLOCK}
block = {32 * compiled.metadata.num_warps}
shared = {compiled.metadata.shared}
args = [{", ".join(args)}]
"""


def buffer(name, extra=""):
    return f'\n[buffers.{name}]\ntype = "f32"\nlength = {N}\n{extra}'


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--without-wait", nargs="*", default=[], choices=["scale", "add"])
options = parser.parse_args()
scaled, scale_name = export(scale, 2)
added, add_name = export(add, 3)
x = np.random.default_rng(1).standard_normal(N, dtype=np.float32)
np.save(FOLDER / "x.npy", x)
np.save(FOLDER / "z.npy", x + x * np.float32(3))
text = f'sources = ["{scale_name}.cubin", "{add_name}.cubin"]\nrepeat = 10\n'
text += buffer("x", 'fill = { npy = "x.npy" }\n') + buffer("y") + buffer("z")
text += node(scaled, scale_name, ["x", "y"]) + node(added, add_name, ["x", "y", "z"])
text += '\n[verify]\nnpy = [{ buffer = "z", file = "z.npy", rtol = 1e-6, atol = 1e-6 }]\n'
(FOLDER / "chain.toml").write_text(text)
