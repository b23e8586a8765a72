"""Decode layers captured by PyTorch, with kernels of cuBLAS and of Triton: which edges are worth
making programmatic?

    pip install dist/pdl_lab-*.whl
    python3 examples/pytorch_decode_layer.py --layers 8 --out results/decode

RMSNorm, SiLU and the residual add are Triton kernels with sync and trigger, launched without the
attribute; the projections are cuBLAS; attention is PyTorch's. Batch 1.
"""

import argparse

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

import pdl_lab


@triton.jit
def rms_norm(x, weight, out, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    # Before the sync only what no kernel in flight writes: the weights.
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.extra.cuda.gdc_wait()
    row = tl.program_id(0) * SIZE
    v = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    tl.extra.cuda.gdc_launch_dependents()
    scale = tl.rsqrt(tl.sum(v * v) / SIZE + 1e-6)
    tl.store(out + row + at, (v * scale * w).to(tl.bfloat16), mask=inside)


@triton.jit
def silu_mul(gate_up, out, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < SIZE
    tl.extra.cuda.gdc_wait()
    gate = tl.load(gate_up + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + SIZE + at, mask=inside, other=0.0).to(tl.float32)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + at, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=inside)


@triton.jit
def add(x, y, out, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < SIZE
    tl.extra.cuda.gdc_wait()
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(y + at, mask=inside, other=0.0)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + at, a + b, mask=inside)


class Layer:
    """One decode layer with random weights."""

    def __init__(self, hidden, inner, heads, context):
        def weight(rows, columns):
            scale = columns**-0.5
            return (torch.randn(rows, columns, device="cuda") * scale).to(torch.bfloat16)

        self.hidden, self.inner, self.heads = hidden, inner, heads
        self.norms = torch.ones(2, hidden, device="cuda", dtype=torch.bfloat16)
        self.qkv, self.o = weight(3 * hidden, hidden), weight(hidden, hidden)
        self.gate_up, self.down = weight(2 * inner, hidden), weight(hidden, inner)
        cache = (1, heads, context, hidden // heads)
        self.keys = torch.randn(cache, device="cuda").to(torch.bfloat16)
        self.values = torch.randn(cache, device="cuda").to(torch.bfloat16)

    def __call__(self, x):
        attended = self.attention(self.norm(x, 0))
        x = self.residual(x, F.linear(attended, self.o))
        gate_up = F.linear(self.norm(x, 1), self.gate_up)
        inner = torch.empty(1, self.inner, device="cuda", dtype=torch.bfloat16)
        silu_mul[(triton.cdiv(self.inner, 1024),)](gate_up, inner, SIZE=self.inner, BLOCK=1024)
        return self.residual(x, F.linear(inner, self.down))

    def norm(self, x, which):
        out = torch.empty_like(x)
        block = triton.next_power_of_2(self.hidden)
        rms_norm[(1,)](x, self.norms[which], out, SIZE=self.hidden, BLOCK=block)
        return out

    def attention(self, x):
        q, k, v = F.linear(x, self.qkv).view(3, 1, self.heads, 1, -1)
        # The last position of the cache: the same on every replay.
        self.keys[:, :, -1:] = k
        self.values[:, :, -1:] = v
        return F.scaled_dot_product_attention(q, self.keys, self.values).reshape(1, -1)

    def residual(self, x, y):
        out = torch.empty_like(x)
        add[(triton.cdiv(self.hidden, 1024),)](x, y, out, SIZE=self.hidden, BLOCK=1024)
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--inner", type=int, default=5632)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", help="directory for report.json, report.html and patch.txt")
    args = parser.parse_args()

    torch.manual_seed(0)
    layers = [Layer(args.hidden, args.inner, args.heads, args.context) for _ in range(args.layers)]
    x = torch.randn(1, args.hidden, device="cuda").to(torch.bfloat16)

    def step():
        h = x
        for layer in layers:
            h = layer(h)
        return h

    # Warm-up outside the capture: kernels are compiled and loaded.
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.no_grad(), torch.cuda.graph(graph):
        y = step()

    with pdl_lab.attach(graph, outputs={"y": y}) as attached:
        print(attached)
        result = attached.run(rounds=args.rounds)
        print(result)
        print(result.patch())
        if args.out:
            print("saved in", result.save(args.out))


if __name__ == "__main__":
    main()
