// A chain launched as a person writes it: launches in a loop, or a graph built node by node. What the
// program's own way is compared with, so it shares no code with it: the CUDA runtime alone, and its own
// copy of the machine code.

#include <cuda_runtime_api.h>

#include <map>
#include <new>
#include <vector>

#include "shim.h"

struct pdl_by_hand {
  struct Node {
    cudaKernel_t kernel;
    dim3 grid, block, cluster;
    unsigned shared_bytes;
    bool programmatic;
    std::vector<std::vector<unsigned char>> values;
    std::vector<void*> args;
  };
  std::vector<Node> nodes;
  std::map<const void*, cudaLibrary_t> libraries;
  cudaGraphExec_t executable = nullptr;
};

namespace {

bool clustered(const dim3& cluster) { return cluster.x * cluster.y * cluster.z > 1; }

cudaError_t add(pdl_by_hand& chain, const pdl_hand_launch& launch) {
  auto found = chain.libraries.find(launch.cubin);
  if (found == chain.libraries.end()) {
    cudaLibrary_t library;
    const cudaError_t error =
        cudaLibraryLoadData(&library, launch.cubin, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (error != cudaSuccess) return error;
    found = chain.libraries.emplace(launch.cubin, library).first;
  }
  pdl_by_hand::Node node;
  cudaError_t error = cudaLibraryGetKernel(&node.kernel, found->second, launch.kernel);
  if (error != cudaSuccess) return error;
  node.grid = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
  node.block = dim3(launch.block[0], launch.block[1], launch.block[2]);
  node.cluster = dim3(launch.cluster[0], launch.cluster[1], launch.cluster[2]);
  node.shared_bytes = launch.shared_bytes;
  node.programmatic = launch.programmatic != 0;
  const void* function = reinterpret_cast<const void*>(node.kernel);
  if (launch.shared_bytes > 0) {
    error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(launch.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  for (uint32_t at = 0; at < launch.arg_count; ++at) {
    const auto* bytes = static_cast<const unsigned char*>(launch.args[at]);
    node.values.emplace_back(bytes, bytes + launch.arg_bytes[at]);
  }
  for (auto& value : node.values) node.args.push_back(value.data());
  chain.nodes.push_back(std::move(node));
  return cudaSuccess;
}

cudaError_t build(const pdl_by_hand& chain, cudaGraph_t graph) {
  cudaGraphNode_t previous = nullptr;
  for (const auto& node : chain.nodes) {
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void*>(node.kernel);
    params.gridDim = node.grid;
    params.blockDim = node.block;
    params.sharedMemBytes = node.shared_bytes;
    params.kernelParams = const_cast<void**>(node.args.data());
    cudaGraphNode_t made;
    cudaError_t error = cudaGraphAddKernelNode(&made, graph, nullptr, 0, &params);
    if (error != cudaSuccess) return error;
    if (clustered(node.cluster)) {
      cudaLaunchAttributeValue value = {};
      value.clusterDim.x = node.cluster.x;
      value.clusterDim.y = node.cluster.y;
      value.clusterDim.z = node.cluster.z;
      error = cudaGraphKernelNodeSetAttribute(made, cudaLaunchAttributeClusterDimension, &value);
      if (error != cudaSuccess) return error;
    }
    if (previous != nullptr) {
      cudaGraphEdgeData edge = {};
      if (node.programmatic) {
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
      }
#if CUDART_VERSION >= 13000
      error = cudaGraphAddDependencies(graph, &previous, &made, &edge, 1);
#else
      error = cudaGraphAddDependencies_v2(graph, &previous, &made, &edge, 1);
#endif
      if (error != cudaSuccess) return error;
    }
    previous = made;
  }
  return cudaSuccess;
}

}  // namespace

extern "C" int32_t pdl_by_hand_create(const pdl_hand_launch* launches, uint32_t count,
                                      pdl_by_hand** made) {
  auto* chain = new (std::nothrow) pdl_by_hand;
  if (chain == nullptr) return cudaErrorMemoryAllocation;
  for (uint32_t at = 0; at < count; ++at) {
    const cudaError_t error = add(*chain, launches[at]);
    if (error != cudaSuccess) {
      pdl_by_hand_destroy(chain);
      return error;
    }
  }
  *made = chain;
  return cudaSuccess;
}

extern "C" int32_t pdl_by_hand_build(void* stream, pdl_by_hand* chain) {
  cudaGraph_t graph;
  cudaError_t error = cudaGraphCreate(&graph, 0);
  if (error != cudaSuccess) return error;
  error = build(*chain, graph);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&chain->executable, graph, 0);
  if (error == cudaSuccess) {
    error = cudaGraphUpload(chain->executable, static_cast<cudaStream_t>(stream));
  }
  cudaGraphDestroy(graph);
  return error;
}

extern "C" int32_t pdl_by_hand_launch(void* stream, const pdl_by_hand* chain) {
  if (chain->executable != nullptr) {
    return cudaGraphLaunch(chain->executable, static_cast<cudaStream_t>(stream));
  }
  for (const auto& node : chain->nodes) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    config.gridDim = node.grid;
    config.blockDim = node.block;
    config.dynamicSmemBytes = node.shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    if (node.programmatic) {
      attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (clustered(node.cluster)) {
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
      attributes[config.numAttrs].val.clusterDim.x = node.cluster.x;
      attributes[config.numAttrs].val.clusterDim.y = node.cluster.y;
      attributes[config.numAttrs++].val.clusterDim.z = node.cluster.z;
    }
    const cudaError_t error =
        cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(node.kernel),
                            const_cast<void**>(node.args.data()));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

extern "C" void pdl_by_hand_destroy(pdl_by_hand* chain) {
  if (chain == nullptr) return;
  if (chain->executable != nullptr) cudaGraphExecDestroy(chain->executable);
  for (const auto& library : chain->libraries) cudaLibraryUnload(library.second);
  delete chain;
}
