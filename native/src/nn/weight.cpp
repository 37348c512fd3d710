#include "nn/weight.h"

#include "kernels/gpu/kernel.h"
#include "kernels/product.h"

namespace atelier {

Weight::Weight(mx::array packed, mx::array scales, mx::array biases, int in)
    : matrix_(std::move(packed)), scales_(std::move(scales)), biases_(std::move(biases)), in_(in) {}

int Weight::bits() const {
  return matrix_.shape(-1) * 32 / in_;
}

int Weight::group() const {
  return in_ / scales_->shape(-1);
}

mx::array Weight::times(const mx::array& x) const {
  if (quantised()) {
    return mx::quantized_matmul(x, matrix_, *scales_, biases_, true, group(), bits());
  }
  return cpu_kernels_for(x) && matrix_.dtype() == mx::float32 ? product_cpu(x, matrix_)
                                                              : product_plain(x, matrix_);
}

mx::array Weight::times_onto(const mx::array& onto, const mx::array& x) const {
  // One row is quicker as a vector times a matrix, which knows no sum.
  const bool rows = x.size() > static_cast<size_t>(x.shape(-1));
  return !quantised() && gpu_kernels_for(x) && matrix_.dtype() == x.dtype() && rows
             ? mx::addmm(onto, x, mx::transpose(matrix_))
             : onto + times(x);
}

mx::array Weight::times_f32(const mx::array& x) const {
  return !quantised() && product_f32_fits_gpu(x, matrix_)
             ? product_f32_gpu(x, matrix_)
             : as(mx::float32).times(mx::astype(x, mx::float32));
}

mx::array Weight::back(const mx::array& g) const {
  if (quantised()) {
    return mx::quantized_matmul(g, matrix_, *scales_, biases_, false, group(), bits());
  }
  return cpu_kernels_for(g) && matrix_.dtype() == mx::float32 ? product_back_cpu(g, matrix_)
                                                              : mx::matmul(g, matrix_);
}

mx::array Weight::rows(const mx::array& ids) const {
  auto at = [&](const mx::array& a) { return mx::take(a, ids, 0); };
  return quantised() ? mx::dequantize(at(matrix_), at(*scales_), at(*biases_), group(), bits())
                     : at(matrix_);
}

mx::array Weight::dense(int from, int to) const {
  auto cut = [&](const mx::array& a) {
    return from == 0 && to == out() ? a : mx::slice(a, {from, 0}, {to, a.shape(1)});
  };
  return quantised() ? mx::dequantize(cut(matrix_), cut(*scales_), cut(*biases_), group(), bits())
                     : cut(matrix_);
}

Weight Weight::as(mx::Dtype dtype) const {
  return quantised()
             ? Weight(matrix_, mx::astype(*scales_, dtype), mx::astype(*biases_, dtype), in_)
             : Weight(mx::astype(matrix_, dtype));
}

Weight weight_of(const Params& weights, const std::string& name, int in) {
  const mx::array& matrix = weights.at(name + ".weight");
  auto scales = weights.find(name + ".scales");
  return scales == weights.end() ? Weight(matrix)
                                 : Weight(matrix, scales->second, weights.at(name + ".biases"), in);
}

}  // namespace atelier
