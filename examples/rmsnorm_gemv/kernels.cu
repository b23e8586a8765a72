// RMSNorm, then a matrix-vector product for each of M tokens: the two kernels that stand before
// every projection of a decode step.
#include <cuda_fp16.h>

#include "pdl_site.cuh"

namespace {

constexpr int kWarp = 32;
// Weights that a lane loads at once: 16 bytes.
constexpr int kVector = 8;

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(~0u, value, lanes);
  }
  return value;
}

}  // namespace

// One block a token: normed = x / rms(x) * weight, in half precision.
__global__ void rmsnorm(const float* x, const float* weight, __half* normed, int hidden,
                        float epsilon) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  __shared__ float parts[kWarp];
  const float* row = x + static_cast<long>(blockIdx.x) * hidden;

  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  float squares = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) squares += row[i] * row[i];
  squares = warp_sum(squares);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = squares;
  __syncthreads();
  const int warps = blockDim.x / kWarp;
  const float total = warp_sum(threadIdx.x % kWarp < warps ? parts[threadIdx.x % kWarp] : 0);
  const float scale = rsqrtf(total / hidden + epsilon);

  PDL_STAMP(scale);
  PDL_TRIGGER_SITE(3);
  __half* out = normed + static_cast<long>(blockIdx.x) * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    out[i] = __float2half(row[i] * scale * weight[i]);
  }
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}

// One warp a row of the matrix: y[m][row] = matrix[row] · normed[m], for M tokens at once.
template <int M>
__global__ void gemv(const __half* matrix, const __half* normed, float* y, int rows, int hidden) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  const __half* weights = matrix + static_cast<long>(row) * hidden;
  // Weights are written by no kernel of the chain, so the first of them may come before the sync.
  PDL_STAMP(weights);
  uint4 first{};
  if (row < rows) first = *reinterpret_cast<const uint4*>(weights + lane * kVector);

  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  PDL_STAMP(multiply);
  if (row < rows) {
    float sums[M] = {};
    for (int k = lane * kVector; k < hidden; k += kWarp * kVector) {
      const uint4 packed =
          k == lane * kVector ? first : *reinterpret_cast<const uint4*>(weights + k);
      const __half2* w = reinterpret_cast<const __half2*>(&packed);
      for (int m = 0; m < M; ++m) {
        const uint4 input = *reinterpret_cast<const uint4*>(normed + static_cast<long>(m) * hidden + k);
        const __half2* v = reinterpret_cast<const __half2*>(&input);
        for (int i = 0; i < kVector / 2; ++i) {
          const float2 a = __half22float2(w[i]), b = __half22float2(v[i]);
          sums[m] = fmaf(a.x, b.x, fmaf(a.y, b.y, sums[m]));
        }
      }
    }
    PDL_TRIGGER_SITE(3);
    for (int m = 0; m < M; ++m) {
      const float sum = warp_sum(sums[m]);
      if (lane == 0) y[static_cast<long>(m) * rows + row] = sum;
    }
  }
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}
