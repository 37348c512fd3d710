#include "kernels/gpu/kernel.h"

#include "core/error.h"
#include "kernels/gpu/compile.h"
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/source.h"

#include <mlx/primitives.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace atelier {
namespace {

// A launch of MLX's, with what MLX does not know: a gradient, outputs that are inputs' buffers.
class Launch : public mx::Primitive {
 public:
  /** `written`: what is passed on is written into. */
  Launch(std::shared_ptr<mx::Primitive> launch, GpuNode node, bool written)
      : Primitive(launch->stream()),
        launch_(std::move(launch)),
        node_(std::move(node)),
        written_(written) {}

  const GpuNode& node() const {
    return node_;
  }
  const std::shared_ptr<mx::Primitive>& plain() const {
    return launch_;
  }

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    launch_->eval_cpu(inputs, outputs);
  }
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    for (size_t i = 0; i < node_.passed.size(); i++) {
      outputs[i].copy_shared_buffer(inputs[node_.passed[i]]);
#if defined(ATELIER_DEVICE_cuda)
      if (written_) {
        // What reads the output later waits for this launch.
        mx::cu::get_command_encoder(stream()).set_output_array(outputs[i]);
      }
#endif
    }
    Arrays rest(outputs.begin() + node_.passed.size(), outputs.end());
    launch_->eval_gpu(inputs, rest);
  }
  Arrays vjp(
      const Arrays& primals,
      const Arrays& cotangents,
      const std::vector<int>& argnums,
      const Arrays& outputs) override {
    const Arrays all = node_.vjp(primals, cotangents, outputs, argnums);
    Arrays wanted;
    for (int i : argnums) {
      wanted.push_back(all.at(i));
    }
    return wanted;
  }
  const char* name() const override {
    return launch_->name();
  }

 private:
  std::shared_ptr<mx::Primitive> launch_;
  GpuNode node_;
  bool written_;
};

// Launches of one kind share a primitive, a thread each: streams belong to threads.
std::map<std::string, std::shared_ptr<mx::Primitive>>& launches() {
  thread_local std::map<std::string, std::shared_ptr<mx::Primitive>> made;
  return made;
}

thread_local int recordings = 0;

std::mutex names_mutex;
std::set<std::string> names;

std::string type_name(const mx::Dtype& type) {
  switch (type.val()) {
    case mx::Dtype::Val::float32:
      return "float";
    case mx::Dtype::Val::float16:
      return "f16";
    case mx::Dtype::Val::bfloat16:
      return "bf16";
    case mx::Dtype::Val::int32:
      return "int";
    case mx::Dtype::Val::uint8:
      return "unsigned char";
    default:
      throw Error(ErrorCode::internal, "a GPU kernel was given a type that none takes");
  }
}

}  // namespace

GpuRecording::GpuRecording() {
  recordings++;
}

GpuRecording::~GpuRecording() {
  recordings--;
}

bool GpuRecording::now() {
  return recordings > 0;
}

bool is_gpu_kernel(const std::string& name) {
  const std::lock_guard lock(names_mutex);
  return names.count(name) > 0;
}

bool gpu_kernels_for(const mx::array& x) {
#if defined(ATELIER_DEVICE_cuda)
  return kernels_switched_on() && mx::default_device() == mx::Device::gpu &&
         (x.dtype() == mx::float32 || x.dtype() == mx::float16 || x.dtype() == mx::bfloat16);
#else
  return false;
#endif
}

std::string GpuKernel::key(const Arrays& inputs, const GpuLaunch& launch) const {
  std::string key = name_;
  for (const mx::array& a : inputs) {
    key += ' ' + type_name(a.dtype());
  }
  for (const mx::Dtype& type : launch.types) {
    key += ' ' + type_name(type);
  }
  for (const auto& [name, value] : launch.constants) {
    key += ' ' + std::to_string(value);
  }
  return key + " x" + std::to_string(launch.threads) + " x" + std::to_string(launch.at_once) +
         " x" + std::to_string(launch.cluster) + (GpuRecording::now() ? " recorded" : "");
}

std::string GpuKernel::whole_source(const Arrays& inputs, const GpuLaunch& launch) const {
  std::string text = GpuRecording::now() ? "#define RECORDED\n" : "";
  text += gpu_prelude + helpers_;
  text += "using T = " + type_name(inputs[0].dtype()) + ";\n";
  for (size_t i = 0; i < outputs_.size(); i++) {
    text += "using T_" + outputs_[i] + " = " + type_name(launch.types[i]) + ";\n";
  }
  for (const auto& [name, value] : launch.constants) {
    text += std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
  }
  const std::string cluster =
      launch.cluster > 1 ? "__cluster_dims__(" + std::to_string(launch.cluster) + ", 1, 1) " : "";
  text += "extern \"C\" __global__ void " + cluster + "__launch_bounds__(" +
          std::to_string(launch.threads) + ", " + std::to_string(launch.at_once) + ") " + name_ +
          "(";
  for (size_t i = 0; i < inputs.size(); i++) {
    text += "const " + type_name(inputs[i].dtype()) + "* " + inputs_[i] + ", ";
  }
  for (size_t i = 0; i < outputs_.size(); i++) {
    text += (i ? ", T_" : "T_") + outputs_[i] + "* " + outputs_[i];
  }
  for (const auto& [name, value] : launch.sizes) {
    text += std::string(", int ") + name;
  }
  const bool says_when = source_.find("wait_for_previous()") != std::string::npos;
  return text + ") {\n" + (says_when ? "" : "wait_for_previous();\n") + source_ + "}\n";
}

std::shared_ptr<mx::Primitive> GpuKernel::primitive(const Arrays& inputs, const GpuLaunch& launch)
    const {
  const mx::Stream stream = mx::default_stream(mx::Device::gpu);
  const std::string compiled = key(inputs, launch);
  std::string kind = compiled + '/' + std::to_string(stream.index);
  for (int n : launch.blocks) {
    kind += ' ' + std::to_string(n);
  }
  kind += ' ' + std::to_string(launch.shared_bytes);
  std::vector<mx::fast::ScalarArg> sizes;
  for (const auto& [name, value] : launch.sizes) {
    kind += ' ' + std::to_string(value);
    sizes.emplace_back(value);
  }
  std::shared_ptr<mx::Primitive>& made = launches()[kind];
  if (!made) {
    {
      const std::lock_guard lock(names_mutex);
      names.insert(name_);
    }
    const auto [x, y, z] = launch.blocks;
    const Arrays out = mx::fast::precompiled_cuda_kernel(
        name_,
        compile_gpu(compiled, [&] { return whole_source(inputs, launch); }),
        inputs,
        launch.shapes,
        launch.types,
        sizes,
        {x * launch.threads, y, z},
        {launch.threads, 1, 1},
        launch.shared_bytes,
        std::nullopt,
        true,
        stream);
    made = out[0].primitive_ptr();
  }
  return made;
}

namespace {

// With the inputs of these indices before the launch's own outputs.
Arrays make(
    const std::shared_ptr<mx::Primitive>& primitive,
    const Arrays& inputs,
    const std::vector<int>& passed,
    const GpuLaunch& launch) {
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types;
  for (int i : passed) {
    shapes.push_back(inputs[i].shape());
    types.push_back(inputs[i].dtype());
  }
  shapes.insert(shapes.end(), launch.shapes.begin(), launch.shapes.end());
  types.insert(types.end(), launch.types.begin(), launch.types.end());
  return mx::array::make_arrays(shapes, types, primitive, inputs);
}

}  // namespace

Arrays GpuKernel::operator()(const Arrays& inputs, const GpuLaunch& launch, const GpuNode& node)
    const {
  std::shared_ptr<mx::Primitive> made = primitive(inputs, launch);
  if (node.vjp || node.light || !node.passed.empty() || node.recipe.has_value()) {
    made = std::make_shared<Launch>(std::move(made), node, false);
  }
  return make(made, inputs, node.passed, launch);
}

Arrays GpuKernel::in_place(
    const Arrays& inputs,
    const std::vector<int>& written,
    const GpuLaunch& launch) const {
#if defined(ATELIER_DEVICE_cuda)
  return make(
      std::make_shared<Launch>(primitive(inputs, launch), GpuNode{nullptr, written}, true),
      inputs,
      written,
      launch);
#else
  throw Error(ErrorCode::internal, name_ + ": a CUDA kernel in a build without CUDA");
#endif
}

mx::array again(const mx::array& x, const Arrays& after) {
  const auto* launch = x.has_primitive() ? dynamic_cast<const Launch*>(&x.primitive()) : nullptr;
  if (!launch || !launch->node().light) {
    return x;
  }
  const Arrays all = x.outputs();
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types;
  size_t wanted = 0;
  for (size_t i = launch->node().passed.size(); i < all.size(); i++) {
    wanted = all[i].id() == x.id() ? shapes.size() : wanted;
    shapes.push_back(all[i].shape());
    types.push_back(all[i].dtype());
  }
  return mx::array::make_arrays(
      shapes, types, launch->plain(), mx::depends(x.inputs(), after))[wanted];
}

const std::any* any_recipe_of(const mx::array& x) {
  if (x.is_tracer() || x.status() != mx::array::Status::unscheduled || !x.has_primitive()) {
    return nullptr;
  }
  const auto* launch = dynamic_cast<const Launch*>(&x.primitive());
  return launch && launch->node().recipe.has_value() ? &launch->node().recipe : nullptr;
}

int float_bits(float x) {
  int bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace atelier
