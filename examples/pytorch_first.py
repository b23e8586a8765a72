"""The first graph to attach to: a hundred Triton adds, one after another. See docs/attach.md.

    pip install dist/pdl_lab-*.whl torch triton
    python3 examples/pytorch_first.py
"""

import torch
import triton
import triton.language as tl

import pdl_lab


@triton.jit
def add_one(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()  # the sync: from here the primary's results may be read
    value = tl.load(x + at) + 1
    tl.extra.cuda.gdc_launch_dependents()  # the trigger
    tl.store(out + at, value)


rows = torch.zeros(101, 4096, device="cuda")


def chain():
    for i in range(100):
        add_one[(4,)](rows[i], rows[i + 1], BLOCK=1024)


chain()  # compiles; nothing may be compiled during a capture
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph(keep_graph=True)
with torch.cuda.graph(graph):
    chain()

buffers = [rows[i] for i in range(1, 100)]
with pdl_lab.attach(graph, outputs={"sum": rows[100]}, buffers=buffers) as attached:
    print(attached)
    result = attached.run()
    print(result)
    print("saved in", result.save("results/first"))  # raw samples, manifest, report.html
    print(result.patch())  # the lines to change where the graph is captured,
    result.apply(graph)  # or the edges made programmatic in the graph itself
graph.instantiate()
graph.replay()
