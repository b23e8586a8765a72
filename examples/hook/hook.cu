// A launch hook: a feed-forward block as a library would launch it, with a struct as an argument.
// norm → up (with the activation) → down (adds to the residual stream). Each kernel's sync has a site of
// its own, so that -DPDL_SYNC_SITES=0xb builds the block without that of `up`, for the race check to catch.
#include <cuda_runtime.h>

#include <cmath>
#include <vector>

#include "pdl_hook.h"
#include "pdl_site.cuh"

namespace {

constexpr int kHidden = 2048;
constexpr int kInner = 8192;
constexpr int kWarp = 32;
constexpr int kLayers = 8;

struct Layer {
  const float* norm;
  const float* up;
  const float* down;
};

// What every kernel gets, by value.
struct Params {
  Layer layer;
  float* stream;  // the residual stream, kHidden values
  float* normed;
  float* inner;
};

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

__global__ void norm(Params p) {
  __shared__ float parts[kWarp];
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(1);
  float squares = 0;
  for (int i = threadIdx.x; i < kHidden; i += blockDim.x) squares += p.stream[i] * p.stream[i];
  squares = warp_sum(squares);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = squares;
  __syncthreads();
  const int warps = blockDim.x / kWarp;
  const float total = warp_sum(threadIdx.x % kWarp < warps ? parts[threadIdx.x % kWarp] : 0);
  const float scale = rsqrtf(total / kHidden + 1e-5f);
  for (int i = threadIdx.x; i < kHidden; i += blockDim.x) {
    p.normed[i] = p.stream[i] * scale * p.layer.norm[i];
  }
}

__device__ float dot(const float* row, const float* x, int count) {
  float sum = 0;
  for (int i = threadIdx.x % kWarp; i < count; i += kWarp) sum = fmaf(row[i], x[i], sum);
  return warp_sum(sum);
}

__global__ void up(Params p) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  PDL_SYNC_SITE(2);
  PDL_TRIGGER_SITE(1);
  const float sum = dot(p.layer.up + static_cast<long>(row) * kHidden, p.normed, kHidden);
  if (threadIdx.x % kWarp == 0) p.inner[row] = sum / (1 + expf(-sum));
}

__global__ void down(Params p) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  PDL_SYNC_SITE(3);
  PDL_TRIGGER_SITE(1);
  const float sum = dot(p.layer.down + static_cast<long>(row) * kInner, p.inner, kInner);
  if (threadIdx.x % kWarp == 0) p.stream[row] += sum;
}

struct Context {
  std::vector<Params> layers;
  float* initial = nullptr;
  std::vector<pdl_hook_region> outputs, buffers;
  std::vector<void*> owned;
};

// Numbers that look random and are the same everywhere.
std::vector<float> numbers(int count, unsigned seed, float size) {
  std::vector<float> values(count);
  unsigned state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = (static_cast<float>(state >> 8) / 8388608.0f - 1) * size;
  }
  return values;
}

float* upload(Context& context, const std::vector<float>& values) {
  void* memory = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  if (cudaMalloc(&memory, bytes) != cudaSuccess) return nullptr;
  context.owned.push_back(memory);
  cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice);
  return static_cast<float*>(memory);
}

}  // namespace

int pdl_init(const char*, void** out) {
  auto* const context = new Context;
  Params shared{};
  context->initial = upload(*context, numbers(kHidden, 1, 1));
  shared.stream = upload(*context, std::vector<float>(kHidden));
  shared.normed = upload(*context, std::vector<float>(kHidden));
  shared.inner = upload(*context, std::vector<float>(kInner));
  for (int i = 0; i < kLayers; ++i) {
    Params params = shared;
    params.layer.norm = upload(*context, std::vector<float>(kHidden, 1));
    params.layer.up = upload(*context, numbers(kInner * kHidden, 2 + 2 * i, 0.03f));
    params.layer.down = upload(*context, numbers(kInner * kHidden, 3 + 2 * i, 0.03f));
    context->layers.push_back(params);
  }
  context->outputs = {{"stream", shared.stream, kHidden * sizeof(float)}};
  context->buffers = {{"normed", shared.normed, kHidden * sizeof(float)},
                      {"inner", shared.inner, kInner * sizeof(float)}};
  *out = context;
  return cudaGetLastError();
}

int pdl_memory(void* raw, pdl_hook_memory* memory) {
  auto* const context = static_cast<Context*>(raw);
  *memory = {context->outputs.data(), context->outputs.size(), context->buffers.data(),
             context->buffers.size()};
  return 0;
}

// The residual stream is read before it is written: the poison has to go.
int pdl_reset(cudaStream_t stream, void* raw) {
  auto* const context = static_cast<Context*>(raw);
  return cudaMemcpyAsync(context->layers[0].stream, context->initial, kHidden * sizeof(float),
                         cudaMemcpyDeviceToDevice, stream);
}

int pdl_launch(cudaStream_t stream, void* raw) {
  auto* const context = static_cast<Context*>(raw);
  for (const Params& layer : context->layers) {
    norm<<<1, 1024, 0, stream>>>(layer);
    up<<<kInner / 8, 8 * kWarp, 0, stream>>>(layer);
    down<<<kHidden / 8, 8 * kWarp, 0, stream>>>(layer);
  }
  return cudaGetLastError();
}

// Sane numbers; that they are the same in every arm is what pdl compares.
int pdl_verify(void* raw) {
  auto* const context = static_cast<Context*>(raw);
  std::vector<float> values(kHidden);
  cudaMemcpy(values.data(), context->layers[0].stream, kHidden * sizeof(float),
             cudaMemcpyDeviceToHost);
  for (const float value : values) {
    if (!std::isfinite(value) || std::fabs(value) > 1e4f) return 1;
  }
  return cudaGetLastError();
}

int pdl_finish(void* raw) {
  auto* const context = static_cast<Context*>(raw);
  for (void* memory : context->owned) cudaFree(memory);
  delete context;
  return 0;
}
