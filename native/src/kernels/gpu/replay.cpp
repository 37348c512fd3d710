#include "kernels/gpu/replay.h"

#include "core/error.h"
#include "kernels/gpu/empty.h"
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/graph_edges.h"
#include "kernels/gpu/kernel.h"

#include <mlx/primitives.h>

#include <unordered_set>

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)
namespace {

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
    check_cuda(cuda().launch(recording_->graph, encoder.stream), "cuGraphLaunch");
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
    check_cuda(
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
  check_cuda(cuda().graph_create(&encoder.graph, 0), "cuGraphCreate");
  if (!encoder.from_nodes.empty()) {
    r.overlaps = connect_graph(graph, {encoder.from_nodes, encoder.to_nodes});
  }
  encoder.clear_graph_state();
  encoder.node_count = 0;
  check_cuda(cuda().instantiate(&r.graph, graph, 0), "cuGraphInstantiate");
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
