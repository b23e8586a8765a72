// Instances of the programmatic kernel.
#include "chain.cuh"
#include "kernels.h"

namespace pdl {
namespace {

template <pdl_trigger Trigger, pdl_body Body>
const void* pick(uint32_t stamped) {
  return stamped ? reinterpret_cast<const void*>(chain<Trigger, Body, true>)
                 : reinterpret_cast<const void*>(chain<Trigger, Body, false>);
}

template <pdl_trigger Trigger>
const void* pick(uint32_t body, uint32_t stamped) {
  switch (body) {
    case PDL_BODY_FMA: return pick<Trigger, PDL_BODY_FMA>(stamped);
    case PDL_BODY_STREAM: return pick<Trigger, PDL_BODY_STREAM>(stamped);
    case PDL_BODY_STREAM_NARROW: return pick<Trigger, PDL_BODY_STREAM_NARROW>(stamped);
    case PDL_BODY_SPIN: return pick<Trigger, PDL_BODY_SPIN>(stamped);
    case PDL_BODY_NONE: return pick<Trigger, PDL_BODY_NONE>(stamped);
    default: return nullptr;
  }
}

}  // namespace

const void* chain_kernel(uint32_t trigger, uint32_t body, uint32_t stamped) {
  switch (trigger) {
    case PDL_TRIGGER_IMPLICIT: return pick<PDL_TRIGGER_IMPLICIT>(body, stamped);
    case PDL_TRIGGER_AT_ENTRY: return pick<PDL_TRIGGER_AT_ENTRY>(body, stamped);
    case PDL_TRIGGER_AFTER_SYNC: return pick<PDL_TRIGGER_AFTER_SYNC>(body, stamped);
    case PDL_TRIGGER_IN_BODY: return pick<PDL_TRIGGER_IN_BODY>(body, stamped);
    case PDL_TRIGGER_BEFORE_STORE: return pick<PDL_TRIGGER_BEFORE_STORE>(body, stamped);
    case PDL_TRIGGER_AFTER: return pick<PDL_TRIGGER_AFTER>(body, stamped);
    default: return nullptr;
  }
}

}  // namespace pdl
