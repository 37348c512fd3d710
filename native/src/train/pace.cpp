#include "train/pace.h"

#include "kernels/gpu/reuse.h"

#include <mlx/primitives.h>
#include <mlx/scheduler.h>

namespace atelier {
namespace {

using Arrays = std::vector<mx::array>;

class KeepPace : public mx::Primitive {
 public:
  explicit KeepPace(mx::Stream stream) : Primitive(stream) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    outputs[0].copy_shared_buffer(inputs[0]);
  }
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    outputs[0].copy_shared_buffer(inputs[0]);
    if (release_used(stream())) {
      return;
    }
    while (mx::scheduler::n_active_tasks() > 1) {
      mx::scheduler::wait_for_one();
    }
  }
  Arrays vjp(const Arrays&, const Arrays& cotangents, const std::vector<int>&, const Arrays&)
      override {
    return {keep_pace(cotangents[0])};
  }
  const char* name() const override {
    return "KeepPace";
  }
};

}  // namespace

mx::array keep_pace(const mx::array& x) {
  if (mx::default_device() == mx::Device::cpu) {
    return x;
  }
  const mx::Stream stream = mx::default_stream(mx::default_device());
  return mx::array(x.shape(), x.dtype(), std::make_shared<KeepPace>(stream), {x});
}

}  // namespace atelier
