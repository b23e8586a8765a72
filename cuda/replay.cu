// Comparing memory, and a stand-in for a kernel of which only its writes are known.
#include <cuda_runtime.h>

#include "pdl.cuh"
#include "shim.h"

namespace pdl {
namespace replay {

constexpr uint32_t kThreads = 256;
// Few enough blocks to leave nearly every SM to the secondary.
constexpr uint32_t kStandInBlocks = 8;

// What a byte holds before the stand-in has put the primary's in place.
__device__ __forceinline__ uint8_t stale(uint8_t before, uint8_t after, uint32_t kind) {
  if (before == after) return before;
  if (kind == PDL_STALE_INVERTED) return static_cast<uint8_t>(~after);
  if (kind == PDL_STALE_ONES) return 0xff;
  return before;
}

__global__ void compare(const uint8_t* a, const uint8_t* b, uint64_t bytes,
                        pdl_difference* difference) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  unsigned long long wrong = 0;
  unsigned long long first = ~0ull;
  const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool aligned =
      ((reinterpret_cast<uint64_t>(a) | reinterpret_cast<uint64_t>(b)) & 15) == 0;
  const uint64_t vectors = aligned ? bytes / 16 : 0;
  for (uint64_t v = thread; v < vectors; v += stride) {
    const uint4 x = reinterpret_cast<const uint4*>(a)[v];
    const uint4 y = reinterpret_cast<const uint4*>(b)[v];
    if (x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w) continue;
    for (uint64_t i = 16 * v; i < 16 * v + 16; ++i) {
      if (a[i] == b[i]) continue;
      ++wrong;
      if (i < first) first = i;
    }
  }
  for (uint64_t i = 16 * vectors + thread; i < bytes; i += stride) {
    if (a[i] == b[i]) continue;
    ++wrong;
    if (i < first) first = i;
  }
  if (wrong == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&difference->bytes), wrong);
  atomicMin(reinterpret_cast<unsigned long long*>(&difference->first), first);
}

// One block a chunk.
__global__ void dirty(const uint8_t* a, const uint8_t* b, uint64_t bytes, uint32_t* counts) {
  const uint64_t begin = static_cast<uint64_t>(blockIdx.x) * PDL_CHUNK_BYTES;
  const uint64_t end = begin + PDL_CHUNK_BYTES < bytes ? begin + PDL_CHUNK_BYTES : bytes;
  uint32_t count = 0;
  for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) count += a[i] != b[i];
  if (count != 0) atomicAdd(counts + blockIdx.x, count);
}

__global__ void stage(const pdl_piece* pieces, uint32_t kind) {
  const pdl_piece piece = pieces[blockIdx.x];
  for (uint64_t i = threadIdx.x; i < piece.bytes; i += blockDim.x) {
    piece.live[i] = stale(piece.before[i], piece.after[i], kind);
  }
}

// Triggers, sleeps, looks whether anyone has written meanwhile, and puts in place what the primary
// writes. One thread looks at a byte and writes it, so that no block sees another's copy.
__global__ void stand_in(pdl_stand_in_args args) {
  trigger();
  const uint64_t begin = now_ns();
  auto* const woke = reinterpret_cast<unsigned long long*>(&args.state->woke_ns);
  if (threadIdx.x == 0) {
    spin_until(begin + args.sleep_ns);
    atomicMin(woke, static_cast<unsigned long long>(now_ns()));
  }
  __syncthreads();
  const uint32_t kind = static_cast<uint32_t>(args.state->stale);
  unsigned long long early = 0;
  for (uint32_t p = blockIdx.x; p < args.count; p += gridDim.x) {
    const pdl_piece piece = args.pieces[p];
    const volatile uint8_t* live = piece.live;
    for (uint64_t i = threadIdx.x; i < piece.bytes; i += blockDim.x) {
      const uint8_t before = piece.before[i];
      const uint8_t after = piece.after[i];
      if (live[i] != stale(before, after, kind)) {
        ++early;
        atomicMin(reinterpret_cast<unsigned long long*>(&args.state->early_piece),
                  static_cast<unsigned long long>(p));
      }
      if (before != after) piece.live[i] = after;
    }
  }
  if (early != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&args.state->early_bytes), early);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&args.state->end_ns),
              static_cast<unsigned long long>(now_ns()));
  }
}

__global__ void witness(uint64_t* begin_ns) { *begin_ns = now_ns(); }

// For tests and for the self-test of the race check: adds one to what the primary wrote. Without the
// sync it is the consumer that the check must catch.
template <bool Syncs>
__global__ void consumer(const uint32_t* input, uint32_t* output, uint32_t count) {
  if constexpr (Syncs) grid_dependency_sync();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  trigger();
  if (i < count) {
    const volatile uint32_t* words = input;
    output[i] = words[i] + 1;
  }
}

// Of the same, one that writes before its sync.
__global__ void early_writer(const uint32_t* input, uint32_t* output, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) output[i] = 1;
  grid_dependency_sync();
  trigger();
  if (i < count) {
    const volatile uint32_t* words = input;
    output[i] = words[i] + 1;
  }
}

uint32_t blocks_for(uint64_t bytes) {
  const uint64_t blocks = (bytes + 16 * kThreads - 1) / (16 * kThreads);
  return static_cast<uint32_t>(blocks < 1 ? 1 : blocks > 1056 ? 1056 : blocks);
}

template <typename... Parameters, typename... Arguments>
int32_t enqueue(void* stream, uint32_t blocks, uint32_t threads, void (*kernel)(Parameters...),
                Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(stream);
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

int32_t add(void* graph, const void* function, uint32_t blocks, uint32_t threads, void** arguments,
            void** node) {
  cudaKernelNodeParams params{};
  params.func = const_cast<void*>(function);
  params.gridDim = blocks;
  params.blockDim = threads;
  params.kernelParams = arguments;
  return cudaGraphAddKernelNode(reinterpret_cast<cudaGraphNode_t*>(node),
                                static_cast<cudaGraph_t>(graph), nullptr, 0, &params);
}

}  // namespace replay
}  // namespace pdl

using namespace pdl::replay;

int32_t pdl_launch_compare(void* stream, const void* a, const void* b, uint64_t bytes,
                           pdl_difference* difference) {
  return enqueue(stream, blocks_for(bytes), kThreads, compare, static_cast<const uint8_t*>(a),
                 static_cast<const uint8_t*>(b), bytes, difference);
}

int32_t pdl_launch_dirty(void* stream, const void* a, const void* b, uint64_t bytes,
                         uint32_t* counts) {
  const uint64_t chunks = (bytes + PDL_CHUNK_BYTES - 1) / PDL_CHUNK_BYTES;
  return enqueue(stream, static_cast<uint32_t>(chunks), kThreads, dirty,
                 static_cast<const uint8_t*>(a), static_cast<const uint8_t*>(b), bytes, counts);
}

int32_t pdl_launch_stage(void* stream, const pdl_piece* pieces, uint32_t count, uint32_t stale) {
  if (count == 0) return cudaSuccess;
  return enqueue(stream, count, kThreads, stage, pieces, stale);
}

int32_t pdl_graph_add_stand_in(void* graph, const pdl_stand_in_args* args, void** node) {
  void* arguments[] = {const_cast<pdl_stand_in_args*>(args)};
  return add(graph, reinterpret_cast<const void*>(stand_in), kStandInBlocks, kThreads, arguments,
             node);
}

int32_t pdl_graph_add_witness(void* graph, uint64_t* begin_ns, void** node) {
  void* arguments[] = {&begin_ns};
  return add(graph, reinterpret_cast<const void*>(witness), 1, 1, arguments, node);
}

int32_t pdl_launch_stand_in(void* stream, const pdl_stand_in_args* args) {
  return enqueue(stream, kStandInBlocks, kThreads, stand_in, *args);
}

int32_t pdl_launch_witness(void* stream, uint64_t* begin_ns) {
  return enqueue(stream, 1, 1, witness, begin_ns);
}

int32_t pdl_launch_consumer(void* stream, uint32_t kind, const uint32_t* input, uint32_t* output,
                            uint32_t count) {
  const uint32_t blocks = (count + kThreads - 1) / kThreads;
  switch (kind) {
    case PDL_CONSUMER_SYNCS:
      return enqueue(stream, blocks, kThreads, consumer<true>, input, output, count);
    case PDL_CONSUMER_NO_SYNC:
      return enqueue(stream, blocks, kThreads, consumer<false>, input, output, count);
    case PDL_CONSUMER_EARLY_WRITER:
      return enqueue(stream, blocks, kThreads, early_writer, input, output, count);
    default: return cudaErrorInvalidValue;
  }
}
