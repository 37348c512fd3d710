#include "kernels/primitive.h"

#include "core/error.h"
#include "kernels/blas.h"

#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

namespace atelier {
namespace {

// Of the thread that builds the graphs: each engine has its own.
thread_local bool kernels_on = true;

class CpuPrimitive : public mx::Primitive {
 public:
  CpuPrimitive(mx::Stream stream, CpuKernel kernel)
      : Primitive(stream), kernel_(std::move(kernel)) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    for (size_t i = 0; i < outputs.size(); i++) {
      const int from = i < kernel_.shares.size() ? kernel_.shares[i] : -1;
      if (from >= 0) {
        outputs[i].copy_shared_buffer(inputs[from]);
      } else {
        outputs[i].set_data(mx::allocator::malloc(outputs[i].nbytes()));
      }
    }
    Arrays in, out;
    for (const mx::array& a : inputs) {
      in.push_back(mx::array::unsafe_weak_copy(a));
    }
    for (const mx::array& a : outputs) {
      out.push_back(mx::array::unsafe_weak_copy(a));
    }
    mx::cpu::get_command_encoder(stream()).dispatch(
        [run = kernel_.run, in = std::move(in), out = std::move(out)]() mutable { run(in, out); });
  }

  void eval_gpu(const Arrays&, Arrays&) override {
    throw Error(ErrorCode::internal, std::string(kernel_.name) + ": a CPU kernel on a GPU");
  }

  Arrays vjp(
      const Arrays& primals,
      const Arrays& cotangents,
      const std::vector<int>& argnums,
      const Arrays& outputs) override {
    if (!kernel_.vjp) {
      throw Error(ErrorCode::internal, std::string(kernel_.name) + ": has no gradient");
    }
    const Arrays all = kernel_.vjp(primals, cotangents, outputs, argnums);
    Arrays wanted;
    for (int i : argnums) {
      wanted.push_back(all.at(i));
    }
    return wanted;
  }

  const char* name() const override {
    return kernel_.name;
  }

 private:
  CpuKernel kernel_;
};

}  // namespace

void use_kernels(bool on) {
  kernels_on = on;
}

bool kernels_switched_on() {
  return kernels_on;
}

bool cpu_kernels_for(const mx::array& x) {
  return kernels_on && has_blas() && x.dtype() == mx::float32 &&
         mx::default_device() == mx::Device::cpu;
}

Arrays apply(
    CpuKernel kernel,
    Arrays inputs,
    const std::vector<mx::Shape>& shapes,
    std::vector<mx::Dtype> types) {
  types.resize(shapes.size(), mx::float32);
  return mx::array::make_arrays(
      shapes,
      types,
      std::make_shared<CpuPrimitive>(mx::default_stream(mx::Device::cpu), std::move(kernel)),
      inputs);
}

}  // namespace atelier
