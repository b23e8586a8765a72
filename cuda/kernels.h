// Kernels by number, one function a family: each is defined beside its instances.
#pragma once
#include <cstdint>

#include "shim.h"

namespace pdl {

// The kernel, or null where the numbers name none.
const void* chain_kernel(uint32_t trigger, uint32_t body, uint32_t stamped);
const void* native_kernel(uint32_t body, uint32_t stamped);
const void* flags_kernel(uint32_t body, uint32_t stamped);
const void* persistent_kernel(uint32_t body);
const void* check_kernel(uint32_t kernel);

}  // namespace pdl
