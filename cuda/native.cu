// Instances of the native baseline, the flag kernel and the persistent kernel.
#include "chain.cuh"
#include "kernels.h"

namespace pdl {
namespace {

template <typename Stamped, typename Plain>
const void* pick(uint32_t stamped, Stamped with, Plain without) {
  return stamped ? reinterpret_cast<const void*>(with) : reinterpret_cast<const void*>(without);
}

}  // namespace

const void* native_kernel(uint32_t body, uint32_t stamped) {
  switch (body) {
    case PDL_BODY_FMA: return pick(stamped, native<PDL_BODY_FMA, true>, native<PDL_BODY_FMA, false>);
    case PDL_BODY_STREAM:
      return pick(stamped, native<PDL_BODY_STREAM, true>, native<PDL_BODY_STREAM, false>);
    case PDL_BODY_STREAM_NARROW:
      return pick(stamped, native<PDL_BODY_STREAM_NARROW, true>, native<PDL_BODY_STREAM_NARROW, false>);
    case PDL_BODY_NONE:
      return pick(stamped, native<PDL_BODY_NONE, true>, native<PDL_BODY_NONE, false>);
    case PDL_BODY_SPIN:
      return pick(stamped, native<PDL_BODY_SPIN, true>, native<PDL_BODY_SPIN, false>);
    default: return nullptr;
  }
}

const void* flags_kernel(uint32_t body, uint32_t stamped) {
  switch (body) {
    case PDL_BODY_FMA: return pick(stamped, flags<PDL_BODY_FMA, true>, flags<PDL_BODY_FMA, false>);
    case PDL_BODY_STREAM:
      return pick(stamped, flags<PDL_BODY_STREAM, true>, flags<PDL_BODY_STREAM, false>);
    case PDL_BODY_STREAM_NARROW:
      return pick(stamped, flags<PDL_BODY_STREAM_NARROW, true>, flags<PDL_BODY_STREAM_NARROW, false>);
    case PDL_BODY_NONE:
      return pick(stamped, flags<PDL_BODY_NONE, true>, flags<PDL_BODY_NONE, false>);
    case PDL_BODY_SPIN:
      return pick(stamped, flags<PDL_BODY_SPIN, true>, flags<PDL_BODY_SPIN, false>);
    default: return nullptr;
  }
}

const void* persistent_kernel(uint32_t body) {
  switch (body) {
    case PDL_BODY_FMA: return reinterpret_cast<const void*>(persistent<PDL_BODY_FMA>);
    case PDL_BODY_STREAM: return reinterpret_cast<const void*>(persistent<PDL_BODY_STREAM>);
    case PDL_BODY_STREAM_NARROW:
      return reinterpret_cast<const void*>(persistent<PDL_BODY_STREAM_NARROW>);
    case PDL_BODY_SPIN: return reinterpret_cast<const void*>(persistent<PDL_BODY_SPIN>);
    case PDL_BODY_NONE: return reinterpret_cast<const void*>(persistent<PDL_BODY_NONE>);
    default: return nullptr;
  }
}

}  // namespace pdl
