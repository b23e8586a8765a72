// Device vocabulary: the only spelling of trigger and sync that kernels may use.
#pragma once
#include <cstdint>

namespace pdl {

// Says that this block's dependents may launch. A hint to the scheduler: it publishes no data.
// The clobber keeps memory accesses on their side of it; the toolkit's own wrapper has none.
__device__ __forceinline__ void trigger() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns when every prerequisite grid has completed and its writes are visible.
__device__ __forceinline__ void grid_dependency_sync() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Nanoseconds on the timer that all SMs share. It advances in steps (32 ns on an H200).
__device__ __forceinline__ uint64_t now_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ __forceinline__ uint32_t now_cycles() {
  uint32_t cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ uint32_t sm_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__device__ __forceinline__ void spin_until(uint64_t deadline_ns) {
  while (now_ns() < deadline_ns) {
  }
}

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(uint32_t* address, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void add_release(uint32_t* address, uint32_t value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// A 16-byte load, or zeros where there is nothing to load. The predicate is inside, since a branch
// around every load would keep them from being in flight together. Volatile: the compiler may
// neither drop it nor move it over the sync or the trigger.
//
// Bypasses L1, so that a body that streams L2 does not become one that streams L1.
__device__ __forceinline__ uint4 load_stream(const uint4* address, bool inside) {
  uint4 v{};
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %5, 0;\n"
      "@p ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4]; }"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "l"(address), "r"(static_cast<uint32_t>(inside))
      : "memory");
  return v;
}

// The same through the non-coherent path, for kernels without a sync.
__device__ __forceinline__ uint4 load_stream_native(const uint4* address, bool inside) {
  uint4 v{};
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %5, 0;\n"
      "@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "l"(address), "r"(static_cast<uint32_t>(inside)));
  return v;
}

__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Copies 16 bytes into shared memory without waiting for them.
__device__ __forceinline__ void copy_async(void* shared, const void* global) {
  const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace pdl
