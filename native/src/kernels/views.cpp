#include "kernels/views.h"

#include "core/error.h"

#include <mlx/primitives.h>

namespace atelier {
namespace {

class View : public mx::Primitive {
 public:
  View(mx::Stream stream, int64_t start) : Primitive(stream), start_(start) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    look(inputs[0], outputs[0]);
  }
  void eval_gpu(const Arrays& inputs, Arrays& outputs) override {
    look(inputs[0], outputs[0]);
  }
  const char* name() const override {
    return "View";
  }

 private:
  void look(const mx::array& vector, mx::array& out) const {
    if (!vector.flags().row_contiguous) {
      throw Error(ErrorCode::internal, "view: the vector has gaps");
    }
    mx::Strides strides(out.ndim());
    int64_t step = 1;
    for (int d = static_cast<int>(out.ndim()) - 1; d >= 0; d--) {
      strides[d] = step;
      step *= out.shape(d);
    }
    auto flags = vector.flags();
    flags.col_contiguous = out.ndim() < 2;
    out.copy_shared_buffer(vector, strides, flags, out.size(), start_);
  }

  int64_t start_;
};

}  // namespace

mx::array view(const mx::array& vector, int64_t start, const mx::Shape& shape) {
  return mx::array(
      shape,
      vector.dtype(),
      std::make_shared<View>(mx::default_stream(mx::default_device()), start),
      {vector});
}

mx::array join(const Arrays& parts, const std::vector<int64_t>& starts, int64_t size) {
  Arrays all;
  int64_t at = 0;
  auto zeros_until = [&](int64_t to) {
    if (to > at) {
      all.push_back(mx::zeros({static_cast<int>(to - at)}, parts[0].dtype()));
    }
  };
  for (size_t i = 0; i < parts.size(); i++) {
    zeros_until(starts[i]);
    all.push_back(mx::flatten(parts[i]));
    at = starts[i] + static_cast<int64_t>(parts[i].size());
  }
  zeros_until(size);
  return mx::concatenate(all, 0);
}

}  // namespace atelier
