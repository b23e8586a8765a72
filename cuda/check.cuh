// Nodes of the race check. Every node is an adversary as a primary and a suspect as a secondary:
// it triggers, syncs, reads, sleeps, reads again, and only then writes. Mutants differ from the
// correct kernel of their family in one line.
#pragma once
#include "work.cuh"

namespace pdl {

// What staging starts from, beside the node's and the thread's place.
constexpr uint64_t kStageSeed = 0x57A6E;

// A load from L2. Volatile, and past L1: a line that L1 kept would hide an overwrite.
__device__ __forceinline__ uint64_t load_l2(const uint64_t* address) {
  uint64_t value;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// Where a thread stands in this repetition.
struct Place {
  uint64_t begin_ns;
  uint32_t round;
  uint32_t sleep_ns;
  uint32_t at;    // its own value in a row
  uint64_t from;  // the value it reads, from the start of the input

  __device__ __forceinline__ explicit Place(const pdl_check_args& a) : begin_ns(now_ns()) {
    if (a.trigger == PDL_TRIGGER_AT_ENTRY) trigger();
    const uint64_t repetition = load_l2(a.repetition);
    round = static_cast<uint32_t>(repetition) % a.rounds;
    // Either every block of the node sleeps, or one that the others leave behind.
    const uint64_t drawn = mix(a.seed ^ repetition, 0, a.node, 0);
    const bool straggles = static_cast<uint32_t>(drawn >> 32) % gridDim.x == blockIdx.x;
    const bool sleeps = drawn >> 8 & 1 || straggles;
    sleep_ns = sleeps ? a.sleeps_ns[drawn % PDL_CHECK_SLEEPS] : 0;
    at = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t block = (blockIdx.x + a.block_shift) % gridDim.x;
    from = round * a.input_stride + block * blockDim.x + threadIdx.x;
  }

  __device__ __forceinline__ void sleep() const {
    const uint64_t deadline = now_ns() + sleep_ns;
    while (now_ns() < deadline) __nanosleep(64);
  }

  // No fence: what the secondary sees must come from the sync.
  __device__ __forceinline__ void stamp(const pdl_check_args& a) const {
    __syncthreads();
    if (threadIdx.x == 0) a.stamps[blockIdx.x] = {begin_ns, now_ns()};
  }
};

// What a kernel that adds up into its output does first.
__device__ __forceinline__ void clear(const pdl_check_args& a, const Place& place) {
  if (a.clears) a.output[place.at] = 0;
}

template <pdl_check_kernel Kernel>
__global__ void straight(const pdl_check_args a, const uint64_t* input) {
  const Place place(a);

  // Mutant: blocks without work leave before the sync. Where all of them do, the grid completes
  // while its primary runs, and so does whatever waits for it alone (FlashInfer's README of the GDN
  // kernels; kekzl/imp #1833).
  if constexpr (Kernel == PDL_CHECK_EARLY_RETURN) {
    if (blockIdx.x >= a.active_blocks) return;
  }
  // Mutant: a read of the primary's values moved above the sync (CUTLASS #2962, CCCL #5456).
  uint64_t first = 0;
  if constexpr (Kernel == PDL_CHECK_LOAD_ABOVE_SYNC) first = input[place.from];
  // Mutant: the output cleared above the sync, where the primary still reads it (PyTorch #166741).
  if constexpr (Kernel == PDL_CHECK_STORE_ABOVE_SYNC) clear(a, place);

  if constexpr (Kernel == PDL_CHECK_SYNC_IN_ONE_WARP) {
    // Mutant: one warp syncs for its block, and no barrier holds the others (the counterpart of
    // TensorRT-LLM #14668, where one warp's trigger counts for its block).
    if (threadIdx.x < 32) grid_dependency_sync();
  } else if constexpr (Kernel != PDL_CHECK_NO_SYNC) {
    // Mutant: no sync at all (llama.cpp #23690, CUTLASS #2760).
    grid_dependency_sync();
  }

  if constexpr (Kernel != PDL_CHECK_EARLY_RETURN) {
    if (blockIdx.x >= a.active_blocks) return;
  }
  if (a.trigger == PDL_TRIGGER_AFTER_SYNC) trigger();
  if constexpr (Kernel != PDL_CHECK_STORE_ABOVE_SYNC) clear(a, place);
  if constexpr (Kernel != PDL_CHECK_LOAD_ABOVE_SYNC) first = input[place.from];
  place.sleep();
  const uint64_t late = load_l2(a.late_input + place.from);
  a.output[place.at] = mix(first, 0, a.node, place.at);
  a.first[place.at] = first;
  a.late[place.at] = late;
  place.stamp(a);
}

// The sync inside a loop, as where the first tile waits. One step, which the compiler cannot know.
__device__ __forceinline__ void loop_node(const pdl_check_args& a, const uint64_t* input) {
  const Place place(a);
  uint64_t first = 0;
#pragma unroll 1
  for (uint32_t step = 0; step < a.steps; ++step) {
    grid_dependency_sync();
    first += input[place.from];
  }
  if (a.trigger == PDL_TRIGGER_AFTER_SYNC) trigger();
  place.sleep();
  const uint64_t late = load_l2(a.late_input + place.from);
  a.output[place.at] = mix(first, 0, a.node, place.at);
  a.first[place.at] = first;
  a.late[place.at] = late;
  place.stamp(a);
}

__global__ void loop(const pdl_check_args a, const uint64_t* input) { loop_node(a, input); }

// Mutant: the qualifier says that nobody writes the input while the kernel runs, so the compiler
// loads it without coherence and moves the load out of the loop, above the sync (llama.cpp #23825
// and #24030, tilelang #1650).
__global__ void loop_restrict(const pdl_check_args a, const uint64_t* __restrict__ input) {
  loop_node(a, input);
}

// Stages before the sync, from constants alone, into slot node % Slots of a ring, and reads its
// stage back after the sleep. Nodes trigger at entry and after the sync in turn, so that a node may
// run while the second one after it stages: three slots are enough, and needed.
// Mutant: two slots (semantics of look-ahead over ping-pong buffers, PyTorch #166741).
template <uint32_t Slots>
__global__ void ring(const pdl_check_args a, const uint64_t* input) {
  const Place place(a);
  uint64_t* stage = a.stage + a.node % Slots * (gridDim.x * blockDim.x) + place.at;
  *stage = mix(kStageSeed, 0, a.node, place.at);
  grid_dependency_sync();
  if (a.trigger == PDL_TRIGGER_AFTER_SYNC) trigger();
  const uint64_t first = input[place.from];
  place.sleep();
  const uint64_t late = load_l2(stage);
  a.output[place.at] = mix(first, 0, a.node, place.at);
  a.first[place.at] = first;
  a.late[place.at] = late;
  place.stamp(a);
}

// Fixtures for the harness itself: an illegal address, and a kernel that will not end in time.
__global__ void fault(const pdl_check_args a, const uint64_t* input) {
  *reinterpret_cast<volatile uint64_t*>(static_cast<uint64_t>(a.node) * 8) = *input;
}

__global__ void hang(const pdl_check_args, const uint64_t*) {
  constexpr uint64_t kLong = 60'000'000'000;
  spin_until(now_ns() + kLong);
}

}  // namespace pdl
