// Ranges for Nsight Systems, through NVTX: header only, and a tool that listens is found at run time.

#include "shim.h"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>

extern "C" void pdl_range_push(const char* name) { nvtxRangePushA(name); }

extern "C" void pdl_range_pop(void) { nvtxRangePop(); }

extern "C" int32_t pdl_ranges(void) { return 1; }

#else

extern "C" void pdl_range_push(const char*) {}

extern "C" void pdl_range_pop(void) {}

extern "C" int32_t pdl_ranges(void) { return 0; }

#endif
