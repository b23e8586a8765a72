// A kernel with every mark of pdl_site.cuh, for the tests of its machine code. Sites in order:
// trigger 1, sync 1, trigger 2, load, sync 2, trigger 3, store, trigger 4.
#include "pdl_site.cuh"

extern "C" __global__ void marked(const float* in, float* out, int n) {
  PDL_STAMP(begin);
  PDL_TRIGGER_SITE(1);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = static_cast<float>(i);
  PDL_SYNC_SITE(1);
  PDL_TRIGGER_SITE(2);
  if (i < n) value += in[i];
  PDL_SYNC_SITE(2);
  PDL_TRIGGER_SITE(3);
  if (i < n) out[i] = value;
  PDL_TRIGGER_SITE(4);
  PDL_STAMP(end);
}
