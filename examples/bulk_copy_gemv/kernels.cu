// A matrix-vector product whose weights are on their way before the sync: one thread starts a bulk
// copy of the block's rows into shared memory, and only the activations wait for the kernel before.
#include <cuda_fp16.h>

#include "pdl_site.cuh"

namespace {

constexpr int kWarp = 32;

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(unsigned long long* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  // The bulk copy runs in another proxy: it must see the barrier.
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Copies `bytes`, a multiple of 16, into shared memory; the barrier's phase ends when all are there.
__device__ void bulk_copy(void* shared, const void* global, unsigned bytes,
                          unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

__device__ void barrier_wait(unsigned long long* barrier) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(shared_address(barrier))
        : "memory");
  }
}

}  // namespace

// y = gelu(matrix · x) in half precision: square, so that one product feeds the next. A block takes
// `Rows` rows, one warp each.
template <int Rows>
__global__ void gemv(const __half* matrix, const __half* x, __half* y, int columns) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  extern __shared__ __align__(128) __half tile[];
  __shared__ unsigned long long barrier;
  const int row = blockIdx.x * Rows;
  PDL_STAMP(copy);
  if (threadIdx.x == 0) {
    barrier_init(&barrier);
    bulk_copy(tile, matrix + static_cast<long>(row) * columns, Rows * columns * sizeof(__half),
              &barrier);
  }
  __syncthreads();

  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  PDL_STAMP(wait);
  barrier_wait(&barrier);
  PDL_STAMP(multiply);
  PDL_TRIGGER_SITE(3);
  const __half2* weights = reinterpret_cast<const __half2*>(tile + warp * columns);
  const __half2* inputs = reinterpret_cast<const __half2*>(x);
  float sum = 0;
  for (int i = lane; i < columns / 2; i += kWarp) {
    const float2 a = __half22float2(weights[i]), b = __half22float2(inputs[i]);
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  sum = warp_sum(sum);
  if (lane == 0) y[row + warp] = __float2half(0.5f * sum * (1 + erff(sum * 0.70710678f)));
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}
