/* A launch hook: your own code launches its kernels, and `pdl kernel --library libmine.so` captures
 * them into a graph, finds which edges are worth being programmatic, and checks every result.
 *
 * Build a shared library that exports pdl_launch, and what else of this header it needs:
 *
 *     #include <cuda_runtime.h>
 *     #include "pdl_hook.h"
 *
 *     PDL_HOOK int pdl_launch(cudaStream_t stream, void* context) {
 *       rmsnorm<<<grid, block, 0, stream>>>(...);
 *       gemv<<<grid, block, 0, stream>>>(...);
 *       return cudaGetLastError();
 *     }
 *
 * All functions return 0 for success. A cudaError_t other than that is shown with its name, any other
 * number as it is. Everything runs in the primary context of device 0 of those that are visible. */
#ifndef PDL_HOOK_H
#define PDL_HOOK_H

#include <stdint.h>

#ifdef __cplusplus
#define PDL_HOOK extern "C" __attribute__((visibility("default")))
#else
#define PDL_HOOK __attribute__((visibility("default")))
#endif

/* The stream is a cudaStream_t: include cuda_runtime.h before this header. */
#if !defined(__CUDA_RUNTIME_H__) && !defined(__DRIVER_TYPES_H__)
typedef struct CUstream_st* cudaStream_t;
#endif

/* Device memory with a name for messages. */
typedef struct {
  const char* name;
  void* address;
  uint64_t bytes;
} pdl_hook_region;

/* What a chain works on; zeros are values. The arrays stay valid until pdl_finish. */
typedef struct {
  const pdl_hook_region* outputs; /* compared bit by bit; at least one */
  uint64_t output_count;
  const pdl_hook_region* buffers; /* what kernels hand to one another: poisoned before every run */
  uint64_t buffer_count;
} pdl_hook_memory;

/* Required. Queues the chain on `stream`, and nothing else: no synchronisation, no allocation, no
 * other stream that is not forked from it and joined to it, since the stream may be capturing. */
PDL_HOOK int pdl_launch(cudaStream_t stream, void* context);

/* Required. Says what the chain works on. */
PDL_HOOK int pdl_memory(void* context, pdl_hook_memory* memory);

/* Optional. Loads and allocates; `argument` is the text of --hook-argument. */
PDL_HOOK int pdl_init(const char* argument, void** context);

/* Optional. Restores, on `stream`, what a run changes and the next one reads. Called after outputs
 * and buffers were poisoned, before every run. */
PDL_HOOK int pdl_reset(cudaStream_t stream, void* context);

/* Optional. Whether the outputs are right, after a run that has ended: not 0 says that they are not. */
PDL_HOOK int pdl_verify(void* context);

/* Optional. Frees what pdl_init made. */
PDL_HOOK int pdl_finish(void* context);

#endif /* PDL_HOOK_H */
