// The host half of the ABI: launch configuration, kernel, attribute; nothing else.
#include "shim.h"

#include <cstring>

#include "kernels.h"

namespace {

using pdl::chain_kernel;

const void* find(const pdl_kernel& kernel) {
  switch (kernel.family) {
    case PDL_FAMILY_CHAIN:
      return kernel.trigger == PDL_TRIGGER_NATIVE
                 ? pdl::native_kernel(kernel.body, kernel.stamped)
                 : chain_kernel(kernel.trigger, kernel.body, kernel.stamped);
    case PDL_FAMILY_FLAGS: return pdl::flags_kernel(kernel.body, kernel.stamped);
    case PDL_FAMILY_PERSISTENT: return pdl::persistent_kernel(kernel.body);
    case PDL_FAMILY_CHECK: return pdl::check_kernel(kernel.body);
    default: return nullptr;
  }
}

// Attributes live exactly as long as the launch that reads them.
struct Config {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3];

  Config(void* stream, const pdl_launch& launch) {
    config.gridDim = launch.grid_blocks;
    config.blockDim = launch.block_threads;
    config.dynamicSmemBytes = launch.shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    if (launch.cluster_blocks > 1) {
      cudaLaunchAttribute& cluster = add(cudaLaunchAttributeClusterDimension);
      cluster.val.clusterDim.x = launch.cluster_blocks;
      cluster.val.clusterDim.y = 1;
      cluster.val.clusterDim.z = 1;
    }
    if (launch.dependency == PDL_DEPENDENCY_PROGRAMMATIC) {
      add(cudaLaunchAttributeProgrammaticStreamSerialization)
          .val.programmaticStreamSerializationAllowed = 1;
    }
  }
  Config(const Config&) = delete;

  cudaLaunchAttribute& add(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = id;
    return attribute;
  }
};

// A kernel without a sync must not run behind a programmatic edge.
bool allowed(const pdl_kernel& kernel, const pdl_launch& launch) {
  const bool native = kernel.family == PDL_FAMILY_PERSISTENT ||
                      (kernel.family == PDL_FAMILY_CHAIN && kernel.trigger == PDL_TRIGGER_NATIVE);
  return !native || launch.dependency == PDL_DEPENDENCY_FULL;
}

int32_t enqueue(void* stream, const pdl_launch& launch, const pdl_kernel& kernel, void** arguments) {
  const void* function = find(kernel);
  if (!function || !allowed(kernel, launch)) return cudaErrorInvalidValue;
  Config config(stream, launch);
  if (kernel.family == PDL_FAMILY_PERSISTENT) {
    config.add(cudaLaunchAttributeCooperative).val.cooperative = 1;
  }
  return cudaLaunchKernelExC(&config.config, function, arguments);
}

// CUDA 13 gave the edge-data signatures the plain names.
#if CUDART_VERSION >= 13000
#define PDL_V2(name) name
#define PDL_V3(name) name
#else
#define PDL_V2(name) name##_v2
#define PDL_V3(name) name##_v3
#endif

}  // namespace

int32_t pdl_runtime_version(void) { return CUDART_VERSION; }

const char* pdl_error_name(int32_t error) {
  return cudaGetErrorName(static_cast<cudaError_t>(error));
}

const char* pdl_error_text(int32_t error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

int32_t pdl_prepare(const pdl_kernel* kernel, const pdl_launch* launch, pdl_kernel_info* info) {
  const void* function = find(*kernel);
  if (!function || !allowed(*kernel, *launch)) return cudaErrorInvalidValue;
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, function);
  if (error) return error;
  constexpr uint32_t kWithoutOptIn = 48 * 1024;
  if (launch->shared_bytes > kWithoutOptIn) {
    error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(launch->shared_bytes));
    if (error) return error;
  }
  constexpr uint32_t kPortableCluster = 8;
  if (launch->cluster_blocks > kPortableCluster) {
    error = cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error) return error;
  }
  *info = {};
  info->ptx_version = attributes.ptxVersion;
  info->binary_version = attributes.binaryVersion;
  info->registers = attributes.numRegs;
  info->local_bytes = static_cast<int32_t>(attributes.localSizeBytes);
  info->shared_bytes = static_cast<int32_t>(attributes.sharedSizeBytes);
  info->max_threads = attributes.maxThreadsPerBlock;
  info->clusters = -1;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &info->blocks_per_sm, function, static_cast<int>(launch->block_threads),
      launch->shared_bytes);
  if (error) return error;
  if (launch->cluster_blocks > 1) {
    Config config(nullptr, *launch);
    error = cudaOccupancyMaxActiveClusters(&info->clusters, function, &config.config);
    if (error) return error;
  }
  const char* name = nullptr;
  error = cudaFuncGetName(&name, function);
  if (!error && name) std::strncpy(info->name, name, sizeof info->name - 1);
  return error;
}

int32_t pdl_launch_chain(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                         const pdl_chain_args* args) {
  void* arguments[] = {const_cast<pdl_chain_args*>(args)};
  return enqueue(stream, *launch, *kernel, arguments);
}

int32_t pdl_launch_flags(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                         const pdl_chain_args* args, const pdl_flags* flags) {
  void* arguments[] = {const_cast<pdl_chain_args*>(args), const_cast<pdl_flags*>(flags)};
  return enqueue(stream, *launch, *kernel, arguments);
}

int32_t pdl_launch_persistent(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_chain_args* args, const pdl_persistent* persistent) {
  void* arguments[] = {const_cast<pdl_chain_args*>(args), const_cast<pdl_persistent*>(persistent)};
  return enqueue(stream, *launch, *kernel, arguments);
}

int32_t pdl_launch_check_node(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_check_args* args, const uint64_t* input) {
  void* arguments[] = {const_cast<pdl_check_args*>(args), &input};
  return enqueue(stream, *launch, *kernel, arguments);
}

int32_t pdl_launch_chain_loop(void* stream, const pdl_launch* launch, const pdl_kernel* kernel,
                              const pdl_chain_args* args, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t error = pdl_launch_chain(stream, launch, kernel, args);
    if (error) return error;
  }
  return cudaSuccess;
}

int32_t pdl_launch_graph_loop(void* stream, void* executable, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const cudaError_t error =
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable), static_cast<cudaStream_t>(stream));
    if (error) return error;
  }
  return cudaSuccess;
}

int32_t pdl_capture_port(void* stream, uint32_t from_port) {
  const cudaStream_t capturing = static_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* last = nullptr;
  const cudaGraphEdgeData* data = nullptr;
  size_t count = 0;
  cudaError_t error = PDL_V3(cudaStreamGetCaptureInfo)(capturing, &status, nullptr, nullptr, &last,
                                                       &data, &count);
  if (error) return error;
  if (status != cudaStreamCaptureStatusActive || count != 1) return cudaErrorInvalidValue;
  cudaGraphNode_t node = last[0];
  cudaGraphEdgeData edge{};
  edge.type = from_port ? cudaGraphDependencyTypeProgrammatic : cudaGraphDependencyTypeDefault;
  edge.from_port = static_cast<unsigned char>(from_port);
  return PDL_V2(cudaStreamUpdateCaptureDependencies)(capturing, &node, &edge, 1,
                                                     cudaStreamSetCaptureDependencies);
}

int32_t pdl_graph_edges(void* graph, pdl_edge* edges, uint64_t* count) {
  const cudaGraph_t g = static_cast<cudaGraph_t>(graph);
  size_t n = *count;
  if (!edges) {
    const cudaError_t error = PDL_V2(cudaGraphGetEdges)(g, nullptr, nullptr, nullptr, &n);
    *count = n;
    return error;
  }
  auto* from = new cudaGraphNode_t[n];
  auto* to = new cudaGraphNode_t[n];
  auto* data = new cudaGraphEdgeData[n];
  const cudaError_t error = PDL_V2(cudaGraphGetEdges)(g, from, to, data, &n);
  for (size_t i = 0; !error && i < n; ++i) {
    edges[i] = {static_cast<uint32_t>(data[i].type), static_cast<uint32_t>(data[i].from_port)};
  }
  *count = n;
  delete[] from;
  delete[] to;
  delete[] data;
  return error;
}
