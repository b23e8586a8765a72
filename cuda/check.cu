// Instances of the check's kernels, and what poisons and judges a repetition.
#include "check.cuh"
#include "kernels.h"

namespace pdl {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kBlocksMax = 264;
// Longest wait for nodes that nothing orders before the judge.
constexpr uint64_t kStragglerLimitNs = 2'000'000;
// What follows a block's stamp: its last stores on their way, and its exit.
constexpr uint64_t kSettleNs = 5'000;

__device__ __forceinline__ unsigned long long* atomic(uint64_t* word) {
  return reinterpret_cast<unsigned long long*>(word);
}

__global__ void poison(const pdl_check_judge j) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t begin = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint64_t i = begin; i < j.count; i += stride) j.records[i] = PDL_CHECK_POISON;
  const uint64_t stamps = static_cast<uint64_t>(j.nodes) * j.grid_blocks;
  for (uint64_t i = begin; i < stamps; i += stride) j.stamps[i] = {0, 0};
}

__device__ __forceinline__ bool idle(const pdl_check_judge& j, uint64_t stamp) {
  return j.idle_nodes >> (stamp / j.grid_blocks) & 1;
}

// A chain of mutants may still run when its last node has completed: without this, its late stores
// would fall into the next repetition. Correct chains never wait here.
__device__ __forceinline__ void wait_for_stragglers(const pdl_check_judge& j) {
  const uint64_t stamps = static_cast<uint64_t>(j.nodes) * j.grid_blocks;
  const uint64_t limit = now_ns() + kStragglerLimitNs;
  bool waited = false;
  for (uint64_t i = threadIdx.x; i < stamps; i += blockDim.x) {
    if (idle(j, i)) continue;
    while (load_l2(&j.stamps[i].end_ns) == 0 && now_ns() < limit) waited = true;
  }
  if (__syncthreads_or(waited)) spin_until(now_ns() + kSettleNs);
}

// Folds the repetition into the totals; one thread, after every block has compared.
__device__ void settle(const pdl_check_judge& j) {
  pdl_check_state& s = *j.state;
  int64_t overlap = INT64_MIN;
  for (uint32_t node = 0; node + j.reach < j.nodes; ++node) {
    const uint64_t begin = load_l2(&s.begin_ns[node + j.reach]);
    const uint64_t end = load_l2(&s.end_ns[node]);
    if (begin == UINT64_MAX || end == 0) continue;
    overlap = max(overlap, static_cast<int64_t>(end - begin));
  }
  if (overlap > static_cast<int64_t>(j.margin_ns)) s.co_resident += 1;
  s.overlap_ns = max(s.overlap_ns, overlap);
  const uint64_t candidate = load_l2(&s.candidate);
  if (candidate != UINT64_MAX) {
    s.wrong += 1;
    if (s.first_repetition == UINT64_MAX) {
      s.first_repetition = s.repetitions;
      s.first_index = candidate;
      s.first_found = load_l2(j.records + candidate);
      s.first_overlap_ns = overlap;
    }
  }
  for (uint32_t node = 0; node < j.nodes; ++node) {
    s.begin_ns[node] = UINT64_MAX;
    s.end_ns[node] = 0;
  }
  s.candidate = UINT64_MAX;
  s.ticket = 0;
  s.repetitions += 1;
}

__global__ void judge(const pdl_check_judge j) {
  pdl_check_state& s = *j.state;
  wait_for_stragglers(j);
  const uint64_t round = load_l2(&s.repetitions) % j.rounds;
  const uint64_t* expected = j.expected + round * j.count;
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t begin = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint64_t i = begin; i < j.count; i += stride) {
    if (load_l2(j.records + i) != expected[i]) {
      atomicAdd(atomic(&s.mismatches), 1ull);
      atomicMin(atomic(&s.candidate), static_cast<unsigned long long>(i));
    }
  }
  const uint64_t stamps = static_cast<uint64_t>(j.nodes) * j.grid_blocks;
  for (uint64_t i = begin; i < stamps; i += stride) {
    const uint64_t node = i / j.grid_blocks;
    const uint64_t end_ns = load_l2(&j.stamps[i].end_ns);
    if (end_ns == 0) continue;
    atomicMin(atomic(&s.begin_ns[node]),
              static_cast<unsigned long long>(load_l2(&j.stamps[i].begin_ns)));
    atomicMax(atomic(&s.end_ns[node]), static_cast<unsigned long long>(end_ns));
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&s.ticket, 1u) == gridDim.x - 1) {
    __threadfence();
    settle(j);
  }
}

uint32_t blocks_for(uint64_t items) {
  const uint64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<uint32_t>(blocks < 1 ? 1 : blocks > kBlocksMax ? kBlocksMax : blocks);
}

int32_t enqueue(void* stream, const pdl_check_judge& j, void (*kernel)(pdl_check_judge)) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks_for(j.count);
  config.blockDim = kThreads;
  config.stream = static_cast<cudaStream_t>(stream);
  return cudaLaunchKernelEx(&config, kernel, j);
}

}  // namespace

const void* check_kernel(uint32_t kernel) {
  switch (kernel) {
#define PDL_STRAIGHT(NAME) \
  case NAME: return reinterpret_cast<const void*>(straight<NAME>);
    PDL_STRAIGHT(PDL_CHECK_CORRECT)
    PDL_STRAIGHT(PDL_CHECK_NO_SYNC)
    PDL_STRAIGHT(PDL_CHECK_LOAD_ABOVE_SYNC)
    PDL_STRAIGHT(PDL_CHECK_SYNC_IN_ONE_WARP)
    PDL_STRAIGHT(PDL_CHECK_EARLY_RETURN)
    PDL_STRAIGHT(PDL_CHECK_STORE_ABOVE_SYNC)
#undef PDL_STRAIGHT
    case PDL_CHECK_LOOP: return reinterpret_cast<const void*>(loop);
    case PDL_CHECK_LOOP_RESTRICT: return reinterpret_cast<const void*>(loop_restrict);
    case PDL_CHECK_THREE_SLOTS: return reinterpret_cast<const void*>(ring<3>);
    case PDL_CHECK_TWO_SLOTS: return reinterpret_cast<const void*>(ring<2>);
    case PDL_CHECK_FAULT: return reinterpret_cast<const void*>(fault);
    case PDL_CHECK_HANG: return reinterpret_cast<const void*>(hang);
    default: return nullptr;
  }
}

}  // namespace pdl

int32_t pdl_launch_check_poison(void* stream, const pdl_check_judge* judge) {
  return pdl::enqueue(stream, *judge, pdl::poison);
}

int32_t pdl_launch_check_judge(void* stream, const pdl_check_judge* j) {
  return pdl::enqueue(stream, *j, pdl::judge);
}
