// Kernels that serve the measurement and are never inside a timed region.
#include "pdl.cuh"
#include "shim.h"

namespace pdl {
namespace {

// No chain writes this value, except with a probability of 2^-64 a value.
constexpr uint64_t kPoison = 0xDEADDEADDEADDEADull;
constexpr uint32_t kThreads = 256;

__global__ void gate(const uint32_t* open, uint32_t* timed_out, uint64_t timeout_ns) {
  const uint64_t limit = now_ns() + timeout_ns;
  const volatile uint32_t* word = open;
  while (*word == 0) {
    if (now_ns() >= limit) {
      *timed_out = 1;
      __threadfence_system();
      return;
    }
  }
}

__global__ void fill(uint4* region, uint64_t vectors) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t v = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; v < vectors;
       v += stride) {
    const uint32_t word = static_cast<uint32_t>(v * 4);
    region[v] = uint4{word, word + 1, word + 2, word + 3};
  }
}

// Writes back what it reads: the content stays, the lines are new to L2.
__global__ void flush(uint4* region, uint64_t vectors) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t v = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; v < vectors;
       v += stride) {
    const uint4 word = load_stream(region + v, true);
    region[v] = word;
  }
}

__global__ void check(uint64_t* values, const uint64_t* expected, uint64_t count,
                      unsigned long long* mismatches, unsigned long long* first, uint32_t* flags,
                      uint64_t flag_count) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t begin = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint64_t i = begin; i < count; i += stride) {
    if (values[i] != expected[i]) {
      atomicAdd(mismatches, 1ull);
      atomicMin(first, static_cast<unsigned long long>(i));
    }
    values[i] = kPoison;
  }
  for (uint64_t i = begin; i < flag_count; i += stride) flags[i] = 0;
}

// Hands the counters to the host by plain stores, since atomics on its memory need not be atomic,
// and starts them again.
__global__ void report(unsigned long long* counters, volatile unsigned long long* host) {
  host[0] = counters[0];
  host[1] = counters[1];
  counters[0] = 0;
  counters[1] = ~0ull;
}

__global__ void timer_step(uint64_t* step_ns, uint32_t reads) {
  uint64_t smallest = UINT64_MAX;
  uint64_t before = now_ns();
  for (uint32_t i = 0; i < reads; ++i) {
    const uint64_t after = now_ns();
    if (after > before && after - before < smallest) smallest = after - before;
    before = after;
  }
  *step_ns = smallest;
}

// One round trip: block 0 writes its time into the block's mailbox, the block answers with its own.
// The shortest trip bounds the error of the offset by half its length.
__global__ void skew(uint32_t rounds, volatile uint64_t* mailbox, int64_t* offsets_ns,
                     uint64_t* trips_ns, uint32_t* sms) {
  const uint64_t limit = now_ns() + 1'000'000'000;
  if (blockIdx.x == 0) {
    sms[0] = sm_id();
    offsets_ns[0] = 0;
    trips_ns[0] = 0;
    for (uint32_t b = 1; b < gridDim.x; ++b) {
      volatile uint64_t* box = mailbox + 2 * b;
      uint64_t shortest = UINT64_MAX;
      int64_t offset = 0;
      for (uint32_t round = 1; round <= rounds; ++round) {
        const uint64_t sent = now_ns();
        box[0] = round;
        uint64_t theirs;
        while ((theirs = box[1]) == 0 && now_ns() < limit) {
        }
        const uint64_t back = now_ns();
        if (theirs == 0) {
          // The block did not answer: nothing is known of its SM.
          shortest = UINT64_MAX;
          break;
        }
        box[1] = 0;
        if (back - sent < shortest) {
          shortest = back - sent;
          offset = static_cast<int64_t>(theirs) - static_cast<int64_t>(sent / 2 + back / 2);
        }
      }
      offsets_ns[b] = offset;
      trips_ns[b] = shortest;
    }
  } else {
    sms[blockIdx.x] = sm_id();
    volatile uint64_t* box = mailbox + 2 * blockIdx.x;
    for (uint32_t round = 1; round <= rounds; ++round) {
      while (box[0] != round && now_ns() < limit) {
      }
      // Block 0 clears the answer before it asks again.
      while (box[1] != 0 && now_ns() < limit) {
      }
      box[1] = now_ns();
    }
  }
}

uint32_t blocks_for(uint64_t items) {
  const uint64_t blocks = (items + kThreads - 1) / kThreads;
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

}  // namespace
}  // namespace pdl

using namespace pdl;

int32_t pdl_launch_gate(void* stream, const uint32_t* open, uint32_t* timed_out,
                        uint64_t timeout_ns) {
  return enqueue(stream, 1, 1, gate, open, timed_out, timeout_ns);
}

int32_t pdl_launch_fill(void* stream, void* region, uint64_t vectors) {
  return enqueue(stream, blocks_for(vectors), kThreads, fill, static_cast<uint4*>(region), vectors);
}

int32_t pdl_launch_flush(void* stream, void* region, uint64_t vectors) {
  return enqueue(stream, blocks_for(vectors), kThreads, flush, static_cast<uint4*>(region), vectors);
}

int32_t pdl_launch_check(void* stream, uint64_t* values, const uint64_t* expected, uint64_t count,
                         uint64_t* counters, uint64_t* host, uint32_t* flags,
                         uint64_t flag_count) {
  const uint64_t items = count > flag_count ? count : flag_count;
  auto* const words = reinterpret_cast<unsigned long long*>(counters);
  const int32_t error = enqueue(stream, blocks_for(items), kThreads, check, values, expected, count,
                                words, words + 1, flags, flag_count);
  if (error) return error;
  return enqueue(stream, 1, 1, report, words,
                 reinterpret_cast<volatile unsigned long long*>(host));
}

int32_t pdl_launch_timer_step(void* stream, uint64_t* step_ns, uint32_t reads) {
  return enqueue(stream, 1, 1, timer_step, step_ns, reads);
}

int32_t pdl_launch_skew(void* stream, uint32_t blocks, uint32_t rounds, uint64_t* mailbox,
                        int64_t* offsets_ns, uint64_t* trips_ns, uint32_t* sms) {
  return enqueue(stream, blocks, 1, skew, rounds, mailbox, offsets_ns, trips_ns, sms);
}
