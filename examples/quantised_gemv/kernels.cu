// A matrix-vector product with weights of 4 or 8 bits: activations are quantised to 8 bits in blocks
// of 32, and the product is made of integer dot products (dp4a), scaled block by block.
#include <cuda_fp16.h>

#include "pdl_site.cuh"

namespace {

constexpr int kWarp = 32;
// Values that share a scale.
constexpr int kBlock = 32;

__device__ float warp_max(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(~0u, value, lanes));
  }
  return value;
}

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

// Eight 4-bit values, each stored as value + 8, as two words of four signed bytes: the even ones
// and the odd ones.
__device__ int2 unpack(unsigned packed) {
  const unsigned even = packed & 0x0f0f0f0f, odd = packed >> 4 & 0x0f0f0f0f;
  return {static_cast<int>(__vsub4(even, 0x08080808)), static_cast<int>(__vsub4(odd, 0x08080808))};
}

}  // namespace

// One warp a block of 32 activations: q = round(x / scale), scale = max |x| / 127. For 4-bit weights
// even and odd values of eight are stored apart, as `unpack` gives them.
template <int Bits>
__global__ void quantise(const float* x, signed char* q, float* scales, int count) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  if (i < count) {
    const float value = x[i];
    const float most = warp_max(fabsf(value));
    const float scale = most / 127;
    const int rounded = scale > 0 ? __float2int_rn(value / scale) : 0;
    int to = i;
    if (Bits == 4) to = i / 8 * 8 + i % 2 * 4 + i % 8 / 2;
    q[to] = static_cast<signed char>(rounded);
    if (i % kBlock == 0) scales[i / kBlock] = scale;
  }
  PDL_TRIGGER_SITE(3);
  PDL_STAMP(end);
}

// One warp a row; a lane takes every 32nd block of 32 weights.
template <int Bits>
__global__ void gemv(const unsigned* weights, const __half* weight_scales, const int* q,
                     const float* scales, float* y, int rows, int columns) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  constexpr int kWords = kBlock * Bits / 32;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int blocks = columns / kBlock;
  const unsigned* own = weights + static_cast<long>(row) * blocks * kWords;
  const __half* own_scales = weight_scales + static_cast<long>(row) * blocks;
  // The first block's weights come before the sync: no kernel of the chain writes them.
  unsigned first[kWords] = {};
  if (row < rows && lane < blocks) {
    for (int w = 0; w < kWords; ++w) first[w] = own[lane * kWords + w];
  }

  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  if (row < rows) {
    float sum = 0;
    for (int block = lane; block < blocks; block += kWarp) {
      int dot = 0;
      for (int w = 0; w < kWords; ++w) {
        const unsigned packed = block == lane ? first[w] : own[block * kWords + w];
        if (Bits == 4) {
          const int2 pair = unpack(packed);
          dot = __dp4a(pair.x, q[block * 8 + 2 * w], dot);
          dot = __dp4a(pair.y, q[block * 8 + 2 * w + 1], dot);
        } else {
          dot = __dp4a(static_cast<int>(packed), q[block * 8 + w], dot);
        }
      }
      sum = fmaf(static_cast<float>(dot), __half2float(own_scales[block]) * scales[block], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
  }
  PDL_TRIGGER_SITE(3);
  PDL_STAMP(end);
}
