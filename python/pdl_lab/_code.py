"""Machine code that the process has: what the caller gives, and what Triton keeps."""

import gc
import os
import pathlib
import sys

from ._native import PdlError


def images(given):
    """(function or 0, source, bytes) of everything in ``given``: paths, bytes, Triton's kernels."""
    if given is None:
        return []
    if isinstance(given, (bytes, bytearray, str, os.PathLike)) or hasattr(given, "asm"):
        given = [given]
    return [image(thing) for thing in given]


def image(thing):
    if isinstance(thing, (bytes, bytearray)):
        return 0, "the caller", bytes(thing)
    if isinstance(thing, (str, os.PathLike)):
        try:
            return 0, os.fspath(thing), pathlib.Path(thing).read_bytes()
        except OSError as error:
            raise PdlError(f"cannot read the code: {error}", "usage") from error
    found = compiled(thing)
    if found is None:
        raise PdlError(
            f"cannot read the code: a {type(thing).__name__} has no machine code\n     give paths, "
            "bytes or Triton's compiled kernels",
            "usage",
        )
    return found


def triton_kernels():
    """Every kernel that Triton has compiled and loaded in this process."""
    compiler = sys.modules.get("triton.compiler.compiler") or sys.modules.get("triton.compiler")
    kind = getattr(compiler, "CompiledKernel", None)
    if kind is None:
        return []
    # Not isinstance: it asks things for their class, and some warn when they are asked.
    kernels = [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]
    return [found for found in map(compiled, kernels) if found is not None]


def compiled(kernel):
    """A kernel of Triton, if it holds a cubin."""
    asm = getattr(kernel, "asm", None)
    try:
        cubin = asm["cubin"]
    except (KeyError, TypeError):
        return None
    if not isinstance(cubin, (bytes, bytearray)):
        return None
    # The handle is there once the kernel was launched; asking for it by attribute may load it.
    function = vars(kernel).get("function") or 0
    name = getattr(kernel, "name", None) or "a kernel"
    handle = function if isinstance(function, int) else 0
    return handle, f"Triton's {name}", bytes(cubin)
