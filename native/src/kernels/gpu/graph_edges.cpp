#include "kernels/gpu/graph_edges.h"

#include "kernels/gpu/compile.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>
#include <unordered_map>

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)
namespace {

constexpr int kernel_type = 0, graph_type = 4, empty_type = 5;

int type_of(CUgraphNode node) {
  int type = -1;
  check_cuda(cuda().node_type(node, &type), "cuGraphNodeGetType");
  return type;
}

bool is_kernel(CUgraphNode node) {
  return type_of(node) == kernel_type;
}

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  size_t count = 0;
  check_cuda(cuda().nodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count > 0) {
    check_cuda(cuda().nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  }
  return nodes;
}

// What a library encoded as several operations, one behind the other (cuBLAS's products that are summed in parts).
bool is_several(CUgraphNode node) {
  if (type_of(node) != graph_type) {
    return false;
  }
  CUgraph graph = nullptr;
  check_cuda(cuda().child_graph(node, &graph), "cuGraphChildGraphNodeGetGraph");
  const std::vector<CUgraphNode> inner = nodes_of(graph);
  return inner.size() > 1 || (inner.size() == 1 && is_several(inner[0]));
}

bool is_own(CUgraphNode node) {
  if (!is_kernel(node)) {
    return false;
  }
  KernelParams params{};
  check_cuda(cuda().kernel_params(node, &params), "cuGraphKernelNodeGetParams");
  const char* name = nullptr;
  check_cuda(
      params.function ? cuda().function_name(&name, params.function)
                      : cuda().kernel_name(&name, params.kernel),
      "the name of a kernel");
  return is_gpu_kernel(name);
}

struct Before {
  CUgraphNode node;
  std::vector<CUgraphNode> before;
};

// What each node waits for, without what it waits for by way of another: who waits for one only can overlap with it.
// MLX encodes one operation after the other: edges to a node mostly come before those from it, and where they do not
// (concatenate), more is kept than is needed, never less.
std::vector<Before> needed(const Edges& all) {
  std::unordered_map<CUgraphNode, size_t> index;
  std::vector<Before> out;
  auto index_of = [&](CUgraphNode node) {
    const auto [at, fresh] = index.emplace(node, out.size());
    if (fresh) {
      out.push_back({node, {}});
    }
    return at->second;
  };
  for (size_t i = 0; i < all.to.size(); i++) {
    index_of(all.from[i]);
    out[index_of(all.to[i])].before.push_back(all.from[i]);
  }
  // behind[n]: every node that n comes after, a bit each.
  const size_t words = out.size() / 64 + 1;
  std::vector<std::vector<uint64_t>> behind(out.size(), std::vector<uint64_t>(words));
  for (size_t i = 0; i < all.to.size(); i++) {
    const size_t from = index.at(all.from[i]);
    std::vector<uint64_t>& of = behind[index.at(all.to[i])];
    for (size_t w = 0; w < words; w++) {
      of[w] |= behind[from][w];
    }
    of[from / 64] |= uint64_t{1} << from % 64;
  }
  for (Before& b : out) {
    std::vector<CUgraphNode> near;
    for (CUgraphNode node : b.before) {
      const size_t n = index.at(node);
      const bool by_another = std::any_of(b.before.begin(), b.before.end(), [&](CUgraphNode other) {
        return behind[index.at(other)][n / 64] >> n % 64 & 1;
      });
      if (!by_another && std::find(near.begin(), near.end(), node) == near.end()) {
        near.push_back(node);
      }
    }
    b.before = std::move(near);
  }
  return out;
}

}  // namespace

// A GpuKernel with one kernel before it may start while that one ends: it waits itself. Once a graph allows that anywhere,
// other kernels (MLX's, cuBLAS's) were seen to start too soon behind any kernel, and nothing in them waits: an empty node
// in front of whatever else there is makes it wait for the end of all that is before. Where there can be none, within what
// a library encoded as several operations, nothing overlaps. Returns whether launches do.
bool connect_graph(CUgraph graph, const Edges& all) {
  constexpr unsigned char programmatic = 1;
  const std::vector<CUgraphNode> nodes = nodes_of(graph);
  const bool overlap =
      gpu_launches_overlap() && std::none_of(nodes.begin(), nodes.end(), is_several);
  Edges edges;
  std::vector<Edge> kinds;
  auto add = [&](CUgraphNode from, CUgraphNode to, Edge kind) {
    edges.from.push_back(from);
    edges.to.push_back(to);
    kinds.push_back(kind);
  };
  for (const auto& [to, before] : needed(all)) {
    if (before.empty()) {
      continue;
    }
    const bool one = before.size() == 1;
    if (overlap && one && is_kernel(before[0]) && is_own(to)) {
      Edge kind;
      kind.from_port = kind.type = programmatic;
      add(before[0], to, kind);
    } else if (overlap && !(one && type_of(before[0]) == empty_type)) {
      CUgraphNode end = nullptr;
      check_cuda(
          cuda().add_empty(&end, graph, before.data(), before.size()), "cuGraphAddEmptyNode");
      add(end, to, {});
    } else {
      for (CUgraphNode from : before) {
        add(from, to, {});
      }
    }
  }
  check_cuda(
      cuda().add_dependencies(
          graph, edges.from.data(), edges.to.data(), kinds.data(), kinds.size()),
      "cuGraphAddDependencies");
  return overlap;
}

#endif

}  // namespace atelier
