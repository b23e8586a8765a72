// The work of a node: preamble, body, and the value that proves it was done.
#pragma once
#include "pdl.cuh"
#include "shim.h"

namespace pdl {

// Accumulators of an FMA body. Four independent chains cover the four-cycle latency, so that one
// warp a scheduler is issue-bound and whatever shares the SM slows it.
constexpr uint32_t kChains = 4;
// Multiply-adds a step of the FMA body: a thread's loop overhead is spread over these.
constexpr uint32_t kStepFma = 32;
// Vectors that a thread loads a step of a streaming body. Two steps are in flight: 256 bytes a
// thread keep HBM busy with 128 threads an SM.
constexpr uint32_t kStepVectors = 8;
constexpr uint32_t kStepVectorsNarrow = 4;
constexpr uint32_t kOneBits = 0x3f800000;
constexpr uint32_t kMantissa = 0x007fffff;

extern __shared__ uint4 staged[];

// The finaliser of splitmix64 (Steele, Lea, Flood 2014), over the history and the node's place.
__device__ __forceinline__ uint64_t mix(uint64_t previous, uint32_t total, uint32_t node,
                                        uint32_t block) {
  uint64_t z = previous ^ (static_cast<uint64_t>(total) << 32 | node) ^
               static_cast<uint64_t>(block) * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

__device__ __forceinline__ const uint4* region(const pdl_chain_args& a) {
  return static_cast<const uint4*>(a.region) + blockIdx.x * a.body_units;
}

// Vectors at the start of the block's region that the preamble fetches.
__device__ __forceinline__ uint32_t prefetched(const pdl_chain_args& a) {
  return static_cast<uint32_t>(min(a.preamble_units, a.body_units));
}

// A fixed number of multiply-adds whose result is known bit for bit, and not to the compiler.
// Volatile: nothing here depends on the sync, so only that keeps it before it.
__device__ __forceinline__ uint32_t alu_preamble(const pdl_chain_args& a) {
  float x[kChains];
  for (uint32_t c = 0; c < kChains; ++c) {
    x[c] = __uint_as_float(kOneBits | (threadIdx.x + c * blockDim.x & kMantissa));
  }
  for (uint64_t step = 0; step < a.preamble_units / kStepFma; ++step) {
#pragma unroll
    for (uint32_t i = 0; i < kStepFma; ++i) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i % kChains]) : "f"(a.one), "f"(a.zero));
    }
  }
  uint32_t sum = 0;
  for (uint32_t c = 0; c < kChains; ++c) sum += __float_as_uint(x[c]);
  return sum;
}

// Work before the sync. Returns the thread's part of the block's total.
__device__ __forceinline__ uint32_t preamble(const pdl_chain_args& a) {
  switch (a.preamble) {
    case PDL_PREAMBLE_ALU:
      return alu_preamble(a);
    case PDL_PREAMBLE_SPIN:
      spin_until(now_ns() + a.preamble_units);
      return 0;
    case PDL_PREAMBLE_PREFETCH_L2: {
      constexpr uint32_t kLineVectors = 8;  // 128-byte lines
      const uint4* from = region(a);
      for (uint32_t v = threadIdx.x * kLineVectors; v < prefetched(a);
           v += blockDim.x * kLineVectors) {
        prefetch_l2(from + v);
      }
      return 0;
    }
    case PDL_PREAMBLE_PREFETCH_SMEM: {
      const uint4* from = region(a);
      for (uint32_t v = threadIdx.x; v < prefetched(a); v += blockDim.x) {
        copy_async(&staged[v], from + v);
      }
      return 0;
    }
    default:
      return 0;
  }
}

// Issues the block's trigger, once, where the caller stands.
struct Triggering {
  uint32_t by_block;
  uint64_t issued_ns;

  template <bool Stamped>
  __device__ __forceinline__ void issue() {
    if (by_block) __syncthreads();
    if (threadIdx.x == 0) {
      trigger();
      if constexpr (Stamped) issued_ns = now_ns();
    }
  }
};

// Steps [from, to) of an FMA body. Starts from the primary's value, so nothing can run early.
__device__ __forceinline__ void fma_steps(float (&x)[kChains], uint64_t steps, float one,
                                          float zero) {
  for (uint64_t step = 0; step < steps; ++step) {
#pragma unroll
    for (uint32_t i = 0; i < kStepFma; ++i) x[i % kChains] = fmaf(x[i % kChains], one, zero);
  }
}

template <bool InBody, bool Stamped>
__device__ __forceinline__ uint32_t fma_body(const pdl_chain_args& a, uint64_t previous,
                                             Triggering& triggering) {
  float x[kChains];
  for (uint32_t c = 0; c < kChains; ++c) {
    const uint32_t bits = static_cast<uint32_t>(previous) + threadIdx.x + c * blockDim.x;
    x[c] = __uint_as_float(kOneBits | (bits & kMantissa));
  }
  if constexpr (InBody) {
    fma_steps(x, a.trigger_step, a.one, a.zero);
    triggering.issue<Stamped>();
    fma_steps(x, a.body_steps - a.trigger_step, a.one, a.zero);
  } else {
    fma_steps(x, a.body_steps, a.one, a.zero);
  }
  uint32_t sum = 0;
  for (uint32_t c = 0; c < kChains; ++c) sum += __float_as_uint(x[c]);
  return sum;
}

__device__ __forceinline__ uint32_t sum4(uint4 v) { return v.x + v.y + v.z + v.w; }

template <bool Native>
__device__ __forceinline__ uint4 load_vector(const uint4* address, bool inside) {
  if constexpr (Native) {
    return load_stream_native(address, inside);
  } else {
    return load_stream(address, inside);
  }
}

// Streams the block's region. A step's loads are issued before the step before it is summed, so
// the memory pipeline stays full over the trigger too.
template <uint32_t StepVectors, bool Native, bool InBody, bool Stamped>
__device__ __forceinline__ uint32_t stream_body(const pdl_chain_args& a,
                                                Triggering& triggering) {
  const uint4* from = region(a);
  uint32_t sum = 0;
  uint32_t begin = 0;
  if (a.preamble == PDL_PREAMBLE_PREFETCH_SMEM) {
    // A thread reads only what it copied itself: its own wait is enough.
    begin = prefetched(a);
    copy_async_wait();
    for (uint32_t v = threadIdx.x; v < begin; v += blockDim.x) sum += sum4(staged[v]);
  }
  const uint32_t end = static_cast<uint32_t>(a.body_units);
  uint4 current[StepVectors] = {};
  uint32_t v = threadIdx.x;
  // Not unrolled: the variants that trigger inside cannot be, and all should stream alike.
#pragma unroll 1
  for (uint64_t step = 0; step <= a.body_steps; ++step) {
    if constexpr (InBody) {
      if (step == a.trigger_step) triggering.issue<Stamped>();
    }
    uint4 next[StepVectors];
#pragma unroll
    for (uint32_t i = 0; i < StepVectors; ++i) {
      const bool inside = v >= begin && v < end;
      next[i] = load_vector<Native>(from + v, inside);
      v += blockDim.x;
    }
#pragma unroll
    for (uint32_t i = 0; i < StepVectors; ++i) {
      sum += sum4(current[i]);
      current[i] = next[i];
    }
  }
  return sum;
}

// Spins to absolute deadlines from the body's start, so that segments add up to what was asked.
template <bool InBody, bool Stamped>
__device__ __forceinline__ uint32_t spin_body(const pdl_chain_args& a, Triggering& triggering) {
  const uint64_t start = now_ns();
  if constexpr (InBody) {
    spin_until(start + a.trigger_step);
    triggering.issue<Stamped>();
  }
  spin_until(start + a.body_units);
  return 1;
}

template <pdl_body Body, bool Native, bool InBody, bool Stamped>
__device__ __forceinline__ uint32_t body(const pdl_chain_args& a, uint64_t previous,
                                         Triggering& triggering) {
  if constexpr (Body == PDL_BODY_FMA) return fma_body<InBody, Stamped>(a, previous, triggering);
  if constexpr (Body == PDL_BODY_STREAM) {
    return stream_body<kStepVectors, Native, InBody, Stamped>(a, triggering);
  }
  if constexpr (Body == PDL_BODY_STREAM_NARROW) {
    return stream_body<kStepVectorsNarrow, Native, InBody, Stamped>(a, triggering);
  }
  if constexpr (Body == PDL_BODY_SPIN) return spin_body<InBody, Stamped>(a, triggering);
  if constexpr (Body == PDL_BODY_NONE && InBody) triggering.issue<Stamped>();
  return 0;
}

// Sum of every thread's part, in thread 0. Ends the body: no thread passes before all have arrived.
__device__ __forceinline__ uint32_t block_total(uint32_t part) {
  __shared__ uint32_t parts[32];
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t width = min(blockDim.x - warp * 32, 32u);
  const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  const uint32_t sum = __reduce_add_sync(mask, part);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  if (warp != 0) return 0;
  const uint32_t warps = (blockDim.x + 31) / 32;
  return __reduce_add_sync(mask, lane < warps ? parts[lane] : 0);
}

// The value a block writes, in thread 0: what it read, and the sum of its threads' work. Without a
// body there is nothing to sum, and thread 0 need not wait for the others.
template <pdl_body Body>
__device__ __forceinline__ uint64_t block_value(uint64_t previous, uint32_t part,
                                                uint32_t node) {
  if constexpr (Body == PDL_BODY_NONE) {
    // Nothing reads the sum of the preamble, and the assembler would drop both. No sum is 1.
    if (part == 1) __trap();
    return mix(previous, 0, node, blockIdx.x);
  }
  return mix(previous, block_total(part), node, blockIdx.x);
}

// The block whose value this one reads: never its own, where there is another.
__device__ __forceinline__ uint32_t neighbour() {
  return blockIdx.x + 1 == gridDim.x ? 0 : blockIdx.x + 1;
}

// Moments of a block, kept in registers and stored once, after the end.
struct Stamping {
  uint64_t begin_ns, arrive_ns, release_ns;
  uint32_t release_cycles;

  __device__ __forceinline__ void store(pdl_stamp* stamps, uint64_t trigger_ns) const {
    if (threadIdx.x != 0) return;
    const uint32_t cycles = now_cycles();
    const uint64_t end_ns = now_ns();
    pdl_stamp stamp;
    stamp.begin_ns = begin_ns;
    stamp.trigger_ns = trigger_ns ? static_cast<uint32_t>(trigger_ns - begin_ns) : UINT32_MAX;
    stamp.arrive_ns = static_cast<uint32_t>(arrive_ns - begin_ns);
    stamp.release_ns = static_cast<uint32_t>(release_ns - begin_ns);
    stamp.end_ns = static_cast<uint32_t>(end_ns - begin_ns);
    stamp.sm = sm_id();
    stamp.body_cycles = cycles - release_cycles;
    stamps[blockIdx.x] = stamp;
  }
};

}  // namespace pdl
