"""Attaching to a graph."""

import ctypes
import inspect
import json
import sys
import weakref
from typing import NamedTuple

from . import _code, _memory
from ._native import (
    PROGRESS,
    RESET,
    AttachArgs,
    Code,
    PdlError,
    Region,
    call,
    call_for_text,
    library,
    options_json,
)
from ._result import Result, table


class Edge(NamedTuple):
    """One edge of the graph. ``standing``: eligible, unknown, refused or left-alone."""

    index: int
    primary: str
    secondary: str
    dependency: str
    standing: str
    reason: str


def attach(graph, outputs, buffers=None, reset=None, code=None, search=True):
    """Attaches to a CUDA graph of this process. The graph itself is only read: a clone is what is
    edited, run and timed.

    graph:   a ``torch.cuda.CUDAGraph(keep_graph=True)`` after its capture, or a ``cudaGraph_t`` as a
             number.
    outputs: what is compared bit by bit with what the original graph writes: tensors, arrays with
             ``__cuda_array_interface__``, ``(address, bytes)`` pairs; one, a list or a dict.
    buffers: what else is poisoned before every run and recorded by the race check: what kernels of
             the graph hand to one another. Nothing that the graph reads before it writes it. Left
             out, it is the pool that PyTorch captured the graph into; ``[]`` for none, as when
             graphs share a pool.
    reset:   called after the poison and before every run: restores inputs that the graph changes.
             It is called with PyTorch's current stream set, or with the stream's number if it takes
             an argument.
    code:    machine code in which to look for syncs: paths of cubins, bytes, Triton's kernels. Those
             that Triton has compiled in this process are found by themselves.
    search:  look for machine code in the memory of this process too.

    The graph's kernels, tensors and modules must stay alive until ``close``.
    """
    _memory.demand_no_capture()
    handle = _memory.graph_handle(graph)
    output_regions = _memory.regions(outputs, "output")
    if not output_regions:
        raise _memory.usage(
            "there is no output to compare",
            "name at least one output: without it a wrong result would go unseen",
        )
    buffer_regions = _memory.pool_of(graph) if buffers is None else _memory.regions(buffers, "buffer")
    images = _code.images(code) + (_code.triton_kernels() if search else [])
    callback = Reset(reset) if reset is not None else None
    args = AttachArgs(
        graph=handle,
        outputs=region_array(output_regions),
        output_count=len(output_regions),
        buffers=region_array(buffer_regions),
        buffer_count=len(buffer_regions),
        codes=code_array(images),
        code_count=len(images),
        reset=callback.function if callback else RESET(),
        user=None,
        ignore_process=0 if search else 1,
    )
    place = ctypes.c_void_p()
    try:
        call("pdl_lab_attach", ctypes.byref(args), ctypes.byref(place))
    except PdlError:
        if callback:
            callback.raise_caught()
        raise
    # What the graph works on is kept alive with the handle.
    return AttachedGraph(place.value, callback, (graph, outputs, buffers))


def list_graph(graph, code=None):
    """What a graph is made of, as a dict, without attaching: graphs that CUDA does not clone too."""
    images = _code.images(code) + _code.triton_kernels()
    handle = _memory.graph_handle(graph)
    return json.loads(
        call_for_text("pdl_lab_list_graph", handle, code_array(images), len(images))
    )


class AttachedGraph:
    """A graph that is attached. A context manager: ``close`` lets it go."""

    def __init__(self, handle, callback, keeps):
        self._handle = handle
        self._callback = callback
        self._keeps = keeps
        self._finalizer = weakref.finalize(self, library().pdl_lab_detach, handle)
        self.listing = json.loads(call_for_text("pdl_lab_list", handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __str__(self):
        return self.table()

    def close(self):
        """Lets the graph go; what was said of it stays."""
        self._finalizer()
        self._handle = None
        self._keeps = None

    @property
    def edges(self):
        """The edges, with the kernels at their ends."""
        return [
            Edge(
                edge["index"],
                self._node_name(edge["from"]),
                self._node_name(edge["to"]),
                edge["dependency"],
                edge["standing"],
                edge.get("reason", ""),
            )
            for edge in self.listing["edges"]
        ]

    @property
    def nodes(self):
        """The nodes, as dicts."""
        return self.listing["nodes"]

    def table(self):
        """Nodes, kinds of edges, and what may be done with them."""
        return table(self.listing)

    def verify(self, edges):
        """Runs with these edges programmatic and compares the outputs with the original's. Whether
        that is safe is not asked. A dict with ``wrong_bytes``."""
        edges = list(edges)
        numbers = (ctypes.c_uint32 * len(edges))(*edges)
        return json.loads(self._call("pdl_lab_verify", numbers, len(edges)))

    def race(self, edge, **options):
        """Checks one edge for races: a dict with ``verdict``, ``residence`` and ``reason``."""
        return json.loads(self._call("pdl_lab_race", edge, options_json(options)))

    def run(self, progress=None, **options):
        """Which edges are worth it. ``options`` are those of ``pdl_lab.default_options()``;
        ``progress`` is called with a step, what is done of it and what there is of it."""
        watch = Watch(progress)
        try:
            text = self._call("pdl_lab_run", options_json(options), watch.function, None)
        except PdlError:
            watch.raise_caught()
            raise
        return Result(json.loads(text), self, self._call("pdl_lab_trials"))

    def _call(self, name, *arguments):
        if not self._handle:
            raise PdlError(
                "cannot use the graph: it was closed\n     use it inside the `with` block, or attach again",
                "usage",
            )
        try:
            return call_for_text(name, self._handle, *arguments)
        except PdlError:
            if self._callback:
                self._callback.raise_caught()
            raise

    def _node_name(self, index):
        node = self.listing["nodes"][index]
        kernel = node.get("kernel")
        return kernel["name"] if kernel else node["kind"]


class Caught:
    """A callback from C: what it raises is kept, and raised again on this side."""

    def __init__(self):
        self.caught = None

    def guarded(self, body):
        try:
            return 1 if body() else 0
        except BaseException as error:  # Nothing may pass through C, not even an interrupt.
            self.caught = error
            return 1

    def raise_caught(self):
        caught, self.caught = self.caught, None
        if caught is not None:
            raise caught


class Reset(Caught):
    """The caller's reset, on the stream that the library gives."""

    def __init__(self, reset):
        super().__init__()
        if not callable(reset):
            raise _memory.usage(f"the reset is a {type(reset).__name__}", "give a function")
        takes_stream = takes_argument(reset)

        def run(_, stream):
            def body():
                torch = sys.modules.get("torch")
                if takes_stream:
                    reset(stream or 0)
                elif torch is not None and stream:
                    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
                        reset()
                else:
                    reset()

            return self.guarded(body)

        self.function = RESET(run)


class Watch(Caught):
    """The caller's progress; Python's own signals are seen in it too."""

    def __init__(self, progress):
        super().__init__()

        def run(_, step, done, of):
            return self.guarded(lambda: progress and progress(step.decode(), done, of) is False)

        self.function = PROGRESS(run)


def takes_argument(function):
    """Whether a function must be given an argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is p.empty for p in parameters)


def region_array(regions):
    fields = [(name.encode(), address, size) for name, address, size in regions]
    return (Region * len(fields))(*fields)


def code_array(images):
    # The bytes stay alive through the array's own references.
    fields = [
        (function or None, source.encode(), ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
        for function, source, data in images
    ]
    array = (Code * len(fields))(*fields)
    array.kept = images
    return array
