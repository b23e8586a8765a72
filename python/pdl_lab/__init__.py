"""Which edges of a CUDA graph are worth making programmatic.

``attach`` takes a graph that this process holds; see its documentation. Everything heavy is in the
library that the package carries; this is a thin layer of ctypes.
"""

from ._attach import AttachedGraph, Edge, attach, list_graph
from ._native import PdlError, default_options, version
from ._result import Result

__all__ = [
    "AttachedGraph",
    "Edge",
    "PdlError",
    "Result",
    "attach",
    "default_options",
    "list_graph",
    "version",
]
__version__ = version().split()[0]
