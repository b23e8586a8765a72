// Attention of one query over a long cache, split: each block takes a head and a part of the cache,
// and a second kernel combines the parts. Softmax is kept as a maximum, a sum and a weighted value.
#include <cuda_fp16.h>

#include "pdl_site.cuh"

namespace {

constexpr int kWarp = 32;
// Size of a head; one thread a channel.
constexpr int kHead = 128;
constexpr int kWarps = kHead / kWarp;
// Keys that a block scores at a time, one warp a key.
constexpr int kTile = 64;

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

}  // namespace

// Grid (heads, splits), 128 threads. keys and values: [head][position][channel].
__global__ void attend(const float* query, const __half* keys, const __half* values, float* partial,
                       float* maxima, float* sums, int length, int splits) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  __shared__ float scores[kTile];
  const int head = blockIdx.x, split = blockIdx.y;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int each = (length + splits - 1) / splits;
  const int from = split * each, to = min(length, from + each);
  const __half* own_keys = keys + static_cast<long>(head) * length * kHead;
  const __half* own_values = values + static_cast<long>(head) * length * kHead;

  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  float q[kHead / kWarp];
  for (int i = 0; i < kHead / kWarp; ++i) q[i] = query[head * kHead + lane + kWarp * i];
  float most = -INFINITY, sum = 0, value = 0;
  for (int tile = from; tile < to; tile += kTile) {
    const int count = min(kTile, to - tile);
    for (int key = warp; key < count; key += kWarps) {
      const __half* row = own_keys + static_cast<long>(tile + key) * kHead;
      float dot = 0;
      for (int i = 0; i < kHead / kWarp; ++i) {
        dot = fmaf(q[i], __half2float(row[lane + kWarp * i]), dot);
      }
      dot = warp_sum(dot);
      if (lane == 0) scores[key] = dot * 0.08838834764831845f;  // 1 / sqrt(128)
    }
    __syncthreads();
    float tile_most = most;
    for (int key = 0; key < count; ++key) tile_most = fmaxf(tile_most, scores[key]);
    const float scale = expf(most - tile_most);
    sum *= scale;
    value *= scale;
    most = tile_most;
    for (int key = 0; key < count; ++key) {
      const float weight = expf(scores[key] - most);
      sum += weight;
      const long at = static_cast<long>(tile + key) * kHead + threadIdx.x;
      value = fmaf(weight, __half2float(own_values[at]), value);
    }
    __syncthreads();
  }
  PDL_TRIGGER_SITE(3);
  const int slot = head * splits + split;
  partial[slot * kHead + threadIdx.x] = value;
  if (threadIdx.x == 0) {
    maxima[slot] = most;
    sums[slot] = sum;
  }
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}

// One block a head, one thread a channel.
__global__ void combine(const float* partial, const float* maxima, const float* sums, float* out,
                        int splits) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  const int head = blockIdx.x;
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  float most = -INFINITY;
  for (int split = 0; split < splits; ++split) most = fmaxf(most, maxima[head * splits + split]);
  float sum = 0, value = 0;
  for (int split = 0; split < splits; ++split) {
    const int slot = head * splits + split;
    const float scale = expf(maxima[slot] - most);
    sum = fmaf(scale, sums[slot], sum);
    value = fmaf(scale, partial[slot * kHead + threadIdx.x], value);
  }
  PDL_TRIGGER_SITE(3);
  out[head * kHead + threadIdx.x] = value / sum;
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}
