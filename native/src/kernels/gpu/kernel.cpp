#include "kernels/gpu/kernel.h"

#include "core/error.h"
#include "kernels/gpu/compile.h"
#include "kernels/gpu/encoder.h"
#include "kernels/gpu/source.h"

#include <mlx/primitives.h>

#include <cstring>
#include <map>

namespace atelier {
namespace {

// A launch of MLX's with a gradient.
class Differentiable : public mx::Primitive {
 public:
  Differentiable(std::shared_ptr<mx::Primitive> forward, decltype(CpuKernel::vjp) vjp)
      : Primitive(forward->stream()), forward_(std::move(forward)), vjp_(std::move(vjp)) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    forward_->eval_cpu(inputs, outputs);
  }
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    forward_->eval_gpu(inputs, outputs);
  }
  Arrays vjp(
      const Arrays& primals,
      const Arrays& cotangents,
      const std::vector<int>& argnums,
      const Arrays& outputs) override {
    const Arrays all = vjp_(primals, cotangents, outputs, argnums);
    Arrays wanted;
    for (int i : argnums) {
      wanted.push_back(all.at(i));
    }
    return wanted;
  }
  const char* name() const override {
    return forward_->name();
  }

 private:
  std::shared_ptr<mx::Primitive> forward_;
  decltype(CpuKernel::vjp) vjp_;
};

#if defined(ATELIER_DEVICE_cuda)
// A launch whose first outputs are inputs' buffers.
class InPlace : public mx::Primitive {
 public:
  InPlace(std::shared_ptr<mx::Primitive> launch, std::vector<int> written)
      : Primitive(launch->stream()), launch_(std::move(launch)), written_(std::move(written)) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    launch_->eval_cpu(inputs, outputs);
  }
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    auto& encoder = mx::cu::get_command_encoder(stream());
    for (size_t i = 0; i < written_.size(); i++) {
      outputs[i].copy_shared_buffer(inputs[written_[i]]);
      // What reads the output later waits for this launch.
      encoder.set_output_array(outputs[i]);
    }
    Arrays rest(outputs.begin() + written_.size(), outputs.end());
    launch_->eval_gpu(inputs, rest);
  }
  const char* name() const override {
    return launch_->name();
  }

 private:
  std::shared_ptr<mx::Primitive> launch_;
  std::vector<int> written_;
};
#endif

// Launches of one kind share a primitive, a thread each: streams belong to threads.
std::map<std::string, std::shared_ptr<mx::Primitive>>& launches() {
  thread_local std::map<std::string, std::shared_ptr<mx::Primitive>> made;
  return made;
}

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
  return key;
}

std::string GpuKernel::whole_source(const Arrays& inputs, const GpuLaunch& launch) const {
  std::string text = gpu_prelude;
  text += "using T = " + type_name(inputs[0].dtype()) + ";\n";
  for (size_t i = 0; i < outputs_.size(); i++) {
    text += "using T_" + outputs_[i] + " = " + type_name(launch.types[i]) + ";\n";
  }
  for (const auto& [name, value] : launch.constants) {
    text += std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
  }
  text += "extern \"C\" __global__ void " + name_ + "(";
  for (size_t i = 0; i < inputs.size(); i++) {
    text += "const " + type_name(inputs[i].dtype()) + "* " + inputs_[i] + ", ";
  }
  for (size_t i = 0; i < outputs_.size(); i++) {
    text += (i ? ", T_" : "T_") + outputs_[i] + "* " + outputs_[i];
  }
  for (const auto& [name, value] : launch.sizes) {
    text += std::string(", int ") + name;
  }
  return text + ") {\n" + source_ + "}\n";
}

std::shared_ptr<mx::Primitive> GpuKernel::primitive(const Arrays& inputs, const GpuLaunch& launch)
    const {
  const mx::Stream stream = mx::default_stream(mx::Device::gpu);
  const std::string compiled = key(inputs, launch);
  std::string kind = compiled + '/' + std::to_string(stream.index);
  for (int n : launch.blocks) {
    kind += ' ' + std::to_string(n);
  }
  kind += ' ' + std::to_string(launch.threads);
  std::vector<mx::fast::ScalarArg> sizes;
  for (const auto& [name, value] : launch.sizes) {
    kind += ' ' + std::to_string(value);
    sizes.emplace_back(value);
  }
  std::shared_ptr<mx::Primitive>& made = launches()[kind];
  if (!made) {
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
        0,
        std::nullopt,
        true,
        stream);
    made = out[0].primitive_ptr();
  }
  return made;
}

Arrays GpuKernel::operator()(
    const Arrays& inputs,
    const GpuLaunch& launch,
    decltype(CpuKernel::vjp) vjp) const {
  std::shared_ptr<mx::Primitive> made = primitive(inputs, launch);
  if (vjp) {
    made = std::make_shared<Differentiable>(std::move(made), std::move(vjp));
  }
  return mx::array::make_arrays(launch.shapes, launch.types, made, inputs);
}

Arrays GpuKernel::in_place(
    const Arrays& inputs,
    const std::vector<int>& written,
    const GpuLaunch& launch) const {
#if defined(ATELIER_DEVICE_cuda)
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types;
  for (int i : written) {
    shapes.push_back(inputs[i].shape());
    types.push_back(inputs[i].dtype());
  }
  shapes.insert(shapes.end(), launch.shapes.begin(), launch.shapes.end());
  types.insert(types.end(), launch.types.begin(), launch.types.end());
  return mx::array::make_arrays(
      shapes, types, std::make_shared<InPlace>(primitive(inputs, launch), written), inputs);
#else
  throw Error(ErrorCode::internal, name_ + ": a CUDA kernel in a build without CUDA");
#endif
}

int float_bits(float x) {
  int bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace atelier
