"""Device memory and graphs, as people hold them: tensors, arrays, pairs, handles."""

import sys
from math import prod

from ._native import PdlError


def usage(cause, remedy):
    return PdlError(f"cannot attach the graph: {cause}\n     {remedy}", "usage")


def regions(given, what):
    """(name, address, bytes) of everything in ``given``: one thing, a sequence, or a mapping."""
    if given is None:
        return []
    if isinstance(given, dict):
        items = [(str(name), thing) for name, thing in given.items()]
    elif is_memory(given):
        items = [(f"{what} 0", given)]
    else:
        try:
            items = [(f"{what} {index}", thing) for index, thing in enumerate(given)]
        except TypeError:
            raise usage(
                f"{what}s are of type {type(given).__name__}",
                "give tensors, (address, bytes) pairs, or a list or dict of them",
            ) from None
    return [(name, *region(name, thing)) for name, thing in items]


def is_pair(thing):
    return (
        isinstance(thing, tuple)
        and len(thing) == 2
        and all(isinstance(part, int) and not isinstance(part, bool) for part in thing)
    )


def is_memory(thing):
    return is_pair(thing) or hasattr(thing, "data_ptr") or hasattr(thing, "__cuda_array_interface__")


def region(name, thing):
    """Address and bytes of one thing."""
    if is_pair(thing):
        address, size = thing
        if address <= 0 or size <= 0:
            raise usage(
                f"{name} is ({address}, {size})", "a pair is a device address and a number of bytes"
            )
        return thing
    if hasattr(thing, "data_ptr"):
        return tensor(name, thing)
    if hasattr(thing, "__cuda_array_interface__"):
        return array(name, thing.__cuda_array_interface__)
    raise usage(
        f"{name} is of type {type(thing).__name__}",
        "give a CUDA tensor, an array with __cuda_array_interface__, or an (address, bytes) pair",
    )


def tensor(name, thing):
    if not thing.is_cuda:
        raise usage(
            f"{name} is a tensor on {thing.device}",
            "name the tensor on the GPU that the graph writes, not a copy of it",
        )
    if not thing.is_contiguous():
        raise usage(
            f"{name} is not contiguous (shape {tuple(thing.shape)}, strides {tuple(thing.stride())})",
            "give the tensor that it is a view of (a .contiguous() copy is not what the graph writes)",
        )
    size = thing.numel() * thing.element_size()
    if size == 0:
        raise usage(f"{name} is an empty tensor", "leave it out")
    return thing.data_ptr(), size


def array(name, interface):
    shape, typestr = interface["shape"], interface["typestr"]
    size = prod(shape) * int(typestr[2:])
    strides = interface.get("strides")
    if strides is not None:
        expected, step = [], int(typestr[2:])
        for extent in reversed(shape):
            expected.insert(0, step)
            step *= extent
        if tuple(strides) != tuple(expected):
            raise usage(f"{name} is not contiguous", "give the array that it is a view of")
    if size == 0:
        raise usage(f"{name} is an empty array", "leave it out")
    return interface["data"][0], size


def demand_no_capture():
    """Nothing may be run while PyTorch's current stream captures."""
    torch = sys.modules.get("torch")
    capturing = getattr(getattr(torch, "cuda", None), "is_current_stream_capturing", None)
    if capturing is not None and capturing():
        raise usage("a capture is under way", "attach after the `with torch.cuda.graph(…)` block")


def graph_handle(graph):
    """The cudaGraph_t of a graph: a number, or what PyTorch keeps."""
    if isinstance(graph, int) and not isinstance(graph, bool):
        if graph == 0:
            raise usage("it is 0", "give the cudaGraph_t of a live graph")
        return graph
    if hasattr(graph, "raw_cuda_graph"):
        try:
            handle = graph.raw_cuda_graph()
        except RuntimeError as error:
            said = first_line(error)
            if "keep_graph" in str(error):
                remedy = "make it with torch.cuda.CUDAGraph(keep_graph=True), and capture it again"
            else:
                remedy = "capture before attaching; a graph that was reset() holds nothing any more"
            raise usage(f"PyTorch does not give its graph out: {said}", remedy) from error
        if not handle:
            raise usage("PyTorch's graph is empty", "capture before attaching")
        return int(handle)
    if type(graph).__name__ == "CUDAGraph":
        raise usage(
            "this PyTorch does not give graphs out",
            "use PyTorch 2.8 or newer and torch.cuda.CUDAGraph(keep_graph=True)",
        )
    value = getattr(graph, "value", None)
    if isinstance(value, int) and value:
        return value
    try:
        # Handles of cuda-python are numbers in disguise.
        value = int(graph)
    except (TypeError, ValueError):
        value = 0
    if value:
        return value
    raise usage(
        f"a {type(graph).__name__} is no graph",
        "give a torch.cuda.CUDAGraph(keep_graph=True) or the number of a cudaGraph_t",
    )


def pool_of(graph):
    """The memory pool that PyTorch captured into: all of it is written by the graph before it is
    read, unless another graph shares the pool."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(graph, "pool") or isinstance(graph, int):
        return []
    pool = tuple(graph.pool())
    segments = [
        segment
        for segment in torch.cuda.memory_snapshot()
        if tuple(segment.get("segment_pool_id", ())) == pool
    ]
    return [
        (f"segment {index} of the graph's pool", segment["address"], segment["total_size"])
        for index, segment in enumerate(segments)
    ]


def first_line(error):
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
