#include "kernels/gpu/replay.h"

#include "core/error.h"
#include "kernels/gpu/compile.h"
#include "kernels/gpu/empty.h"
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/library.h"

#include <mlx/primitives.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)
namespace {

using CUgraphExec = struct CUgraphExec_st*;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;

template <class F>
F* driver(const char* name) {
  return loaded_function<F>("libcuda.so.1", name);
}

// Of cuda.h (CUDA 13).
struct Edge {
  unsigned char from_port = 0, to_port = 0, type = 0, reserved[5] = {};
};
struct KernelParams {
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  void **params, **extra;
  CUkernel kernel;
  void* context;
};
struct Driver {
  int (*graph_create)(CUgraph*, unsigned flags) = driver<int(CUgraph*, unsigned)>("cuGraphCreate");
  int (*graph_destroy)(CUgraph) = driver<int(CUgraph)>("cuGraphDestroy");
  int (*add_dependencies)(CUgraph, const CUgraphNode*, const CUgraphNode*, const Edge*, size_t) =
      driver<int(CUgraph, const CUgraphNode*, const CUgraphNode*, const Edge*, size_t)>(
          "cuGraphAddDependencies_v2");
  int (*add_empty)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t) =
      driver<int(CUgraphNode*, CUgraph, const CUgraphNode*, size_t)>("cuGraphAddEmptyNode");
  int (*child_graph)(CUgraphNode, CUgraph*) =
      driver<int(CUgraphNode, CUgraph*)>("cuGraphChildGraphNodeGetGraph");
  int (*nodes)(CUgraph, CUgraphNode*, size_t*) =
      driver<int(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes");
  int (*node_type)(CUgraphNode, int*) = driver<int(CUgraphNode, int*)>("cuGraphNodeGetType");
  int (*kernel_params)(CUgraphNode, KernelParams*) =
      driver<int(CUgraphNode, KernelParams*)>("cuGraphKernelNodeGetParams_v2");
  int (*function_name)(const char**, CUfunction) =
      driver<int(const char**, CUfunction)>("cuFuncGetName");
  int (*kernel_name)(const char**, CUkernel) =
      driver<int(const char**, CUkernel)>("cuKernelGetName");
  int (*instantiate)(CUgraphExec*, CUgraph, unsigned long long flags) =
      driver<int(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
  int (*launch)(CUgraphExec, CUstream) = driver<int(CUgraphExec, CUstream)>("cuGraphLaunch");
  int (*exec_destroy)(CUgraphExec) = driver<int(CUgraphExec)>("cuGraphExecDestroy");
  int (*copy)(unsigned long long to, unsigned long long from, size_t bytes, CUstream) =
      driver<int(unsigned long long, unsigned long long, size_t, CUstream)>("cuMemcpyDtoDAsync_v2");
};

const Driver& cuda() {
  static const Driver made;
  return made;
}

void check(int status, const char* what) {
  if (status != 0) {
    throw Error(
        ErrorCode::internal,
        std::string("replay: ") + what + " failed with the CUDA driver's error " +
            std::to_string(status));
  }
}

constexpr int kernel_type = 0, graph_type = 4, empty_type = 5;

int type_of(CUgraphNode node) {
  int type = -1;
  check(cuda().node_type(node, &type), "cuGraphNodeGetType");
  return type;
}

bool is_kernel(CUgraphNode node) {
  return type_of(node) == kernel_type;
}

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  size_t count = 0;
  check(cuda().nodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count > 0) {
    check(cuda().nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  }
  return nodes;
}

// What a library encoded as several operations, one behind the other (cuBLAS's products that are summed in parts).
bool is_several(CUgraphNode node) {
  if (type_of(node) != graph_type) {
    return false;
  }
  CUgraph graph = nullptr;
  check(cuda().child_graph(node, &graph), "cuGraphChildGraphNodeGetGraph");
  const std::vector<CUgraphNode> inner = nodes_of(graph);
  return inner.size() > 1 || (inner.size() == 1 && is_several(inner[0]));
}

bool is_own(CUgraphNode node) {
  if (!is_kernel(node)) {
    return false;
  }
  KernelParams params{};
  check(cuda().kernel_params(node, &params), "cuGraphKernelNodeGetParams");
  const char* name = nullptr;
  check(
      params.function ? cuda().function_name(&name, params.function)
                      : cuda().kernel_name(&name, params.kernel),
      "the name of a kernel");
  return is_gpu_kernel(name);
}

struct Edges {
  std::vector<CUgraphNode> from, to;
};

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

// A GpuKernel with one kernel before it may start while that one ends: it waits itself. Once a graph allows that anywhere,
// other kernels (MLX's, cuBLAS's) were seen to start too soon behind any kernel, and nothing in them waits: an empty node
// in front of whatever else there is makes it wait for the end of all that is before. Where there can be none, within what
// a library encoded as several operations, nothing overlaps. Returns whether launches do.
bool connect(CUgraph graph, const Edges& all) {
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
      check(cuda().add_empty(&end, graph, before.data(), before.size()), "cuGraphAddEmptyNode");
      add(end, to, {});
    } else {
      for (CUgraphNode from : before) {
        add(from, to, {});
      }
    }
  }
  check(
      cuda().add_dependencies(
          graph, edges.from.data(), edges.to.data(), kinds.data(), kinds.size()),
      "cuGraphAddDependencies");
  return overlap;
}

// Every array that has still to be computed, each after its inputs.
std::vector<mx::array> in_order(const std::vector<mx::array>& wanted) {
  std::vector<mx::array> order;
  std::unordered_set<std::uintptr_t> seen;
  struct Visit {
    mx::array array;
    size_t next;
  };
  std::vector<Visit> stack;
  auto enter = [&](const mx::array& a) {
    if (a.status() != mx::array::Status::unscheduled || !a.has_primitive() ||
        !seen.insert(a.id()).second) {
      return;
    }
    for (const mx::array& sibling : a.siblings()) {
      seen.insert(sibling.id());
    }
    stack.push_back({a, 0});
  };
  for (const mx::array& a : wanted) {
    enter(a);
    while (!stack.empty()) {
      if (stack.back().next < stack.back().array.inputs().size()) {
        const mx::array input = stack.back().array.inputs()[stack.back().next++];
        enter(input);
      } else {
        order.push_back(stack.back().array);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

struct Replay::Recording {
  mx::Stream stream = mx::default_stream(mx::Device::gpu);
  CUgraphExec graph = nullptr;
  bool overlaps = false;
  Arrays state, next, results;
  // Everything that the graph's nodes read and write.
  std::vector<std::shared_ptr<mx::array::Data>> kept;

  ~Recording() {
    if (graph) {
      cuda().exec_destroy(graph);
    }
  }
};

namespace {

class Launch : public mx::Primitive {
 public:
  Launch(mx::Stream stream, std::shared_ptr<Replay::Recording> recording)
      : Primitive(stream), recording_(std::move(recording)) {}

  void eval_cpu(const Arrays&, Arrays&) override {
    throw Error(ErrorCode::internal, "replay: a CUDA graph on the CPU");
  }
  // The stream keeps the order: what was encoded before goes first.
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    auto& encoder = mx::cu::get_command_encoder(stream());
    encoder.commit();
    check(cuda().launch(recording_->graph, encoder.stream), "cuGraphLaunch");
    for (size_t i = 0; i < outputs.size(); i++) {
      outputs[i].copy_shared_buffer(inputs[i]);
      copy(outputs[i], recording_->results[i], encoder.stream);
    }
    for (size_t i = 0; i < recording_->state.size(); i++) {
      if (gpu_address(recording_->state[i]) != gpu_address(recording_->next[i])) {
        copy(recording_->state[i], recording_->next[i], encoder.stream);
      }
    }
  }
  const char* name() const override {
    return "Replay";
  }

 private:
  static void copy(const mx::array& to, const mx::array& from, CUstream stream) {
    check(
        cuda().copy(
            reinterpret_cast<unsigned long long>(gpu_address(to)),
            reinterpret_cast<unsigned long long>(gpu_address(from)),
            to.nbytes(),
            stream),
        "cuMemcpyDtoDAsync");
  }

  std::shared_ptr<Replay::Recording> recording_;
};

}  // namespace

Replay::Replay(const std::function<Arrays(const Arrays& state)>& step, Arrays state)
    : recording_(std::make_shared<Recording>()) {
  const GpuRecording recording;
  Recording& r = *recording_;
  mx::eval(state);
  r.state = std::move(state);
  Arrays made = step(r.state);
  for (size_t i = 0; i < made.size(); i++) {
    // Copies between buffers need them whole and in order.
    mx::array whole = mx::contiguous(made[i]);
    (i < r.state.size() ? r.next : r.results).push_back(whole);
  }
  auto& encoder = mx::cu::get_command_encoder(r.stream);
  encoder.commit();
  Arrays wanted = r.next;
  wanted.insert(wanted.end(), r.results.begin(), r.results.end());
  std::vector<mx::array> order = in_order(wanted);
  for (mx::array& a : order) {
    Arrays outputs = a.outputs();
    a.primitive().eval_gpu(a.inputs(), outputs);
    for (const mx::array& input : a.inputs()) {
      r.kept.push_back(input.data_shared_ptr());
    }
    for (mx::array& out : outputs) {
      out.set_status(mx::array::Status::available);
      r.kept.push_back(out.data_shared_ptr());
    }
  }
  for (mx::array& a : order) {
    a.detach();
  }
  for (auto& temporary : encoder.temporaries) {
    r.kept.push_back(std::move(temporary));
  }
  encoder.temporaries.clear();

  CUgraph graph = encoder.graph;
  encoder.graph = nullptr;
  check(cuda().graph_create(&encoder.graph, 0), "cuGraphCreate");
  if (!encoder.from_nodes.empty()) {
    r.overlaps = connect(graph, {encoder.from_nodes, encoder.to_nodes});
  }
  encoder.clear_graph_state();
  encoder.node_count = 0;
  check(cuda().instantiate(&r.graph, graph, 0), "cuGraphInstantiate");
  cuda().graph_destroy(graph);
}

Replay::Arrays Replay::run() {
  const Recording& r = *recording_;
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types;
  Arrays room;
  for (const mx::array& a : r.results) {
    shapes.push_back(a.shape());
    types.push_back(a.dtype());
    room.push_back(empty_gpu(a.shape(), a.dtype()));
  }
  return mx::array::make_arrays(
      shapes, types, std::make_shared<Launch>(r.stream, recording_), room);
}

const Replay::Arrays& Replay::state() const {
  return recording_->state;
}

bool Replay::overlaps() const {
  return recording_->overlaps;
}

bool Replay::available() {
  return kernels_switched_on() && mx::default_device() == mx::Device::gpu;
}

#else

Replay::Replay(const std::function<Arrays(const Arrays& state)>&, Arrays) {
  throw Error(ErrorCode::internal, "replay: a CUDA graph in a build without CUDA");
}

Replay::Arrays Replay::run() {
  return {};
}

const Replay::Arrays& Replay::state() const {
  static const Arrays none;
  return none;
}

bool Replay::overlaps() const {
  return false;
}

bool Replay::available() {
  return false;
}

#endif

}  // namespace atelier
