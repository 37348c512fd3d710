#pragma once

// Parts of MLX 0.32.4's mlx/backend/cuda/device.h, declared here as they are there: the original wants CUDA's toolkit
// and fmt to compile. libmlx holds the code. Layout and names belong to that one version, which wheels-cuda.lock pins.
#include "core/mlx.h"

#include <mlx/version.h>

#include <string>
#include <unordered_map>
#include <vector>

static_assert(
    MLX_VERSION_NUMERIC == 32004,
    "compare kernels/gpu/encoder.h with this MLX's mlx/backend/cuda/device.h");

#define ATELIER_FROM_MLX __attribute__((visibility("default")))

using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUstream = struct CUstream_st*;

namespace mlx::core::cu {

class ATELIER_FROM_MLX CommandEncoder {
 public:
  /** Records what is launched on the stream during its life, as one node. */
  struct ATELIER_FROM_MLX CaptureContext {
    explicit CaptureContext(CommandEncoder& encoder);
    ~CaptureContext();
    CUgraph graph;
    CommandEncoder& encoder;
    bool discard = false;
  };

  void set_input_array(const array& a);
  void set_output_array(const array& a);
  void commit();
  void synchronize();

  struct GraphNode {
    CUgraphNode node;
    std::string node_type, id;
  };

  void* device;
  CUstream stream;
  CUgraph graph;
  std::shared_ptr<void> worker;
  int node_count;
  bool in_concurrent;
  std::vector<CUgraphNode> from_nodes, to_nodes;
  std::string graph_nodes_key, graph_deps_key;
  std::vector<GraphNode> concurrent_nodes;
  std::vector<std::shared_ptr<array::Data>> temporaries;

  void clear_graph_state();
};

ATELIER_FROM_MLX CommandEncoder& get_command_encoder(Stream stream);

/** What a buffer's pointer points to. */
struct CudaBuffer {
  void* data;
  size_t size;
  int device;
};

}  // namespace mlx::core::cu

namespace atelier {

/** Address of an array's numbers on the GPU. */
inline char* gpu_address(const mx::array& a) {
  const auto* buffer = static_cast<const mx::cu::CudaBuffer*>(a.buffer().ptr());
  return static_cast<char*>(buffer->data) + a.offset();
}

}  // namespace atelier
