// Launches of the conformance test: attributes as they are asked for, whether or not they are wise.
#include "conform.cuh"

namespace pdl {
namespace {

constexpr uint32_t kThreads = PDL_ACTOR_THREADS;

// Attributes live exactly as long as the launch that reads them.
struct ActorConfig {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[5];

  ActorConfig(void* stream, const pdl_actor_launch& launch) {
    config.gridDim = launch.grid_blocks;
    config.blockDim = kThreads;
    config.dynamicSmemBytes = launch.shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    if (launch.cluster_blocks > 1) {
      cudaLaunchAttribute& cluster = add(cudaLaunchAttributeClusterDimension);
      cluster.val.clusterDim.x = launch.cluster_blocks;
      cluster.val.clusterDim.y = 1;
      cluster.val.clusterDim.z = 1;
    }
    if (launch.programmatic) {
      add(cudaLaunchAttributeProgrammaticStreamSerialization)
          .val.programmaticStreamSerializationAllowed = 1;
    }
    if (launch.cooperative) add(cudaLaunchAttributeCooperative).val.cooperative = 1;
    if (launch.prioritised) add(cudaLaunchAttributePriority).val.priority = launch.priority;
    const cudaEvent_t event = static_cast<cudaEvent_t>(launch.event);
    if (launch.event_kind == PDL_EVENT_LAUNCH_COMPLETION) {
      add(cudaLaunchAttributeLaunchCompletionEvent).val.launchCompletionEvent.event = event;
    } else if (launch.event_kind != PDL_EVENT_NONE) {
      auto& programmatic = add(cudaLaunchAttributeProgrammaticEvent).val.programmaticEvent;
      programmatic.event = event;
      programmatic.triggerAtBlockStart = launch.event_kind == PDL_EVENT_AT_BLOCK_START;
    }
  }
  ActorConfig(const ActorConfig&) = delete;

  cudaLaunchAttribute& add(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = id;
    return attribute;
  }
};

int32_t enqueue_tally(void* stream, void (*kernel)(pdl_tally*), pdl_tally* tally,
                      bool programmatic) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 1;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = programmatic;
  return cudaLaunchKernelEx(&config, kernel, tally);
}

}  // namespace
}  // namespace pdl

using namespace pdl;

int32_t pdl_actor_blocks_per_sm(uint32_t shared_bytes, int32_t* blocks) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, actor, kThreads, shared_bytes);
}

int32_t pdl_launch_actor(void* stream, const pdl_actor_launch* launch, const pdl_actor_args* args) {
  ActorConfig config(stream, *launch);
  return cudaLaunchKernelEx(&config.config, actor, *args);
}

int32_t pdl_launch_tally(void* stream, pdl_tally* tally) {
  const int32_t error = enqueue_tally(stream, tally_primary, tally, false);
  return error ? error : enqueue_tally(stream, tally_secondary, tally, true);
}

int32_t pdl_graph_add_actor(void* graph, const pdl_actor_launch* launch, const pdl_actor_args* args,
                            void** node) {
  void* arguments[] = {const_cast<pdl_actor_args*>(args)};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(actor);
  params.gridDim = launch->grid_blocks;
  params.blockDim = kThreads;
  params.sharedMemBytes = launch->shared_bytes;
  params.kernelParams = arguments;
  return cudaGraphAddKernelNode(reinterpret_cast<cudaGraphNode_t*>(node),
                                static_cast<cudaGraph_t>(graph), nullptr, 0, &params);
}

int32_t pdl_graph_connect(void* graph, void* from, void* to, uint32_t from_port) {
  const cudaGraph_t g = static_cast<cudaGraph_t>(graph);
  cudaGraphNode_t primary = static_cast<cudaGraphNode_t>(from);
  cudaGraphNode_t secondary = static_cast<cudaGraphNode_t>(to);
  cudaGraphEdgeData edge{};
  edge.type = from_port ? cudaGraphDependencyTypeProgrammatic : cudaGraphDependencyTypeDefault;
  edge.from_port = static_cast<unsigned char>(from_port);
#if CUDART_VERSION >= 13000
  return cudaGraphAddDependencies(g, &primary, &secondary, &edge, 1);
#else
  return cudaGraphAddDependencies_v2(g, &primary, &secondary, &edge, 1);
#endif
}

int32_t pdl_graph_edges_without_data(void* graph) {
  constexpr size_t kMost = 64;
  cudaGraphNode_t from[kMost];
  cudaGraphNode_t to[kMost];
  size_t count = kMost;
#if CUDART_VERSION >= 13000
  return cudaGraphGetEdges(static_cast<cudaGraph_t>(graph), from, to, nullptr, &count);
#else
  return cudaGraphGetEdges(static_cast<cudaGraph_t>(graph), from, to, &count);
#endif
}
