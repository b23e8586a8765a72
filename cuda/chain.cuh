// The nodes of a chain, one kernel a way to depend on the primary.
#pragma once
#include "work.cuh"

namespace pdl {

// The subject: sync and trigger. Trigger and stamps are chosen at compile time; over full
// dependencies the very same machine code is the control.
template <pdl_trigger Trigger, pdl_body Body, bool Stamped>
__global__ void chain(const pdl_chain_args a) {
  Stamping stamping;
  Triggering triggering{a.trigger_by_block, 0};
  if constexpr (Stamped) stamping.begin_ns = now_ns();
  if constexpr (Trigger == PDL_TRIGGER_AT_ENTRY) triggering.issue<Stamped>();

  // Preamble: may overlap the primary, so it reads nothing that a kernel in flight writes.
  uint32_t part = preamble(a);
  if constexpr (Stamped) stamping.arrive_ns = now_ns();

  // From here the primary's writes are visible.
  grid_dependency_sync();
  if constexpr (Stamped) {
    stamping.release_ns = now_ns();
    stamping.release_cycles = now_cycles();
  }
  // Before the first load: a thread that waits for its value would trigger later than it says.
  if constexpr (Trigger == PDL_TRIGGER_AFTER_SYNC) triggering.issue<Stamped>();

  // Body.
  const uint64_t previous = a.previous[neighbour()];
  part += body<Body, false, Trigger == PDL_TRIGGER_IN_BODY, Stamped>(a, previous, triggering);
  const uint64_t value = block_value<Body>(previous, part, a.node);

  // Last store.
  if constexpr (Trigger == PDL_TRIGGER_BEFORE_STORE) triggering.issue<Stamped>();
  if (threadIdx.x == 0) a.values[blockIdx.x] = value;
  if constexpr (Trigger == PDL_TRIGGER_AFTER) triggering.issue<Stamped>();
  if constexpr (Stamped) stamping.store(a.stamps, triggering.issued_ns);
}

// The baseline: no sync, no trigger, the best code without PDL. Never behind a programmatic edge.
template <pdl_body Body, bool Stamped>
__global__ void native(const pdl_chain_args a) {
  Stamping stamping;
  Triggering triggering{0, 0};
  if constexpr (Stamped) stamping.begin_ns = now_ns();

  uint32_t part = preamble(a);
  if constexpr (Stamped) {
    stamping.arrive_ns = now_ns();
    stamping.release_ns = stamping.arrive_ns;
    stamping.release_cycles = now_cycles();
  }

  const uint64_t previous = __ldg(a.previous + neighbour());
  part += body<Body, true, false, Stamped>(a, previous, triggering);
  const uint64_t value = block_value<Body>(previous, part, a.node);
  if (threadIdx.x == 0) a.values[blockIdx.x] = value;
  if constexpr (Stamped) stamping.store(a.stamps, 0);
}

// Longest wait for a flag or a barrier: past it the node goes on, and its value is wrong.
constexpr uint64_t kWaitLimitNs = 2'000'000'000;

__device__ __forceinline__ void wait_for(const uint32_t* word, uint32_t at_least) {
  if (threadIdx.x == 0) {
    const uint64_t limit = now_ns() + kWaitLimitNs;
    while (load_acquire(word) < at_least && now_ns() < limit) {
    }
  }
  __syncthreads();
}

// A bound outside the documented contract: a flag a block in place of the sync. Blocks of a node
// begin only when all of its primary's have begun, so whoever waits, waits for a running block.
template <pdl_body Body, bool Stamped>
__global__ void flags(const pdl_chain_args a, const pdl_flags f) {
  Stamping stamping;
  Triggering triggering{a.trigger_by_block, 0};
  if constexpr (Stamped) stamping.begin_ns = now_ns();
  triggering.issue<Stamped>();

  uint32_t part = preamble(a);
  if constexpr (Stamped) stamping.arrive_ns = now_ns();
  wait_for(f.previous + neighbour(), 1);
  if constexpr (Stamped) {
    stamping.release_ns = now_ns();
    stamping.release_cycles = now_cycles();
  }

  const uint64_t previous = a.previous[neighbour()];
  part += body<Body, false, false, Stamped>(a, previous, triggering);
  const uint64_t value = block_value<Body>(previous, part, a.node);
  if (threadIdx.x == 0) {
    a.values[blockIdx.x] = value;
    store_release(f.flags + blockIdx.x, 1);
  }
  if constexpr (Stamped) stamping.store(a.stamps, triggering.issued_ns);
}

// The megakernel stand-in: all nodes in one cooperative launch. A hop is: arrive at the grid
// barrier, the next node's preamble, wait.
template <pdl_body Body>
__global__ void persistent(pdl_chain_args a, const pdl_persistent p) {
  Triggering triggering{0, 0};
  for (uint32_t node = 0; node < p.nodes; ++node) {
    if constexpr (Body == PDL_BODY_STREAM || Body == PDL_BODY_STREAM_NARROW) {
      a.region = static_cast<const uint4*>(p.stream_buffer) + node * p.node_vectors % p.region_modulus;
    }
    uint32_t part = preamble(a);
    if (node > 0) wait_for(p.arrived, node * gridDim.x);

    const uint64_t previous = a.previous[neighbour()];
    part += body<Body, false, false, false>(a, previous, triggering);
    const uint64_t value = block_value<Body>(previous, part, node);
    if (threadIdx.x == 0) {
      a.values[blockIdx.x] = value;
      add_release(p.arrived, 1);
    }
    // The partial sums are reused: no thread may be a node ahead of thread 0.
    __syncthreads();
    a.previous = a.values;
    a.values += gridDim.x;
  }
}

}  // namespace pdl
