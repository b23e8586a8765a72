// The sum of an array in two passes: one partial sum a block, then one block over those.
#include "pdl_site.cuh"

namespace {

constexpr int kWarp = 32;

// The sum over a block, in thread 0; always added in the same order.
__device__ float block_sum(float value) {
  __shared__ float parts[kWarp];
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  const int warps = blockDim.x / kWarp;
  value = threadIdx.x < warps ? parts[threadIdx.x] : 0;
  if (threadIdx.x < kWarp) {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  }
  return value;
}

}  // namespace

__global__ void partial_sums(const float* values, float* partial, int count) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  // The values are an input of the chain, but this block's slot of `partial` may still be read by
  // the pass before: nothing is stored before the sync.
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    sum += values[i];
  }
  sum = block_sum(sum);
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  PDL_TRIGGER_SITE(3);
  PDL_STAMP(end);
}

__global__ void final_sum(const float* partial, float* total, int count) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
  PDL_TRIGGER_SITE(3);
  PDL_STAMP(end);
}
