// Kernels that put the documented semantics to the test. They break the rules for kernels on
// purpose: syncs and triggers are arguments here, so that the same code can do without them.
#pragma once
#include "pdl.cuh"
#include "shim.h"

namespace pdl {

// Goes to the L2, so that it leaves no stale line where a later read would find it.
__device__ __forceinline__ uint64_t load_relaxed(const uint64_t* address) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// Adds the words of the slot that are stale to the block's count. The grid reads each word once,
// and a block those that another block wrote.
template <bool Early>
__device__ __forceinline__ void count_stale(const pdl_actor_args& a, uint32_t slot,
                                            uint32_t* count) {
  const uint64_t words = a.read_words[slot];
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint32_t stale = 0;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += stride) {
    // A grid writes at least one block of words, so one subtraction is enough.
    const uint64_t beside = i + blockDim.x;
    const uint64_t* address = a.reads[slot] + (beside < words ? beside : beside - words);
    // The plain load is what a user's kernel does; the sync before it has a memory clobber.
    const uint64_t value = Early ? load_relaxed(address) : *address;
    stale += value != a.expected[slot];
  }
  if (stale) atomicAdd(count, stale);
}

// Trigger, spin, read, sync, read, spin, write, trigger, spin: each where its arguments say.
__global__ void actor(const pdl_actor_args a) {
  const uint64_t begin_ns = now_ns();
  __shared__ uint32_t stale[4];
  const pdl_role role = blockIdx.x >= a.split ? a.roles[1] : a.roles[0];
  const bool leads = threadIdx.x == a.trigger_thread;

  // The stamp comes first: no dependent may begin before it.
  uint64_t trigger_ns = 0;
  const auto issue = [&](uint32_t moment) {
    if (leads && role.trigger == moment) {
      trigger_ns = now_ns();
      trigger();
    }
  };
  issue(PDL_MOMENT_AT_ENTRY);
  if (threadIdx.x < 4) stale[threadIdx.x] = 0;
  __syncthreads();

  spin_until(begin_ns + role.before_ns);
  issue(PDL_MOMENT_BEFORE_SYNC);
  uint64_t arrive_ns = 0;
  uint64_t release_ns = 0;
  if (!role.returns) {
    for (uint32_t slot = 0; slot < 2; ++slot) count_stale<true>(a, slot, stale + slot);
    arrive_ns = now_ns();
    if (role.sync) grid_dependency_sync();
    release_ns = now_ns();
    issue(PDL_MOMENT_AFTER_SYNC);
    for (uint32_t slot = 0; slot < 2; ++slot) count_stale<false>(a, slot, stale + 2 + slot);

    if (role.body_ns) spin_until(now_ns() + role.body_ns + *a.jitter_ns);
    a.words[static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = a.value;
    if (role.fence) __threadfence();
    // All of the block's writes were issued before the trigger.
    __syncthreads();
    issue(PDL_MOMENT_AFTER_WRITE);
    if (role.after_ns) spin_until(now_ns() + role.after_ns);
    if (a.retriggers) trigger();
  }
  const uint64_t end_ns = now_ns();

  if (!a.stamps) return;
  pdl_actor_stamp* stamp = a.stamps + blockIdx.x;
  if (leads) stamp->trigger_ns = trigger_ns;
  if (threadIdx.x == 0) {
    stamp->begin_ns = begin_ns;
    stamp->arrive_ns = arrive_ns;
    stamp->release_ns = release_ns;
    stamp->end_ns = end_ns;
    stamp->sm = sm_id();
    stamp->returned = role.returns;
    for (uint32_t slot = 0; slot < 2; ++slot) {
      stamp->early_stale[slot] = stale[slot];
      stamp->late_stale[slot] = stale[2 + slot];
    }
  }
}

// One thread adds one late, another checks that nothing was lost: a hop that can be launched a
// million times and judged once.
constexpr uint64_t kTallySpinNs = 1000;

__global__ void tally_primary(pdl_tally* t) {
  trigger();
  const uint64_t next = t->count + 1;
  spin_until(now_ns() + kTallySpinNs);
  t->count = next;
  t->end_ns = now_ns();
}

__global__ void tally_secondary(pdl_tally* t) {
  const uint64_t begin_ns = now_ns();
  grid_dependency_sync();
  const uint64_t expected = ++t->seen;
  if (t->count != expected) ++t->wrong;
  if (begin_ns < t->end_ns) ++t->ahead;
}

}  // namespace pdl
